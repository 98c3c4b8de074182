//! Timer slack: short timed sleeps end in time.
//!
//! **Problem.** The kernel may let a timed sleep last 50 µs longer than asked, to end several at
//! once. The monitor's ticks of 100 µs, for one, would be half as long again.
//!
//! **Hook**: a timed sleep of the keeper, and the monitor's start. Not for a sleep of
//! [`LONG_SLEEP`] or more, which is not worth two system calls (0.5 µs, 2026-11-18): a server that
//! sleeps between requests waits only for time-outs that are far away.
//!
//! **Without it** the kernel's slack applies, as in Go.

use core::time::Duration;

use crate::debug::Policy;
use crate::sys::thread::TightTimerSlack;

/// The usual slack is a thousandth of this, which is what the kernel itself grants to `poll`.
const LONG_SLEEP: Duration = Duration::from_millis(50);

/// For a sleep of the calling thread that lasts `limit`.
pub(crate) fn for_sleep(limit: Duration) -> Option<TightTimerSlack> {
    (limit < LONG_SLEEP).then(for_thread).flatten()
}

/// For all sleeps of the calling thread, until the value is dropped.
pub(crate) fn for_thread() -> Option<TightTimerSlack> {
    Policy::TimerSlack.is_on().then(TightTimerSlack::begin)
}
