//! Waiting for a goroutine's end and taking its result.
//!
//! Invariant: a goroutine has at most one [`Joinable`]. It takes or drops the result, once; then
//! the join word decides whether it or the goroutine frees the header (`JoinWord` in
//! `gosched-primitives`). After that the header may be another goroutine's, and the handle does not
//! touch it again.
//!
//! The join word has room for one waiter. A join with a limit, and `done`, put a channel there that
//! is closed at the end (`done.rs`); then a plain join waits for that channel, too.
#![allow(unsafe_code)]

use core::fmt;
use core::future::{Future, IntoFuture};
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::Arc;

use gosched_primitives::{Detach, Header, JoinWaiter, Registered};

use super::Result;
use super::current::Thread;
use super::done::{ChanMade, Done};
use crate::chan::Receiver;
use crate::chan::timer::TimerChan;
use crate::clock::when_after;
use crate::context::{self, ContextError};
use crate::fatal::fatal;
use crate::g::task::{self, Ending};
use crate::g::waiter::{BoxedWaiter, Signal, WaitReason, Waiter};
use crate::g::{G, Name};
use crate::m::Worker;
use crate::sched::{self, Caller, Commit, Limit};

/// The right to a goroutine's result, without the bounds and lifetimes that the public handles add.
pub(super) struct Joinable<T> {
    thread: Thread,
    done: Done,
    result: PhantomData<T>,
}

// SAFETY: the header is used through atomics, from any thread; the T was `Send` at the spawn, so
// any thread may take it.
unsafe impl<T> Send for Joinable<T> {}
// SAFETY: `&Joinable` gives no access to the result.
unsafe impl<T> Sync for Joinable<T> {}
// The T is stored with the goroutine, not in here.
impl<T> Unpin for Joinable<T> {}

impl<T> Joinable<T> {
    /// # Safety
    /// `g` was just spawned with a closure that returns a `T`, and this is made for it once.
    pub(super) unsafe fn new(g: NonNull<G>, name: Option<Name>) -> Joinable<T> {
        // SAFETY: while the handle lives the header is not reused.
        let id = unsafe { g.as_ref() }.id();
        Joinable { thread: Thread::goroutine(g, id, name), done: Done::new(), result: PhantomData }
    }

    pub(super) fn thread(&self) -> &Thread {
        &self.thread
    }

    /// The goroutine's header. It is not reused before the result was taken.
    fn header(&self) -> &'static G {
        let g = self.thread.header().unwrap_or_else(|| fatal!("a join handle without a goroutine"));
        // SAFETY: headers are never unmapped.
        unsafe { g.as_ref() }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.done.is_taken() || self.header().join.is_finished()
    }

    pub(super) fn join(self) -> Result<T> {
        if !self.await_end(Limit::NONE) {
            fatal!("a join without a limit has come to its end");
        }
        let g = self.finished();
        let mut this = ManuallyDrop::new(self);
        // SAFETY: once each, and `this` is not touched again. What its destructor would do is done
        // below.
        unsafe {
            core::ptr::drop_in_place(&mut this.thread);
            core::ptr::drop_in_place(&mut this.done);
        }
        // SAFETY: finished; the handle had not taken the result, and no longer exists.
        unsafe { take_result(g) }
    }

    pub(super) fn join_ctx(&mut self) -> core::result::Result<Result<T>, ContextError> {
        match self.join_within(Limit::of_context(None)) {
            Some(result) => Ok(result),
            None => Err(context::why_ended()),
        }
    }

    pub(super) fn join_timeout(&mut self, timeout: Duration) -> Option<Result<T>> {
        self.join_within(Limit::until(when_after(timeout)))
    }

    /// Waits for the end, no longer than `limit`, and takes the result.
    fn join_within(&mut self, limit: Limit) -> Option<Result<T>> {
        if self.await_end(limit) { Some(self.take()) } else { None }
    }

    /// Waits for the end; returns whether it came within the limit. Panics if the result was taken.
    #[inline]
    fn await_end(&self, limit: Limit) -> bool {
        self.refuse_taken();
        let g = self.header();
        if g.join.is_finished() {
            // A join is a moving call whether it has to wait or not (S39).
            crate::runtime::checkpoint();
            return true;
        }
        refuse_own(g);
        self.wait_for_end(g, limit)
    }

    /// Waits for the end; returns whether it came within the limit.
    fn wait_for_end(&self, g: &'static G, limit: Limit) -> bool {
        // Without a limit, and if there is no channel, the waiter goes into the word itself.
        if limit.is_none() && !self.done.is_made() {
            wait_for_end(g);
            return true;
        }
        self.signal().await_close(WaitReason::Join, limit)
    }

    /// The channel that is closed at the end.
    pub(super) fn signal(&self) -> Arc<TimerChan> {
        let (signal, made) = self.done.get_or_make();
        if made == ChanMade::Now {
            let finished = self.is_finished() || {
                let waiter = BoxedWaiter { waiter: None, signal: Some(Arc::clone(&signal) as _) };
                register(self.header(), JoinWaiter::Boxed(into_raw(Box::new(waiter)))) == Commit::Refuse
            };
            if finished {
                signal.close();
            }
        }
        signal
    }

    /// Raises `signal` at the end, unless the handle is dropped before. Not together with the other
    /// ways to wait for the end: there is room for one.
    pub(super) fn tell_end(&self, signal: Arc<dyn Signal>) {
        let waiter = BoxedWaiter { waiter: None, signal: Some(Arc::clone(&signal)) };
        if register(self.header(), JoinWaiter::Boxed(into_raw(Box::new(waiter)))) == Commit::Refuse {
            signal.raise();
        }
    }

    fn refuse_taken(&self) {
        assert!(
            !self.done.is_taken(),
            "the result of this goroutine was taken by an earlier join: it can be had once"
        );
    }

    /// Takes the result, which is there and was not taken.
    pub(super) fn take(&mut self) -> Result<T> {
        let g = self.finished();
        self.done.take();
        // SAFETY: finished, and the handle knows that the result was taken.
        unsafe { take_result(g) }
    }

    /// The header of a goroutine that has ended.
    #[inline]
    fn finished(&self) -> &'static G {
        let g = self.header();
        if !g.join.is_finished() {
            fatal!("the result of goroutine {} was to be taken before its end", g.id());
        }
        g
    }
}

/// Takes the result, and releases the header.
///
/// # Safety
/// The goroutine has ended, its closure returned a `T`, and this is the one use of its handle's
/// right to the result.
#[inline]
unsafe fn take_result<T>(g: &'static G) -> Result<T> {
    // A guard, because a local variable for the result would be one more copy of what may be large
    // (`g/task.rs`).
    let _release = Release(g);
    // SAFETY: by contract.
    unsafe { task::take_result::<T>(g) }
}

impl<T> Drop for Joinable<T> {
    /// Detaches, unless the result was taken.
    fn drop(&mut self) {
        if self.done.is_taken() {
            return;
        }
        let g = self.header();
        // The channel is closed at the end even without a handle. The waker of this handle's future
        // is forgotten.
        let detached = match self.done.get() {
            Some(signal) => {
                let waiter = BoxedWaiter { waiter: None, signal: Some(signal as _) };
                let _ = register(g, JoinWaiter::Boxed(into_raw(Box::new(waiter))));
                g.join.abandon()
            }
            None => g.join.detach(),
        };
        match detached {
            Detach::Left(waiter) => {
                if let Some(JoinWaiter::Boxed(boxed)) = waiter {
                    // SAFETY: the word gave back the box that this handle had registered.
                    drop(unsafe { Box::from_raw(boxed.as_ptr()) });
                }
            }
            Detach::Collect => {
                // SAFETY: finished and not taken, so the result is ours to drop; the group of a
                // scoped goroutine outlives its handle.
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

/// When dropped, after the result was taken: frees the header, or leaves that to the goroutine if
/// it is still waking somebody.
struct Release(&'static G);

impl Drop for Release {
    fn drop(&mut self) {
        release(self.0);
    }
}

fn release(g: &'static G) {
    if g.join.release() == Header::Yours {
        let mut worker = Worker::enter();
        if worker.is_none() {
            sched::ensure_started();
        }
        sched::free_header(worker.as_mut(), g);
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
    let caller = match Caller::enter_moving() {
        Ok(caller) => caller,
        Err(stopped) => return stopped.complete(g.join.is_finished().then_some(())),
    };
    let _ = caller.wait_unless(WaitReason::Join, |waiter| {
        let waiter = match waiter {
            Waiter::Goroutine(peer) => JoinWaiter::Peer(peer),
            // A foreign thread: not inside the runtime, so it may allocate.
            other => {
                let waiter = BoxedWaiter { waiter: Some(other), signal: None };
                JoinWaiter::Boxed(into_raw(Box::new(waiter)))
            }
        };
        register(g, waiter)
    });
}

fn into_raw(boxed: Box<BoxedWaiter>) -> NonNull<BoxedWaiter> {
    NonNull::from(Box::leak(boxed))
}

/// Puts a waiter into the join word; `Refuse` if the goroutine has ended.
#[inline]
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

/// Owns the right to wait for a goroutine's end. Dropping it detaches the goroutine, which keeps
/// running.
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
    /// If a goroutine joins itself, or if the result was taken before, by
    /// [`join_ctx`](JoinHandle::join_ctx) or [`join_timeout`](JoinHandle::join_timeout).
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

    /// As [`join`](JoinHandle::join), until the current [context](crate::context) ends. A moving
    /// call.
    ///
    /// If the goroutine has ended, its result is returned even if the context has ended. Else it
    /// can be joined later.
    ///
    /// # Errors
    ///
    /// Why the context has ended, if it did before the goroutine.
    ///
    /// # Panics
    ///
    /// If the result was taken before: it can be had once. If a goroutine joins itself.
    ///
    /// ```
    /// use gosched::context::{ContextError, background, enter};
    /// use std::time::Duration;
    ///
    /// let mut handle = gosched::go(|| gosched::thread::park());
    /// let ctx = background().with_timeout(Duration::from_millis(1));
    /// assert_eq!(enter(&ctx, || handle.join_ctx()).unwrap_err(), ContextError::DeadlineExceeded);
    /// handle.thread().unpark();
    /// assert!(handle.join_ctx().unwrap().is_ok());
    /// ```
    pub fn join_ctx(&mut self) -> core::result::Result<Result<T>, ContextError> {
        self.0.join_ctx()
    }

    /// As [`join`](JoinHandle::join), waiting for `timeout` at most; `None` if it has not ended by
    /// then. A moving call.
    ///
    /// # Panics
    ///
    /// If the result was taken before: it can be had once. If a goroutine joins itself.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let mut handle = gosched::go(|| gosched::thread::park());
    /// assert!(handle.join_timeout(Duration::from_millis(1)).is_none());
    /// handle.thread().unpark();
    /// assert!(handle.join_timeout(Duration::from_secs(60)).unwrap().is_ok());
    /// ```
    pub fn join_timeout(&mut self, timeout: Duration) -> Option<Result<T>> {
        self.0.join_timeout(timeout)
    }

    /// A channel that never has a value and is closed when the goroutine has ended: for `select!`.
    /// It is closed also if the handle is gone by then. Never moves.
    ///
    /// ```
    /// use gosched::{chan, go, select, thread};
    /// use std::time::Duration;
    ///
    /// let handle = go(|| thread::sleep(Duration::from_millis(1)));
    /// let (_s, r) = chan::bounded::<u8>(0);
    /// select! {
    ///     recv(r) -> _ => unreachable!("nobody sends"),
    ///     recv(handle.done()) -> ended => assert!(ended.is_err()),
    /// }
    /// handle.join().unwrap(); // does not wait
    /// ```
    #[must_use]
    pub fn done(&self) -> Receiver<()> {
        Receiver::of_signal(self.0.signal())
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

    /// Whether the goroutine has ended, so that `join` would not wait. Never moves.
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
        let JoinHandle(joinable) = self.0.as_mut().expect("a JoinFuture was polled after it was ready");
        joinable.refuse_taken();
        let g = joinable.header();
        if !g.join.is_finished() {
            let signal = joinable.done.get().map(|signal| signal as _);
            let waiter = BoxedWaiter { waiter: Some(Waiter::Async(cx.waker().clone())), signal };
            if register(g, JoinWaiter::Boxed(into_raw(Box::new(waiter)))) == Commit::Wait {
                return Poll::Pending;
            }
        }
        let result = joinable.take();
        self.0 = None;
        Poll::Ready(result)
    }
}
