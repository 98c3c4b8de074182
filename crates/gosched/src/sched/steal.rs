//! Stealing: what a P with empty queues takes from the others (S26). What is looked at before, and
//! who looks, is in `schedule.rs`.

use core::ptr::NonNull;

use gosched_rules::steal::{STEAL_ROUNDS, StealOrder, takes_runnext};

use super::{Sched, policy};
use crate::g::G;
use crate::m::{M, OwnM};
use crate::p::{OwnedP, P, PStatus, Slice};

/// How long a thief waits before it takes `runnext` from a P that runs, in pauses: a few µs.
const RUNNEXT_PAUSES: u32 = 80;

impl Sched {
    /// Steals half of another P's ring (S26); in the last round also runs its timers, or takes its
    /// `runnext`. Only as a spinner, and not all may spin (S30).
    #[doc(alias = "stealWork")]
    pub(super) fn steal_work(&self, m: &mut OwnM, p: &mut OwnedP) -> Option<NonNull<G>> {
        let order = self.start_to_steal(m)?;
        for round in 0..STEAL_ROUNDS {
            for victim in self.victims(m.random(), p.id, order) {
                if let Some(g) = steal_half(p, victim) {
                    return Some(g);
                }
                if !takes_runnext(round) {
                    continue;
                }
                self.run_timers(m, p, victim);
                if let Some((g, _)) = p.get().or_else(|| Some((steal_runnext(victim)?, Slice::New))) {
                    return Some(g);
                }
            }
        }
        None
    }

    /// Makes the M a spinner, if there may be one more; returns the orders in which it may visit
    /// the others' rings.
    pub(super) fn start_to_steal(&self, m: &M) -> Option<&StealOrder> {
        if !m.is_spinning() {
            m.set_spinning(self.idle.try_start_spinning(self.procs())?);
        }
        self.steal_order()
    }

    /// All Ps but number `own`, in another order each time.
    fn victims<'s>(
        &'s self,
        random: u32,
        own: u32,
        order: &StealOrder,
    ) -> impl Iterator<Item = &'static P> + use<'s> {
        order.iter(random).filter_map(move |id| self.p(id).filter(|victim| victim.id != own))
    }
}

/// Moves the older half of a ring into that of `p`, except one G, which it returns.
pub(super) fn steal_half(p: &mut OwnedP, victim: &P) -> Option<NonNull<G>> {
    p.ring_owner().steal_from(&victim.ring)
}

/// Takes a P's `runnext`; if the P is running, only after a pause in which it has probably run that
/// G itself.
fn steal_runnext(victim: &P) -> Option<NonNull<G>> {
    if !waits_in_runnext(victim) {
        return None;
    }
    let g = victim.next.take()?;
    policy::runnext_waits(victim);
    Some(g)
}

/// Whether a G is in `runnext`; if the P is running, whether it is still there after a pause.
pub(super) fn waits_in_runnext(p: &P) -> bool {
    let Some(seen) = p.next.peek() else { return false };
    if p.status() == PStatus::Running {
        for _ in 0..RUNNEXT_PAUSES {
            core::hint::spin_loop();
        }
        return p.next.peek() == Some(seen);
    }
    true
}
