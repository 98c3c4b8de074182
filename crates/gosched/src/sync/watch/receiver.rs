//! The receiving side of a watch channel.

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::time::Duration;
use std::sync::Arc;

use super::Ref;
use super::error::RecvError;
use super::watched::Watched;
use crate::chan;
use crate::chan::change::closed_signal;
use crate::clock::when_after;
use crate::context::{self, ContextError};
use crate::g::waiter::WaitReason;
use crate::runtime::checkpoint;
use crate::sched::Limit;

/// The receiving side of a [`channel`](super::channel): sees the newest value. A clone has seen
/// what the original has seen.
///
/// ```
/// let (s, mut r) = gosched::sync::watch::channel(1);
/// (2..=4).for_each(|n| s.send(n).unwrap());
/// r.changed().unwrap();
/// assert_eq!(*r.borrow(), 4);
/// assert_eq!(r.has_changed(), Ok(false));
/// ```
pub struct Receiver<T> {
    watched: Arc<Watched<T>>,
    /// The version that it has seen, or [`UNSEEN`].
    seen: u64,
}

/// Never the version of a value.
const UNSEEN: u64 = u64::MAX;

impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Receiver<T> {
    pub(super) fn new(watched: Arc<Watched<T>>) -> Receiver<T> {
        let seen = watched.enter();
        Receiver { watched, seen }
    }

    /// The value, which does not count as seen by that. Moves only if it has to wait.
    ///
    /// ```
    /// let (s, r) = gosched::sync::watch::channel(1);
    /// s.send(2).unwrap();
    /// assert_eq!(*r.borrow(), 2);
    /// assert_eq!(r.has_changed(), Ok(true));
    /// ```
    pub fn borrow(&self) -> Ref<'_, T> {
        let (value, news) = self.watched.read();
        Ref { value, has_changed: self.seen != news.version }
    }

    /// The value, which counts as seen from now on. Moves only if it has to wait.
    ///
    /// ```
    /// let (s, mut r) = gosched::sync::watch::channel(1);
    /// s.send(2).unwrap();
    /// assert_eq!(*r.borrow_and_update(), 2);
    /// assert_eq!(r.has_changed(), Ok(false));
    /// ```
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let (value, news) = self.watched.read();
        let before = core::mem::replace(&mut self.seen, news.version);
        Ref { value, has_changed: before != news.version }
    }

    /// Whether there is a value that it has not seen. Never moves.
    ///
    /// # Errors
    ///
    /// If all senders are gone.
    ///
    /// ```
    /// let (s, r) = gosched::sync::watch::channel(1);
    /// s.send(2).unwrap();
    /// assert_eq!(r.has_changed(), Ok(true));
    /// drop(s);
    /// assert!(r.has_changed().is_err());
    /// ```
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        let news = self.watched.news();
        if news.closed { Err(RecvError(())) } else { Ok(self.seen != news.version) }
    }

    /// Makes the value of now count as not seen. Never moves.
    ///
    /// ```
    /// let (s, mut r) = gosched::sync::watch::channel(1);
    /// r.mark_changed();
    /// assert_eq!(r.changed(), Ok(()));
    /// # drop(s);
    /// ```
    pub fn mark_changed(&mut self) {
        self.seen = UNSEEN;
    }

    /// Makes the value of now count as seen. Never moves.
    ///
    /// ```
    /// let (s, mut r) = gosched::sync::watch::channel(1);
    /// s.send(2).unwrap();
    /// r.mark_unchanged();
    /// assert_eq!(r.has_changed(), Ok(false));
    /// ```
    pub fn mark_unchanged(&mut self) {
        self.seen = self.watched.news().version;
    }

    /// Waits until there is a value that it has not seen, which counts as seen from then on. A
    /// moving call.
    ///
    /// # Errors
    ///
    /// If all senders are gone, and it has seen the last value.
    ///
    /// ```
    /// let (s, mut r) = gosched::sync::watch::channel(1);
    /// gosched::go(move || s.send(2).unwrap());
    /// assert_eq!(r.changed(), Ok(()));
    /// assert_eq!(*r.borrow(), 2);
    /// assert!(r.changed().is_err(), "the sender is gone");
    /// ```
    pub fn changed(&mut self) -> Result<(), RecvError> {
        self.changed_within(Limit::NONE).unwrap_or_else(|| unreachable!("a wait without a limit has ended"))
    }

    /// As [`changed`](Receiver::changed), waiting for `timeout` at most; `None` if there was no new
    /// value by then. A moving call.
    ///
    /// ```
    /// let (_s, mut r) = gosched::sync::watch::channel(1);
    /// assert_eq!(r.changed_timeout(std::time::Duration::from_millis(1)), None);
    /// ```
    pub fn changed_timeout(&mut self, timeout: Duration) -> Option<Result<(), RecvError>> {
        self.changed_within(Limit::until(when_after(timeout)))
    }

    /// As [`changed`](Receiver::changed), until the current [context](crate::context) ends. A
    /// moving call.
    ///
    /// Succeeds if there is a value that it has not seen, even if the context has ended.
    ///
    /// # Errors
    ///
    /// Why the context has ended, if it did before there was a new value.
    ///
    /// ```
    /// use gosched::context::{ContextError, background, enter};
    ///
    /// let (s, mut r) = gosched::sync::watch::channel(1);
    /// let ctx = background().with_cancel();
    /// ctx.cancel();
    /// s.send(2).unwrap();
    /// assert_eq!(enter(&ctx, || r.changed_ctx()), Ok(Ok(())));
    /// assert_eq!(enter(&ctx, || r.changed_ctx()), Err(ContextError::Cancelled));
    /// ```
    pub fn changed_ctx(&mut self) -> Result<Result<(), RecvError>, ContextError> {
        self.changed_within(Limit::of_context(None)).ok_or_else(context::why_ended)
    }

    fn changed_within(&mut self, limit: Limit) -> Option<Result<(), RecvError>> {
        loop {
            match self.watched.listen(self.seen) {
                Ok(news) => {
                    checkpoint();
                    let before = core::mem::replace(&mut self.seen, news.version);
                    let changed = before != news.version;
                    return Some(if changed { Ok(()) } else { Err(RecvError(())) });
                }
                Err(signal) if signal.await_close(WaitReason::ChanReceive, limit) => {}
                Err(_) => return None,
            }
        }
    }

    /// Waits until `wanted` says that the value, seen or not, is the one; values that are replaced
    /// before it looks are left out. The values that it looks at count as seen. A moving call, if
    /// it has to wait.
    ///
    /// # Errors
    ///
    /// If all senders are gone, and the last value is not the one.
    ///
    /// # Panics
    ///
    /// With the panic of `wanted`.
    ///
    /// ```
    /// let (s, mut r) = gosched::sync::watch::channel(1);
    /// gosched::go(move || (2..=10).for_each(|n| s.send(n).unwrap()));
    /// assert_eq!(*r.wait_for(|n| *n >= 10).unwrap(), 10);
    /// ```
    pub fn wait_for(&mut self, wanted: impl FnMut(&T) -> bool) -> Result<Ref<'_, T>, RecvError> {
        self.wait_for_within(Limit::NONE, wanted)
            .unwrap_or_else(|| unreachable!("a wait without a limit has ended"))
    }

    /// As [`wait_for`](Receiver::wait_for), waiting for `timeout` at most; `None` if there was no
    /// such value by then. A moving call, if it has to wait.
    ///
    /// ```
    /// let (_s, mut r) = gosched::sync::watch::channel(1);
    /// assert!(r.wait_for_timeout(std::time::Duration::from_millis(1), |n| *n > 1).is_none());
    /// ```
    pub fn wait_for_timeout(
        &mut self,
        timeout: Duration,
        wanted: impl FnMut(&T) -> bool,
    ) -> Option<Result<Ref<'_, T>, RecvError>> {
        self.wait_for_within(Limit::until(when_after(timeout)), wanted)
    }

    /// As [`wait_for`](Receiver::wait_for), until the current [context](crate::context) ends. A
    /// moving call, if it has to wait.
    ///
    /// # Errors
    ///
    /// Why the context has ended, if it did before there was such a value.
    ///
    /// ```
    /// let (_s, mut r) = gosched::sync::watch::channel(1);
    /// assert_eq!(*r.wait_for_ctx(|n| *n == 1).unwrap().unwrap(), 1);
    /// ```
    pub fn wait_for_ctx(
        &mut self,
        wanted: impl FnMut(&T) -> bool,
    ) -> Result<Result<Ref<'_, T>, RecvError>, ContextError> {
        self.wait_for_within(Limit::of_context(None), wanted).ok_or_else(context::why_ended)
    }

    fn wait_for_within(
        &mut self,
        limit: Limit,
        mut wanted: impl FnMut(&T) -> bool,
    ) -> Option<Result<Ref<'_, T>, RecvError>> {
        loop {
            let (value, news) = self.watched.read();
            let before = core::mem::replace(&mut self.seen, news.version);
            if wanted(&value) {
                return Some(Ok(Ref { value, has_changed: before != news.version }));
            }
            drop(value);
            match self.watched.listen(news.version) {
                // Only a value that it has not looked at can still be the one.
                Ok(now) if now.version == news.version => return Some(Err(RecvError(()))),
                Ok(_) => {}
                Err(signal) if signal.await_close(WaitReason::ChanReceive, limit) => {}
                Err(_) => return None,
            }
        }
    }

    /// A channel that never has a value and is closed when there is a value that it has not seen,
    /// or no sender: when [`changed`](Receiver::changed) would not wait. For `select!`. Never
    /// moves.
    ///
    /// It marks nothing as seen: if another case is chosen, nothing is lost. Ask for one each time.
    ///
    /// ```
    /// use gosched::{chan, select, sync::watch};
    ///
    /// let (s, mut config) = watch::channel(1);
    /// let (_s, other) = chan::bounded::<u8>(0);
    /// s.send(2).unwrap();
    /// select! {
    ///     recv(other) -> _ => unreachable!("nobody sends"),
    ///     recv(config.ready()) -> _ => assert_eq!(config.changed(), Ok(())),
    /// }
    /// ```
    #[must_use]
    pub fn ready(&self) -> chan::Receiver<()> {
        let signal = self.watched.listen(self.seen).err();
        chan::Receiver::of_signal(signal.unwrap_or_else(closed_signal))
    }

    /// Whether both see the same value. Never moves.
    ///
    /// ```
    /// let (_s, r) = gosched::sync::watch::channel(1);
    /// assert!(r.same_channel(&r.clone()));
    /// ```
    pub fn same_channel(&self, other: &Receiver<T>) -> bool {
        Arc::ptr_eq(&self.watched, &other.watched)
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Receiver<T> {
        self.watched.enter();
        Receiver { watched: Arc::clone(&self.watched), seen: self.seen }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.watched.leave();
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("watch::Receiver { .. }")
    }
}
