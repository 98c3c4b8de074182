//! The number of Ps (S6, S43): made at first use, changed while the world is stopped.
//!
//! Ps and steal orders are allocated *before* the world is stopped, by whoever wants them, outside
//! the runtime: [`MadePs`] is the proof.
//!
//! Invariant: Ps are numbered from 0 without a gap, and never freed: one beyond GOMAXPROCS is
//! *dead*, owned by nobody, with empty queues and caches and a closed timer heap; it is used again
//! when that many are wanted. Its counters stay in the sums. One that was made and is not used yet
//! is dead, too.

use core::sync::atomic::Ordering;

use gosched_primitives::List;
use gosched_rules::steal::StealOrder;
use gosched_switch::StackClass;

use super::Sched;
use crate::fatal::fatal;
use crate::p::{OwnedP, P, Resting};

/// "This many Ps, and their steal orders, are made."
#[must_use]
pub(crate) struct MadePs(u32);

impl Sched {
    /// Makes Ps, dead ones, until there are `n`. Allocates, so it is called outside the runtime.
    pub(crate) fn make_ps(&self, n: u32, stacks: StackClass) -> MadePs {
        let order = &self.steal_orders[n as usize];
        if order.get().is_none() {
            // If another thread was faster, its order is the same.
            let _ = order.set(StealOrder::new(n));
        }
        for id in 0..n {
            if self.p(id).is_none() {
                self.add_p(Box::new(P::new(id, stacks)));
            }
        }
        MadePs(n)
    }

    /// Lists a P, unless another thread has listed one of its number. Those with smaller numbers
    /// are listed.
    fn add_p(&self, p: Box<P>) {
        let place = &self.all_p[p.id as usize];
        let p = Box::into_raw(p);
        // ORDERING: Release pairs with the Acquire in `all_p`: a listed P is whole. (What a failure
        // finds is not followed here.)
        let listed =
            place.compare_exchange(core::ptr::null_mut(), p, Ordering::Release, Ordering::Relaxed).is_ok();
        if !listed {
            // SAFETY: made above, and nobody has seen it.
            drop(unsafe { Box::from_raw(p) });
        }
    }

    /// The first Ps, all idle. No M exists yet.
    #[doc(alias = "procresize")]
    pub(super) fn make_first_ps(&self, n: u32, stacks: StackClass) {
        let made = self.make_ps(n, stacks);
        self.resize(&made);
        let mut shared = self.lock.lock();
        for id in (0..n).rev() {
            if let Some(p) = self.p(id).and_then(|p| p.win(Resting::Stopped)) {
                self.put_idle_p(&mut shared, p);
            }
        }
    }

    /// Changes the number of Ps: new ones become *stopped*, as all others are, and those beyond it
    /// *dead*. What these had queued goes to the global queue. Allocates nothing.
    ///
    /// Called by whoever has stopped the world, or before any P is in use.
    pub(super) fn resize(&self, &MadePs(n): &MadePs) {
        let before = self.procs();
        for id in before..n {
            let Some(p) = self.p(id) else { fatal!("p{id} was not made") };
            p.timers.open();
            if let Some(p) = p.win(Resting::Dead) {
                p.rest(Resting::Stopped);
            }
        }
        self.runq.gather(n as usize);
        // ORDERING: Release pairs with the Acquire in `procs`.
        self.procs.store(n, Ordering::Release);
        for id in n..before {
            if let Some(mut p) = self.p(id).and_then(|p| p.win(Resting::Stopped)) {
                self.empty(&mut p);
                p.rest(Resting::Dead);
            }
        }
    }

    /// Moves what a P has to what all share: queued Gs, headers and stacks; its timers to P 0.
    fn empty(&self, p: &mut OwnedP) {
        let mut queued = List::new();
        while let Some((g, _)) = p.get() {
            // SAFETY: just taken from a queue, so it is in no list; headers are never unmapped.
            unsafe { queued.push_back(g) };
        }
        self.put_global(0, queued);
        self.free_many(core::mem::take(&mut p.own().free));
        p.own().stacks.drain(&self.stacks);
        if let Some(first) = self.p(0) {
            p.timers.close_into(&first.timers);
        }
    }
}
