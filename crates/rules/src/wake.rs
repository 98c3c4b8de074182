//! Who is woken, who may spin (S30, S31), and what becomes of a P that has lost its M (S38).
//!
//! `idle_ps` and `spinning` are always two numbers of one moment: the library keeps them in one
//! word.

/// Whether an M must be woken for work that has appeared (S31): a P is idle, and no M spins.
#[inline]
#[must_use]
#[doc(alias = "wakep")]
pub const fn should_wake(idle_ps: u32, spinning: u32) -> bool {
    idle_ps > 0 && spinning == 0
}

/// Whether one more of `procs` Ps may spin (S30): so far fewer than half of the busy ones do.
#[inline]
#[must_use]
pub const fn may_spin(idle_ps: u32, spinning: u32, procs: u32) -> bool {
    2 * (spinning as u64) < procs.saturating_sub(idle_ps) as u64
}

/// Whether new work would find neither an idle P nor an M that spins (S36, S38): then a P that
/// nobody uses must get an M that spins.
#[inline]
#[must_use]
pub const fn nobody_would_look(idle_ps: u32, spinning: u32) -> bool {
    idle_ps == 0 && spinning == 0
}

/// Whether a spinner that stops is the last one (S31); `before` is how many spun before it stopped.
/// The last one wakes the next if it has found work.
#[inline]
#[must_use]
#[doc(alias = "resetspinning")]
pub const fn is_last_spinner(before: u32) -> bool {
    before == 1
}

/// Whether all of `procs` Ps are idle (S33).
#[inline]
#[must_use]
pub const fn are_all_idle(idle_ps: u32, procs: u32) -> bool {
    idle_ps >= procs
}

/// What is known of a P that was taken from its M.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenP {
    /// Whether its ring or `runnext` has anybody.
    pub has_work: bool,
    /// How many the global queue has.
    pub global: usize,
    /// Whether one of its timers is due.
    pub is_timer_due: bool,
    /// How many other Ps are idle.
    pub idle_ps: u32,
    /// How many Ms spin.
    pub spinning: u32,
}

/// What becomes of a P that was taken from its M.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOff {
    /// An M is started for it.
    Start,
    /// A spinning M is started for it, if the place of the spinner can be claimed; else as
    /// [`HandOff::Idle`].
    Spin,
    /// It goes to the idle list.
    Idle,
}

/// What becomes of a taken P (S38).
#[inline]
#[doc(alias = "handoffp")]
pub const fn hand_off(p: &TakenP) -> HandOff {
    if p.has_work || p.global > 0 || p.is_timer_due {
        HandOff::Start
    } else if nobody_would_look(p.idle_ps, p.spinning) {
        HandOff::Spin
    } else {
        HandOff::Idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S31, S38: an M is woken if a P is idle and nobody spins; a taken P gets a spinner if no P is
    /// idle and nobody spins.
    #[test]
    fn one_is_woken_at_a_time() {
        for (idle_ps, spinning, wake, nobody) in [
            (0, 0, false, true),
            (1, 0, true, false),
            (8, 0, true, false),
            (1, 1, false, false),
            (0, 1, false, false),
        ] {
            assert_eq!(should_wake(idle_ps, spinning), wake, "{idle_ps} {spinning}");
            assert_eq!(nobody_would_look(idle_ps, spinning), nobody, "{idle_ps} {spinning}");
        }
    }

    /// S30: 2 × spinning < busy Ps; also while the number of Ps shrinks.
    #[test]
    fn fewer_than_half_of_the_busy_ps_spin() {
        for (idle_ps, spinning, procs, may) in [
            (3, 0, 8, true),
            (3, 2, 8, true),
            (3, 3, 8, false),
            (0, 0, 1, true),
            (0, 1, 2, false),
            (3, 0, 3, false),
            (3, 0, 2, false),
            (0, u32::MAX, u32::MAX, false),
        ] {
            assert_eq!(may_spin(idle_ps, spinning, procs), may, "{idle_ps} {spinning} {procs}");
        }
    }

    #[test]
    fn the_last_spinner_and_the_last_busy_p() {
        assert!(is_last_spinner(1) && !is_last_spinner(2));
        assert!(!are_all_idle(1, 2) && are_all_idle(2, 2));
        assert!(are_all_idle(3, 2), "as while Ps fall away");
    }

    /// S38: work first, then a spinner if nobody else would look, else the idle list.
    #[test]
    fn a_taken_p_goes_where_it_is_needed() {
        for (has_work, global, is_timer_due, idle_ps, spinning, where_to) in [
            (true, 0, false, 3, 1, HandOff::Start),
            (false, 1, false, 3, 1, HandOff::Start),
            (false, 0, true, 3, 1, HandOff::Start),
            (true, 1, true, 0, 0, HandOff::Start),
            (false, 0, false, 0, 0, HandOff::Spin),
            (false, 0, false, 1, 0, HandOff::Idle),
            (false, 0, false, 0, 1, HandOff::Idle),
        ] {
            let p = TakenP { has_work, global, is_timer_due, idle_ps, spinning };
            assert_eq!(hand_off(&p), where_to, "{p:?}");
        }
    }
}
