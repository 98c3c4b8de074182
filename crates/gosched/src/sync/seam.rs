//! How all locks wait and wake: the cores of `gosched_locks` decide who waits and who is woken, and
//! this file does it through the scheduler's seam. Core calls that take a line's lock are made
//! inside the runtime.
#![allow(unsafe_code)]

use core::task::Waker;

use gosched_locks::{Acquire, Line, LinePlace, Node, RETRY};
use gosched_primitives::Outcome;

use crate::g::waiter::{FIRST_OUTCOME, WaitReason, Waiter};
use crate::sched::{Caller, Inside, Limit, Visitor};

const _: () = assert!(RETRY.get() >= FIRST_OUTCOME.get(), "the locks' outcomes are theirs to give a meaning");

/// At most this many are woken in one visit to the runtime, so that visits are short.
const WOKEN_AT_ONCE: usize = 64;

/// Calls `acquire`, and waits at the place that it returns, if any. A moving call. In a stopped
/// world it calls `at_once` instead, which returns whether it was successful, and panics if not.
///
/// Returns when the lock is acquired, or when the waiter was woken: the core says what that means.
pub(super) fn obtain<'l, S: 'l>(
    reason: WaitReason,
    tag: u64,
    at_once: impl FnOnce() -> bool,
    acquire: impl FnOnce() -> Acquire<'l, Waiter, S>,
) {
    let caller = match Caller::enter_moving() {
        Ok(caller) => caller,
        Err(stopped) => {
            let done = {
                let _inside = Visitor::enter();
                at_once()
            };
            return stopped.complete(done.then_some(()));
        }
    };
    match acquire() {
        Acquire::Acquired => caller.leave(),
        Acquire::Wait(place) => wait_at(caller, reason, place, &Node::new(tag)),
    }
}

/// What a wait with a limit came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Obtained {
    Yes,
    /// The limit was reached first.
    Late,
}

/// As [`obtain`], but waits no longer than `limit`. When that is reached it calls `leave`, inside
/// the runtime, to take the node out of its line.
pub(super) fn obtain_within<'l, S: 'l>(
    reason: WaitReason,
    tag: u64,
    limit: Limit,
    at_once: impl FnOnce() -> bool,
    acquire: impl FnOnce() -> Acquire<'l, Waiter, S>,
    leave: impl FnOnce(&Node<Waiter>),
) -> Obtained {
    let caller = match Caller::enter_moving() {
        Ok(caller) => caller,
        Err(stopped) => {
            let done = {
                let _inside = Visitor::enter();
                at_once()
            };
            let obtained = if done { Some(Obtained::Yes) } else { limit.is_over().then_some(Obtained::Late) };
            return stopped.complete(obtained);
        }
    };
    match acquire() {
        Acquire::Acquired => {
            caller.leave();
            Obtained::Yes
        }
        Acquire::Wait(place) => {
            let node = Node::new(tag);
            if wait_within(caller, reason, limit, place, &node) >= FIRST_OUTCOME {
                return Obtained::Yes;
            }
            let _inside = Visitor::enter();
            leave(&node);
            Obtained::Late
        }
    }
}

/// Waits at a place in a line until woken, or until the limit is reached. In that case the caller
/// takes the node out of the line.
pub(super) fn wait_within<S>(
    caller: Caller,
    reason: WaitReason,
    limit: Limit,
    place: LinePlace<'_, Waiter, S>,
    node: &Node<Waiter>,
) -> Outcome {
    // SAFETY: the node is in a frame that stays until whoever took the node out of the line has
    // woken the waiter, or until the caller has taken the node out.
    caller.wait_ticket(reason, limit, node.ticket(), || unsafe { place.join(node) })
}

/// Waits at a place in a line until woken.
pub(super) fn wait_at<S>(
    caller: Caller,
    reason: WaitReason,
    place: LinePlace<'_, Waiter, S>,
    node: &Node<Waiter>,
) {
    // SAFETY: the node is in a frame that stays until the waiter is woken, which happens after the
    // node was taken out of the line and claimed.
    caller.wait(reason, |waiter| unsafe { place.take(node, waiter) });
}

/// Wakes the waiter, if any, that `release` takes out of its line. `release` leaves the line's lock
/// free. Never moves.
pub(super) fn wake_by(release: impl FnOnce() -> Option<Waiter>) {
    let visitor = Visitor::enter();
    let woken = release();
    let [waker] = visitor.conclude((), [woken]);
    no_waker(waker);
}

/// Wakes all waiters that `next` returns. Never moves.
pub(super) fn wake_each(mut next: impl FnMut() -> Option<Waiter>) {
    loop {
        let mut visitor = Visitor::enter();
        for _ in 0..WOKEN_AT_ONCE {
            match next() {
                Some(waiter) => no_waker(visitor.wake(waiter)),
                None => return,
            }
        }
    }
}

/// Wakes all of a line that was taken out as a whole. Never moves.
pub(super) fn wake_line(mut line: Line<Waiter>) {
    if !line.is_empty() {
        wake_each(|| line.next());
    }
}

/// Only goroutines and threads wait for locks, so there is no waker to call.
fn no_waker(waker: Option<Waker>) {
    debug_assert!(waker.is_none(), "an async task waits for a lock, which it can't");
}
