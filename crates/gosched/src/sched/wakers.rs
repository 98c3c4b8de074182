//! Wakers of async tasks that waited for a descriptor.
//!
//! Calling a waker of another executor runs foreign code, which may do anything, also call this
//! library; the poller runs inside the runtime. So such wakers are handed to a goroutine that does
//! nothing else; so are the wakers of sockets that are a case of a selection (`source/watch.rs`).
//! The wakers of our own `future::block_on` run no foreign code: the poller notifies their tasks
//! itself.
//!
//! Nothing is allocated or freed inside the runtime. When a task's wait has ended its node is
//! *due*, and freed by that goroutine; or, for a waker of ours, it stays with its descriptor for
//! the next task that waits there, most likely the same one.
//!
//! Invariant: under the lock, `runner` is `Some` exactly while the goroutine waits, and then
//! nothing is due.

use core::panic::Location;
use std::sync::Once;

use gosched_primitives::{List, Lock, Tasks};

use super::task::notify_own;
use super::{Caller, Commit, Role, Spawn, hide_current, spawn};
use crate::g::task::Argument;
use crate::g::waiter::{WaitReason, Waiter};
use crate::g::{G, Name};
use crate::netpoll::{WakerNode, collect};
use crate::panics::contain;

/// Notifies a task, inside the runtime; goroutines that this makes runnable go to `ready`. Returns
/// the node if it can be used again.
pub(super) fn wake(node: WakerNode, ready: &mut List<G>) -> Option<WakerNode> {
    let own = match &node.task {
        Waiter::Async(waker) => notify_own(waker),
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

struct Pool {
    /// To be called by the runner.
    due: Tasks<Waiter>,
    runner: Option<Waiter>,
}

static POOL: Lock<Pool> = Lock::new(Pool { due: Tasks::new(), runner: None });

/// Starts the goroutine, once. Outside the runtime.
pub(crate) fn ensure_runner() {
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
        // SAFETY: `run` borrows nothing, and its result is never taken: it does not end. A function
        // item is `Copy`, so moving it out leaves nothing behind.
        let _detached = unsafe { spawn(how, Argument::new(&run)) };
    });
}

fn run() {
    loop {
        let mut due = Tasks::new();
        // Never an error: only this goroutine runs here, and a waker that stopped the world has
        // started it again.
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
        // While it runs foreign code, this goroutine is shown in lists and dumps.
        hide_current(false);
        while let Some(node) = due.pop() {
            // A waker that panics must not keep the others from being called.
            contain(|| node.task.wake());
        }
        hide_current(true);
    }
}
