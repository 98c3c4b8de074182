//! The seam as primitives with a lock use it: channels, locks, sockets.
//!
//! A call enters ([`Caller::enter_moving`], or [`Visitor::enter`] if it never waits), takes the primitive's lock, does what
//! can be done at once, and leaves ([`Caller::finish`]); or it makes its waiter known under that lock, releases it,
//! and waits ([`Caller::wait`], [`Caller::wait_ticket`]). The primitive's locks are `gosched_queue::Lock`s, held inside the
//! runtime only: their holder can't lose its P or be switched out.
//!
//! Invariants: no user code runs between entering and leaving. Whoever is woken inside is woken through the caller's or
//! visitor's `wake`, which puts a goroutine in this P's `runnext`; an async waker is foreign code, and comes back to be
//! called after leaving.

use core::ptr::NonNull;
use core::task::Waker;
use core::time::Duration;

use gosched_queue::{Outcome, Wake};

use super::park::{self, Commit, Waited};
use super::{Rt, arm_here, start};
use crate::timers::{Action, Timer, now};
use crate::waiter::{TIMED_OUT, ThreadParker, Ticket, WaitReason, Waiter};

/// "I am in a call that may move", on a goroutine or on a foreign thread.
#[must_use]
pub(crate) struct Caller(Option<Rt>);

/// "I am in a call that never moves", on a goroutine or on a foreign thread. Left when dropped.
#[must_use]
pub(crate) struct Visitor(Option<Rt>);

/// How long a wait may last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// When it ends as timed out, by the clock of timers; `None`: never.
    pub(crate) deadline: Option<u64>,
}

impl Limit {
    pub(crate) const NONE: Limit = Limit { deadline: None };
}

/// Wakes from inside the runtime (with `rt`) or from a foreign thread.
fn wake(rt: Option<&Rt>, waiter: Waiter) -> Option<Waker> {
    match waiter {
        Waiter::Goroutine(g) => park::ready(rt, g),
        Waiter::Thread(parker) => parker.wake(),
        Waiter::Async(waker) => return Some(waker),
    }
    None
}

impl Visitor {
    /// Enters for a call that never moves the goroutine.
    #[inline]
    pub(crate) fn enter() -> Visitor {
        let rt = Rt::enter();
        if rt.is_none() {
            start::ensure_started();
        }
        Visitor(rt)
    }

    /// Ends somebody's wait. A waker that is returned is to be called after leaving.
    #[must_use = "an async task is woken by its waker, outside"]
    pub(crate) fn wake(&self, waiter: Waiter) -> Option<Waker> {
        wake(self.0.as_ref(), waiter)
    }
}

impl Caller {
    /// Enters for a call in which the goroutine may change threads. Honours a request to yield (S39).
    #[inline]
    pub(crate) fn enter_moving() -> Caller {
        let rt = Rt::enter_moving();
        if rt.is_none() {
            start::ensure_started();
        }
        Caller(rt)
    }

    /// Whether this is a thread that is not ours.
    pub(crate) fn is_foreign(&self) -> bool {
        self.0.is_none()
    }

    /// Leaves without having waited.
    #[inline]
    pub(crate) fn finish(self) {
        if let Some(rt) = self.0 {
            rt.finish();
        }
    }

    /// Ends somebody's wait. A waker that is returned is to be called after leaving.
    #[must_use = "an async task is woken by its waker, outside"]
    pub(crate) fn wake(&self, waiter: Waiter) -> Option<Waker> {
        wake(self.0.as_ref(), waiter)
    }

    /// Waits for the one wake-up of the waiter that `publish` makes known. When `publish` returns, the primitive's lock is
    /// released.
    pub(crate) fn wait(self, reason: WaitReason, publish: impl FnOnce(Waiter)) {
        let publish = |waiter| {
            publish(waiter);
            Commit::Wait
        };
        let _: Waited = match self.0 {
            Some(rt) => park::park(rt, reason, publish),
            None => park::block_thread(publish),
        };
    }

    /// As [`wait`](Caller::wait), for a wait that several may end, time being one of them. `publish` makes the ticket
    /// known and releases the locks; whoever claims it wakes this waiter. Returns how the wait ended.
    ///
    /// Afterwards those that did not claim it may still know the ticket: the caller sees to it that they forget it before
    /// it goes away.
    pub(crate) fn wait_ticket(
        self,
        reason: WaitReason,
        limit: Limit,
        ticket: &Ticket,
        publish: impl FnOnce(),
    ) -> Outcome {
        match self.0 {
            Some(rt) => park_ticket(rt, reason, limit, ticket, publish),
            None => block_thread_ticket(limit, ticket, publish),
        }
        // The wait is over, so somebody has claimed it.
        ticket.outcome().unwrap_or(TIMED_OUT)
    }
}

fn park_ticket(rt: Rt, reason: WaitReason, limit: Limit, ticket: &Ticket, publish: impl FnOnce()) {
    let timer = Timer::new(Action::EndWait(NonNull::from(ticket)));
    let _ = park::park(rt, reason, |waiter| {
        ticket.put(waiter);
        publish();
        if let Some(when) = limit.deadline {
            // SAFETY: timer and ticket outlive this frame's wait, at the end of which the timer is disarmed.
            unsafe { arm_here(&timer, when) };
        }
        Commit::Wait
    });
    if limit.deadline.is_some() && ticket.outcome() != Some(TIMED_OUT) {
        // Inside the runtime, as everything that takes its locks.
        let _rt = Rt::enter();
        timer.disarm();
    }
}

fn block_thread_ticket(limit: Limit, ticket: &Ticket, publish: impl FnOnce()) {
    let parker = ThreadParker::current();
    ticket.put(Waiter::Thread(parker.clone()));
    publish();
    let Some(when) = limit.deadline else { return parker.sleep() };
    let left = Duration::from_nanos(when.saturating_sub(now()));
    if parker.sleep_timeout(left) == Wake::TimedOut && ticket.claim(TIMED_OUT).is_none() {
        // Somebody came first; the wake-up is on its way.
        parker.sleep();
    }
}
