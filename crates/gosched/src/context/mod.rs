//! Cancellation and deadlines: Go's `context`, without having to pass it along.
//!
//! A [`Context`] ends when somebody [cancels](Context::cancel) it, when its deadline passes, or
//! when the one it was derived from ends. [`enter`] makes one current for a closure and for all
//! goroutines that are started inside. Waits that end with the current context say so in their
//! type:
//!
//! | | when the context ends |
//! |---|---|
//! | [`time::sleep`](crate::time::sleep), `sleep_until` | return its error ([`thread::sleep`](crate::thread::sleep) keeps its promise and is not cut short) |
//! | I/O | fails: [`TimedOut`](std::io::ErrorKind::TimedOut) at a deadline, [`Other`](std::io::ErrorKind::Other) if cancelled, never `Interrupted`; [`ContextError::of`] finds the error inside |
//! | [`recv_ctx`](Receiver::recv_ctx), [`iter_ctx`](Receiver::iter_ctx), [`send_ctx`](crate::chan::Sender::send_ctx) | return an error of their own, not that of a closed channel; a value that was not sent comes back |
//! | [`join_ctx`](crate::JoinHandle::join_ctx), [`Mutex::lock_ctx`](crate::sync::Mutex::lock_ctx), [`Condvar::wait_ctx`](crate::sync::Condvar::wait_ctx), [`Semaphore::acquire_ctx`](crate::sync::Semaphore::acquire_ctx), [`WaitGroup::wait_ctx`](crate::sync::WaitGroup::wait_ctx), [`Notify::wait_ctx`](crate::sync::Notify::wait_ctx), [`SingleFlight::call_ctx`](crate::sync::SingleFlight::call_ctx), [`JoinSet::join_next_ctx`](crate::thread::JoinSet::join_next_ctx), [`RateLimiter::wait_ctx`](crate::time::RateLimiter::wait_ctx), and the `*_ctx` of [`broadcast`](crate::sync::broadcast) and [`watch`](crate::sync::watch) | return its error, and wait no more |
//! | `select!` | takes it as a case, as in Go: `recv(context::current().done()) -> _ => …` |
//!
//! Everything else ignores the context and behaves as its model: plain sends and receives,
//! iterators, `select!`, the channels of timers, locks, joins, waits and `park`. So a cancelled
//! context is never mistaken for a closed channel.
//!
//! A call that need not wait still succeeds under a context that has ended: only a call that would
//! have to wait fails.
//!
//! ```
//! use gosched::{context, go, time};
//! use std::time::Duration;
//!
//! gosched::run(|| {
//!     let ctx = context::background().with_timeout(Duration::from_millis(5));
//!     let worker = context::enter(&ctx, || go(|| time::sleep(Duration::from_secs(3600))));
//!     assert_eq!(worker.join().unwrap(), Err(context::ContextError::DeadlineExceeded));
//! });
//! ```

#![deny(unsafe_code)]

mod after;
mod chan;
mod chan_error;
mod deadline;
mod end;
mod error;
mod guard;
mod node;
mod slot;

use core::any::Any;
use core::error::Error;
use core::fmt;
use core::iter::successors;
use core::panic::{Location, RefUnwindSafe, UnwindSafe};
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use crate::chan::{Receiver, never};
use crate::fatal::fatal;
use crate::g::slot::SharedContext;

use after::EndFunc;
use end::EndReason;
use node::Bond;

pub use after::AfterFunc;
pub use chan_error::{RecvCtxError, SendCtxError};
pub use error::ContextError;
pub use guard::DropGuard;
use node::ContextNode;
pub(crate) use slot::EnteredContext;

/// Says of a piece of work whether it is still wanted, and until when; and carries values for it.
///
/// Clones are the same context. A derived context (`with_…`) ends when its parent does; its own end
/// does not end the parent. Nothing here is a moving call.
///
/// ```
/// use gosched::context::background;
///
/// let server = background().with_cancel();
/// let request = server.with_cancel();
/// request.cancel();
/// assert!(request.is_cancelled() && !server.is_cancelled());
/// server.cancel();
/// assert!(server.with_cancel().is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct Context(Option<Arc<ContextNode>>);

impl UnwindSafe for Context {}
impl RefUnwindSafe for Context {}

/// The context that never ends and carries no values, from which all others are derived.
///
/// ```
/// let root = gosched::context::background();
/// root.cancel(); // does nothing
/// assert_eq!((root.err(), root.deadline()), (None, None));
/// ```
pub fn background() -> Context {
    Context(None)
}

/// The context of the calling goroutine or thread: that of the innermost [`enter`], else what it
/// was started under, else [`background`].
///
/// ```
/// use gosched::context;
///
/// let ctx = context::background().with_value("request 7");
/// let seen = context::enter(&ctx, || {
///     gosched::go(|| context::current().value::<&str>()).join().unwrap()
/// });
/// assert_eq!(seen.as_deref(), Some(&"request 7"));
/// assert_eq!(context::current().value::<&str>(), None);
/// ```
pub fn current() -> Context {
    Context(slot::current())
}

/// Runs `f` with `ctx` as the current context of `f` and of the goroutines that are started inside.
/// Afterwards, even after a panic, the previous context is current again.
///
/// Not a moving call by itself; `f` may make some. On a thread that is not a goroutine it holds for
/// that thread.
///
/// ```
/// use gosched::{context, time};
/// use std::time::Duration;
///
/// gosched::run(|| {
///     let ctx = context::background().with_cancel();
///     ctx.cancel();
///     let slept = context::enter(&ctx, || time::sleep(Duration::from_secs(60)));
///     assert_eq!(slept, Err(context::ContextError::Cancelled));
/// });
/// ```
pub fn enter<F, T>(ctx: &Context, f: F) -> T
where
    F: FnOnce() -> T,
{
    let _entered = make_current(ctx);
    f()
}

/// As [`enter`], until the guard that this returns is dropped, by the same goroutine or thread.
pub(crate) fn make_current(ctx: &Context) -> EnteredContext<'_> {
    EnteredContext::new(ctx)
}

/// Why the current context has ended, if it has.
pub(crate) fn current_error() -> Option<ContextError> {
    slot::current()?.error()
}

/// Why the current context has ended, for a caller whose wait it has ended.
pub(crate) fn why_ended() -> ContextError {
    current_error().unwrap_or_else(|| fatal!("a wait ended with a context that has not ended"))
}

impl Context {
    /// A context that ends when this one does, or when it is [cancelled](Context::cancel).
    ///
    /// ```
    /// let ctx = gosched::context::background().with_cancel();
    /// assert!(!ctx.is_cancelled());
    /// ctx.cancel();
    /// assert!(ctx.is_cancelled());
    /// ```
    #[must_use]
    pub fn with_cancel(&self) -> Context {
        self.derive(None, None)
    }

    /// As [`with_cancel`](Context::with_cancel), and it ends after `d` at the latest.
    ///
    /// ```
    /// use gosched::context::{ContextError, background};
    /// use std::time::Duration;
    ///
    /// let ctx = background().with_timeout(Duration::ZERO);
    /// assert_eq!(ctx.err(), Some(ContextError::DeadlineExceeded));
    /// ```
    #[must_use]
    pub fn with_timeout(&self, d: Duration) -> Context {
        // A deadline beyond `Instant`'s range counts as none.
        self.derive(Instant::now().checked_add(d), None)
    }

    /// As [`with_cancel`](Context::with_cancel), and it ends at `t` at the latest.
    ///
    /// ```
    /// use gosched::context::background;
    /// use std::time::{Duration, Instant};
    ///
    /// let soon = Instant::now() + Duration::from_secs(1);
    /// let ctx = background().with_deadline(soon);
    /// // A later deadline has no effect on a derived context.
    /// let child = ctx.with_timeout(Duration::from_secs(60));
    /// assert_eq!(child.deadline(), Some(soon));
    /// ```
    #[must_use]
    pub fn with_deadline(&self, t: Instant) -> Context {
        self.derive(Some(t), None)
    }

    /// As [`with_cancel`](Context::with_cancel), and it carries a value, which is found by its
    /// type.
    ///
    /// ```
    /// struct User(&'static str);
    ///
    /// let ctx = gosched::context::background().with_value(User("ada"));
    /// assert_eq!(ctx.value::<User>().unwrap().0, "ada");
    /// ```
    #[must_use]
    pub fn with_value(&self, v: impl Any + Send + Sync) -> Context {
        self.derive(None, Some(Arc::new(v)))
    }

    fn derive(&self, deadline: Option<Instant>, value: Option<node::ContextValue>) -> Context {
        Context(Some(ContextNode::derive(self.0.as_ref(), Bond::Child, deadline, value)))
    }

    /// The value of type `V` that was added last, to this context or to one that it is derived
    /// from.
    ///
    /// ```
    /// let ctx = gosched::context::background().with_value(1_u8).with_value("two").with_value(3_u8);
    /// assert_eq!(ctx.value::<u8>().as_deref(), Some(&3));
    /// assert_eq!(ctx.value::<&str>().as_deref(), Some(&"two"));
    /// assert_eq!(ctx.value::<u64>(), None);
    /// ```
    #[must_use]
    pub fn value<V: Any + Send + Sync>(&self) -> Option<Arc<V>> {
        successors(self.0.as_ref(), |node| node.parent())
            .filter_map(|node| node.value.as_ref())
            .find(|value| (***value).is::<V>())
            .and_then(|value| Arc::clone(value).downcast().ok())
    }

    /// Ends this context and all that are derived from it, unless they have ended. Does nothing to
    /// [`background`].
    ///
    /// ```
    /// use gosched::context::{ContextError, background};
    ///
    /// let ctx = background().with_cancel();
    /// let child = ctx.with_value(7);
    /// ctx.cancel();
    /// assert_eq!(child.err(), Some(ContextError::Cancelled));
    /// ```
    pub fn cancel(&self) {
        if let Some(node) = &self.0 {
            node.cancel(&EndReason::Cancelled(None));
        }
    }

    /// As [`cancel`](Context::cancel), and sets what [`cause`](Context::cause) returns, for this
    /// context and for those that end by this call. [`err`](Context::err) still returns
    /// [`Cancelled`](ContextError::Cancelled). If the context has ended already, `cause` is
    /// dropped: the first one stays.
    ///
    /// ```
    /// use gosched::context::{ContextError, background};
    ///
    /// let server = background().with_cancel();
    /// let request = server.with_cancel();
    /// server.cancel_with("out of disk space");
    /// assert_eq!(request.err(), Some(ContextError::Cancelled));
    /// assert_eq!(request.cause().unwrap().to_string(), "out of disk space");
    /// ```
    #[doc(alias = "WithCancelCause")]
    pub fn cancel_with(&self, cause: impl Into<Box<dyn Error + Send + Sync>>) {
        let why = EndReason::cancelled_with(cause.into());
        if let Some(node) = &self.0 {
            node.cancel(&why);
        }
    }

    /// A guard that [cancels](Context::cancel) it when dropped, also by a panic.
    ///
    /// ```
    /// let ctx = gosched::context::background().with_cancel();
    /// let guard = ctx.drop_guard();
    /// assert!(!ctx.is_cancelled());
    /// drop(guard);
    /// assert!(ctx.is_cancelled());
    /// ```
    pub fn drop_guard(&self) -> DropGuard {
        DropGuard::new(self.clone())
    }

    /// Whether it has ended, for whichever reason.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let ctx = gosched::context::background().with_timeout(Duration::ZERO);
    /// assert!(ctx.is_cancelled());
    /// ```
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.err().is_some()
    }

    /// Why it has ended; `None` if it has not. Does not change after that.
    ///
    /// ```
    /// use gosched::context::{ContextError, background};
    ///
    /// let ctx = background().with_cancel();
    /// assert_eq!(ctx.err(), None);
    /// ctx.cancel();
    /// assert_eq!(ctx.err(), Some(ContextError::Cancelled));
    /// ```
    #[must_use]
    pub fn err(&self) -> Option<ContextError> {
        self.0.as_ref()?.error()
    }

    /// The cause given to the call of [`cancel_with`](Context::cancel_with) that ended it, on this
    /// context or on one that it is derived from; the [`ContextError`] if
    /// [`cancel`](Context::cancel) or a deadline ended it. `None` if it has not ended. Does not
    /// change after that.
    ///
    /// ```
    /// use gosched::context::{ContextError, background};
    /// use std::io;
    ///
    /// let ctx = background().with_cancel();
    /// assert!(ctx.cause().is_none());
    /// ctx.cancel_with(io::Error::other("the disk is full"));
    /// ctx.cancel_with("too late");
    /// assert!(ctx.cause().unwrap().is::<io::Error>());
    ///
    /// let ctx = background().with_cancel();
    /// ctx.cancel();
    /// assert_eq!(ctx.cause().unwrap().downcast_ref(), Some(&ContextError::Cancelled));
    /// ```
    #[doc(alias = "Cause")]
    #[must_use]
    pub fn cause(&self) -> Option<Arc<dyn Error + Send + Sync>> {
        Some(self.0.as_ref()?.why()?.cause())
    }

    /// A context with the values of this one that does not end with it and has no deadline: for
    /// work that must be done in any case, such as cleaning up. It ends when it is
    /// [cancelled](Context::cancel) itself.
    ///
    /// ```
    /// let request = gosched::context::background().with_value("request 7").with_cancel();
    /// let cleanup = request.without_cancel();
    /// request.cancel();
    /// assert!(!cleanup.is_cancelled());
    /// assert_eq!(cleanup.value::<&str>().as_deref(), Some(&"request 7"));
    /// ```
    #[doc(alias = "WithoutCancel")]
    #[must_use]
    pub fn without_cancel(&self) -> Context {
        Context(Some(ContextNode::derive(self.0.as_ref(), Bond::Apart, None, None)))
    }

    /// Runs `f` in a goroutine of its own when the context ends; at once if it has ended.
    /// [`AfterFunc::stop`] keeps it from running; dropping the `AfterFunc` does not.
    ///
    /// `f` runs under what [`without_cancel`](Context::without_cancel) returns, so that it can
    /// still wait and do I/O. The context need not be kept: even if nobody has it any more, `f`
    /// runs at its deadline, or when its parent ends. (In the latter case `f` sees the parent's
    /// values.) If nothing can end the context any more, `f` is dropped. An `f` that owns the
    /// context itself keeps it alive until it ends.
    ///
    /// ```
    /// use gosched::{chan, context};
    ///
    /// gosched::run(|| {
    ///     let ctx = context::background().with_cancel();
    ///     let (s, r) = chan::bounded(1);
    ///     ctx.after_func(move || s.send("cleaned up").unwrap());
    ///     ctx.cancel();
    ///     assert_eq!(r.recv(), Ok("cleaned up"));
    /// });
    /// ```
    #[doc(alias = "AfterFunc")]
    #[track_caller]
    pub fn after_func<F>(&self, f: F) -> AfterFunc
    where
        F: FnOnce() + Send + 'static,
    {
        let func = EndFunc::new(Location::caller(), f);
        // The background never ends; nor does a new context that nobody else has.
        let node = self.0.clone().unwrap_or_else(|| ContextNode::derive(None, Bond::Apart, None, None));
        AfterFunc::new(node, func)
    }

    /// A channel that never has a value and is closed when the context ends: for `select!`. That of
    /// [`background`] is never closed.
    ///
    /// ```
    /// use gosched::{chan, context, select};
    /// use std::time::Duration;
    ///
    /// gosched::run(|| {
    ///     let ctx = context::background().with_timeout(Duration::from_millis(1));
    ///     let (s, r) = chan::bounded::<u8>(0);
    ///     select! {
    ///         recv(r) -> _ => unreachable!("nobody sends"),
    ///         recv(ctx.done()) -> ended => assert!(ended.is_err()),
    ///     }
    ///     # drop(s);
    /// });
    /// ```
    #[must_use]
    pub fn done(&self) -> Receiver<()> {
        self.0.as_ref().map_or_else(never, ContextNode::done)
    }

    /// A count of it, for a goroutine that will run under it.
    pub(crate) fn shared(&self) -> Option<SharedContext> {
        self.0.clone().map(ContextNode::into_shared)
    }

    /// When it ends at the latest: the earliest of its own deadline and those of the contexts that
    /// it is derived from.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let ctx = gosched::context::background().with_timeout(Duration::from_secs(5));
    /// assert!(ctx.with_cancel().deadline().unwrap() > Instant::now());
    /// assert_eq!(gosched::context::background().deadline(), None);
    /// ```
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.0.as_ref()?.deadline
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Context");
        match &self.0 {
            None => text.finish_non_exhaustive(),
            Some(_) => {
                text.field("deadline", &self.deadline()).field("err", &self.err()).finish_non_exhaustive()
            }
        }
    }
}
