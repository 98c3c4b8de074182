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

/// This file, as the compiler was told of it: by it dumps know which code is this crate's.
#[doc(hidden)]
pub const SOURCE: &str = file!();
