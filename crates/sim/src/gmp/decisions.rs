//! What the library decides, as functions of plain values.
//!
//! How much is taken from the global queue, in which order a thief asks, and who may spin or is woken is
//! asked of the library itself ([`gosched_rules::batch::grab_count`], [`gosched_rules::steal::StealOrder`],
//! [`gosched_primitives::IdleWord`]). What stands here is inside the library, mixed with what it acts on;
//! these functions are to be replaced by the library's own as soon as it has them as public functions of
//! plain values. Each names the place it repeats.

use crate::time::{MS, Time, US};

/// Places in a P's ring (S3).
pub const RING: usize = 256;
/// Every so many picks begin with the global queue (S23): `p.is_fairness_tick` in the library.
const FAIRNESS: u32 = 61;
/// Rounds of a thief over all Ps (S26): `STEAL_ROUNDS` in `sched/find.rs`.
pub const STEAL_ROUNDS: u32 = 4;
/// The most that one look at the network takes: `netpoll` in the library.
pub const REPORTS: usize = 128;
/// How long a goroutine may compute while others wait (S37): `TIME_SLICE` in `sysmon/mod.rs`.
pub const TIME_SLICE: Time = 10 * MS;
/// How long it may go on after it was asked to yield: `ANSWER_WITHIN` in `sysmon/mod.rs`.
const ANSWER_WITHIN: Time = MS;
/// How long a P may sit in a blocking call when nobody wants it (S36): `BLOCKING_UNWANTED` in
/// `sysmon/mod.rs`.
const BLOCKING_UNWANTED: Time = 10 * MS;
/// How long the network may go unpolled (S35): `OVERDUE` in `sched/netting.rs`.
const POLL_OVERDUE: Time = 10 * MS;
/// Every so many grabs a preempted one leads: `LOWER_TURN` in `sched/global.rs`.
const LOWER_TURN: u32 = 4;

/// The monitor's pause in a burst, and how many ticks a burst has: `BURST` and `BURST_TICKS` in
/// `sysmon/pace.rs`.
const BURST_PAUSE: Time = 100 * US;
/// Ticks of a burst.
pub const BURST_TICKS: u32 = 30;

/// How long the monitor sleeps (D2): `Pace::pause` in `sysmon/pace.rs`, without its slowing down and its
/// bound on the CPU time of bursts.
#[must_use]
pub fn monitor_pause(base: Time, burst: u32) -> Time {
    if burst > 0 { base.min(BURST_PAUSE) } else { base }
}

/// Whether this pick looks at the global queue first (S23).
#[must_use]
pub fn is_fairness_tick(tick: u32) -> bool {
    tick.is_multiple_of(FAIRNESS)
}

/// How many of `n` in a ring a thief takes, the oldest (S26): `RingOwner::grab` in `gosched-primitives`.
#[must_use]
pub fn steal_count(n: usize) -> usize {
    n - n / 2
}

/// How many of a full ring go to the global queue, besides the one that did not fit (S21):
/// `RingOwner::overflow`.
#[must_use]
pub fn overflow_count(capacity: usize) -> usize {
    capacity / 2
}

/// Whether a thief may take `runnext` in this round (S26).
#[must_use]
pub fn takes_runnext(round: u32) -> bool {
    round == STEAL_ROUNDS - 1
}

/// Whether the oldest of those that were preempted leads this grab (D1): `GlobalQueue::take` in
/// `sched/global.rs`.
#[must_use]
pub fn lower_class_leads(grabs: u32) -> bool {
    grabs.is_multiple_of(LOWER_TURN)
}

/// Whether goroutines that hand a slice on through `runnext` have used it up (S27): `p.slice_is_over`.
#[must_use]
pub fn slice_is_over(used: Time) -> bool {
    used >= TIME_SLICE
}

/// What the monitor does with a P whose goroutine computes.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Leave,
    /// Takes the P; the goroutine goes on without.
    Take,
}

/// What becomes of a P whose goroutine has computed for so long (S37, D1): `judge` in `sysmon/mod.rs`.
/// The slice grows with the number of those that compute without a P already. Bursts make no moving
/// call, so asking never helps: the time for an answer always passes.
pub fn judge_computing(computed: Time, without_p: u32, procs: u32, work_waits: bool) -> Verdict {
    let slice = TIME_SLICE * Time::from((without_p / (4 * procs)).max(1));
    if work_waits && computed >= slice + ANSWER_WITHIN { Verdict::Take } else { Verdict::Leave }
}

/// What becomes of a P that is in a blocking call (S36): `retake_blocking` in `sysmon/mod.rs`.
pub fn judge_blocking(blocked: Time, has_work: bool, nobody_would_find_work: bool) -> Verdict {
    let wanted = blocked > 0 && (has_work || nobody_would_find_work);
    if wanted || blocked > BLOCKING_UNWANTED { Verdict::Take } else { Verdict::Leave }
}

/// Where a P goes that was taken from its M.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOff {
    /// An M is started for it.
    Start,
    /// A spinning M is started for it, if that place can be claimed; else as [`HandOff::Idle`].
    Spin,
    /// The idle list.
    Idle,
}

/// Where a taken P goes (S38): `hand_off_p` in `sched/idle.rs`.
pub fn hand_off(has_work: bool, global: usize, idle_ps: u32, spinning: u32) -> HandOff {
    match (has_work || global > 0, idle_ps == 0 && spinning == 0) {
        (true, _) => HandOff::Start,
        (false, true) => HandOff::Spin,
        (false, false) => HandOff::Idle,
    }
}

/// Whether somebody with a P should look at the network (S25): `is_poll_wanted` in `sched/netting.rs`.
#[must_use]
pub fn is_poll_wanted(waiters: u32, kept: bool) -> bool {
    waiters > 0 && !kept
}

/// Whether the monitor should (S35): `poll_overdue_network` in `sched/netting.rs`.
#[must_use]
pub fn is_poll_overdue(since_last: Time) -> bool {
    since_last > POLL_OVERDUE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S23: the 61st, not the 60th nor the 62nd.
    #[test]
    fn every_61st_pick_is_for_the_global_queue() {
        let ticks: Vec<u32> = (0..200).filter(|tick| is_fairness_tick(*tick)).collect();
        assert_eq!(ticks, [0, 61, 122, 183]);
    }

    /// S26, S21: of 1 one, of 5 three, never more than half a ring; 128 make room, and only the last
    /// round takes `runnext`.
    #[test]
    fn counts() {
        for (n, taken) in [(0, 0), (1, 1), (2, 1), (5, 3), (255, 128), (256, 128)] {
            assert_eq!(steal_count(n), taken, "of {n}");
        }
        assert_eq!(overflow_count(RING), 128);
        assert_eq!((0..STEAL_ROUNDS).map(takes_runnext).collect::<Vec<_>>(), [false, false, false, true]);
        assert_eq!((0..9).filter(|grabs| lower_class_leads(*grabs)).collect::<Vec<_>>(), [0, 4, 8]);
        assert!(!slice_is_over(10 * MS - 1) && slice_is_over(10 * MS));
    }

    /// S37, D1: after the slice and the time for an answer, if work waits; later while many compute
    /// without a P.
    #[test]
    fn computing_ones_lose_their_p_after_the_slice() {
        for (computed, without_p, procs, work_waits, verdict) in [
            (10 * MS, 0, 2, true, Verdict::Leave),
            (11 * MS, 0, 2, true, Verdict::Take),
            (11 * MS, 0, 2, false, Verdict::Leave),
            (11 * MS, 15, 2, true, Verdict::Take),
            (11 * MS, 16, 2, true, Verdict::Leave),
            (21 * MS, 16, 2, true, Verdict::Take),
            (40 * MS, 32, 2, true, Verdict::Leave),
        ] {
            let seen = judge_computing(computed, without_p, procs, work_waits);
            assert_eq!(seen, verdict, "{computed} {without_p} {procs} {work_waits}");
        }
    }

    /// S36: at the next tick if wanted, else after 10 ms.
    #[test]
    fn blocked_ones_lose_their_p_when_it_is_wanted() {
        for (blocked, has_work, nobody, verdict) in [
            (0, true, true, Verdict::Leave),
            (1, true, false, Verdict::Take),
            (1, false, true, Verdict::Take),
            (10 * MS, false, false, Verdict::Leave),
            (10 * MS + 1, false, false, Verdict::Take),
        ] {
            assert_eq!(judge_blocking(blocked, has_work, nobody), verdict, "{blocked} {has_work} {nobody}");
        }
    }

    /// S38: work first, then a spinner if nobody else would look, else the idle list.
    #[test]
    fn a_taken_p_goes_where_it_is_needed() {
        for (has_work, global, idle, spinning, where_to) in [
            (true, 0, 3, 1, HandOff::Start),
            (false, 1, 3, 1, HandOff::Start),
            (false, 0, 0, 0, HandOff::Spin),
            (false, 0, 1, 0, HandOff::Idle),
            (false, 0, 0, 1, HandOff::Idle),
        ] {
            assert_eq!(hand_off(has_work, global, idle, spinning), where_to);
        }
    }

    /// D2: 100 µs after a hand-off, else a tick.
    #[test]
    fn the_monitor_hurries_after_a_hand_off() {
        assert_eq!((monitor_pause(MS, 0), monitor_pause(MS, 1)), (MS, 100 * US));
    }

    /// S25, S35.
    #[test]
    fn the_network_is_polled_if_somebody_waits_and_nobody_keeps_watch() {
        assert!(is_poll_wanted(1, false) && !is_poll_wanted(0, false) && !is_poll_wanted(1, true));
        assert!(!is_poll_overdue(10 * MS) && is_poll_overdue(10 * MS + 1));
    }
}
