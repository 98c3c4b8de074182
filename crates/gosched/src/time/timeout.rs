//! A time limit for a piece of code.

use core::fmt;
use core::time::Duration;
use std::time::Instant;

use crate::context;

/// The time of a [`timeout`] had run out.
///
/// ```
/// use gosched::time::{self, Duration};
///
/// let late = time::timeout(Duration::ZERO, || 1).unwrap_err();
/// assert_eq!(late.to_string(), "deadline has elapsed");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadline has elapsed")
    }
}

impl std::error::Error for Elapsed {}

/// Runs `f`, in the calling goroutine, under a context that ends after `d`, and returns its value
/// if it returned in time.
///
/// When the time is up, calls that end with the [context](crate::context) return: I/O,
/// [`sleep`](super::sleep) and the `*_ctx` forms of waits. A plain receive, `select!`, lock or join
/// inside is not cut short, and nor is a computation; then this returns later, with [`Elapsed`].
///
/// Not a moving call by itself; `f` may make some. Works on any thread.
///
/// # Errors
///
/// [`Elapsed`] if `f` returned after the time was up; its value is dropped.
///
/// ```
/// use gosched::time::{self, Duration};
///
/// gosched::run(|| {
///     assert_eq!(time::timeout(Duration::from_secs(60), || 6 * 7), Ok(42));
///     let late = time::timeout(Duration::from_millis(1), || time::sleep(Duration::from_secs(60)));
///     assert_eq!(late, Err(time::Elapsed));
/// });
/// ```
pub fn timeout<F, T>(d: Duration, f: F) -> Result<T, Elapsed>
where
    F: FnOnce() -> T,
{
    let Some(deadline) = Instant::now().checked_add(d) else { return Ok(f()) };
    let limited = context::current().with_deadline(deadline);
    let value = context::enter(&limited, f);
    if Instant::now() < deadline { Ok(value) } else { Err(Elapsed) }
}
