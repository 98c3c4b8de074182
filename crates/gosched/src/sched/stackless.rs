//! Goroutines that have not run yet and found no stack (D4): they wait here until one is freed.
//!
//! Invariant: `len` is written under the lock. A goroutine here does not count as work: no M is
//! woken for it.
//!
//! Who queues them again. An M that frees a stack while a goroutine waits gives it, and all that
//! its P has cached, to the pool, and queues one goroutine, which probably finds it there. But a
//! stack may be freed just before the first goroutine begins to wait: it then lies in the cache of
//! a P, where only that P finds it. And memory may become free for other reasons. So the monitor
//! looks from time to time ([`Sched::retry_stackless`]): it gives what idle Ps have cached to the
//! pool, and queues as many goroutines as there are stacks, but at least one. One that tries in
//! vain comes back here. A P that has a stack in its cache, but is busy, is asked to yield, as for
//! any queued goroutine.
//!
//! If nobody can free a stack any more, the process ends. That is decided as a deadlock is
//! (`dead.rs`): no goroutine can run but those here, none waits for time or I/O, and there is no
//! thread that could wake any.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;

use gosched_primitives::{List, Lock};

use super::{QueueClass, Sched};
use crate::dump;
use crate::fatal::fatal;
use crate::g::G;

/// How long the monitor waits before it lets goroutines try again.
pub(crate) const RETRY: Duration = Duration::from_millis(100);

pub(super) struct Stackless {
    /// Linked through the headers: there may be no memory for anything else.
    list: Lock<List<G>>,
    len: AtomicUsize,
}

impl Stackless {
    pub(super) const fn new() -> Stackless {
        Stackless { list: Lock::new(List::new()), len: AtomicUsize::new(0) }
    }
}

impl Sched {
    /// Sets a goroutine aside that found no stack.
    pub(super) fn await_stack(&self, g: NonNull<G>) {
        let mut list = self.stackless.list.lock();
        // SAFETY: the caller took it from a queue; headers are never unmapped.
        unsafe { list.push_back(g) };
        // ORDERING: Relaxed: an M that frees a stack without seeing this leaves it to the monitor's
        // look.
        self.stackless.len.store(list.len(), Ordering::Relaxed);
    }

    /// How many wait for a stack.
    #[inline]
    pub(crate) fn stackless(&self) -> usize {
        self.stackless.len.load(Ordering::Relaxed)
    }

    /// Lets up to `n` of those who wait try again.
    pub(super) fn let_stackless_try(&self, n: usize) {
        for _ in 0..n {
            let g = {
                let mut list = self.stackless.list.lock();
                let g = list.pop_front();
                self.stackless.len.store(list.len(), Ordering::Relaxed);
                g
            };
            let Some(g) = g else { return };
            self.put_global_one(None, g, QueueClass::Woken);
            self.wake_p();
        }
    }

    /// The monitor's look: as many as there are stacks in the pool, but at least one, try again.
    pub(crate) fn retry_stackless(&self) {
        if self.stackless() == 0 {
            return;
        }
        self.gather_stacks();
        self.let_stackless_try(self.stacks.stats().free.max(1));
    }

    /// No goroutine that has a stack can ever run again, and others wait for one: ends the process,
    /// unless a stack can be had after all. Called by the monitor.
    pub(crate) fn end_out_of_stacks(&self) {
        self.gather_stacks();
        let class = {
            let mut list = self.stackless.list.lock();
            let Some(g) = list.pop_front() else { return };
            // SAFETY: just taken out, so this header is ours; headers are never unmapped.
            unsafe {
                list.push_front(g);
                g.as_ref().class()
            }
        };
        match self.stacks.alloc(class) {
            Ok(stack) => {
                self.stacks.free(stack);
                self.retry_stackless();
            }
            Err(error) => fatal!(
                "out of goroutine stacks: {} goroutines wait for one, and nobody can free one; {error}",
                self.stackless()
            ),
        }
    }

    /// Warns that goroutines wait for stacks. Called by the monitor, once.
    pub(crate) fn say_out_of_stacks(&self) {
        dump::warn(format_args!(
            "gosched: {} goroutines wait for a stack, which can't be had; they run when others have ended. Raise the limit on \
             memory or mappings, use smaller stacks, or bound the goroutines.\n",
            self.stackless()
        ));
    }
}
