//! Announced blocking calls (S19): the M lets go of its P by a store to the P's status, and gets it
//! back by a CAS there if nobody took it.
//!
//! Order on the way in: the G's status, then the ownership word says BLOCKING (so that takers leave
//! the M alone), then the P's status. From there on the P belongs to whoever wins it by `P::win`:
//! this M, the monitor, a stop of the world, or another M that had it before. On the way out, if
//! the old P is gone: any idle one, else the goroutine queues and the M goes to g0.
//!
//! Inside the call the goroutine has no P. A call into the library that does not move acts as from
//! a foreign thread; one that moves leaves the blocking state first, and `Worker::finish` goes back
//! into it (D1).

use super::{SCHED, policy, schedule};
use crate::g::G;
use crate::m::{Post, Worker};
use crate::sys::errno;

/// "I am in an announced blocking call." Leaves it when dropped, also by a panic.
#[must_use]
pub(crate) struct Blocking {
    g: &'static G,
}

impl Blocking {
    /// Begins one. A moving call. `None` on a thread that is not ours, and for whoever has stopped
    /// the world: there is no P to let go of. Panics if too many are nested.
    #[inline]
    pub(crate) fn enter() -> Option<Blocking> {
        let worker = Worker::enter_moving().ok()??;
        let g = worker.g();
        let Some(depth) = g.blocking_depth().checked_add(1) else {
            worker.finish();
            panic!("runtime::blocking: {} calls, one inside the other, are too many", u16::MAX);
        };
        g.set_blocking_depth(depth);
        reenter(worker);
        Some(Blocking { g })
    }
}

impl Drop for Blocking {
    /// A moving call. `errno` goes with the goroutine.
    #[inline]
    fn drop(&mut self) {
        let errno = errno::get();
        self.g.set_blocking_depth(self.g.blocking_depth() - 1);
        // Leaves the blocking state; goes back into the outer call's, if there is one.
        if let Ok(Some(worker)) = Worker::enter_moving() {
            worker.finish();
        }
        errno::set(errno);
    }
}

/// From the runtime, with a P, into the blocking call.
#[inline]
pub(super) fn reenter(mut worker: Worker) {
    let Some(p) = worker.p() else { return };
    if p.next.peek().is_some() {
        // It won't be run soon, so it may not wait for this P (D9).
        policy::runnext_waits(p);
        SCHED.wake_p();
    }
    worker.g().enter_syscall();
    worker.m().owner.set_blocking();
    worker.lend_p();
}

/// Out of the blocking call, inside the runtime: returns with the old P, with any idle one, or
/// after a wait in the global queue.
#[inline(always)]
pub(super) fn leave(mut worker: Worker, g: &'static G) -> Worker {
    g.exit_syscall();
    worker.m().owner.clear_blocking();
    if worker.reacquire_p() {
        return worker;
    }
    SCHED.count_back_from_call();
    worker.forget_p();
    match SCHED.take_idle_p() {
        Some(p) => {
            worker.acquire_p(p);
            worker
        }
        None => schedule::leave(worker, g, Post::Requeue(g.into())),
    }
}
