//! Who may wait (S42). Whoever has stopped the world may not: all who could end the wait are
//! stopped.
//!
//! The rule: in the closure of `stop_the_world` a call that can complete without waiting completes;
//! one that would have to wait panics before it has changed, queued, unlocked or lent anything.
//!
//! How the rule is kept. To wait one needs a [`Caller`](super::Caller), and there is none in a
//! stopped world: whoever asks for one gets a [`StoppedWorld`] instead, and does what can be done
//! without waiting. Nothing after that point unwinds: a `Caller` on a foreign thread has its parker
//! made, and asks nothing more of std.
//!
//! A call that changes something before it enters for the wait (a mutex, a condition variable) asks
//! for a [`MayWait`] first, and enters by it. A call that lends its frame to goroutines (`scope`,
//! `run`) refuses always.

use core::marker::PhantomData;

use super::start;
use super::stop_world::thread_has_stopped;
use crate::fatal::fatal;
use crate::g::waiter::ThreadParker;
use crate::m::{Worker, current};

/// "I may wait, and waiting will not unwind." Holds in the frame that asked, also after it has
/// called user code: a stop of the world by its callees is over when they return.
#[must_use]
pub(crate) struct MayWait(PhantomData<*mut ()>);

/// "I have stopped the world, so I must not wait."
#[must_use]
pub(crate) struct StoppedWorld(PhantomData<*mut ()>);

impl MayWait {
    /// Asks for it, on a goroutine or a foreign thread. Starts the runtime if need be.
    pub(crate) fn ask() -> Result<MayWait, StoppedWorld> {
        match StoppedWorld::of_caller() {
            Some(stopped) => Err(stopped),
            None => {
                if current::current().is_none() {
                    prepare_thread();
                }
                Ok(MayWait(PhantomData))
            }
        }
    }

    /// Enters for a call in which the goroutine may change threads; `None` on a foreign thread.
    pub(super) fn enter(&self) -> Option<Worker> {
        match Worker::enter_moving() {
            Ok(worker) => worker,
            // Not by a panic: the caller has something lent out by now.
            Err(_) => fatal!("a call that was about to wait has found the world stopped by itself"),
        }
    }
}

/// Does what could fail in a later wait on this foreign thread: on one that is ending, std may
/// panic.
#[cold]
pub(super) fn prepare_thread() {
    start::ensure_started();
    ThreadParker::ensure();
}

impl StoppedWorld {
    /// If the calling goroutine or thread has stopped the world.
    pub(crate) fn of_caller() -> Option<StoppedWorld> {
        let has_stopped = match current::current() {
            Some(m) => m.has_stopped_world(),
            None => thread_has_stopped(),
        };
        has_stopped.then(StoppedWorld::found)
    }

    /// The value, for code that has found this out.
    pub(super) const fn found() -> StoppedWorld {
        StoppedWorld(PhantomData)
    }

    /// Returns what was done without waiting, or refuses: nothing was done, because it would have
    /// meant to wait.
    pub(crate) fn complete<T>(self, done: Option<T>) -> T {
        match done {
            Some(value) => value,
            None => self.refuse("wait"),
        }
    }

    /// Panics: `what` must not be done here.
    #[cold]
    pub(crate) fn refuse(self, what: &str) -> ! {
        panic!("the closure of stop_the_world must not {what}: everybody who could end the wait stands still")
    }
}

/// Before std's call is made in place of ours, on a thread that is not ours: panics if the thread
/// has stopped the world, and ends the child of a fork, as the call on a goroutine does.
pub(crate) fn refuse_on_foreign_thread(what: &str) {
    if let Some(stopped) = StoppedWorld::of_caller() {
        stopped.refuse(what);
    }
    start::refuse_after_fork();
}
