//! `std::time`, with sleeps, timers and time limits.
//!
//! | | |
//! |---|---|
//! | [`sleep`], [`sleep_until`] | wait, unless the [context](crate::context) ends; [`thread::sleep`](crate::thread::sleep) is std's, and is not cut short |
//! | [`timeout`] | gives a piece of code a time limit |
//! | [`after`], [`tick`] | receivers for `select!` |
//! | [`Timer`], [`Ticker`] | the same with a handle that can stop and reset them; [`Timer::after_func`] runs a function later |
//! | [`RateLimiter`] | lets something happen so often in a second |
//!
//! The workers run the timers, without a thread for it; a million of them are fine.
//!
//! ```
//! use gosched::{chan, select, time};
//! use gosched::time::Duration;
//!
//! gosched::run(|| {
//!     let (s, r) = chan::bounded::<u8>(0);
//!     select! {
//!         recv(r) -> _ => unreachable!("nobody sends"),
//!         recv(time::after(Duration::from_millis(2))) -> _ => println!("nothing came"),
//!     }
//!     # drop(s);
//! });
//! ```

#![deny(unsafe_code)]

mod func;
mod rate;
mod sleep;
mod timeout;
mod timer;

pub use crate::chan::{after, tick};
pub use rate::RateLimiter;
pub use sleep::{sleep, sleep_until};
pub use std::time::{Duration, Instant, SystemTime, SystemTimeError, TryFromFloatSecsError, UNIX_EPOCH};
pub use timeout::{Elapsed, timeout};
pub use timer::{Ticker, Timer};
