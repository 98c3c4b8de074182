//! Async tasks that wait for a descriptor. Who calls their wakers is in `sched/wakers.rs`.
//!
//! Nothing is allocated or freed inside the runtime. A task's node is made before it waits;
//! `sched/wakers.rs` says what becomes of it after the wait. A waker of `future::block_on` may be
//! cloned inside the runtime.

#[cfg(any(feature = "futures-io", feature = "hyper"))]
use core::sync::atomic::Ordering;
use core::task::Waker;
use std::io;
use std::os::fd::AsFd;

use gosched_primitives::{Direction, Edges, Readiness, TaskNode};

use super::{RegisteredFd, SeenEdges, Source};
use crate::g::waiter::Waiter;
use crate::netpoll::{count_left, count_waiter, find};
use crate::sched::task::is_own;
use crate::sched::wakers::ensure_runner;
use crate::sched::{SCHED, Visitor};

/// What an async task can rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Promised {
    /// It will be woken.
    Wake,
    /// Something has been reported meanwhile.
    TryAgain,
}

impl<S: AsFd> Source<S> {
    /// See [`RegisteredFd::wait_async`].
    pub(crate) fn wait_async(
        &self,
        direction: Direction,
        seen: SeenEdges,
        waker: &Waker,
    ) -> io::Result<Promised> {
        self.slot.wait_async(direction, seen, waker)
    }

    #[cfg(any(feature = "futures-io", feature = "hyper"))]
    /// Notes that a read of a byte stream, tried after `seen`, got less than it had room for: all
    /// that had been reported by then is read, and what comes later will be reported.
    pub(crate) fn note_drained(&self, seen: SeenEdges) {
        if let Some((_, edges)) = seen.0
            && edges.are_plain()
        {
            self.slot.drained.store(edges.to_bits(), Ordering::Relaxed);
        }
    }

    #[cfg(any(feature = "futures-io", feature = "hyper"))]
    /// Whether a read can't find anything, because nothing was reported since the read that
    /// [`note_drained`](Source::note_drained) noted.
    pub(crate) fn is_drained(&self, seen: SeenEdges) -> bool {
        seen.0.is_some_and(|(_, edges)| edges.to_bits() == self.slot.drained.load(Ordering::Relaxed))
    }
}

impl RegisteredFd {
    /// As [`wait`](RegisteredFd::wait), for an async task: unless something was reported already,
    /// the task will be woken when something is, or when the source is closed.
    fn wait_async(&self, direction: Direction, seen: SeenEdges, waker: &Waker) -> io::Result<Promised> {
        let Some((registration, edges)) = self.registered(direction, seen)? else {
            return Ok(Promised::TryAgain);
        };
        let (state, generation) = find(registration);
        if !is_own(waker) {
            ensure_runner();
        } else if let Some(promised) = wait_own(state, generation, direction, edges, waker) {
            return Ok(promised);
        }
        let node = TaskNode::new(Waiter::Async(waker.clone()));
        let visitor = Visitor::enter();
        let unused = match state.wait_unless_changed(generation, direction, edges) {
            None => Some(node),
            Some(room) => {
                count_waiter();
                let replaced = room.enqueue_task(node, |a, b| match (a, b) {
                    (Waiter::Async(a), Waiter::Async(b)) => a.will_wake(b),
                    _ => false,
                });
                count_left(usize::from(replaced.is_some()));
                watch_network(&visitor);
                drop(visitor);
                // Only now: dropping a waker runs foreign code.
                drop(replaced);
                return Ok(Promised::Wake);
            }
        };
        drop(visitor);
        drop(unused);
        Ok(Promised::TryAgain)
    }
}

/// [`RegisteredFd::wait_async`] for a waker of `future::block_on`, which may be cloned inside the
/// runtime: it uses a spent node of the descriptor. `None`: there is none.
fn wait_own(
    state: &Readiness<Waiter>,
    generation: u32,
    direction: Direction,
    edges: Edges,
    waker: &Waker,
) -> Option<Promised> {
    let visitor = Visitor::enter();
    let Some(mut room) = state.wait_unless_changed(generation, direction, edges) else {
        return Some(Promised::TryAgain);
    };
    if room.has_task(|task| matches!(task, Waiter::Async(other) if other.will_wake(waker))) {
        return Some(Promised::Wake);
    }
    let mut node = room.take_spent()?;
    let before = match &node.task {
        Waiter::Async(own) if own.will_wake(waker) => None,
        _ => Some(core::mem::replace(&mut node.task, Waiter::Async(waker.clone()))),
    };
    count_waiter();
    let none = room.enqueue_task(node, |_, _| false);
    debug_assert!(none.is_none());
    watch_network(&visitor);
    drop(visitor);
    // Only now: this may free a task.
    drop(before);
    Some(Promised::Wake)
}

/// Takes out a task of a source, because it does not wait any more; the source may be closed
/// already. Never an own waker of `future::block_on`.
pub(super) fn forget_task(registration: u64, direction: Direction, waker: &Waker) {
    let (state, _) = find(registration);
    let forgotten = {
        let _visitor = Visitor::enter();
        let same = |task: &Waiter| matches!(task, Waiter::Async(other) if other.will_wake(waker));
        let forgotten = state.forget_task(direction, same);
        count_left(usize::from(forgotten.is_some()));
        forgotten
    };
    drop(forgotten);
}

/// Makes sure that somebody polls; called after a task was counted. An M with a P looks itself,
/// before it gives the P up (`sched/poll.rs`).
fn watch_network(visitor: &Visitor) {
    if !visitor.has_p() {
        SCHED.watch_network();
    }
}
