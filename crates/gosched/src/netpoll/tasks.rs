//! Async tasks that wait for a descriptor.
//!
//! Calling a waker of somebody else's executor runs foreign code, which may do anything, also call this library; the poller runs
//! inside the runtime. So such wakers are handed to a goroutine that does nothing else. The wakers of our own
//! `future::block_on` need no such care: the poller wakes those who wait there itself.
//!
//! Nothing is allocated or freed inside the runtime. A task's node is made before it waits; when its wait has ended the node
//! is *due*, and freed by that goroutine; or, for a waker of ours, it stays with its descriptor and serves the next who waits
//! there, most likely the same task.
//!
//! Invariant: under the lock, `runner` is there exactly while the goroutine waits, and then nothing is due.

use core::panic::Location;
use core::sync::atomic::Ordering;
use core::task::Waker;
use std::io;
use std::os::fd::AsFd;
use std::sync::Once;

use gosched_primitives::{Direction, Edges, List, Lock, Readiness, TaskNode, Tasks};

use super::slab::find;
use super::source::{RegisteredFd, SeenEdges, Source};
use super::{collect, count_left, count_waiter};
use crate::future;
use crate::g::task::Argument;
use crate::g::waiter::{WaitReason, Waiter};
use crate::g::{G, Name};
use crate::panics::contain;
use crate::sched::{self, Caller, Commit, Role, SCHED, Spawn, Visitor, hide_current};

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

    /// A read of a byte stream that was tried after `seen` took less than it had room for: what had been reported by then is
    /// read, and whatever comes will be reported.
    pub(crate) fn note_drained(&self, seen: SeenEdges) {
        if let Some((_, edges)) = seen.0
            && edges.are_plain()
        {
            self.slot.drained.store(edges.to_bits(), Ordering::Relaxed);
        }
    }

    /// Whether a read can't find anything, because nothing was reported since one was short.
    pub(crate) fn is_drained(&self, seen: SeenEdges) -> bool {
        seen.0.is_some_and(|(_, edges)| edges.to_bits() == self.slot.drained.load(Ordering::Relaxed))
    }
}

impl RegisteredFd {
    /// As [`wait`](RegisteredFd::wait), for an async task: unless something was reported already, the task will be woken when
    /// something is, or when the source is closed.
    fn wait_async(&self, direction: Direction, seen: SeenEdges, waker: &Waker) -> io::Result<Promised> {
        let Some((registration, edges)) = self.registered(direction, seen)? else {
            return Ok(Promised::TryAgain);
        };
        let (state, generation) = find(registration);
        if !future::is_own(waker) {
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

/// What [`RegisteredFd::wait_async`] comes to for a waker of ours, in one go: such a waker may be cloned inside the runtime. `None`: there
/// is no spent node.
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

/// After a task was counted: sees to it that somebody polls. Whoever has a P does, before that is given up (`sched/poll.rs`).
fn watch_network(visitor: &Visitor) {
    if !visitor.has_p() {
        SCHED.watch_network();
    }
}

/// Notifies a task, inside the runtime; goroutines that are to run by it go to `ready`. Gives back a node that can serve again.
pub(super) fn wake(node: Box<WakerNode>, ready: &mut List<G>) -> Option<Box<WakerNode>> {
    let own = match &node.task {
        Waiter::Async(waker) => future::notify_own(waker),
        _ => None,
    };
    let (waiter, spent) = match own {
        Some(waiter) => (waiter, Some(node)),
        None => {
            let mut pool = POOL.lock();
            pool.due.push(node);
            (pool.runner.take(), None)
        }
    };
    if let Some(waiter) = waiter {
        collect(waiter, ready);
    }
    spent
}

type WakerNode = TaskNode<Waiter>;

struct Pool {
    /// To be called by the runner.
    due: Tasks<Waiter>,
    runner: Option<Waiter>,
}

static POOL: Lock<Pool> = Lock::new(Pool { due: Tasks::new(), runner: None });

/// Starts the goroutine, once. Outside the runtime.
fn ensure_runner() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let how = Spawn {
            name: Some(Name::new(Box::from("gosched wakers"))),
            class: None,
            role: Role::System,
            group: None,
            locks: 0,
            place: Location::caller(),
        };
        // SAFETY: `run` borrows nothing, and its result is never taken: it does not end. A function can be moved out of often.
        let _detached = unsafe { sched::spawn(how, Argument::new(&run)) };
    });
}

fn run() {
    loop {
        let mut due = Tasks::new();
        // Its own goroutine: it never stops the world, and the wakers that do have started it again.
        let Ok(caller) = Caller::enter_moving() else { continue };
        let _ = caller.wait_unless(WaitReason::Io, |waiter| {
            let mut pool = POOL.lock();
            if pool.due.is_empty() {
                pool.runner = Some(waiter);
                return Commit::Wait;
            }
            due = core::mem::take(&mut pool.due);
            Commit::Refuse
        });
        // What others' code does on this goroutine, it does in the open.
        hide_current(false);
        while let Some(node) = due.pop() {
            // What a waker panics about is its own executor's business; the others must be called.
            contain(|| node.task.wake());
        }
        hide_current(true);
    }
}
