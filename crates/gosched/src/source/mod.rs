//! A descriptor's registration, and waiting for it: the active half of the network poller, above
//! the scheduler.
//!
//! | file | holds |
//! |---|---|
//! | `mod` | a descriptor's registration, and waiting for it |
//! | `places` | which states of descriptors are in use |
//! | `tasks` | async tasks that wait |
//! | `watch` | a receiver that is told: a source as a case of a selection |
//!
//! A source is registered when somebody first has to wait for it: until then it costs nothing, and
//! conversions, which must not fail, need not register. epoll reports at once what a new source is
//! ready for, so nothing is missed.
//!
//! ```text
//!   slot:  0  ── first wait: CAS ──▶  registration (place, generation)  ── deregister ──▶  0
//! ```
//!
//! Two goroutines may wait for the same source for the first time at once. One wins the CAS and
//! registers; the other tries its call again and then uses the winner's place. If epoll refuses,
//! the place is given up, which wakes the other: it tries again and gets the error itself.
//!
//! The discipline of edges: [`seen`](Source::seen) first, then the system call, and after
//! `WouldBlock` [`wait`](Source::wait) with what was seen.

mod places;
mod tasks;
mod watch;

use core::sync::atomic::{AtomicU64, Ordering};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use gosched_primitives::{Direction, Edges, Tasks, WaitNode, Woken};

use crate::clock::now;
use crate::g::waiter::{INTERRUPTED, TIMED_OUT, WaitReason};
use crate::netpoll::{PlaceNumber, PollerMade, READY, count_left, count_waiter, existing, find, poller};
use crate::panics::InTurn;
use crate::sched::{Caller, Inside, Interruptible, Limit, MayWait, SCHED, Visitor, context_has_ended};
use crate::sys::epoll::Epoll;

#[cfg(any(feature = "futures-io", feature = "hyper"))]
pub(crate) use tasks::Promised;

/// How a wait for a source ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum SourceWaited {
    /// Something may be ready: try again.
    Ready,
    /// The time was up.
    TimedOut,
    /// The context of whoever waited has ended.
    Interrupted,
}

/// Makes the poller, unless there is one, so that no descriptor is lacking for it when somebody has
/// to wait.
#[inline]
pub(crate) fn prepare() -> io::Result<()> {
    match existing() {
        Some(_) => Ok(()),
        None => made_poller().map(drop),
    }
}

#[cold]
fn made_poller() -> io::Result<&'static Epoll> {
    let (poller, made) = poller()?;
    if made == PollerMade::Now {
        let _visitor = Visitor::enter();
        SCHED.rouse_keeper();
    }
    Ok(poller)
}

/// Something with a descriptor. It is registered with the poller when somebody first waits for it,
/// and deregistered before the descriptor is closed or given away.
pub(crate) struct Source<S> {
    // The first field: dropped before the descriptor.
    slot: RegisteredFd,
    io: S,
}

/// The registration of a descriptor that is open for as long as this lives.
struct RegisteredFd {
    registration: AtomicU64,
    /// The edges whose bytes have all been read, if that is known.
    #[cfg(any(feature = "futures-io", feature = "hyper"))]
    drained: AtomicU64,
    fd: RawFd,
}

/// The value of `drained` while nothing is known.
#[cfg(any(feature = "futures-io", feature = "hyper"))]
const NOT_DRAINED: u64 = u64::MAX;

/// The edges that had been reported before a call was tried. `None`: the source was not registered
/// yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenEdges(Option<(u64, Edges)>);

impl<S: AsFd> Source<S> {
    /// Not registered.
    pub(crate) fn new(io: S) -> Source<S> {
        let slot = RegisteredFd {
            registration: AtomicU64::new(0),
            #[cfg(any(feature = "futures-io", feature = "hyper"))]
            drained: AtomicU64::new(NOT_DRAINED),
            fd: io.as_fd().as_raw_fd(),
        };
        Source { slot, io }
    }

    #[inline]
    pub(crate) fn get(&self) -> &S {
        &self.io
    }

    /// Takes it out of the poller.
    pub(crate) fn into_inner(self) -> S {
        self.io
    }

    /// Registers it, unless it is: then a wait can't fail.
    pub(crate) fn register(&self) -> io::Result<()> {
        while self.slot.seen(Direction::Read).0.is_none() {
            // `None` if somebody else registers it at the same time, and may fail yet.
            let _registered = self.slot.register(Direction::Read)?;
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn seen(&self, direction: Direction) -> SeenEdges {
        self.slot.seen(direction)
    }

    /// See [`RegisteredFd::wait`].
    pub(crate) fn wait(
        &self,
        direction: Direction,
        seen: SeenEdges,
        limit: Limit,
    ) -> io::Result<SourceWaited> {
        self.slot.wait(direction, seen, limit)
    }
}

/// How a wait with `limit` ends, if it is over before it begins.
#[cold]
fn over_already(limit: Limit) -> Option<SourceWaited> {
    if limit.interruptible == Interruptible::Yes && context_has_ended() {
        return Some(SourceWaited::Interrupted);
    }
    limit.deadline.filter(|when| *when <= now()).map(|_| SourceWaited::TimedOut)
}

impl Drop for RegisteredFd {
    fn drop(&mut self) {
        self.deregister();
    }
}

impl RegisteredFd {
    /// The edges so far. To be asked before a call is tried.
    #[inline]
    fn seen(&self, direction: Direction) -> SeenEdges {
        // ORDERING: Acquire pairs with the Release of the CAS in `register`: the place of a
        // registration exists.
        match self.registration.load(Ordering::Acquire) {
            0 => SeenEdges(None),
            registration => SeenEdges(Some((registration, find(registration).0.edges(direction)))),
        }
    }

    /// Waits until an edge is reported for `direction` that is not in `seen`. A moving call; blocks
    /// a foreign thread. Fails if the descriptor can't be registered.
    fn wait(&self, direction: Direction, seen: SeenEdges, limit: Limit) -> io::Result<SourceWaited> {
        let may_wait = match MayWait::ask() {
            Ok(may_wait) => may_wait,
            Err(stopped) => return Ok(stopped.complete(over_already(limit))),
        };
        let Some((registration, edges)) = self.registered(direction, seen)? else {
            return Ok(SourceWaited::Ready);
        };
        let (state, generation) = find(registration);
        let node = WaitNode::new();
        let caller = Caller::enter_by(&may_wait);
        let Some(room) = state.wait_unless_changed(generation, direction, edges) else {
            caller.leave();
            return Ok(SourceWaited::Ready);
        };
        count_waiter();
        let foreign = caller.is_foreign();
        let outcome = caller.wait_ticket(WaitReason::Io, limit, &node.claim, || {
            // SAFETY: the node is in this frame, which is left only after the node has left the
            // queue: a report takes it out before it claims the wait, and after any other end it is
            // taken out below.
            unsafe { room.enqueue(&node) };
            if foreign {
                SCHED.watch_network();
            }
        });
        if outcome == READY {
            return Ok(SourceWaited::Ready);
        }
        {
            let _visitor = Visitor::enter();
            count_left(usize::from(state.forget(direction, &node)));
        }
        Ok(match outcome {
            TIMED_OUT => SourceWaited::TimedOut,
            INTERRUPTED => SourceWaited::Interrupted,
            _ => SourceWaited::Ready,
        })
    }

    /// The registration, and the edges to compare with; `None`: try again.
    fn registered(
        &self,
        direction: Direction,
        SeenEdges(seen): SeenEdges,
    ) -> io::Result<Option<(u64, Edges)>> {
        match seen {
            Some(seen) => Ok(Some(seen)),
            None => self.register(direction),
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: open for as long as the slot lives.
        unsafe { BorrowedFd::borrow_raw(self.fd) }
    }

    #[cold]
    fn register(&self, direction: Direction) -> io::Result<Option<(u64, Edges)>> {
        let poller = made_poller()?;
        let place = PlaceNumber::take();
        let registration = place.registration();
        let edges = place.state().edges(direction);
        // ORDERING: Release pairs with the Acquire in `seen`.
        if self.registration.compare_exchange(0, registration, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            place.give_back();
            return Ok(None);
        }
        match poller.add(self.fd(), registration) {
            // What the source is ready for now is reported, as an edge that is not among these.
            Ok(()) => Ok(Some((registration, edges))),
            Err(error) => {
                self.give_up();
                Err(error)
            }
        }
    }

    /// Takes the source out of the poller: before its descriptor is closed or given away.
    fn deregister(&self) {
        if self.registration.load(Ordering::Relaxed) != 0
            && let Some(poller) = existing()
        {
            // Entering ends the child of a fork, which would remove the parent's registration.
            drop(Visitor::enter());
            poller.delete(self.fd());
            self.give_up();
        }
    }

    /// Ends this use of the place.
    fn give_up(&self) {
        // ORDERING: AcqRel pairs with itself and with the CAS in `register`: one of several callers
        // gets the registration.
        let registration = self.registration.swap(0, Ordering::AcqRel);
        if registration == 0 {
            return;
        }
        let (mut tasks, mut spent) = (Tasks::new(), Tasks::new());
        {
            let mut visitor = Visitor::enter();
            let left = find(registration).0.renew(READY, |woken| {
                match woken {
                    Woken::Waiter(waiter) => drop(visitor.wake(waiter)),
                    Woken::Task(node) => tasks.push(node),
                    Woken::Spent(node) => spent.push(node),
                }
                None
            });
            count_left(left);
        }
        PlaceNumber::of(registration).give_back();
        // Only now: wakers are foreign code.
        let mut wakings = InTurn::new();
        while let Some(node) = tasks.pop() {
            wakings.call(|| node.task.wake());
        }
        while let Some(node) = spent.pop() {
            wakings.call(|| drop(node));
        }
        wakings.finish();
    }
}
