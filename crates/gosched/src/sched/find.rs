//! Where the next goroutine comes from (S25, S26).
//!
//! The argument why no work is missed. Whoever queues work then looks at `idle`; if a P is idle and
//! nobody spins, it wakes an M. An M that gives up first puts its P on the idle list and takes back
//! its spinning, then looks at every queue once more. Both write before they read, in one total
//! order (SeqCst): so either the publisher sees an idle P and no spinner, or the M sees the work.
//! An M that did not spin looks again too: the spinner because of which it did not search may have
//! been only a waker's claim, which is given back (`idle.rs`). One kind of work is queued without
//! that look: a lone G in a trusted `runnext` (`policy/trust.rs`), at which the monitor looks.

use core::ptr::NonNull;

use gosched_rules::pick::{SEARCH_ORDER, Search};
use gosched_rules::steal::{STEAL_ROUNDS, StealOrder, takes_runnext};

use super::{Sched, policy};
use crate::g::G;
use crate::m::{G0, M, OwnM, Worker};
use crate::p::{OwnedP, P, PStatus, Slice};

/// The result of a second look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    /// There is work, and the M has a P again.
    Work,
    /// There is no work, or no idle P to run it with.
    Nothing,
}

/// How long a thief waits before it takes `runnext` from a P that runs, in pauses: a few µs.
const RUNNEXT_PAUSES: u32 = 80;

impl Sched {
    /// Finds a runnable G; sleeps while there is none. The M has a P before and after, not always the same one.
    #[doc(alias = "findrunnable")]
    pub(super) fn find_runnable(&self, g0: &mut G0) -> (NonNull<G>, Slice) {
        loop {
            self.stop_here_if_asked(g0);
            let (m, p) = g0.both();
            if let Some(found) = self.pick_local(m, p) {
                return found;
            }
            if let Some(g) = self.search(m, p) {
                match policy::before_run(self, m, p, g) {
                    Some(g) => return (g, Slice::New),
                    None => continue,
                }
            }
            self.give_up_p(g0);
            if let Some(token) = g0.m().take_spinning() {
                let _ = self.idle.stop_spinning(token);
            }
            if self.look_again(g0) == Second::Nothing && !(self.keep_watch() && self.spin_again(g0)) {
                self.stop_m(g0);
            }
        }
    }

    /// What a P with empty queues looks at: the global queue, the network, then the others' rings.
    pub(super) fn search(&self, m: &mut OwnM, p: &mut OwnedP) -> Option<NonNull<G>> {
        for source in SEARCH_ORDER {
            let found = match source {
                Search::GlobalQueue => self.grab_global(p, None),
                Search::Network => self.poll_network(m, p),
                Search::Steal => self.steal_work(m, p),
            };
            if found.is_some() {
                return found;
            }
        }
        policy::after_search(self, m, p)
    }

    /// Puts the P on the idle list.
    fn give_up_p(&self, worker: &mut Worker) {
        if let Some(p) = worker.release_p() {
            self.put_idle_p(&mut self.lock.lock(), p);
        }
    }

    /// The second look of an M that has just given up its P: if there is work anywhere, and an idle
    /// P, it takes that P and searches again.
    fn look_again(&self, worker: &mut Worker) -> Second {
        if self.is_work_queued() && self.spin_again(worker) {
            return Second::Work;
        }
        Second::Nothing
    }

    /// Whether a goroutine is queued anywhere.
    pub(super) fn is_work_queued(&self) -> bool {
        self.runq_len() > 0 || self.all_p().any(P::has_work)
    }

    /// Takes an idle P, as a spinner, to search once more. `false` if no P is idle: then those that
    /// are busy look at the queues before they become idle.
    fn spin_again(&self, worker: &mut Worker) -> bool {
        let Some(p) = self.take_idle_p() else { return false };
        worker.acquire_p(p);
        worker.m().set_spinning(self.idle.start_spinning());
        true
    }

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
