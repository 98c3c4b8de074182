//! The seam as primitives with a lock use it: channels, locks, sockets.
//!
//! A call enters ([`Caller::enter_moving`], or [`Visitor::enter`] if it never waits), takes the
//! primitive's lock, and does what can be done at once. Then it releases the lock, wakes those
//! whose waits it has ended, and leaves, all by [`Inside::conclude`]; or it makes its waiter known
//! under that lock, releases it, and waits ([`Caller::wait`], [`Caller::wait_ticket`]). The
//! primitive's locks are `gosched_primitives::Lock`s, held inside the runtime only: their holder
//! can't lose its P or be switched out.
//!
//! Invariants: no user code runs between entering and leaving. Waits are ended inside by the
//! caller's or visitor's `wake`, which puts a goroutine in this P's `runnext`, and returns an async
//! waker, which is foreign code, to be called after leaving.

use core::ptr::NonNull;
use core::task::Waker;
use core::time::Duration;

use gosched_primitives::{Interrupt, Interrupts, Outcome, Registration, Wake};

use super::may_wait::prepare_thread;
use super::park::{self, Commit, Waited};
use super::{MayWait, SCHED, StoppedWorld, arm_here, start};
use crate::clock::now;
use crate::g::G;
use crate::g::slot::{self, ContextSlot};
use crate::g::waiter::{INTERRUPTED, TIMED_OUT, ThreadParker, Ticket, WaitReason, Waiter};
use crate::m::{M, Worker, current};
use crate::timers::{Action, TimerNode};

/// "I am inside the runtime, for one operation of a primitive": what a [`Caller`] and a [`Visitor`]
/// have in common.
pub(crate) trait Inside: Sized {
    /// Ends a wait. A waker that is returned is to be called after leaving.
    #[must_use = "an async task is woken by its waker, outside"]
    fn wake(&mut self, waiter: Waiter) -> Option<Waker>;

    /// Leaves without having waited.
    fn leave(self);

    /// The end of an operation that did not wait, in the required order: releases the primitive's
    /// lock, which `locked` holds (`()` if it is free already), so that nobody who is woken finds
    /// it held; wakes those whose waits the operation has ended; leaves. The caller then calls the
    /// wakers that are returned.
    #[inline(always)]
    #[must_use = "an async task is woken by its waker, outside"]
    fn conclude<L, const N: usize>(mut self, locked: L, woken: [Option<Waiter>; N]) -> [Option<Waker>; N] {
        drop(locked);
        let wakers = woken.map(|waiter| waiter.and_then(|waiter| self.wake(waiter)));
        self.leave();
        wakers
    }
}

/// "I am in a call that may wait", on a goroutine or on a foreign thread: the right to wait
/// (`may_wait.rs`).
#[must_use]
pub(crate) struct Caller(Option<Worker>);

/// "I am in a call that never moves", on a goroutine or on a foreign thread. Left when dropped.
#[must_use]
pub(crate) struct Visitor(Option<Worker>);

/// Whether a wait ends with the context of whoever waits, as [`INTERRUPTED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interruptible {
    /// `time::sleep`, I/O, and the forms of waits that say so in their type (`*_ctx`).
    Yes,
    /// All other waits: sends, receives, selects, locks, joins, `park`.
    No,
}

/// How long a wait may last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// When it ends as timed out, by the clock of timers; `None`: never.
    pub(crate) deadline: Option<u64>,
    pub(crate) interruptible: Interruptible,
}

impl Limit {
    /// No limit: until the primitive ends it.
    pub(crate) const NONE: Limit = Limit { deadline: None, interruptible: Interruptible::No };

    /// Until the waiter's context ends, or the time is up.
    pub(crate) const fn of_context(deadline: Option<u64>) -> Limit {
        Limit { deadline, interruptible: Interruptible::Yes }
    }

    /// Until `deadline`; the context does not matter.
    pub(crate) const fn until(deadline: u64) -> Limit {
        Limit { deadline: Some(deadline), interruptible: Interruptible::No }
    }

    /// Whether there is none.
    pub(crate) fn is_none(self) -> bool {
        self.deadline.is_none() && self.interruptible == Interruptible::No
    }

    /// Whether a wait of the caller would end at once. Outside the runtime.
    pub(crate) fn is_over(self) -> bool {
        self.deadline.is_some_and(|when| when <= now())
            || (self.interruptible == Interruptible::Yes && context_has_ended())
    }
}

/// Whether the context of the calling goroutine or thread has ended. Outside the runtime.
pub(crate) fn context_has_ended() -> bool {
    slot::with_slot_of(current::current().and_then(M::cur_g), ContextSlot::has_ended)
}

/// Wakes from inside the runtime (with `worker`) or from a foreign thread.
fn wake(worker: Option<&mut Worker>, waiter: Waiter) -> Option<Waker> {
    match waiter {
        Waiter::Goroutine(g) => park::ready(worker, g),
        Waiter::Thread(parker) => parker.wake(),
        Waiter::Async(waker) => return Some(waker),
    }
    None
}

impl Inside for Visitor {
    fn wake(&mut self, waiter: Waiter) -> Option<Waker> {
        wake(self.0.as_mut(), waiter)
    }

    #[inline]
    fn leave(self) {}
}

impl Inside for Caller {
    fn wake(&mut self, waiter: Waiter) -> Option<Waker> {
        wake(self.0.as_mut(), waiter)
    }

    #[inline]
    fn leave(self) {
        if let Some(worker) = self.0 {
            worker.finish();
        }
    }
}

impl Visitor {
    /// Enters for a call that never moves the goroutine.
    #[inline]
    pub(crate) fn enter() -> Visitor {
        let worker = Worker::enter();
        if worker.is_none() {
            start::ensure_started();
        }
        Visitor(worker)
    }

    /// Whether this is a goroutine whose thread has a P.
    pub(crate) fn has_p(&self) -> bool {
        self.0.as_ref().is_some_and(Worker::has_p)
    }

    /// Blocks the thread until `parker` is woken. The P is handed off at once: whoever wakes the
    /// parker may need it.
    pub(crate) fn block(self, parker: &ThreadParker) {
        if let Some(worker) = self.0 {
            SCHED.give_p_away(worker);
        }
        parker.sleep();
    }
}

impl Caller {
    /// Enters for a call that may wait, in which the goroutine may change threads. Honours a
    /// request to yield (S39). Whoever has stopped the world gets no caller, and does what can be
    /// done without waiting.
    #[inline(always)]
    pub(crate) fn enter_moving() -> Result<Caller, StoppedWorld> {
        let worker = Worker::enter_moving()?;
        if worker.is_none() {
            prepare_thread();
        }
        Ok(Caller(worker))
    }

    /// Enters for a call that asked whether it may wait before it changed anything.
    #[inline]
    pub(crate) fn enter_by(may_wait: &MayWait) -> Caller {
        Caller(may_wait.enter())
    }

    /// Whether this is a thread that is not ours.
    pub(crate) fn is_foreign(&self) -> bool {
        self.0.is_none()
    }

    /// The goroutine that waits; `None` on a thread that is not ours.
    pub(crate) fn g(&self) -> Option<&'static G> {
        self.0.as_ref().map(Worker::g)
    }

    /// Waits for the one wake-up of the waiter that `publish` makes known. When `publish` returns,
    /// the primitive's lock is released.
    #[inline(always)]
    pub(crate) fn wait(self, reason: WaitReason, publish: impl FnOnce(Waiter)) {
        let _: Waited = self.wait_unless(reason, |waiter| {
            publish(waiter);
            Commit::Wait
        });
    }

    /// As [`wait`](Caller::wait), but does not wait if `publish` refuses. It runs inside the
    /// runtime: it must not block, allocate (on a goroutine) or run user code.
    #[inline(always)]
    pub(crate) fn wait_unless(self, reason: WaitReason, publish: impl FnOnce(Waiter) -> Commit) -> Waited {
        match self.0 {
            Some(worker) => park::park(worker, reason, publish),
            None => park::block_thread(publish),
        }
    }

    /// As [`wait`](Caller::wait), for a wait that several may end, time being one of them.
    /// `publish` makes the ticket known and releases the locks; whoever claims it wakes this
    /// waiter. Returns how the wait ended.
    ///
    /// Under a context that has already ended, an interruptible wait ends at once, unless somebody
    /// else has ended it by then.
    ///
    /// Afterwards those that did not claim the ticket may still know it: the caller makes them
    /// forget it before it goes away.
    pub(crate) fn wait_ticket(
        self,
        reason: WaitReason,
        limit: Limit,
        ticket: &Ticket,
        publish: impl FnOnce(),
    ) -> Outcome {
        match self.0 {
            Some(worker) => park_ticket(worker, reason, limit, ticket, publish),
            None => block_thread_ticket(limit, ticket, publish),
        }
        // The wait is over, so the ticket was claimed.
        ticket.outcome().unwrap_or(TIMED_OUT)
    }
}

/// A wait's place among those that its context ends. Why no end is missed, and why nobody touches
/// the place after this frame is gone, is argued in `Interrupts` (`gosched-primitives`); its
/// conditions are kept here: the wait is registered after its ticket has the waiter, and
/// unregistered unless the context ended it. The context lives meanwhile, because it is the
/// waiter's current one, which only the waiter could change.
struct Interruption<'a> {
    context: Option<&'a Interrupts<Waiter>>,
    place: Interrupt<Waiter>,
}

impl<'a> Interruption<'a> {
    fn new(context: Option<&'a Interrupts<Waiter>>, ticket: &Ticket) -> Interruption<'a> {
        Interruption { context, place: Interrupt::new(ticket) }
    }

    /// After `publish`: lists the wait. If the context has ended, ends it, unless somebody else
    /// does.
    ///
    /// # Safety
    /// `self` and the ticket stay where they are until [`leave`](Interruption::leave).
    unsafe fn join(&self, ticket: &Ticket) -> Commit {
        let Some(context) = self.context else { return Commit::Wait };
        // SAFETY: by contract.
        match unsafe { context.register(&self.place) } {
            Registration::Listed => Commit::Wait,
            Registration::Over => match ticket.claim(INTERRUPTED) {
                Some(_myself) => Commit::Refuse,
                None => Commit::Wait,
            },
        }
    }

    /// When the wait is over. Inside the runtime, or on a foreign thread.
    fn leave(&self, ended: Option<Outcome>) {
        if let Some(context) = self.context
            && ended != Some(INTERRUPTED)
        {
            context.unregister(&self.place);
        }
    }
}

fn park_ticket(worker: Worker, reason: WaitReason, limit: Limit, ticket: &Ticket, publish: impl FnOnce()) {
    let context = match limit.interruptible {
        Interruptible::Yes => slot::interrupts_of(worker.g()),
        Interruptible::No => None,
    };
    let interruption = Interruption::new(context, ticket);
    let timer = TimerNode::new(Action::EndWait(NonNull::from(ticket)));
    let _ = park::park(worker, reason, |waiter| {
        ticket.put(waiter);
        publish();
        if let Some(when) = limit.deadline {
            // SAFETY: timer and ticket outlive this frame's wait, at the end of which the timer is
            // disarmed.
            unsafe { arm_here(&timer, when) };
        }
        // SAFETY: in this frame, left below.
        unsafe { interruption.join(ticket) }
    });
    if limit.deadline.is_none() && context.is_none() {
        return;
    }
    let ended = ticket.outcome();
    // Inside the runtime, as everything that takes its locks.
    let _inside = Worker::enter();
    if ended != Some(TIMED_OUT) {
        let _ = timer.disarm();
    }
    interruption.leave(ended);
}

fn block_thread_ticket(limit: Limit, ticket: &Ticket, publish: impl FnOnce()) {
    let context = match limit.interruptible {
        Interruptible::Yes => slot::interrupts_of_thread(),
        Interruptible::No => None,
    };
    let interruption = Interruption::new(context, ticket);
    let parker = ThreadParker::current();
    ticket.put(Waiter::Thread(parker.clone()));
    publish();
    // SAFETY: in this frame, left below.
    if unsafe { interruption.join(ticket) } == Commit::Wait {
        sleep_ticket(&parker, limit.deadline, ticket);
    }
    interruption.leave(ticket.outcome());
}

/// Sleeps until somebody claims the ticket, or claims it when its time has run out.
fn sleep_ticket(parker: &ThreadParker, deadline: Option<u64>, ticket: &Ticket) {
    let Some(when) = deadline else { return parker.sleep() };
    let left = Duration::from_nanos(when.saturating_sub(now()));
    if parker.sleep_timeout(left) == Wake::TimedOut && ticket.claim(TIMED_OUT).is_none() {
        // Another claim came first; its wake-up is on its way.
        parker.sleep();
    }
}
