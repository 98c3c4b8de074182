//! Sleeps that end early when the context does.

use core::time::Duration;
use std::time::Instant;

use crate::clock::when_after;
use crate::context::{self, ContextError};
use crate::g::waiter::{INTERRUPTED, Ticket, WaitReason};
use crate::sched::{Caller, Limit};

/// Sleeps for at least `d`, or until the current context ends.
///
/// A moving call. On a thread that is not a goroutine it blocks the thread.
///
/// # Errors
///
/// Why the context has ended, if that ended the sleep. A sleep of zero length always succeeds.
///
/// ```
/// use gosched::{context, time};
/// use std::time::Duration;
///
/// gosched::run(|| {
///     assert_eq!(time::sleep(Duration::from_millis(1)), Ok(()));
///     let ctx = context::background().with_timeout(Duration::from_millis(1));
///     let slept = context::enter(&ctx, || time::sleep(Duration::from_secs(60)));
///     assert_eq!(slept, Err(context::ContextError::DeadlineExceeded));
/// });
/// ```
pub fn sleep(d: Duration) -> Result<(), ContextError> {
    if d.is_zero() {
        crate::runtime::checkpoint();
        return Ok(());
    }
    sleep_to(when_after(d))
}

/// Sleeps until `t`, or until the current context ends.
///
/// A moving call. On a thread that is not a goroutine it blocks the thread.
///
/// # Errors
///
/// Why the context has ended, if that ended the sleep. If `t` is past it always succeeds.
///
/// ```
/// use gosched::time::{self, Duration, Instant};
///
/// gosched::run(|| {
///     let start = Instant::now();
///     for tick in 1..=3 {
///         time::sleep_until(start + tick * Duration::from_millis(1))?;
///     }
///     assert!(start.elapsed() >= Duration::from_millis(3));
///     Ok::<(), gosched::context::ContextError>(())
/// })
/// # .unwrap();
/// ```
pub fn sleep_until(t: Instant) -> Result<(), ContextError> {
    match t.checked_duration_since(Instant::now()) {
        None => sleep(Duration::ZERO),
        Some(left) => sleep(left),
    }
}

/// Sleeps until `when`, by the clock of timers.
fn sleep_to(when: u64) -> Result<(), ContextError> {
    let caller = match Caller::enter_moving() {
        Ok(caller) => caller,
        Err(stopped) => return stopped.complete(context::current_error().map(Err)),
    };
    let ticket = Ticket::new();
    match caller.wait_ticket(WaitReason::Sleep, Limit::of_context(Some(when)), &ticket, || ()) {
        INTERRUPTED => Err(context::why_ended()),
        _ => Ok(()),
    }
}
