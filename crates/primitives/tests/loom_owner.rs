//! Models of the ownership protocol (D1): an M in the runtime and a taker that took its P never use
//! it at once. loom checks the fence mode of the barrier; the membarrier mode is stressed natively
//! (`stress_owner.rs`).
//!
//! Each P is an `UnsafeCell`: loom reports any two uses that are not ordered.
//!
//! Seen to fail (2026-11-15):
//! - no fence in `barrier::light`, or none in `barrier::heavy`: every test but
//!   `a_request_does_not_hit_…` (two users);
//! - `exit` `Relaxed`, or `finish_retake`'s load of `in_rt` `Relaxed`: the same tests;
//! - `finish_retake` takes the P though `in_rt` is 1: `a_request_does_not_hit_the_next_goroutine`;
//! - `settle` leaves RETAKING as it is, or goes to NONE by a store instead of a CAS: all tests;
//! - `clear_preempt` takes off PREEMPT but not RETAKING:
//!   `a_request_does_not_hit_the_next_goroutine`;
//! - takers CAS BLOCKING: `an_announced_call_is_not_retaken`;
//! - the taker reads `m.p` before `begin_retake`, or after it has won:
//!   `the_taker_gets_the_p_that_the_m_holds` and `a_regained_p_is_protected_too`;
//! - `found` `Relaxed`: `who_finds_its_p_gone_sees_what_the_taker_did` (2026-11-18).
//!
//! Not seen here: `regain` without its release, since the fence in `enter` has the same effect. See
//! `Owner::leave`.

#![cfg(loom)]

mod support;

use gosched_primitives::{Entered, Intr, Owner, Settled, TakerToken, barrier};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use support::check;

struct P(UnsafeCell<u32>);

// SAFETY: the ownership word keeps the threads apart, which is what is checked.
unsafe impl Sync for P {}
// SAFETY: as above.
unsafe impl Send for P {}

impl P {
    fn new() -> P {
        P(UnsafeCell::new(0))
    }

    fn use_it(&self) {
        // SAFETY: loom checks that this is exclusive.
        self.0.with_mut(|uses| unsafe { *uses += 1 });
    }
}

/// An M, in user code, that holds `ps[p]`.
struct M {
    owner: Owner,
    p: AtomicUsize,
    ps: [P; 2],
}

const NO_P: usize = usize::MAX;

impl M {
    fn in_user_code() -> (Arc<M>, TakerToken) {
        let m = M { owner: Owner::new(), p: AtomicUsize::new(0), ps: [P::new(), P::new()] };
        m.owner.exit();
        // SAFETY: one token for this one M.
        (Arc::new(m), unsafe { TakerToken::new() })
    }

    /// One call into the runtime: uses the P if there still is one.
    fn call(&self) -> Settled {
        let settled = match self.owner.enter() {
            Entered::Fast => Settled::Kept,
            Entered::Slow => self.owner.settle(),
            Entered::Nested => panic!("nested"),
        };
        match settled {
            Settled::Kept | Settled::Preempted => self.ps[self.p.load(Ordering::Relaxed)].use_it(),
            Settled::Lost | Settled::Blocking => {}
        }
        settled
    }

    /// A whole attempt of a taker, which uses the P it got and says which.
    fn retake(&self, taker: &mut TakerToken) -> Option<usize> {
        let begun = self.owner.begin_retake(taker)?;
        barrier::heavy().unwrap();
        let p = self.owner.finish_retake(taker, begun, || self.p.load(Ordering::Relaxed))?;
        self.ps[p].use_it();
        Some(p)
    }
}

#[test]
fn the_m_and_a_taker_never_use_the_p_at_once() {
    check(8, || {
        let (m, mut taker) = M::in_user_code();
        let thread = m.clone();
        let thread = thread::spawn(move || {
            for _ in 0..2 {
                let lost = thread.call() == Settled::Lost;
                thread.owner.exit();
                if lost {
                    return true;
                }
            }
            false
        });
        let taken = m.retake(&mut taker).is_some();
        let found_out = thread.join().unwrap();
        assert!(taken || !found_out, "lost, but not to the taker");
    });
}

/// The M notices that its P is gone and gets another one, which is protected, too.
#[test]
fn a_regained_p_is_protected_too() {
    check(6, || {
        let (m, mut taker) = M::in_user_code();
        let thread = m.clone();
        let thread = thread::spawn(move || {
            if thread.call() == Settled::Lost {
                thread.p.store(1, Ordering::Relaxed);
                thread.owner.regain();
                thread.ps[1].use_it();
            }
            thread.owner.exit();
            let _ = thread.call();
            thread.owner.exit();
        });
        let first = m.retake(&mut taker);
        let second = m.retake(&mut taker);
        assert!(first.is_none() || second != Some(0), "the same P taken twice");
        thread.join().unwrap();
    });
}

/// The M changes its P inside the runtime: the taker gets the one that the M holds then, not the
/// one from before.
#[test]
fn the_taker_gets_the_p_that_the_m_holds() {
    check(6, || {
        let (m, mut taker) = M::in_user_code();
        let thread = m.clone();
        let thread = thread::spawn(move || {
            if thread.call() == Settled::Lost {
                thread.p.store(NO_P, Ordering::Relaxed);
                return Some(0);
            }
            thread.p.store(1, Ordering::Relaxed);
            thread.ps[1].use_it();
            thread.owner.exit();
            None
        });
        let taken = m.retake(&mut taker);
        match thread.join().unwrap() {
            Some(lost) => assert_eq!(taken, Some(lost)),
            None => assert_ne!(taken, Some(0), "taken from an M that no longer held it"),
        }
    });
}

/// A request that was made before `execute` clears it never affects the goroutine that runs next,
/// not even if the taker gives up its attempt (and leaves PREEMPT) after that.
#[test]
fn a_request_does_not_hit_the_next_goroutine() {
    check(8, || {
        let (m, mut taker) = M::in_user_code();
        let begun = Arc::new(AtomicUsize::new(0));
        let _ = m.call();
        let (thread, seen) = (m.clone(), begun.clone());
        let thread = thread::spawn(move || {
            let before = seen.load(Ordering::Acquire) == 1;
            thread.owner.clear_preempt();
            before
        });
        assert!(m.owner.request_preempt(&mut taker));
        let retaking = m.owner.begin_retake(&mut taker);
        begun.store(1, Ordering::Release);
        barrier::heavy().unwrap();
        if let Some(retaking) = retaking {
            let outcome = m.owner.finish_retake(&mut taker, retaking, || ());
            assert_eq!(outcome, None);
        }
        if thread.join().unwrap() {
            assert!(!m.owner.take_preempt(), "the next goroutine was hit");
        }
    });
}

/// An announced blocking call: takers leave the word alone, so the P goes by its status and not
/// twice.
#[test]
fn an_announced_call_is_not_retaken() {
    check(8, || {
        let (m, mut taker) = M::in_user_code();
        let thread = m.clone();
        let thread = thread::spawn(move || {
            if thread.call() == Settled::Lost {
                return;
            }
            thread.owner.set_blocking();
            thread.owner.exit();
            // In the call. The P is the M's to give away by its status: here, to itself.
            thread.ps[0].use_it();
            assert_eq!(thread.call(), Settled::Blocking);
            thread.owner.clear_blocking();
            thread.ps[0].use_it();
            thread.owner.exit();
        });
        let _ = m.retake(&mut taker);
        thread.join().unwrap();
    });
}

/// The taker notes something before it takes, and the M, when it finds its P gone without settling
/// anything, reads and forgets that; the next taker notes anew. (The counts of Ms without a P, and
/// why they are.)
#[test]
fn who_finds_its_p_gone_sees_what_the_taker_did() {
    check(6, || {
        let (m, mut taker) = M::in_user_code();
        let note = Arc::new(P::new());
        let (thread, seen) = (m.clone(), note.clone());
        let thread = thread::spawn(move || {
            let gone = thread.owner.enter() == Entered::Slow && thread.owner.found() == Intr::Taken;
            if gone {
                seen.use_it();
                thread.owner.regain();
            }
            thread.owner.exit();
        });
        let take = |taker: &mut TakerToken| {
            let Some(begun) = m.owner.begin_retake(taker) else { return false };
            barrier::heavy().unwrap();
            // After the barrier, which in loom's eyes orders what comes before it.
            m.owner.finish_retake(taker, begun, || note.use_it()).is_some()
        };
        if take(&mut taker) {
            take(&mut taker);
        }
        thread.join().unwrap();
    });
}
