//! Where the next goroutine comes from (S25, S26).
//!
//! The argument why no work is missed. Whoever queues work then looks at `idle`; if a P is idle and nobody spins, it
//! wakes an M. An M that gives up first puts its P on the idle list and takes back its spinning, then looks at every queue
//! once more. Both write before they read, in one total order (SeqCst): so either the publisher sees an idle P and
//! no spinner, or the M sees the work. An M that did not spin looks again too: the "spinner" because of which it did
//! not search may have been no more than a waker's claim that is given back (`idle.rs`). One kind of work is queued without that
//! look: a lone G in a trusted `runnext` (`p/lone.rs`), which the monitor looks after.

use core::ptr::NonNull;

use gosched_rules::steal::StealOrder;

use super::{Sched, schedule};
use crate::g::G;
use crate::m::M;
use crate::netpoll;
use crate::p::{HeldP, P, PStatus, Slice};

/// What a second look came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    /// There is work, and the M has a P again.
    Work,
    /// There is none, or no P to do it with.
    Nothing,
}

/// Rounds over all Ps; only the last one runs timers and takes `runnext`.
const STEAL_ROUNDS: u32 = 4;
/// How long a thief waits before it takes `runnext` from a P that runs: about 3 µs of pauses.
const RUNNEXT_PAUSES: u32 = 80;
/// How long a spinner waits for somebody else's look at the network: about 40 µs of pauses.
const LOOK_PAUSES: u32 = 1_000;

impl Sched {
    /// Finds a runnable G; sleeps while there is none. The M has a P before and after, not always the same one.
    #[doc(alias = "findrunnable")]
    pub(super) fn find_runnable(&self, m: &'static M) -> (NonNull<G>, Slice) {
        loop {
            self.stop_here_if_asked(m);
            let p = schedule::held_p(m);
            if let Some(found) = schedule::pick_local(m, p) {
                return found;
            }
            if let Some(g) = self.search(m, p) {
                match self.end_search(m, p, g) {
                    Some(g) => return (g, Slice::New),
                    None => continue,
                }
            }
            self.give_up_p(m);
            if let Some(token) = m.take_spinning() {
                let _ = self.idle.stop_spinning(token);
            }
            if self.look_again(m) == Second::Nothing && !(self.keep_watch() && self.spin_again(m)) {
                self.stop_m(m);
            }
        }
    }

    /// What a P with empty queues looks at: the global queue, the network, then the others' rings.
    pub(super) fn search(&self, m: &M, p: HeldP<'_>) -> Option<NonNull<G>> {
        self.grab_global(p, None)
            .or_else(|| self.poll_network(m, p))
            .or_else(|| self.steal_work(m, p))
            .or_else(|| self.steal_from_looker(m, p))
    }

    /// What a search has found, to be run now; `None` if it was stolen meanwhile.
    ///
    /// If the M has spun, it sees to it that there is a next spinner (S31), and the kernel may run that one in its place for a
    /// while. So until then `g` is where it can be stolen.
    pub(super) fn end_search(&self, m: &M, p: HeldP<'_>, g: NonNull<G>) -> Option<NonNull<G>> {
        if !m.is_spinning() || p.next.peek().is_some() {
            return Some(g);
        }
        // Only the owner fills it, so nobody is kicked out.
        let _ = p.next.replace(g);
        self.stop_spinning(m);
        p.next.take()
    }

    /// Puts the P on the idle list.
    fn give_up_p(&self, m: &'static M) {
        if let Some(p) = m.release_p() {
            self.put_idle_p(&mut self.lock.lock(), p);
        }
    }

    /// The second look of an M that has just given up its P: with work anywhere and a P to be had, it searches again.
    fn look_again(&self, m: &'static M) -> Second {
        if self.is_work_queued() && self.spin_again(m) {
            return Second::Work;
        }
        Second::Nothing
    }

    /// Whether a goroutine is queued anywhere.
    pub(super) fn is_work_queued(&self) -> bool {
        self.runq_len() > 0 || self.all_p().any(P::has_work)
    }

    /// For the monitor, while a P is idle: a G that waits in another's `runnext` after all gets an M (D9).
    pub(crate) fn end_trust(&self) {
        let idle = self.idle.snapshot();
        if idle.idle_ps == 0 || idle.spinning > 0 {
            return;
        }
        for p in self.all_p().filter(|p| p.trust.is_given() && waits_in_runnext(p)) {
            p.trust.lose();
            self.wake_p();
        }
    }

    /// Gets an idle P and searches once more; `false` if no P is idle: then those who have them will see to it.
    fn spin_again(&self, m: &'static M) -> bool {
        let Some(p) = self.take_idle_p() else { return false };
        m.acquire_p(p);
        m.set_spinning(self.idle.start_spinning());
        true
    }

    /// Takes half of somebody's ring (S26). Only as a spinner, and there are few of those (S30).
    #[doc(alias = "stealWork")]
    fn steal_work(&self, m: &M, p: HeldP<'_>) -> Option<NonNull<G>> {
        let order = self.start_to_steal(m)?;
        for round in 0..STEAL_ROUNDS {
            for victim in self.victims(m, p, order) {
                if let Some(g) = steal_half(p, victim) {
                    return Some(g);
                }
                if round < STEAL_ROUNDS - 1 {
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

    /// While somebody else looks at the network and will find much, a spinner waits for it: the other one would wake an M for that
    /// as soon as this one had given up.
    fn steal_from_looker(&self, m: &M, p: HeldP<'_>) -> Option<NonNull<G>> {
        if !m.is_spinning() || !netpoll::is_much_coming() {
            return None;
        }
        for _ in 0..LOOK_PAUSES {
            if !netpoll::is_much_coming() {
                break;
            }
            core::hint::spin_loop();
        }
        self.grab_global(p, None).or_else(|| self.steal_work(m, p))
    }

    /// Takes half of the ring of a P that stands still: for an M that would poll the network.
    pub(super) fn relieve(&self, m: &M, p: HeldP<'_>) -> Option<NonNull<G>> {
        // All of them are looked at each time.
        let still = self.all_p().filter(|victim| victim.stands_still()).last()?;
        self.give_way(m, p);
        self.start_to_steal(m)?;
        steal_half(p, still)
    }

    /// Makes the M a spinner, if there may be one more; the order in which it visits the others' rings.
    fn start_to_steal(&self, m: &M) -> Option<&StealOrder> {
        if !m.is_spinning() {
            m.set_spinning(self.idle.try_start_spinning(self.procs())?);
        }
        self.steal_order()
    }

    /// All Ps but this one, in another order each time.
    fn victims<'s>(
        &'s self,
        m: &M,
        p: HeldP<'_>,
        order: &StealOrder,
    ) -> impl Iterator<Item = &'static P> + use<'s> {
        let own = p.id;
        order.iter(m.random()).filter_map(move |id| self.p(id).filter(|victim| victim.id != own))
    }
}

/// Takes the older half of a ring into that of `p`; returns one of them.
fn steal_half(p: HeldP<'_>, victim: &P) -> Option<NonNull<G>> {
    // SAFETY: `p` proves that we own the ring.
    unsafe { p.ring.owner() }.steal_from(&victim.ring)
}

/// Takes a P's `runnext`, after a moment in which a P that runs has probably run it itself.
fn steal_runnext(victim: &P) -> Option<NonNull<G>> {
    if !waits_in_runnext(victim) {
        return None;
    }
    let g = victim.next.take()?;
    victim.trust.lose();
    Some(g)
}

/// Whether a G is in `runnext`, and of a P that runs not just for a moment.
fn waits_in_runnext(p: &P) -> bool {
    let Some(seen) = p.next.peek() else { return false };
    if p.status() == PStatus::Running {
        for _ in 0..RUNNEXT_PAUSES {
            core::hint::spin_loop();
        }
        return p.next.peek() == Some(seen);
    }
    true
}
