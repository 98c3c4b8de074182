//! Park and ready: everything that waits comes here through a [`Caller`](super::Caller), everything
//! that wakes through `Waiter::wake` or the `wake` of a caller or visitor (S16, S18).
//!
//! The argument why no wake-up is lost. A goroutine becomes *parking* before it makes its waiter
//! known (`publish`, which enqueues it and unlocks, or sets a word). From then on a `ready` may
//! come at any moment: it finds *parking* and leaves its mark, or finds *waiting* and queues the G.
//! The post-switch step, on another stack, turns *parking* into *waiting*, or, finding the mark,
//! queues the G itself. Both are CASes on one word, so exactly one of the two queues it, and never
//! before its registers are saved.
//!
//! A foreign thread sleeps on its own note, which remembers a wake-up that comes first. An async
//! task is not parked at all: its primitive keeps the waker.

use core::ptr::NonNull;

use gosched_primitives::Readied;

use super::{QueueClass, SCHED, Sched, policy, schedule, start, sysmon};
use crate::g::G;
use crate::g::waiter::{BoxedWaiter, ThreadParker, WaitReason, Waiter};
use crate::m::{OwnM, Post, Worker};
use crate::p::{Overflow, OwnedP};

/// What `publish` decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Commit {
    /// The waiter is known; exactly one wake-up will come.
    Wait,
    /// There is nothing to wait for; nobody knows the waiter.
    Refuse,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Waited {
    /// By a wake-up.
    Woken,
    /// `publish` refused.
    Refused,
}

/// Waits for the one wake-up of the waiter that `publish` makes known, on a thread that is not
/// ours.
pub(super) fn block_thread(publish: impl FnOnce(Waiter) -> Commit) -> Waited {
    let parker = ThreadParker::current();
    match publish(Waiter::Thread(parker.clone())) {
        Commit::Refuse => Waited::Refused,
        Commit::Wait => {
            parker.sleep();
            Waited::Woken
        }
    }
}

/// As [`block_thread`], for a goroutine that has entered.
///
/// Always inlined: a public function whose last step is this would jump here, and be missing in a
/// dump.
#[doc(alias = "gopark")]
#[inline(always)]
pub(super) fn park(worker: Worker, reason: WaitReason, publish: impl FnOnce(Waiter) -> Commit) -> Waited {
    let g = worker.g();
    g.set_reason(reason);
    g.park();
    if publish(Waiter::Goroutine(NonNull::from(g))) == Commit::Refuse {
        g.stay();
        worker.finish();
        return Waited::Refused;
    }
    schedule::leave(worker, g, Post::Park(g.into())).finish();
    Waited::Woken
}

/// Makes a waiting goroutine runnable, on any thread (S54): it goes to `runnext` of the caller's P,
/// or to the global queue if the caller has none.
#[doc(alias = "goready")]
pub(super) fn ready_any(g: NonNull<G>) {
    let mut worker = Worker::enter();
    if worker.is_none() {
        start::ensure_started();
    }
    ready(worker.as_mut(), g);
}

/// As [`ready_any`], for a caller inside the runtime, or (without `worker`) on a foreign thread.
pub(crate) fn ready(worker: Option<&mut Worker>, g: NonNull<G>) {
    // SAFETY: headers are never unmapped.
    match unsafe { g.as_ref() }.ready() {
        Readied::Enqueue => enqueue_woken(worker, g),
        Readied::LeftMark => {}
    }
}

/// As [`enqueue`], for a G that was woken: alone in `runnext` of a trusted P, it wakes no other M
/// (D9).
#[inline]
pub(super) fn enqueue_woken(mut worker: Option<&mut Worker>, g: NonNull<G>) {
    if let Some(p) = worker.as_mut().and_then(|worker| worker.p())
        && policy::queue_woken(p, g)
    {
        return;
    }
    enqueue(worker, g);
}

/// Queues a G that the caller has made runnable, and wakes an M for it if need be.
pub(crate) fn enqueue(worker: Option<&mut Worker>, g: NonNull<G>) {
    match worker.and_then(Worker::split) {
        Some((m, p)) => SCHED.put_next(m, p, g),
        None => SCHED.put_global_one(None, g, QueueClass::Woken),
    }
    SCHED.wake_p();
}

impl Waiter {
    /// Ends the wait.
    pub(crate) fn wake(self) {
        match self {
            Waiter::Goroutine(g) => ready_any(g),
            Waiter::Thread(parker) => parker.wake(),
            Waiter::Async(waker) => waker.wake(),
        }
    }
}

impl BoxedWaiter {
    /// Raises the signal, then ends the wait. An async task's waker is user code.
    pub(crate) fn wake(self) {
        if let Some(signal) = self.signal {
            signal.raise();
        }
        if let Some(waiter) = self.waiter {
            waiter.wake();
        }
    }
}

impl ThreadParker {
    /// Sleeps until the one `wake` of this wait.
    pub(crate) fn sleep(&self) {
        if self.count_in() {
            sysmon::wake_up();
        }
        self.sleep_counted();
    }
}

impl Sched {
    /// Puts a runnable G in `runnext`; what overflows goes to the global queue (S21). The caller
    /// wakes an M.
    #[inline]
    pub(super) fn put_next(&self, m: &OwnM, p: &mut OwnedP, g: NonNull<G>) {
        if let Some(Overflow(batch)) = p.put_next(g, || m.random()) {
            self.put_global(p.id, batch);
        }
    }
}
