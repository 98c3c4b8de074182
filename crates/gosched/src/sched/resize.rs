//! The number of Ps (S6, S43): made at first use, changed while the world is stopped.
//!
//! Invariant: Ps are numbered from 0 without a gap, and never freed: one that falls away is *dead*, owned by nobody, with
//! empty queues and caches, and its timer heap closed; the next time that many are wanted it is used again. Its counters
//! stay in the sums.

use core::sync::atomic::Ordering;

use gosched_primitives::List;
use gosched_rules::steal::StealOrder;
use gosched_switch::StackClass;

use super::Sched;
use crate::p::{OwnedP, P, Resting};

impl Sched {
    /// The first Ps, all idle. No M exists yet.
    #[doc(alias = "procresize")]
    pub(super) fn make_first_ps(&self, n: u32, stacks: StackClass) {
        self.resize(n, stacks);
        let mut shared = self.lock.lock();
        for id in (0..n).rev() {
            if let Some(p) = self.p(id).and_then(|p| p.win(Resting::Stopped)) {
                self.put_idle_p(&mut shared, p);
            }
        }
    }

    /// Makes it `n` Ps, all *stopped*. What dropped ones had queued goes to the global queue. Allocates.
    ///
    /// By whoever has stopped the world, or before there is one.
    pub(super) fn resize(&self, n: u32, stacks: StackClass) {
        let before = self.procs();
        self.steal_orders[n as usize].get_or_init(|| StealOrder::new(n));
        for id in before..n {
            let p = self.p(id).unwrap_or_else(|| self.add_p(id, stacks));
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

    /// One more P, dead.
    fn add_p(&self, id: u32, stacks: StackClass) -> &'static P {
        let p: &'static P = Box::leak(Box::new(P::new(id, stacks)));
        // ORDERING: Release pairs with the Acquire in `all_p`: a listed P is whole.
        self.all_p[id as usize].store(core::ptr::from_ref(p).cast_mut(), Ordering::Release);
        p
    }

    /// Moves what a P has to those that stay.
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
