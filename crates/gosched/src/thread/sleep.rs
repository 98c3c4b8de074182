//! Sleeping: one timer in the sleeper's own frame.
#![allow(unsafe_code)]

use core::time::Duration;

use crate::clock::when_after;
use crate::g::waiter::{WaitReason, Waiter};
use crate::sched::{self, Caller, Commit};
use crate::timers::{Action, TimerNode};

/// Sleeps for at least `d`, whether the current [context](crate::context) ends or not.
///
/// A moving call. On a thread that is not a goroutine it is std's.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// gosched::run(|| {
///     let began = Instant::now();
///     gosched::thread::sleep(Duration::from_millis(2));
///     assert!(began.elapsed() >= Duration::from_millis(2));
/// });
/// ```
pub fn sleep(d: Duration) {
    if d.is_zero() {
        return crate::runtime::checkpoint();
    }
    if crate::m::current::current().is_none() {
        sched::refuse_on_foreign_thread("wait");
        return std::thread::sleep(d);
    }
    let when = when_after(d);
    let mut timer = None;
    let caller = Caller::enter_moving().unwrap_or_else(|stopped| stopped.refuse("wait"));
    let _ = caller.wait_unless(WaitReason::Sleep, |waiter| {
        let Waiter::Goroutine(g) = waiter else { return Commit::Refuse };
        let timer = timer.insert(TimerNode::new(Action::Ready(g)));
        // SAFETY: the timer is in this frame, which stays until the timer has fired: nothing else
        // wakes the goroutine.
        unsafe { sched::arm_here(timer, when) };
        Commit::Wait
    });
}

/// Sleeps for at least `ms` milliseconds. A moving call.
///
/// ```
/// #[allow(deprecated)]
/// gosched::thread::sleep_ms(1);
/// ```
#[deprecated(note = "replaced by `gosched::thread::sleep`, as in std")]
pub fn sleep_ms(ms: u32) {
    sleep(Duration::from_millis(u64::from(ms)));
}
