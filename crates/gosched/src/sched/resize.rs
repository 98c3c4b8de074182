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
use crate::p::{HeldP, P, PStatus};

impl Sched {
    /// The first Ps, all idle. No M exists yet.
    #[doc(alias = "procresize")]
    pub(super) fn make_first_ps(&self, n: u32, stacks: StackClass) {
        self.resize(n, stacks);
        let mut shared = self.lock.lock();
        for p in self.all_p().collect::<Vec<_>>().into_iter().rev() {
            self.put_idle_p(&mut shared, p);
        }
    }

    /// Makes it `n` Ps; those that are new have no owner, as those that were there have none but the caller. What dropped
    /// ones had queued goes to the global queue. Allocates.
    ///
    /// By whoever has stopped the world, or before there is one.
    pub(super) fn resize(&self, n: u32, stacks: StackClass) {
        let before = self.procs();
        self.steal_orders[n as usize].get_or_init(|| StealOrder::new(n));
        for id in before..n {
            match self.p(id) {
                Some(dead) => {
                    dead.timers.open();
                    dead.set_status(PStatus::Stopped);
                }
                None => {
                    let p: &'static P = Box::leak(Box::new(P::new(id, stacks)));
                    // ORDERING: Release pairs with the Acquire in `all_p`: a listed P is whole.
                    self.all_p[id as usize].store(core::ptr::from_ref(p).cast_mut(), Ordering::Release);
                }
            }
        }
        self.runq.gather(n as usize);
        self.procs.store(n, Ordering::Relaxed);
        for id in n..before {
            if let Some(p) = self.p(id) {
                // SAFETY: the world is stopped, so its Ps are the caller's.
                self.empty(unsafe { p.held() });
                p.set_status(PStatus::Dead);
            }
        }
    }

    /// Moves what a P has to those that stay.
    fn empty(&self, p: HeldP<'_>) {
        let mut queued = List::new();
        while let Some((g, _)) = p.get() {
            // SAFETY: just taken from a queue, so it is in no list; headers are never unmapped.
            unsafe { queued.push_back(g) };
        }
        self.put_global(0, queued);
        p.own(|own| {
            self.free_many(core::mem::take(&mut own.free));
            own.stacks.drain(&self.stacks);
        });
        if let Some(first) = self.p(0) {
            p.timers.close_into(&first.timers);
        }
    }
}
