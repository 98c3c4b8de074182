#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod check;
pub mod cli;
pub mod cut;
pub mod explain;
pub mod failure;
pub mod findings;
pub mod histogram;
pub mod people;
pub mod perfetto;
pub mod procs;
pub mod progress;
pub mod source;
pub mod summary;
pub mod text;
