//! How many Ps are idle and how many Ms spin: one word, because the decision to wake needs both
//! numbers of one moment.
//!
//! ```text
//!   63            32 31             0
//!  +----------------+----------------+
//!  |    idle_ps     |    spinning    |
//!  +----------------+----------------+
//! ```
//!
//! Invariants:
//! - every change is a `SeqCst` RMW, every look a `SeqCst` load: this word is one half of the
//!   wake-up protocol, the run queues are the other (README.md);
//! - `spinning` is the number of [`Spinning`] tokens in existence, those turned into flags
//!   included;
//! - a token is made before the search begins and given back after it, found or not (S30).

use crate::sync::{AtomicU64, Ordering, Padded, const_fn, dekker_fence};
use gosched_rules::wake;

/// A consistent look at an [`IdleWord`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// Ps that are idle.
    pub idle_ps: u32,
    /// Ms that search for work, or are being woken to do so.
    pub spinning: u32,
}

impl Idle {
    const ONE_SPINNING: u64 = 1;
    const ONE_IDLE_P: u64 = 1 << 32;

    const fn unpack(word: u64) -> Idle {
        Idle { idle_ps: (word >> 32) as u32, spinning: word as u32 }
    }

    const fn pack(self) -> u64 {
        self.idle_ps as u64 * Idle::ONE_IDLE_P + self.spinning as u64 * Idle::ONE_SPINNING
    }
}

/// Evidence that one spinning M is counted: the M that holds this, or the one that it is handed to.
///
/// Give it back with [`IdleWord::stop_spinning`]. A token that is dropped would keep everybody from
/// ever waking an M again; that panics in debug builds.
#[must_use = "the spinner is counted until the token is given to `stop_spinning`"]
#[derive(Debug)]
pub struct Spinning(());

impl Spinning {
    /// Turns the token into a flag that is kept elsewhere (`m.spinning = true`);
    /// [`assume`](Spinning::assume) is the way back.
    pub fn into_flag(self) {
        std::mem::forget(self);
    }

    /// Turns a flag back into the token.
    ///
    /// # Safety
    ///
    /// Called once for each [`into_flag`](Spinning::into_flag), by whoever the flag belongs to now.
    pub const unsafe fn assume() -> Spinning {
        Spinning(())
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        debug_assert!(std::thread::panicking(), "a spinning token was dropped instead of given back");
    }
}

/// What [`IdleWord::stop_spinning`] found.
#[must_use = "the last spinner that found work wakes the next one; one that found none looks everywhere once more"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastSpinner {
    /// Nobody spins any more.
    Yes,
    /// Others still do.
    No,
}

/// The number of idle Ps and of spinning Ms.
///
/// ```
/// use gosched_primitives::{Idle, IdleWord, LastSpinner};
///
/// let word = IdleWord::new(1);
/// let spinning = word.try_claim_spinner().expect("one P is idle, nobody spins");
/// assert!(word.try_claim_spinner().is_none(), "at most one M is woken");
/// word.p_busy();
/// assert_eq!(word.snapshot(), Idle { idle_ps: 0, spinning: 1 });
/// assert_eq!(word.stop_spinning(spinning), LastSpinner::Yes);
/// ```
#[doc(alias("npidle", "nmspinning"))]
pub struct IdleWord(Padded<AtomicU64>);

impl IdleWord {
    const_fn! {
        /// A word with `idle_ps` idle Ps and no spinner.
        pub const fn new(idle_ps: u32) -> IdleWord {
            IdleWord(Padded(AtomicU64::new(Idle { idle_ps, spinning: 0 }.pack())))
        }
    }

    /// Both numbers at one moment.
    #[inline]
    pub fn snapshot(&self) -> Idle {
        // ORDERING: the publisher's load of the wake-up protocol, after its `NextSlot::replace` or
        // `publish_fence`. Partner is the RMW of an M that goes idle or of a spinner that gives up.
        Idle::unpack(self.0.load(Ordering::SeqCst))
    }

    /// One more P is idle. Returns the numbers after that.
    #[doc(alias = "pidleput")]
    pub fn p_idle(&self) -> Idle {
        // ORDERING: as `stop_spinning`: the caller looks at the queues after this.
        let before = self.0.fetch_add(Idle::ONE_IDLE_P, Ordering::SeqCst);
        dekker_fence();
        Idle::unpack(before + Idle::ONE_IDLE_P)
    }

    /// One P less is idle. Returns the numbers after that.
    ///
    /// # Panics
    ///
    /// If none was.
    #[doc(alias = "pidleget")]
    pub fn p_busy(&self) -> Idle {
        // ORDERING: a `SeqCst` RMW as every change of the word, so that `snapshot` always reads
        // from one.
        let before = self.0.fetch_sub(Idle::ONE_IDLE_P, Ordering::SeqCst);
        dekker_fence();
        assert!(Idle::unpack(before).idle_ps > 0, "p_busy: no P was idle");
        Idle::unpack(before - Idle::ONE_IDLE_P)
    }

    /// Claims the place of the one spinner, to wake an M for new work (S31): only if a P is idle
    /// and nobody spins. If there is no idle P after all, give the token back.
    #[inline]
    #[doc(alias = "wakep")]
    #[must_use = "None: nobody need be woken"]
    pub fn try_claim_spinner(&self) -> Option<Spinning> {
        self.try_spin(|idle| wake::should_wake(idle.idle_ps, idle.spinning))
    }

    /// Starts to spin, if fewer than half of the busy Ps do already (S30):
    /// `2 * spinning < procs - idle_ps`.
    #[must_use = "None: who may not spin does not steal"]
    pub fn try_start_spinning(&self, procs: u32) -> Option<Spinning> {
        self.try_spin(|idle| wake::may_spin(idle.idle_ps, idle.spinning, procs))
    }

    /// Claims the place of the one spinner for a P that has lost its M (S38): only if no P is idle
    /// and nobody spins, for then nobody else will look for work that appears.
    #[must_use = "None: somebody else looks, or could be woken"]
    pub fn try_claim_last_busy(&self) -> Option<Spinning> {
        self.try_spin(|idle| wake::nobody_would_look(idle.idle_ps, idle.spinning))
    }

    /// Starts to spin whatever the others do: for an M whose second look has found work.
    #[doc(alias = "becomeSpinning")]
    pub fn start_spinning(&self) -> Spinning {
        // ORDERING: as in `try_spin`.
        self.0.fetch_add(Idle::ONE_SPINNING, Ordering::SeqCst);
        dekker_fence();
        Spinning(())
    }

    #[inline]
    fn try_spin(&self, allowed: impl Fn(Idle) -> bool) -> Option<Spinning> {
        // ORDERING: as `snapshot`.
        let mut word = self.0.load(Ordering::SeqCst);
        while allowed(Idle::unpack(word)) {
            let spinning = word + Idle::ONE_SPINNING;
            // ORDERING: one of the word's `SeqCst` RMWs; a publisher that reads it leaves its work
            // to this spinner. The failure value takes the place of the load above.
            match self.0.compare_exchange_weak(word, spinning, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => {
                    dekker_fence();
                    return Some(Spinning(()));
                }
                Err(now) => word = now,
            }
        }
        None
    }

    /// Gives a spinner's place back. Whoever found no work looks at all queues once more *after*
    /// this.
    pub fn stop_spinning(&self, spinning: Spinning) -> LastSpinner {
        std::mem::forget(spinning);
        // ORDERING: the spinner's half of the wake-up protocol, before its second look at the
        // queues. Partners are `NextSlot::replace` and `publish_fence` before a publisher's
        // `snapshot`.
        let before = self.0.fetch_sub(Idle::ONE_SPINNING, Ordering::SeqCst);
        dekker_fence();
        match Idle::unpack(before).spinning {
            0 => panic!("stop_spinning: nobody was spinning"),
            before if wake::is_last_spinner(before) => LastSpinner::Yes,
            _ => LastSpinner::No,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// S30: one more spins only while fewer than half of the busy Ps do.
    #[test]
    fn spins_only_below_half_of_the_busy_ps() {
        let word = IdleWord::new(3);
        let first = word.try_start_spinning(8).unwrap();
        let second = word.try_start_spinning(8).unwrap();
        let third = word.try_start_spinning(8).unwrap();
        assert!(word.try_start_spinning(8).is_none(), "2 * 3 < 5 is false");
        assert_eq!(word.stop_spinning(first), LastSpinner::No);
        assert_eq!(word.stop_spinning(second), LastSpinner::No);
        assert_eq!(word.stop_spinning(third), LastSpinner::Yes);
        assert!(word.try_start_spinning(3).is_none(), "no P is busy");
        assert!(word.try_start_spinning(2).is_none(), "fewer Ps than idle ones, as while they shrink");
    }

    /// S31: one spinner, and only if a P is idle.
    #[test]
    fn claims_one_spinner_only_with_an_idle_p() {
        let word = IdleWord::new(0);
        assert!(word.try_claim_spinner().is_none());
        assert_eq!(word.p_idle(), Idle { idle_ps: 1, spinning: 0 });
        let token = word.try_claim_spinner().unwrap();
        assert!(word.try_claim_spinner().is_none());
        token.into_flag();
        assert_eq!(word.snapshot(), Idle { idle_ps: 1, spinning: 1 });
        // SAFETY: the flag made above.
        let token = unsafe { Spinning::assume() };
        assert_eq!(word.stop_spinning(token), LastSpinner::Yes);
    }

    /// S38: a P without an M gets a spinner only if nobody else would find new work.
    #[test]
    fn claims_for_the_last_busy_p() {
        let word = IdleWord::new(1);
        assert!(word.try_claim_last_busy().is_none(), "an idle P can be woken");
        let _ = word.p_busy();
        let token = word.try_claim_last_busy().unwrap();
        assert!(word.try_claim_last_busy().is_none(), "somebody spins");
        let second = word.start_spinning();
        assert_eq!(word.stop_spinning(token), LastSpinner::No);
        assert_eq!(word.stop_spinning(second), LastSpinner::Yes);
    }

    /// S38: the last busy P gets a spinner exactly when nobody else will look.
    #[test]
    fn claims_for_the_last_busy_p_only_if_nobody_else_looks() {
        let word = IdleWord::new(1);
        assert!(word.try_claim_last_busy().is_none(), "a P is idle: it can be woken");
        word.p_busy();
        let only = word.try_claim_last_busy().unwrap();
        assert!(word.try_claim_last_busy().is_none());
        let second = word.start_spinning();
        assert_eq!(word.stop_spinning(only), LastSpinner::No);
        assert_eq!(word.stop_spinning(second), LastSpinner::Yes);
    }

    #[test]
    #[should_panic = "no P was idle"]
    fn p_busy_without_an_idle_p_is_noticed() {
        IdleWord::new(0).p_busy();
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic = "dropped instead of given back"]
    fn a_dropped_token_is_noticed() {
        let _ = IdleWord::new(1).try_claim_spinner();
    }
}
