//! Park and ready: everything that waits comes here through a [`Caller`](super::Caller), everything that wakes through
//! `Waiter::wake` or a caller's `wake` (S16, S18).
//!
//! The argument why no wake-up is lost. A goroutine becomes *parking* before it makes its waiter known (`publish`,
//! which enqueues it and unlocks, or sets a word). From then on a `ready` may come at any moment: it finds *parking*
//! and leaves its mark, or finds *waiting* and queues the G. The post-switch step, on another stack, turns *parking*
//! into *waiting*, or, finding the mark, queues the G itself. Both are CASes on one word, so exactly one of the two
//! queues it, and never before its registers are saved.
//!
//! A foreign thread sleeps on its own note, which remembers a wake-up that comes first. An async task is not
//! parked at all: its primitive keeps the waker.

use core::ptr::NonNull;

use gosched_primitives::{Parked, Readied, Status};

use super::{Class, Rt, SCHED, schedule, start};
use crate::g::G;
use crate::m::Post;
use crate::p::Overflow;
use crate::waiter::{ThreadParker, WaitReason, Waiter};

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

/// Waits for the one wake-up of the waiter that `publish` makes known, on a thread that is not ours.
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
/// Always inlined: a public function whose last step is this would jump here, and be missing in a dump.
#[doc(alias = "gopark")]
#[inline(always)]
pub(super) fn park(rt: Rt, reason: WaitReason, publish: impl FnOnce(Waiter) -> Commit) -> Waited {
    let g = rt.g();
    g.set_reason(reason);
    g.transition(Status::Running, Status::Parking);
    if publish(Waiter::Goroutine(NonNull::from(g))) == Commit::Refuse {
        g.transition(Status::Parking, Status::Running);
        rt.finish();
        return Waited::Refused;
    }
    schedule::leave(rt.into_m(), g, Post::Park(g.into()));
    Rt::resumed().finish();
    Waited::Woken
}

/// Makes a waiting goroutine runnable, from wherever the caller is (S54): the caller's `runnext`, or the global queue
/// when it has no P.
#[doc(alias = "goready")]
pub(crate) fn ready_any(g: NonNull<G>) {
    let rt = Rt::enter();
    if rt.is_none() {
        start::ensure_started();
    }
    ready(rt.as_ref(), g);
}

/// As [`ready_any`], for a caller that is inside the runtime, or (without `rt`) on a foreign thread.
pub(crate) fn ready(rt: Option<&Rt>, g: NonNull<G>) {
    // SAFETY: headers are never unmapped.
    let header = unsafe { g.as_ref() };
    match header.status.ready() {
        Ok(Readied::Enqueue) => enqueue_woken(rt, g),
        Ok(Readied::LeftMark) => {}
        Err(found) => header.bad_status("ready", found),
    }
}

/// As [`enqueue`], for one that ran before: alone in `runnext`, it may wait for this P (D9).
#[inline]
fn enqueue_woken(rt: Option<&Rt>, g: NonNull<G>) {
    if !rt.and_then(Rt::p).is_some_and(|p| p.put_alone(g)) {
        enqueue(rt, g);
    }
}

/// Queues a G that the caller has made runnable, and sees to it that somebody runs it.
pub(crate) fn enqueue(rt: Option<&Rt>, g: NonNull<G>) {
    match rt.and_then(|rt| rt.p().map(|p| (rt.m, p))) {
        Some((m, p)) => {
            if let Some(Overflow(batch)) = p.put_next(g, || m.random()) {
                SCHED.put_global(p.id, batch);
            }
        }
        None => SCHED.put_global_one(None, g, Class::Woken),
    }
    SCHED.wake_p();
}

/// The post-switch step of parking (D3).
pub(super) fn finish_parking(rt: &Rt, g: NonNull<G>) {
    // SAFETY: headers are never unmapped.
    let header = unsafe { g.as_ref() };
    match header.status.finish_parking() {
        Ok(Parked::Waiting) => {}
        Ok(Parked::Readied) => enqueue_woken(Some(rt), g),
        Err(found) => header.bad_status("park", found),
    }
}
