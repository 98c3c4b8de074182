//! The time slice, and the monitor's judgement of who has used it up (S36, S37, D1).
//!
//! Two clocks measure a slice. A goroutine is *asked* to yield when it has held its P for a slice
//! by the wall clock: that is how long the others have waited. Its P is *taken* when its thread has
//! computed for a slice: a thread that loses its P is one more for the kernel to run.
//!
//! Only the kernel can say whether a thread is blocked, and for how long it has computed. So
//! [`judge`] takes these two as closures. It asks whether the thread is blocked at most once, and
//! only if the thread is outside the runtime. It asks how long it has computed at most once, of
//! each P that is out of touch and not blocked, so that the caller can note the thread's clock
//! before the answer matters.

use crate::{MS, US};

/// How long a goroutine may hold its P while others wait, before it is asked to yield: by the wall
/// clock, since that is how long the others wait. And how long it may compute, by its thread's own
/// time, before its P is taken (S37).
#[doc(alias = "forcePreemptNS")]
pub const TIME_SLICE: u64 = 10 * MS;

/// How long a goroutine may hold its P by the wall clock if the kernel does not let it use its
/// slice up; [`LONGEST_ANSWER`] is added to that.
pub const LONGEST_HOLD: u64 = 100 * MS;

/// How long a goroutine may continue to compute after it was asked to yield.
pub const ANSWER_WITHIN: u64 = MS;

/// As [`ANSWER_WITHIN`], by the wall clock.
pub const LONGEST_ANSWER: u64 = 20 * MS;

/// A P that has shown the same pick for this long is out of touch: the kernel is asked whether its
/// thread is blocked (D2).
pub const OUT_OF_TOUCH: u64 = 100 * US;

/// After a pause of this length or more, even a P whose pick is new may have been blocked for long.
pub const LONG_PAUSE: u64 = 2 * MS;

/// How long a P may sit in an announced blocking call when nobody wants it (S36).
pub const BLOCKING_UNWANTED: u64 = 10 * MS;

/// How long new goroutines queue behind woken ones after one was found computing beyond its slice
/// (D1).
pub const PRESSURE_LASTS: u64 = 100 * MS;

/// What the monitor knows of a P that runs before it asks the kernel anything. Times are in
/// nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// How long it has shown the same pick under the same M, by the wall clock.
    pub unchanged_for: u64,
    /// How long it is since the monitor's last look at all Ps.
    pub pause: u64,
    /// Whether its M is inside the runtime: then its goroutine can be asked to yield, but the
    /// thread counts as not blocked, and the P can't be taken.
    pub inside: bool,
    /// `unchanged_for` when it was asked to yield; `None` if it was not, in this pick.
    pub asked_at: Option<u64>,
    /// How long a goroutine may compute now ([`quantum`]).
    pub quantum: u64,
}

/// What kind of goroutine is asked to yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// One that has computed for at least half of the time: from now on there is pressure
    /// ([`has_pressure`]).
    Computing,
    /// One that has only held its P for that long: the kernel ran other threads meanwhile.
    Held,
}

/// Why a P is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeReason {
    /// Its thread is blocked in the kernel.
    Blocked,
    /// Its goroutine computes beyond its slice and did not answer.
    Computing,
}

/// What is to be done with a P that runs.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunningVerdict {
    /// Nothing.
    Leave,
    /// Look again soon: its thread is blocked, perhaps only for a moment.
    Suspect,
    /// Ask its goroutine to yield. The next [`Look`] has this one's `unchanged_for` as `asked_at`.
    Ask(Asked),
    /// It would be taken, but its M is inside the runtime: tell it to give the P up itself.
    Insist,
    /// Take it.
    Take(TakeReason),
}

/// How long a goroutine may compute while others wait (S37, D1): one slice, or a multiple of it
/// while many already compute without a P, each of which is one more thread for the kernel to run.
#[inline]
#[must_use]
pub fn quantum(computing_without_p: u32, procs: u32) -> u64 {
    TIME_SLICE * u64::from((computing_without_p / (4 * procs.max(1))).max(1))
}

/// What becomes of a P that runs while work waits (S37, S38, D1, D2): Go's `retake`, for a P that
/// is running.
///
/// `is_blocked` says whether the thread is blocked in the kernel, `computed` for how long the
/// goroutine has computed in this pick.
///
/// ```
/// use gosched_rules::slice::{Look, TIME_SLICE, RunningVerdict, judge, quantum};
///
/// let just_picked =
///     Look { unchanged_for: 50_000, pause: 1_000_000, inside: false, asked_at: None, quantum: quantum(0, 2) };
/// let nobody_asks = || unreachable!("the kernel is not asked about one that comes and goes");
/// assert_eq!(judge(&just_picked, nobody_asks, || unreachable!()), RunningVerdict::Leave);
///
/// let unchanged_for = TIME_SLICE / 2;
/// assert_eq!(judge(&Look { unchanged_for, ..just_picked }, || false, || unchanged_for), RunningVerdict::Leave);
/// ```
pub fn judge(
    look: &Look,
    is_blocked: impl FnOnce() -> bool,
    computed: impl FnOnce() -> u64,
) -> RunningVerdict {
    let in_touch = look.unchanged_for < OUT_OF_TOUCH;
    if in_touch && look.pause < LONG_PAUSE {
        return RunningVerdict::Leave;
    }
    if !look.inside && is_blocked() {
        return if in_touch { RunningVerdict::Suspect } else { RunningVerdict::Take(TakeReason::Blocked) };
    }
    if in_touch {
        return RunningVerdict::Leave;
    }
    let computed = computed();
    match look.asked_at {
        None if look.unchanged_for < TIME_SLICE => RunningVerdict::Leave,
        None if 2 * computed >= look.unchanged_for => RunningVerdict::Ask(Asked::Computing),
        None => RunningVerdict::Ask(Asked::Held),
        Some(asked_at) if !has_had_its_time(look, computed, asked_at) => RunningVerdict::Leave,
        Some(_) if look.inside => RunningVerdict::Insist,
        Some(_) => RunningVerdict::Take(TakeReason::Computing),
    }
}

/// Whether a goroutine that was asked to yield loses its P. On a machine that is busy with other
/// threads it gets the time to use its slice up, and to answer.
fn has_had_its_time(look: &Look, computed: u64, asked_at: u64) -> bool {
    if computed < look.quantum {
        return look.unchanged_for >= LONGEST_HOLD + LONGEST_ANSWER;
    }
    let asked = look.unchanged_for.saturating_sub(asked_at);
    asked >= LONGEST_ANSWER || (asked >= ANSWER_WITHIN && computed >= look.quantum + ANSWER_WITHIN)
}

/// What the monitor knows of a P that is in an announced blocking call. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockingLook {
    /// For how long it has been seen in this very call; 0 if it is new.
    pub waited: u64,
    /// How long it has shown the same pick: all the calls of one goroutine together.
    pub unchanged_for: u64,
    /// Whether its ring or `runnext` has anybody.
    pub has_work: bool,
    /// Whether new work would find neither an idle P nor a spinner
    /// ([`nobody_would_look`](crate::wake::nobody_would_look)).
    pub nobody_would_look: bool,
    /// Whether anything waits for a P.
    pub work_waits: bool,
}

/// What is to be done with a P that is in a blocking call.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockingVerdict {
    /// Nothing.
    Leave,
    /// Take it: somebody wants it, and more will follow.
    Wanted,
    /// Take it, though nobody wants it.
    Unwanted,
}

/// What becomes of a P that is in an announced blocking call (S36): Go's `retake`, for a P in a
/// system call. It is taken at the next tick if somebody wants it, else after 10 ms. A goroutine
/// that makes one short call after the other loses it at the end of its slice if work waits: inside
/// a call it can't be asked to yield.
#[inline]
pub const fn judge_blocking(look: &BlockingLook) -> BlockingVerdict {
    let now = look.waited > 0 && (look.has_work || look.nobody_would_look);
    if now || (look.work_waits && look.unchanged_for >= TIME_SLICE) {
        BlockingVerdict::Wanted
    } else if look.waited > BLOCKING_UNWANTED {
        BlockingVerdict::Unwanted
    } else {
        BlockingVerdict::Leave
    }
}

/// Whether goroutines that have not run yet queue behind those that were woken (D1): for a while
/// after one was last found computing beyond its slice, at `hogged_at`.
#[inline]
#[must_use]
pub fn has_pressure(hogged_at: Option<u64>, now: u64) -> bool {
    hogged_at.is_some_and(|at| now.saturating_sub(at) < PRESSURE_LASTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// The kernel's answers in a table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Kernel {
        /// Must not be asked.
        Unasked,
        Blocked,
        /// Not blocked; how long it has computed must not be asked.
        Awake,
        /// Not blocked, if that is asked at all; has computed for so long.
        Computed(u64),
    }

    fn look(unchanged_for: u64, asked_at: Option<u64>) -> Look {
        Look { unchanged_for, pause: MS, inside: false, asked_at, quantum: quantum(0, 2) }
    }

    #[track_caller]
    fn check(look: Look, kernel: Kernel, verdict: RunningVerdict) {
        let (asked_blocked, asked_computed) = (Cell::new(false), Cell::new(false));
        let is_blocked = || {
            asked_blocked.set(true);
            kernel == Kernel::Blocked
        };
        let computed = || {
            asked_computed.set(true);
            if let Kernel::Computed(time) = kernel { time } else { 0 }
        };
        assert_eq!(judge(&look, is_blocked, computed), verdict, "{look:?} {kernel:?}");
        let computing = matches!(kernel, Kernel::Computed(_));
        let blocked = (computing && !look.inside) || matches!(kernel, Kernel::Blocked | Kernel::Awake);
        assert_eq!((asked_blocked.get(), asked_computed.get()), (blocked, computing), "{look:?} {kernel:?}");
    }

    /// D2: the kernel is not asked about a P with a new pick, except after a long pause.
    #[test]
    fn who_is_in_touch_is_left_alone() {
        for (unchanged_for, pause, kernel, verdict) in [
            (0, MS, Kernel::Unasked, RunningVerdict::Leave),
            (OUT_OF_TOUCH - 1, LONG_PAUSE - 1, Kernel::Unasked, RunningVerdict::Leave),
            (OUT_OF_TOUCH - 1, LONG_PAUSE, Kernel::Awake, RunningVerdict::Leave),
            (OUT_OF_TOUCH - 1, LONG_PAUSE, Kernel::Blocked, RunningVerdict::Suspect),
            (OUT_OF_TOUCH, MS, Kernel::Blocked, RunningVerdict::Take(TakeReason::Blocked)),
            (OUT_OF_TOUCH, MS, Kernel::Computed(0), RunningVerdict::Leave),
        ] {
            check(Look { pause, ..look(unchanged_for, None) }, kernel, verdict);
        }
        let inside = Look { inside: true, pause: LONG_PAUSE, ..look(0, None) };
        check(inside, Kernel::Unasked, RunningVerdict::Leave);
    }

    /// S37: asked after 10 ms by the wall clock, whatever it has computed.
    #[test]
    fn who_holds_its_p_for_a_slice_is_asked() {
        for (unchanged_for, computed, verdict) in [
            (TIME_SLICE - 1, TIME_SLICE - 1, RunningVerdict::Leave),
            (TIME_SLICE, TIME_SLICE, RunningVerdict::Ask(Asked::Computing)),
            (TIME_SLICE, TIME_SLICE / 2, RunningVerdict::Ask(Asked::Computing)),
            (TIME_SLICE, TIME_SLICE / 2 - 1, RunningVerdict::Ask(Asked::Held)),
            (10 * TIME_SLICE, 0, RunningVerdict::Ask(Asked::Held)),
        ] {
            check(look(unchanged_for, None), Kernel::Computed(computed), verdict);
            let inside = Look { inside: true, ..look(unchanged_for, None) };
            check(inside, Kernel::Computed(computed), verdict);
        }
    }

    /// S37, D1: taken when it has used its slice up and had 1 ms to answer; or 20 ms by the wall
    /// clock to answer; or has kept its P for 120 ms in all.
    #[test]
    fn who_does_not_answer_loses_its_p() {
        let asked = Some(TIME_SLICE);
        for (unchanged_for, computed, taken) in [
            (11 * MS - 1, 11 * MS - 1, false),
            (11 * MS, 11 * MS - 1, false),
            (11 * MS, 11 * MS, true),
            (30 * MS - 1, 10 * MS, false),
            (30 * MS, 10 * MS, true),
            (30 * MS, 10 * MS - 1, false),
            (120 * MS - 1, 0, false),
            (120 * MS, 0, true),
        ] {
            let verdict =
                if taken { RunningVerdict::Take(TakeReason::Computing) } else { RunningVerdict::Leave };
            check(look(unchanged_for, asked), Kernel::Computed(computed), verdict);
            let verdict = if taken { RunningVerdict::Insist } else { RunningVerdict::Leave };
            let inside = Look { inside: true, ..look(unchanged_for, asked) };
            check(inside, Kernel::Computed(computed), verdict);
        }
        check(look(12 * MS, asked), Kernel::Blocked, RunningVerdict::Take(TakeReason::Blocked));
        check(
            Look { quantum: 2 * TIME_SLICE, ..look(12 * MS, asked) },
            Kernel::Computed(12 * MS),
            RunningVerdict::Leave,
        );
    }

    /// D1: longer while many compute without a P.
    #[test]
    fn the_quantum_grows_with_those_without_a_p() {
        for (without_p, procs, slices) in
            [(0, 1, 1), (7, 1, 1), (8, 1, 2), (15, 2, 1), (16, 2, 2), (24, 2, 3), (32, 2, 4), (32, 0, 8)]
        {
            assert_eq!(quantum(without_p, procs), slices * TIME_SLICE, "{without_p} {procs}");
        }
    }

    /// S36: at the next tick if wanted, else after 10 ms; and at the end of the slice if work
    /// waits.
    #[test]
    fn blocked_ones_lose_their_p_when_it_is_wanted() {
        use BlockingVerdict::{Leave, Unwanted, Wanted};
        for (waited, unchanged_for, has_work, nobody_would_look, work_waits, verdict) in [
            (0, 0, true, true, true, Leave),
            (1, 1, true, false, false, Wanted),
            (1, 1, false, true, false, Wanted),
            (1, 1, false, false, true, Leave),
            (10 * MS, 10 * MS, false, false, false, Leave),
            (10 * MS + 1, 10 * MS + 1, false, false, false, Unwanted),
            (0, TIME_SLICE - 1, false, false, true, Leave),
            (0, TIME_SLICE, false, false, true, Wanted),
            (0, TIME_SLICE, true, true, false, Leave),
        ] {
            let look = BlockingLook { waited, unchanged_for, has_work, nobody_would_look, work_waits };
            assert_eq!(judge_blocking(&look), verdict, "{look:?}");
        }
    }

    /// D1: 100 ms.
    #[test]
    fn pressure_passes() {
        for (hogged_at, now, pressure) in [
            (None, 0, false),
            (Some(5), 5, true),
            (Some(5), 100 * MS + 4, true),
            (Some(5), 100 * MS + 5, false),
            (Some(5), 4, true),
        ] {
            assert_eq!(has_pressure(hogged_at, now), pressure, "{hogged_at:?} {now}");
        }
    }
}
