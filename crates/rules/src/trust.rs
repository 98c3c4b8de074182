//! Whether a lone goroutine may be put in `runnext` without waking an idle M (D9).
//!
//! Goroutines that pass a token to and fro need one P: the one that wakes the other parks right
//! after. To wake a second M for that costs a futex call, and that M finds nothing to do. So a P
//! that ran the last [`ENOUGH`] such goroutines itself is trusted to run the next one too. One that
//! had to wait (it was stolen, or the monitor found it still there, or the goroutine that woke it
//! went into a blocking call) sets the count back to [`NONE`].

/// A P that has run this many in a row itself is trusted.
pub const ENOUGH: u32 = 32;

/// The count of a new P, and of one whose trust was lost.
pub const NONE: u32 = 0;

/// Whether a P is trusted that has itself run `count` goroutines in a row from `runnext`.
#[inline]
#[must_use]
pub const fn is_given(count: u32) -> bool {
    count >= ENOUGH
}

/// The count after the P has run one more itself. It stops at [`ENOUGH`], so that a trusted P need
/// not write it.
#[inline]
#[must_use]
pub const fn gained(count: u32) -> u32 {
    if count < ENOUGH { count + 1 } else { count }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D9: it takes many to be trusted, and one to lose it.
    #[test]
    fn is_won_slowly_and_lost_at_once() {
        for (count, given, then) in [(NONE, false, 1), (30, false, 31), (31, false, 32), (32, true, 32)] {
            assert_eq!((is_given(count), gained(count)), (given, then), "{count}");
        }
        let needed = std::iter::successors(Some(NONE), |count| Some(gained(*count)));
        assert_eq!(needed.take_while(|count| !is_given(*count)).count(), 32);
    }
}
