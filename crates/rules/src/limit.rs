//! The soft limit of threads that are lost to blocking calls nobody announced (D1).
//!
//! From the limit on, each new goroutine and each hand-off may cost one more thread, while the
//! blocked threads only need time. So new goroutines and hand-offs are let through only once in a
//! while: the more threads are blocked, the more rarely.

use crate::MS;

/// Threads lost to unannounced blocking calls before new goroutines wait and hand-offs slow down.
pub const SOFT_LIMIT: u32 = 512;

/// At the soft limit, one hand-off of a blocked thread in this time.
pub const SLOW_HAND_OFF: u64 = MS;

/// At the soft limit, one start of a goroutine that was held back in this time. It is longer than
/// [`SLOW_HAND_OFF`], because each of them may block another thread for long.
pub const SLOW_START: u64 = 50 * MS;

/// The most doublings of those times.
const SLOWEST: u32 = 8;

/// Whether the limit is reached: a goroutine that has not run yet must wait to start, and hand-offs
/// of blocked threads are slow.
#[inline]
#[must_use]
pub const fn is_reached(lost: u32, soft_limit: u32) -> bool {
    lost >= soft_limit
}

/// How many goroutines that were held back may start now: as many as threads are missing to the
/// limit.
#[inline]
#[must_use]
pub const fn room_to_start(lost: u32, soft_limit: u32) -> u32 {
    soft_limit.saturating_sub(lost)
}

/// The time between two that are let through, `every` at the limit: twice as long at twice the
/// limit, four times as long at three times the limit, and so on, up to 256 times.
#[inline]
#[must_use]
pub fn slow_interval(every: u64, lost: u32, soft_limit: u32) -> u64 {
    let excess = lost.saturating_sub(soft_limit) / soft_limit.max(1);
    every << excess.min(SLOWEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D1: below the limit nobody waits.
    #[test]
    fn new_ones_wait_from_the_limit_on() {
        for (lost, reached, room) in [(0, false, 512), (511, false, 1), (512, true, 0), (9_000, true, 0)] {
            assert_eq!(is_reached(lost, SOFT_LIMIT), reached, "{lost}");
            assert_eq!(room_to_start(lost, SOFT_LIMIT), room, "{lost}");
        }
    }

    /// D1: the more threads are blocked, the more rarely; 256 times as long at most.
    #[test]
    fn intervals_double_with_each_limit() {
        for (lost, times) in
            [(0, 1), (512, 1), (1_023, 1), (1_024, 2), (1_536, 4), (4_608, 256), (9_999, 256)]
        {
            assert_eq!(slow_interval(SLOW_HAND_OFF, lost, SOFT_LIMIT), times * MS, "{lost}");
        }
        assert_eq!(slow_interval(SLOW_START, 1_024, SOFT_LIMIT), 100 * MS);
    }
}
