//! Wakers of other people's executors. Calling one runs foreign code, which may do anything, also call this library; the poller
//! runs inside the runtime. So they are handed to a goroutine that does nothing else.
//!
//! (The wakers of our own `future::block_on` need no such care: the poller wakes those who wait there itself.)
//!
//! Invariant: under the lock, `runner` is there exactly while the goroutine waits, and then there are no wakers.

use core::panic::Location;
use core::task::Waker;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use gosched_queue::Lock;

use crate::g::Name;
use crate::sched::{self, Commit, Role, SCHED, Spawn};
use crate::waiter::{WaitReason, Waiter};

struct Tasks {
    wakers: Vec<Waker>,
    runner: Option<Waiter>,
}

static TASKS: Lock<Tasks> = Lock::new(Tasks { wakers: Vec::new(), runner: None });

/// Leaves a waker to the goroutine. Returns that goroutine's waiter, if it has to be woken. Inside the runtime.
pub(super) fn notify(waker: Waker) -> Option<Waiter> {
    let mut tasks = TASKS.lock();
    tasks.wakers.push(waker);
    tasks.runner.take()
}

/// Starts the goroutine, once. Outside the runtime.
pub(super) fn ensure_runner() {
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
