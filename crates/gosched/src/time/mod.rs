//! `std::time`, and what waits for it.
//!
//! [`sleep`] and [`timeout`] understand contexts; [`thread::sleep`](crate::thread::sleep) is std's, and is not cut short.

#![deny(unsafe_code)]

mod sleep;
mod timeout;

pub use sleep::{sleep, sleep_until};
pub use std::time::{Duration, Instant, SystemTime, SystemTimeError, TryFromFloatSecsError, UNIX_EPOCH};
pub use timeout::{Elapsed, timeout};
