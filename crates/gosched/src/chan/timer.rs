//! Timer channels: a receiver whose value is due at some moment, once or periodically. They have no
//! sender, and no timer of their own: a receiver that comes too early waits with a deadline.
//!
//! [`TimerChan`] is the core of [`after`](super::after), [`at`](super::at) and
//! [`tick`](super::tick), and of `time::{Timer, Ticker}`, which stop and reset it
//! ([`TimerChan::set`]): the waiters then look again, so nobody gets a value that was due before
//! the stop (Go 1.23's rule). Without a time it is a *signal*, which is only closed: the `done` of
//! contexts and goroutines, and the next change of something (`change.rs`).
//!
//! Invariant: there is a value, now or later, if and only if `when` is set. Taking the value
//! changes `when`, under the lock, so each value is taken once.
#![allow(unsafe_code)]

use core::any::Any;
use core::ptr::NonNull;
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use gosched_chan::{Chosen, Interest, Offers, Operation, Polled, Queue, Sudog, Verdict};
use gosched_primitives::{Lock, LockGuard, RawLock};

use super::err::{RecvTimeoutError, TryRecvError};
use super::ops::recv_at_once;
use super::patience::Patience;
use crate::clock::when_at;
use crate::g::waiter::{FIRST_OUTCOME, INTERRUPTED, Signal, Ticket, WaitReason, Waiter};
use crate::sched::{Caller, Inside, Limit, Visitor};

/// A timer channel, or a signal.
pub(crate) struct TimerChan {
    state: Lock<TimerChanState>,
    /// Kept alive as long as somebody can receive.
    _keep: Option<Arc<dyn Any + Send + Sync>>,
    kind: MayClose,
}

/// Who may close it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MayClose {
    /// Anybody: it is a timer channel.
    Time,
    /// Its maker only: it is a signal.
    Signal,
}

struct TimerChanState {
    /// When the next value is due; `None`: never, unless it is reset.
    when: Option<Instant>,
    /// The time between values; `None`: there is one value only.
    period: Option<Duration>,
    closed: bool,
    waiters: Queue<Waiter>,
}

/// What `take` has found.
enum Due {
    Value(Instant),
    /// Nothing yet. The next value is due at this time, or never.
    Wait(Option<Instant>),
    Closed,
}

impl TimerChanState {
    fn is_due(&self) -> bool {
        self.when.is_some_and(|when| when <= Instant::now())
    }

    fn take(&mut self) -> Due {
        let Some(when) = self.when else { return if self.closed { Due::Closed } else { Due::Wait(None) } };
        let now = Instant::now();
        if when > now {
            return if self.closed { Due::Closed } else { Due::Wait(Some(when)) };
        }
        self.when = self.period.and_then(|period| next(when, period, now));
        Due::Value(when)
    }
}

/// The first time after `now` that is a whole number of periods after `when`.
fn next(when: Instant, period: Duration, now: Instant) -> Option<Instant> {
    if period.is_zero() {
        return Some(now);
    }
    let missed = now.duration_since(when).as_nanos() / period.as_nanos();
    let ahead = u32::try_from(missed + 1).ok().and_then(|periods| period.checked_mul(periods));
    // After billions of missed periods the ticks begin anew from now.
    ahead.and_then(|ahead| when.checked_add(ahead)).or_else(|| now.checked_add(period))
}

impl TimerChan {
    /// A timer channel whose first value is due at `when`, and then one each `period`.
    pub(crate) fn new(when: Option<Instant>, period: Option<Duration>) -> Arc<TimerChan> {
        let state = TimerChanState { when, period, closed: false, waiters: Queue::new() };
        Arc::new(TimerChan { state: Lock::new(state), _keep: None, kind: MayClose::Time })
    }

    /// A signal: a channel that never has a value, and is closed at some time. Its receivers keep
    /// `keep` alive.
    pub(crate) fn signal(keep: Option<Arc<dyn Any + Send + Sync>>) -> Arc<TimerChan> {
        let state = TimerChanState { when: None, period: None, closed: false, waiters: Queue::new() };
        Arc::new(TimerChan { state: Lock::new(state), _keep: keep, kind: MayClose::Signal })
    }

    /// Resets it. Returns whether there was a value that nobody had received, due or not; nobody
    /// will receive it now. Never moves.
    pub(crate) fn set(&self, when: Option<Instant>, period: Option<Duration>) -> bool {
        self.change(|state| {
            state.period = period;
            core::mem::replace(&mut state.when, when).is_some()
        })
    }

    pub(super) fn raw_lock(&self) -> &RawLock {
        self.state.raw()
    }

    /// When the next value is due.
    ///
    /// # Safety
    /// The lock is held.
    pub(super) unsafe fn deadline(&self) -> Option<u64> {
        // SAFETY: by contract.
        unsafe { &*self.state.data() }.when.map(when_at)
    }

    /// Closes it. Returns whether it was open.
    pub(crate) fn close(&self) -> bool {
        self.change(|state| {
            state.when = state.when.filter(|when| *when <= Instant::now());
            state.period = None;
            !core::mem::replace(&mut state.closed, true)
        })
    }

    /// As [`close`](TimerChan::close), by a receiver, who can't close a signal.
    pub(super) fn close_by_receiver(&self) -> bool {
        self.kind == MayClose::Time && self.close()
    }

    /// Makes the waiters look again.
    pub(super) fn nudge(&self) {
        self.change(|_| ());
    }

    fn change<R>(&self, change: impl FnOnce(&mut TimerChanState) -> R) -> R {
        let mut visitor = Visitor::enter();
        let mut state = self.state.lock();
        let result = change(&mut state);
        while let Some(waiter) = state.waiters.end_first(Verdict::Again) {
            // Never an async task: a goroutine waits in its place.
            let _ = visitor.wake(waiter);
        }
        result
    }

    pub(super) fn is_closed(&self) -> bool {
        let _visitor = Visitor::enter();
        self.state.lock().closed
    }

    /// Whether a value could be received now.
    pub(super) fn is_due(&self) -> bool {
        let _visitor = Visitor::enter();
        self.state.lock().is_due()
    }

    pub(super) fn try_recv(&self) -> Result<Instant, TryRecvError> {
        let _visitor = Visitor::enter();
        let due = self.state.lock().take();
        match due {
            Due::Value(when) => Ok(when),
            Due::Wait(_) => Err(TryRecvError::Empty),
            Due::Closed => Err(TryRecvError::Disconnected),
        }
    }

    pub(super) fn recv(&self, patience: Patience) -> Result<Instant, RecvTimeoutError> {
        self.recv_as(WaitReason::ChanReceive, patience)
    }

    /// For a signal: waits until it is closed, for the given reason. Returns whether that was
    /// within the limit.
    pub(crate) fn await_close(&self, reason: WaitReason, limit: Limit) -> bool {
        self.recv_as(reason, Patience::of(limit)) == Err(RecvTimeoutError::Disconnected)
    }

    fn recv_as(&self, reason: WaitReason, patience: Patience) -> Result<Instant, RecvTimeoutError> {
        let mut patience = patience;
        loop {
            let caller = match Caller::enter_moving() {
                Ok(caller) => caller,
                Err(stopped) => return recv_at_once(stopped, patience, || self.try_recv()),
            };
            let mut state = self.state.lock();
            let due = match state.take() {
                Due::Wait(due) => due,
                taken => {
                    let [] = caller.conclude(state, []);
                    return match taken {
                        Due::Value(when) => Ok(when),
                        _ => Err(RecvTimeoutError::Disconnected),
                    };
                }
            };
            let Some(limit) = patience.limit() else {
                let [] = caller.conclude(state, []);
                return Err(RecvTimeoutError::Timeout);
            };
            patience = Patience::of(limit);
            if self.wait(caller, reason, state, sooner(limit, due)) == Next::Stop {
                return Err(RecvTimeoutError::Timeout);
            }
        }
    }

    /// Waits until the limit, or until it is changed.
    fn wait(
        &self,
        caller: Caller,
        reason: WaitReason,
        mut state: LockGuard<'_, TimerChanState>,
        limit: Limit,
    ) -> Next {
        let ticket = Ticket::new();
        let node = Sudog::new(&ticket, FIRST_OUTCOME, core::ptr::null_mut());
        // SAFETY: the node is in this frame, and is out of the queue when this returns.
        unsafe { state.waiters.push(&node) };
        let outcome = caller.wait_ticket(reason, limit, &ticket, || drop(state));
        if outcome < FIRST_OUTCOME {
            let _visitor = Visitor::enter();
            // SAFETY: it was queued there.
            unsafe { self.state.lock().waiters.remove(&node) };
        }
        if outcome == INTERRUPTED { Next::Stop } else { Next::Look }
    }

    /// Waits until a value is due, or it is changed or nudged. Does not wait if `wanted`, called
    /// under the lock, returns `false`.
    pub(super) fn wait_for_change(&self, wanted: impl FnOnce() -> bool) {
        let Ok(caller) = Caller::enter_moving() else { return };
        let state = self.state.lock();
        if state.is_due() || state.closed || !wanted() {
            let [] = caller.conclude(state, []);
            return;
        }
        let limit = sooner(Limit::NONE, state.when);
        let _ = self.wait(caller, WaitReason::ChanReceive, state, limit);
    }
}

impl Signal for TimerChan {
    fn raise(&self) {
        self.close();
    }
}

/// What a receiver does after a wait.
#[derive(PartialEq, Eq)]
#[must_use]
enum Next {
    /// Looks again.
    Look,
    /// Gives up: its context has ended.
    Stop,
}

/// The earlier of the two ends.
fn sooner(limit: Limit, due: Option<Instant>) -> Limit {
    let due = due.map(when_at);
    Limit { deadline: limit.deadline.into_iter().chain(due).min(), ..limit }
}

/// Receives from `never`: waits as long as patience lasts.
pub(super) fn never<T>(patience: Patience) -> Result<T, RecvTimeoutError> {
    let Some(limit) = patience.limit() else { return Err(RecvTimeoutError::Timeout) };
    let caller = match Caller::enter_moving() {
        Ok(caller) => caller,
        Err(stopped) => {
            return stopped.complete(patience.is_over().then_some(Err(RecvTimeoutError::Timeout)));
        }
    };
    let ticket = Ticket::new();
    let _ = caller.wait_ticket(WaitReason::ChanReceive, limit, &ticket, || ());
    Err(RecvTimeoutError::Timeout)
}

/// Receiving from a timer channel, as part of a selection. The function makes the value from the
/// moment at which it was due.
pub(super) struct TimeOp<'c, T>(pub(super) &'c TimerChan, pub(super) fn(Instant) -> T);

// SAFETY: the state is accessed under the channel's own lock only.
unsafe impl<T> Operation<Waiter> for TimeOp<'_, T> {
    fn raw_lock(&self) -> Option<&RawLock> {
        Some(self.0.raw_lock())
    }

    unsafe fn poll(&self, slot: *mut (), _: Offers) -> Polled<Waiter> {
        // SAFETY: the lock is held, by contract, so the state is ours.
        match unsafe { &mut *self.0.state.data() }.take() {
            Due::Value(when) => {
                // SAFETY: by contract.
                unsafe { slot.cast::<T>().write((self.1)(when)) };
                Polled::Ready(Chosen::Value, None)
            }
            Due::Wait(_) => Polled::Wait,
            Due::Closed => Polled::Ready(Chosen::Closed, None),
        }
    }

    unsafe fn bind(&self, _: NonNull<Sudog<Waiter>>, _: &Sudog<Waiter>) {}

    unsafe fn is_ready(&self) -> bool {
        // SAFETY: the lock is held, by contract.
        let state = unsafe { &*self.0.state.data() };
        state.closed || state.is_due()
    }

    unsafe fn enqueue(&self, _: Interest, node: &Sudog<Waiter>) -> bool {
        // SAFETY: the lock is held, by contract; the rest by contract.
        unsafe { (*self.0.state.data()).waiters.push(node) };
        false
    }

    unsafe fn dequeue(&self, _: Interest, node: &Sudog<Waiter>) {
        // SAFETY: the lock is held, by contract; the rest by contract.
        unsafe { (*self.0.state.data()).waiters.remove(node) };
    }

    unsafe fn end_watch(&self) -> Option<Waiter> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks stay on their grid, however late they are taken.
    #[test]
    fn ticks_are_a_whole_number_of_periods_apart() {
        let (start, period) = (Instant::now(), Duration::from_millis(10));
        for (late, expected) in [(0, 10), (3, 10), (9, 10), (10, 20), (25, 30), (99, 100)] {
            let now = start + Duration::from_millis(late);
            assert_eq!(
                next(start, period, now),
                Some(start + Duration::from_millis(expected)),
                "{late} ms late"
            );
        }
        assert_eq!(next(start, Duration::ZERO, start + period), Some(start + period));
    }
}
