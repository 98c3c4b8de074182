//! Who polls the network, and when (S25, S35, S54).

use crate::MS;

/// How long the network may go unpolled before the monitor polls it (S35).
const OVERDUE: u64 = 10 * MS;

/// Whether an M with a P, or the monitor, should poll the network (S25): somebody waits for I/O,
/// and no M is blocked in the poller (`is_kept`).
#[inline]
#[must_use]
pub const fn is_poll_wanted(waiters: usize, is_kept: bool) -> bool {
    waiters > 0 && !is_kept
}

/// Whether the monitor should poll, `since_last` after the last poll by anybody (S35): Go's
/// `sysmon`, "poll network if not polled for more than 10ms".
#[inline]
#[must_use]
pub const fn is_poll_overdue(since_last: u64) -> bool {
    since_last > OVERDUE
}

/// Whether an M with a P that has found so many goroutines in the network wakes another M for them
/// (S54): one of them it runs itself.
#[inline]
#[must_use]
#[doc(alias = "injectglist")]
pub const fn wakes_another(found: usize) -> bool {
    found > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S25: if somebody waits and no M is blocked in the poller.
    #[test]
    fn the_network_is_polled_for_those_who_wait() {
        for (waiters, is_kept, wanted) in
            [(0, false, false), (1, false, true), (9, false, true), (1, true, false), (0, true, false)]
        {
            assert_eq!(is_poll_wanted(waiters, is_kept), wanted, "{waiters} {is_kept}");
        }
    }

    /// S35: after more than 10 ms.
    #[test]
    fn the_monitor_polls_if_nobody_has() {
        for (since_last, overdue) in [(0, false), (10 * MS, false), (10 * MS + 1, true)] {
            assert_eq!(is_poll_overdue(since_last), overdue, "{since_last}");
        }
    }

    /// S54: not for the one that the poller runs itself.
    #[test]
    fn others_are_woken_for_what_is_left() {
        assert_eq!([0, 1, 2, 128].map(wakes_another), [false, false, true, true]);
    }
}
