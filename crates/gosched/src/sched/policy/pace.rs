//! Pace: the monitor slows down while all goes well (S34).
//!
//! **Problem.** Each tick takes a CPU away from another thread, which costs a busy server more than
//! the tick itself.
//!
//! **Hook**: the monitor, when it starts or is woken. While every P comes back to the scheduler
//! between two ticks, and no P had to be taken from a blocked thread for a while, it ticks more and
//! more rarely, up to 10 ms (`gosched_rules::pace`).
//!
//! **Without it** it ticks every millisecond while goroutine code runs.

use gosched_rules::pace::{Calm, Pace};

use crate::debug::Policy;

/// The pace of a monitor that has just started or been woken.
pub(crate) fn new() -> Pace {
    Pace::new(if Policy::Pace.is_on() { Calm::SlowDown } else { Calm::KeepPace })
}
