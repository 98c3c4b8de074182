//! The task of a [`block_on`](super::block_on), on which it waits, and its waker.
//!
//! Invariants:
//! - A wake-up between two polls is remembered; several count as one. Whoever wakes takes the
//!   waiter, once.
//! - The poller may use a waker of ours inside the runtime: it recognises it by its table
//!   ([`notify_own`]), and no user code runs. All others use it as they use any waker.

use core::mem::ManuallyDrop;
#[cfg(feature = "hyper")]
use core::ptr::NonNull;
use core::task::{RawWaker, RawWakerVTable, Waker};
use std::sync::Arc;

#[cfg(feature = "hyper")]
use super::alarm::Spare;
use super::{Caller, Commit, Inside, Visitor};
use crate::g::bell::TaskBell;
use crate::g::waiter::{WaitReason, Waiter};

/// One running `block_on`.
pub(crate) struct BlockedTask {
    pub(super) bell: TaskBell,
    #[cfg(feature = "hyper")]
    pub(super) spare: Spare,
}

/// Closes the task's place for a spare alarm when its `block_on` ends, even by a panic.
#[cfg(feature = "hyper")]
pub(crate) struct Closing<'t>(pub(crate) &'t BlockedTask);

#[cfg(feature = "hyper")]
impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.spare.close();
    }
}

/// Its address identifies our wakers.
static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);

impl BlockedTask {
    pub(crate) fn new() -> Arc<BlockedTask> {
        Arc::new(BlockedTask {
            bell: TaskBell::new(),
            #[cfg(feature = "hyper")]
            spare: Spare::new(),
        })
    }

    pub(crate) fn waker(self: &Arc<BlockedTask>) -> Waker {
        // SAFETY: the functions of the table keep the contract of wakers: each waker owns one count
        // of the Arc.
        unsafe { Waker::from_raw(raw(Arc::clone(self))) }
    }

    /// Waits for a wake-up since the last call. A moving call.
    pub(crate) fn wait(&self) {
        let caller = match Caller::enter_moving() {
            Ok(caller) => caller,
            Err(stopped) => return stopped.complete(self.take_notification()),
        };
        let _ = caller.wait_unless(WaitReason::Future, |waiter| match self.bell.await_ring(waiter) {
            true => Commit::Wait,
            false => Commit::Refuse,
        });
    }

    /// Takes a wake-up since the last wait, if there was one.
    fn take_notification(&self) -> Option<()> {
        let _visitor = Visitor::enter();
        self.bell.take_notification()
    }

    fn wake(&self) {
        let visitor = Visitor::enter();
        let waiter = self.bell.notify();
        // A goroutine or a thread: no waker comes back.
        let [none] = visitor.conclude((), [waiter]);
        debug_assert!(none.is_none());
    }
}

fn raw(task: Arc<BlockedTask>) -> RawWaker {
    RawWaker::new(Arc::into_raw(task).cast(), &VTABLE)
}

/// The task that a waker's data pointer refers to, with the waker's count.
///
/// # Safety
/// The pointer is that of a waker of ours, whose count passes to the result.
unsafe fn task(data: *const ()) -> Arc<BlockedTask> {
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

/// Whether a waker is one of ours.
pub(crate) fn is_own(waker: &Waker) -> bool {
    core::ptr::eq(waker.vtable(), &VTABLE)
}

/// Uses a waker inside the runtime, if it is one of ours; returns the waiter to wake, if there is
/// one.
pub(crate) fn notify_own(waker: &Waker) -> Option<Option<Waiter>> {
    is_own(waker).then(|| {
        // SAFETY: a waker of ours, whose count stays its own.
        ManuallyDrop::new(unsafe { task(waker.data()) }).bell.notify()
    })
}

#[cfg(feature = "hyper")]
/// The task of a waker of ours. It lives as long as the waker.
pub(crate) fn own_task(waker: &Waker) -> Option<NonNull<BlockedTask>> {
    is_own(waker).then(|| NonNull::new(waker.data().cast_mut().cast())).flatten()
}
