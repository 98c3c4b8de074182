//! In which order a P looks for its next goroutine (S23, S25), and whether that one begins a time
//! slice (S27).
//!
//! Every pick looks at the places of [`PICK_ORDER`]. Only if these have nothing does the P search,
//! in [`SEARCH_ORDER`]. What makes a search faster on some machines (relieving a P that stands
//! still, waiting for another M's poll of the network) is a policy of the library, and no part of
//! this order.

use crate::slice::TIME_SLICE;

/// One pick in this many looks at the global queue before the P's own queues (S23): 61, as in Go, a
/// prime.
pub const FAIRNESS_TICK: u32 = 61;

/// Picks in a row that inherit the running slice before the P reads the clock (S27).
pub const INHERITED_PER_LOOK: u32 = 128;

/// Where every pick looks, in [`PICK_ORDER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Local {
    /// The P's own due timers. They ready goroutines, which are found at the places that follow.
    OwnTimers,
    /// One from the global queue, if the tick says so ([`is_fairness_tick`]).
    Fairness,
    /// The slot ahead of the ring.
    RunNext,
    /// The ring.
    Ring,
}

/// Where a P with empty queues of its own looks, in [`SEARCH_ORDER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// A share of the global queue ([`grab_count`](crate::batch::grab_count)).
    GlobalQueue,
    /// The network, without blocking ([`is_poll_wanted`](crate::poll::is_poll_wanted)).
    Network,
    /// The rings of the other Ps, and in the last round their timers and `runnext`
    /// ([`steal`](crate::steal)), as a spinner ([`may_spin`](crate::wake::may_spin)).
    Steal,
}

/// The order of a pick (S25): the first half of Go's `findRunnable`.
///
/// ```
/// use gosched_rules::pick::{Local, PICK_ORDER};
///
/// let (runnext, ring) = (Some("woken"), Some("queued"));
/// let picked = PICK_ORDER.iter().find_map(|place| match place {
///     Local::OwnTimers | Local::Fairness => None,
///     Local::RunNext => runnext,
///     Local::Ring => ring,
/// });
/// assert_eq!(picked, Some("woken"));
/// ```
pub const PICK_ORDER: [Local; 4] = [Local::OwnTimers, Local::Fairness, Local::RunNext, Local::Ring];

/// The order of a search (S25): the second half of Go's `findRunnable`.
pub const SEARCH_ORDER: [Search; 3] = [Search::GlobalQueue, Search::Network, Search::Steal];

/// Whether a picked goroutine inherits the running time slice or begins its own (S27).
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slice {
    /// It inherits the slice of the goroutine that woke it, and is not counted in `schedtick`.
    #[doc(alias = "inheritTime")]
    Inherited,
    /// It begins a slice.
    New,
}

/// Whether this pick looks at the global queue first (S23). `tick` is the P's `schedtick`.
#[inline]
#[must_use]
#[doc(alias = "schedtick")]
pub const fn is_fairness_tick(tick: u32) -> bool {
    tick.is_multiple_of(FAIRNESS_TICK)
}

/// The slice of a goroutine that was picked at this place (S27): only one from `runnext` inherits.
/// What a search finds begins its own.
#[inline]
pub const fn slice_of(place: Local) -> Slice {
    match place {
        Local::RunNext => Slice::Inherited,
        Local::OwnTimers | Local::Fairness | Local::Ring => Slice::New,
    }
}

/// Whether the P reads the clock now, after `inherited` picks in a row that inherited the slice
/// (S27).
#[inline]
#[must_use]
pub const fn looks_at_clock(inherited: u32) -> bool {
    inherited >= INHERITED_PER_LOOK
}

/// Whether goroutines that pass a slice on through `runnext` have used it up (S27). If others wait,
/// the one in `runnext` goes behind them.
#[inline]
#[must_use]
pub const fn slice_is_over(used: u64) -> bool {
    used >= TIME_SLICE
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

    /// S25: both orders, as the specification has them.
    #[test]
    fn the_orders_are_those_of_the_specification() {
        assert_eq!(PICK_ORDER, [Local::OwnTimers, Local::Fairness, Local::RunNext, Local::Ring]);
        assert_eq!(SEARCH_ORDER, [Search::GlobalQueue, Search::Network, Search::Steal]);
    }

    /// S27: `runnext` inherits, nobody else does.
    #[test]
    fn only_runnext_hands_a_slice_on() {
        let inherits: Vec<Local> =
            PICK_ORDER.into_iter().filter(|place| slice_of(*place) == Slice::Inherited).collect();
        assert_eq!(inherits, [Local::RunNext]);
    }

    /// S27: a look at the clock after 128 picks; the slice is over after 10 ms.
    #[test]
    fn a_slice_that_is_handed_on_ends() {
        for (inherited, looks) in [(0, false), (127, false), (128, true), (u32::MAX, true)] {
            assert_eq!(looks_at_clock(inherited), looks, "{inherited}");
        }
        for (used, over) in [(0, false), (9_999_999, false), (10_000_000, true), (u64::MAX, true)] {
            assert_eq!(slice_is_over(used), over, "{used}");
        }
    }
}
