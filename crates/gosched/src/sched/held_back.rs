//! Goroutines held back: beyond the soft limit of threads that are blocked in calls nobody
//! announced, those that have not run yet wait (D1).
//!
//! With very many goroutines queueing for one `std::sync::Mutex`, each one that is started blocks
//! another thread, while only the lock's holder can help. So new ones are set aside, and Ps stay
//! free for those that have already run. The monitor queues them again as threads come free, and
//! one from time to time in any case: others may be waiting for exactly that one.
//!
//! Invariant: `len` is written under the lock. A goroutine here does not count as work: no M is
//! woken for it.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use gosched_primitives::Lock;
use gosched_rules::limit;

use super::fifo::Fifo;
use super::{QueueClass, Sched};
use crate::g::G;

pub(crate) use gosched_rules::limit::SOFT_LIMIT;

pub(super) struct HeldBack {
    fifo: Lock<Fifo>,
    len: AtomicUsize,
    /// How many goroutines may start although the limit is reached.
    permits: AtomicU32,
}

impl HeldBack {
    pub(super) const fn new() -> HeldBack {
        HeldBack { fifo: Lock::new(Fifo::new()), len: AtomicUsize::new(0), permits: AtomicU32::new(0) }
    }
}

impl Sched {
    /// Whether a goroutine that has not run yet has to wait. Uses up a permit if it needs one.
    #[inline]
    pub(super) fn must_wait_to_start(&self) -> bool {
        limit::is_reached(self.lost_to_blocking(), SOFT_LIMIT) && !self.take_permit()
    }

    #[cold]
    fn take_permit(&self) -> bool {
        self.held_back
            .permits
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |permits| permits.checked_sub(1))
            .is_ok()
    }

    /// Sets a goroutine aside.
    pub(super) fn hold_back(&self, g: NonNull<G>) {
        let mut fifo = self.held_back.fifo.lock();
        fifo.push(g);
        self.held_back.len.store(fifo.len(), Ordering::Relaxed);
    }

    /// How many are held back.
    pub(crate) fn held_back(&self) -> usize {
        self.held_back.len.load(Ordering::Relaxed)
    }

    /// Queues up to `n` of them again, each with a permit if the limit is still reached. Called by
    /// the monitor.
    pub(crate) fn let_go(&self, n: usize) {
        for _ in 0..n {
            let g = {
                let mut fifo = self.held_back.fifo.lock();
                let g = fifo.pop();
                self.held_back.len.store(fifo.len(), Ordering::Relaxed);
                g
            };
            let Some(g) = g else { return };
            if limit::is_reached(self.lost_to_blocking(), SOFT_LIMIT) {
                self.held_back.permits.fetch_add(1, Ordering::Relaxed);
            }
            self.put_global_one(None, g, QueueClass::Woken);
            self.wake_p();
        }
    }
}
