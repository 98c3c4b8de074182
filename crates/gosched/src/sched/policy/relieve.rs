//! Relieving: an M that would look at the network first steals half of the ring of a P that stands
//! still.
//!
//! **Problem.** A busy server's network always has something, so no M gets as far as stealing. What
//! waits in the ring of a P whose goroutine computes, or whose M the kernel does not run, stays
//! there.
//!
//! **Hook**: `before_poll`. A P stands still if something is queued in its ring and it has begun no
//! time slice since an M last looked at it here.
//!
//! **Without it** such a ring waits until the network has nothing for a moment, or the monitor
//! takes the P.

use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use crate::debug::Policy;
use crate::g::G;
use crate::m::OwnM;
use crate::p::{OwnedP, P};
use crate::sched::{Sched, policy, steal};

/// An M with a P is about to look at the network: steals half of the ring of a P that stands still.
/// Returns what is to be run instead, if anything.
pub(in crate::sched) fn before_poll(sched: &Sched, m: &mut OwnM, p: &mut OwnedP) -> Option<NonNull<G>> {
    if !Policy::Relieve.is_on() {
        return None;
    }
    // `last`, so that each P is looked at, and what was seen of it noted.
    let still = sched.all_p().filter(|victim| stands_still(victim)).last()?;
    policy::nothing_in_hand(sched, m, p);
    sched.start_to_steal(m)?;
    steal::steal_half(p, still)
}

/// Whether something is queued in the ring and no time slice has begun since the last look: its M
/// computes, or the kernel does not run it. Notes this look.
fn stands_still(p: &P) -> bool {
    if p.ring.is_empty() {
        return false;
    }
    let tick = p.sched_tick();
    // ORDERING: Relaxed: a hint; of two Ms that look at once, the second may take the first one's
    // look for its own, and steal a little early.
    let still = p.looked_at.load(Ordering::Relaxed) == tick;
    if !still {
        p.looked_at.store(tick, Ordering::Relaxed);
    }
    still
}
