//! Async tasks that wait for a descriptor.
//!
//! Calling a waker of somebody else's executor runs foreign code, which may do anything, also call this library; the poller runs
//! inside the runtime. So such wakers are handed to a goroutine that does nothing else. The wakers of our own
//! `future::block_on` need no such care: the poller wakes those who wait there itself.
//!
//! Invariant: under the lock, `runner` is there exactly while the goroutine waits, and then there are no wakers.

use core::panic::Location;
use core::task::Waker;
use std::io;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use gosched_queue::{Direction, List, Lock};

use super::slab::find;
use super::source::{Seen, Slot, Source};
use super::{collect, count_left, count_waiter};
use crate::future;
use crate::g::{G, Name};
use crate::sched::{self, Commit, Role, SCHED, Spawn, Visitor};
use crate::waiter::{WaitReason, Waiter};

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
    /// See [`Slot::wait_async`].
    pub(crate) fn wait_async(&self, direction: Direction, seen: Seen, waker: &Waker) -> io::Result<Promised> {
        self.slot.wait_async(direction, seen, waker)
    }
}

impl Slot {
    /// As [`wait`](Slot::wait), for an async task: unless something was reported already, the task will be woken when
    /// something is, or when the source is closed.
    fn wait_async(&self, direction: Direction, seen: Seen, waker: &Waker) -> io::Result<Promised> {
        let Some((registration, edges)) = self.registered(direction, seen)? else {
            return Ok(Promised::TryAgain);
        };
        if !future::is_own(waker) {
            ensure_runner();
        }
        let (state, generation) = find(registration);
        let waiter = Waiter::Async(waker.clone());
        let visitor = Visitor::enter();
        let Some(room) = state.wait_unless_changed(generation, direction, edges) else {
            drop(visitor);
            return Ok(Promised::TryAgain);
        };
        count_waiter();
        let replaced = room.enqueue_task(waiter, |a, b| match (a, b) {
            (Waiter::Async(a), Waiter::Async(b)) => a.will_wake(b),
            _ => false,
        });
        count_left(usize::from(replaced.is_some()));
        SCHED.watch_network();
        drop(visitor);
        // Only now: dropping a waker runs foreign code.
        drop(replaced);
        Ok(Promised::Wake)
    }
}

/// Uses a waker inside the runtime; goroutines that are to run by it go to `ready`.
pub(super) fn wake(waker: Waker, ready: &mut List<G>) {
    let waiter = match future::take_waiter(waker) {
        Ok(waiter) => waiter,
        Err(foreign) => notify(foreign),
    };
    if let Some(waiter) = waiter {
        collect(waiter, ready);
    }
}

struct Tasks {
    wakers: Vec<Waker>,
    runner: Option<Waiter>,
}

static TASKS: Lock<Tasks> = Lock::new(Tasks { wakers: Vec::new(), runner: None });

/// Leaves a waker to the goroutine. Returns that goroutine's waiter, if it has to be woken. Inside the runtime.
fn notify(waker: Waker) -> Option<Waiter> {
    let mut tasks = TASKS.lock();
    tasks.wakers.push(waker);
    tasks.runner.take()
}

/// Starts the goroutine, once. Outside the runtime.
fn ensure_runner() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let how = Spawn {
            name: Some(Name::new(Box::from("gosched wakers"))),
            class: None,
            role: Role::Ordinary,
            group: None,
            locks: 0,
            place: Location::caller(),
        };
        // SAFETY: `run` borrows nothing, and its result is never taken: it does not end.
        let _detached = unsafe { sched::spawn(how, run) };
        SCHED.discount_system_goroutine();
    });
}

fn run() {
    loop {
        let mut wakers = Vec::new();
        let _ = sched::wait(WaitReason::Io, |waiter| {
            let mut tasks = TASKS.lock();
            if tasks.wakers.is_empty() {
                tasks.runner = Some(waiter);
                return Commit::Wait;
            }
            core::mem::swap(&mut wakers, &mut tasks.wakers);
            Commit::Refuse
        });
        for waker in wakers {
            // What a waker panics about is its own executor's business; the others must be called.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }
}
