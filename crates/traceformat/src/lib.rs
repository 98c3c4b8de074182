#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod decisions;
pub mod encode;
pub mod leb128;
pub mod order;
pub mod read;
pub mod wire;

pub use read::error::TraceError;
