//! Why a goroutine waits and since when, in one word that costs one store (S1).
//!
//! The time comes from a coarse clock: a global count of tenths of a second since the runtime
//! started, kept by the monitor at every tick. While the monitor is dormant all Ps are idle, so no
//! goroutine begins to wait; whoever wakes the monitor sets the clock first. So a goroutine that
//! parks reads a shared word that changes ten times a second, and no clock.
//!
//! The word: the reason in the low 6 bits, the time in the other 26, which wrap around after 77
//! days: a longer wait is shown modulo that.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use core::time::Duration;

use super::waiter::WaitReason;

const REASON_BITS: u32 = 6;
const TENTH: u64 = 100_000_000;

static COARSE: AtomicU32 = AtomicU32::new(0);
/// The time, in nanoseconds, at which the runtime started.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// The runtime starts at `now`.
pub(crate) fn start(now: u64) {
    STARTED.store(now, Ordering::Relaxed);
}

/// Sets the coarse clock.
pub(crate) fn set_clock(now: u64) {
    let tenths = tenths(now);
    // All that park read this word: it is not written while it is right.
    if COARSE.load(Ordering::Relaxed) != tenths {
        COARSE.store(tenths, Ordering::Relaxed);
    }
}

/// How long the runtime has run.
pub(crate) fn uptime(now: u64) -> Duration {
    Duration::from_nanos(now.saturating_sub(STARTED.load(Ordering::Relaxed)))
}

fn tenths(now: u64) -> u32 {
    (now.saturating_sub(STARTED.load(Ordering::Relaxed)) / TENTH) as u32
}

/// The word.
pub(crate) struct WaitWord(AtomicU32);

impl WaitWord {
    pub(crate) const fn new() -> WaitWord {
        WaitWord(AtomicU32::new(0))
    }

    /// A wait begins.
    #[inline]
    pub(crate) fn begin(&self, reason: WaitReason) {
        let since = COARSE.load(Ordering::Relaxed) << REASON_BITS;
        self.0.store(since | reason as u32, Ordering::Relaxed);
    }

    pub(crate) fn reason(&self) -> WaitReason {
        WaitReason::from_u8((self.0.load(Ordering::Relaxed) & ((1 << REASON_BITS) - 1)) as u8)
    }

    /// How long the wait has lasted at `now`, to a tenth of a second.
    pub(crate) fn lasted(&self, now: u64) -> Duration {
        let since = self.0.load(Ordering::Relaxed) >> REASON_BITS;
        let lasted = (tenths(now).wrapping_sub(since) << REASON_BITS) >> REASON_BITS;
        Duration::from_nanos(u64::from(lasted) * TENTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S1: reason and duration come back, also across the end of the counter. (Seen to fail without
    /// the shifts in `lasted`.)
    #[test]
    fn reason_and_duration_share_a_word() {
        let begun = |since: u32, reason: WaitReason| {
            let word = WaitWord::new();
            word.0.store(since << REASON_BITS | reason as u32, Ordering::Relaxed);
            word
        };
        let now = STARTED.load(Ordering::Relaxed) + 95 * TENTH;
        let word = begun(60, WaitReason::Sleep);
        assert_eq!((word.reason(), word.lasted(now)), (WaitReason::Sleep, Duration::from_millis(3500)));
        let last = (1 << (32 - REASON_BITS)) - 1;
        let word = begun(last, WaitReason::Join);
        assert_eq!((word.reason(), word.lasted(now)), (WaitReason::Join, Duration::from_millis(9600)));
    }
}
