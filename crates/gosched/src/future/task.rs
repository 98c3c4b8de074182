//! What a [`block_on`](super::block_on) waits on, and its waker.
//!
//! Invariants:
//! - A wake-up between two polls is remembered; of several, one. The waiter is taken by whoever wakes, once.
//! - A waker of ours may be used inside the runtime, by the poller, which recognises it by its table ([`notify_own`]): there
//!   nothing foreign runs. Everybody else uses it as any waker.

use core::mem::ManuallyDrop;
#[cfg(feature = "hyper")]
use core::ptr::NonNull;
use core::task::{RawWaker, RawWakerVTable, Waker};
use std::sync::Arc;

use gosched_primitives::Lock;

use crate::sched::{Caller, Commit, Inside, Visitor};
#[cfg(feature = "hyper")]
use crate::time::Spare;
use crate::waiter::{WaitReason, Waiter};

enum TaskState {
    Idle,
    Notified,
    Waiting(Waiter),
}

/// One running `block_on`.
pub(crate) struct Task {
    state: Lock<TaskState>,
    #[cfg(feature = "hyper")]
    pub(crate) spare: Spare,
}

/// Ends a `block_on`'s use of its task, however it ends.
#[cfg(feature = "hyper")]
pub(super) struct Closing<'t>(pub(super) &'t Task);

#[cfg(feature = "hyper")]
impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.spare.close();
    }
}

/// Known by its address.
static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);

impl Task {
    pub(super) fn new() -> Arc<Task> {
        Arc::new(Task {
            state: Lock::new(TaskState::Idle),
            #[cfg(feature = "hyper")]
            spare: Spare::new(),
        })
    }

    pub(super) fn waker(self: &Arc<Task>) -> Waker {
        // SAFETY: the functions of the table keep the contract of wakers: each waker owns one count of the Arc.
        unsafe { Waker::from_raw(raw(Arc::clone(self))) }
    }

    /// Waits for a wake-up since the last call. A moving call.
    pub(super) fn wait(&self) {
        let caller = match Caller::enter_moving() {
            Ok(caller) => caller,
            Err(stopped) => return stopped.complete(self.take_notification()),
        };
        let _ = caller.wait_unless(WaitReason::Future, |waiter| {
            let mut state = self.state.lock();
            match *state {
                TaskState::Notified => {
                    *state = TaskState::Idle;
                    Commit::Refuse
                }
                _ => {
                    *state = TaskState::Waiting(waiter);
                    Commit::Wait
                }
            }
        });
    }

    /// Takes a wake-up since the last wait, if there was one.
    fn take_notification(&self) -> Option<()> {
        let _visitor = Visitor::enter();
        let mut state = self.state.lock();
        match *state {
            TaskState::Notified => {
                *state = TaskState::Idle;
                Some(())
            }
            _ => None,
        }
    }

    /// Notes a wake-up; returns who is to be woken by it. Inside the runtime or on a foreign thread.
    pub(crate) fn notify(&self) -> Option<Waiter> {
        let mut state = self.state.lock();
        match core::mem::replace(&mut *state, TaskState::Idle) {
            TaskState::Waiting(waiter) => Some(waiter),
            _ => {
                *state = TaskState::Notified;
                None
            }
        }
    }

    fn wake(&self) {
        let visitor = Visitor::enter();
        let waiter = self.notify();
        // A goroutine or a thread: no waker comes back.
        let [none] = visitor.conclude((), [waiter]);
        debug_assert!(none.is_none());
    }
}

fn raw(task: Arc<Task>) -> RawWaker {
    RawWaker::new(Arc::into_raw(task).cast(), &VTABLE)
}

/// The task that a waker's data pointer stands for, with the waker's count.
///
/// # Safety
/// The pointer is that of a waker of ours, whose count passes to the result.
unsafe fn task(data: *const ()) -> Arc<Task> {
    // SAFETY: `raw` made the pointer so.
    unsafe { Arc::from_raw(data.cast()) }
}

/// One more waker of the same task.
///
/// # Safety
/// `data` is that of one of our wakers, which is alive. (`RawWakerVTable`.)
unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: by the contract of wakers; the count stays the waker's.
    let task = ManuallyDrop::new(unsafe { task(data) });
    raw(Arc::clone(&task))
}

/// Wakes the task, and drops the waker.
///
/// # Safety
/// `data` is that of one of our wakers, which is alive. (`RawWakerVTable`.)
unsafe fn wake(data: *const ()) {
    // SAFETY: by the contract of wakers.
    unsafe { task(data) }.wake();
}

/// Wakes the task.
///
/// # Safety
/// `data` is that of one of our wakers, which is alive. (`RawWakerVTable`.)
unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: by the contract of wakers; the count stays the waker's.
    ManuallyDrop::new(unsafe { task(data) }).wake();
}

/// Drops the waker.
///
/// # Safety
/// `data` is that of one of our wakers, which is alive. (`RawWakerVTable`.)
unsafe fn release(data: *const ()) {
    // SAFETY: by the contract of wakers.
    drop(unsafe { task(data) });
}

#[cfg(any(feature = "futures-io", feature = "hyper"))]
/// Whether a waker is one of ours.
pub(crate) fn is_own(waker: &Waker) -> bool {
    core::ptr::eq(waker.vtable(), &VTABLE)
}

#[cfg(any(feature = "futures-io", feature = "hyper"))]
/// Uses a waker inside the runtime, if it is one of ours: tells whom to wake, if anybody.
pub(crate) fn notify_own(waker: &Waker) -> Option<Option<Waiter>> {
    is_own(waker).then(|| {
        // SAFETY: a waker of ours, whose count stays its own.
        ManuallyDrop::new(unsafe { task(waker.data()) }).notify()
    })
}

#[cfg(feature = "hyper")]
/// The task of a waker of ours. It lives as long as the waker.
pub(crate) fn own_task(waker: &Waker) -> Option<NonNull<Task>> {
    is_own(waker).then(|| NonNull::new(waker.data().cast_mut().cast())).flatten()
}
