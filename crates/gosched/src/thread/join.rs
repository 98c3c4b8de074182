//! Waiting for a goroutine's end and taking its result.
//!
//! Invariant: a goroutine has at most one [`Joinable`]; it takes the result or drops it, once, and then settles with
//! the goroutine who frees the header (`JoinWord` in `gosched-queue`).
#![allow(unsafe_code)]

use core::fmt;
use core::future::{Future, IntoFuture};
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

use gosched_queue::{Detach, Header, JoinWaiter, Registered};

use super::Result;
use super::current::Thread;
use crate::fatal::fatal;
use crate::g::task::{self, Ending};
use crate::g::{G, Name};
use crate::sched::{self, Commit, Rt};
use crate::waiter::{BoxedWaiter, WaitReason, Waiter};

/// The right to a goroutine's result, without the bounds and lifetimes that the public handles add.
pub(super) struct Joinable<T> {
    thread: Thread,
    result: PhantomData<T>,
}

// SAFETY: the header may be spoken to from any thread, and the T, being `Send` at the spawn, may be taken on any.
unsafe impl<T> Send for Joinable<T> {}
// SAFETY: through `&Joinable` the result can't be reached.
unsafe impl<T> Sync for Joinable<T> {}
// The T lies with the goroutine, not in here.
impl<T> Unpin for Joinable<T> {}

impl<T> Joinable<T> {
    /// # Safety
    /// `g` was just spawned with a closure that returns a `T`, and this is made for it once.
    pub(super) unsafe fn new(g: NonNull<G>, name: Option<Name>) -> Joinable<T> {
        // SAFETY: while the handle lives the header is not reused.
        let id = unsafe { g.as_ref() }.id();
        Joinable { thread: Thread::goroutine(g, id, name), result: PhantomData }
    }

    pub(super) fn thread(&self) -> &Thread {
        &self.thread
    }

    fn header(&self) -> &'static G {
        let g = self.thread.header().unwrap_or_else(|| fatal!("a join handle without a goroutine"));
        // SAFETY: headers are never unmapped; while the handle lives it is this goroutine's.
        unsafe { g.as_ref() }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.header().join.is_finished()
    }

    pub(super) fn join(self) -> Result<T> {
        let g = self.header();
        if !g.join.is_finished() {
            refuse_own(g);
            wait_for_end(g);
        } else {
            // A join is a moving call whether it has to wait or not (S39).
            crate::runtime::checkpoint();
        }
        self.take()
    }

    /// Takes the result, which is there.
    fn take(self) -> Result<T> {
        let g = self.header();
        let this = ManuallyDrop::new(self);
        // SAFETY: read once, and `this` is not touched again: the duties of its destructor are done below.
        drop(unsafe { core::ptr::read(&this.thread) });
        // Afterwards: a local variable would be another copy of what may be large (`g/task.rs`).
        let _release = Release(g);
        // SAFETY: finished, so the result is the handle's; it is a T by the contract of `new`.
        unsafe { task::take_result::<T>(g) }
    }
}

impl<T> Drop for Joinable<T> {
    /// Detaches.
    fn drop(&mut self) {
        let g = self.header();
        match g.join.detach() {
            Detach::Left(waiter) => {
                if let Some(JoinWaiter::Boxed(boxed)) = waiter {
                    // SAFETY: the word gave back the box that this handle had registered.
                    drop(unsafe { Box::from_raw(boxed.as_ptr()) });
                }
            }
            Detach::Collect => {
                // SAFETY: finished and not taken, so the result is ours to drop; the group of a scoped goroutine outlives
                // its handle.
                unsafe {
                    if task::drop_result(g) == Ending::Panic
                        && let Some(group) = g.group()
                    {
                        group.note_panic();
                    }
                }
                release(g);
            }
        }
    }
}

/// The result is gone: when this is dropped, frees the header, or leaves it to the goroutine that is still waking somebody.
struct Release(&'static G);

impl Drop for Release {
    fn drop(&mut self) {
        release(self.0);
    }
}

fn release(g: &'static G) {
    if g.join.release() == Header::Yours {
        let rt = Rt::enter();
        if rt.is_none() {
            sched::ensure_started();
        }
        sched::free_header(rt.as_ref(), g);
    }
}

fn refuse_own(g: &G) {
    if crate::runtime::goroutine_id() == Some(g.id()) {
        panic!(
            "goroutine {} called join on itself, which would never return: let another goroutine join it",
            g.id()
        );
    }
}

fn wait_for_end(g: &'static G) {
    let _ = sched::wait(WaitReason::Join, |waiter| {
        let waiter = match waiter {
            Waiter::Goroutine(peer) => JoinWaiter::Peer(peer),
            // A foreign thread: not inside the runtime, so it may allocate.
            other => JoinWaiter::Boxed(into_raw(Box::new(BoxedWaiter(other)))),
        };
        register(g, waiter)
    });
}

fn into_raw(boxed: Box<BoxedWaiter>) -> NonNull<BoxedWaiter> {
    NonNull::from(Box::leak(boxed))
}

/// Tells the join word of a waiter; `Refuse` if the goroutine has ended.
fn register(g: &G, waiter: JoinWaiter<G, BoxedWaiter>) -> Commit {
    let (unused, commit) = match g.join.register(&waiter) {
        Registered::Waiting(before) => (before, Commit::Wait),
        Registered::Finished => (Some(waiter), Commit::Refuse),
    };
    if let Some(JoinWaiter::Boxed(boxed)) = unused {
        // SAFETY: replaced or never taken, so the box is ours again.
        drop(unsafe { Box::from_raw(boxed.as_ptr()) });
    }
    commit
}

/// Owns the right to wait for a goroutine's end. Dropping it detaches the goroutine, which goes on.
///
/// Also a future: `handle.await` in async code gives what [`join`](JoinHandle::join) gives.
///
/// ```
/// let handle = gosched::go(|| "done");
/// assert_eq!(handle.join().unwrap(), "done");
/// ```
pub struct JoinHandle<T>(Joinable<T>);

impl<T> JoinHandle<T> {
    pub(super) fn new(joinable: Joinable<T>) -> JoinHandle<T> {
        JoinHandle(joinable)
    }

    /// Waits for the goroutine's end and returns its result, or `Err` with what it panicked with.
    ///
    /// A moving call. On a thread that is not a goroutine it blocks the thread.
    ///
    /// # Panics
    ///
    /// If a goroutine joins itself.
    ///
    /// ```
    /// gosched::run(|| {
    ///     assert_eq!(gosched::go(|| 1 + 1).join().unwrap(), 2);
    ///     let panic = gosched::go(|| panic!("boom")).join().unwrap_err();
    ///     assert_eq!(panic.downcast_ref::<&str>(), Some(&"boom"));
    /// });
    /// ```
    pub fn join(self) -> Result<T> {
        self.0.join()
    }

    /// The goroutine's [`Thread`].
    ///
    /// ```
    /// let handle = gosched::go(|| gosched::thread::park());
    /// handle.thread().unpark();
    /// handle.join().unwrap();
    /// ```
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }

    /// Whether the goroutine has ended: `join` would then not wait. Never moves.
    ///
    /// ```
    /// let handle = gosched::go(|| gosched::thread::park());
    /// assert!(!handle.is_finished());
    /// handle.thread().unpark();
    /// handle.join().unwrap();
    /// ```
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

impl<T> IntoFuture for JoinHandle<T> {
    type Output = Result<T>;
    type IntoFuture = JoinFuture<T>;

    fn into_future(self) -> JoinFuture<T> {
        JoinFuture(Some(self))
    }
}

/// The future of a goroutine's result; see [`JoinHandle`]. Dropping it detaches the goroutine.
///
/// ```
/// use std::future::IntoFuture;
///
/// let future = gosched::go(|| 5).into_future();
/// # drop(future);
/// ```
#[must_use = "futures do nothing unless awaited"]
pub struct JoinFuture<T>(Option<JoinHandle<T>>);

impl<T> Unpin for JoinFuture<T> {}

impl<T> fmt::Debug for JoinFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinFuture").finish_non_exhaustive()
    }
}

impl<T> Future for JoinFuture<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        let handle = self.0.as_ref().expect("a JoinFuture was polled after it was ready");
        let g = handle.0.header();
        if !g.join.is_finished() {
            let waiter = Box::new(BoxedWaiter(Waiter::Async(cx.waker().clone())));
            if register(g, JoinWaiter::Boxed(into_raw(waiter))) == Commit::Wait {
                return Poll::Pending;
            }
        }
        let handle = self.0.take().expect("checked above");
        Poll::Ready(handle.0.take())
    }
}
