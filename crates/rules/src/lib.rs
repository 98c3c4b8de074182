#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod batch;
pub mod limit;
pub mod pace;
pub mod pick;
pub mod poll;
pub mod slice;
pub mod steal;
pub mod trust;
pub mod wake;

/// A microsecond, in nanoseconds.
const US: u64 = 1_000;
/// A millisecond, in nanoseconds.
const MS: u64 = 1_000_000;

/// The path of this file as the compiler got it. Dumps recognise this crate's code by it.
#[doc(hidden)]
pub const SOURCE: &str = file!();
