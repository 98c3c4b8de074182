//! The receiving side of a broadcast channel.

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::time::Duration;
use std::sync::{Arc, PoisonError, TryLockError};

use super::error::{RecvError, TryRecvError};
use super::history::History;
use crate::chan;
use crate::chan::change::closed_signal;
use crate::clock::when_after;
use crate::context::{self, ContextError};
use crate::g::waiter::WaitReason;
use crate::runtime::checkpoint;
use crate::sched::Limit;

/// The receiving side of a [`channel`](super::channel): gets a clone of each value that is sent
/// after it was made.
///
/// ```
/// let (s, mut first) = gosched::sync::broadcast::channel(4);
/// let mut second = s.subscribe();
/// s.send("news").unwrap();
/// assert_eq!((first.recv(), second.recv()), (Ok("news"), Ok("news")));
/// ```
pub struct Receiver<T> {
    history: Arc<History<T>>,
    /// The position of the next value.
    next: u64,
}

impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Receiver<T> {
    pub(super) fn new(history: Arc<History<T>>) -> Receiver<T> {
        let next = history.enter();
        Receiver { history, next }
    }

    /// A new receiver, which gets the values that are sent from now on. Never moves.
    ///
    /// ```
    /// let (s, r) = gosched::sync::broadcast::channel(4);
    /// s.send(1).unwrap();
    /// let mut late = r.resubscribe();
    /// s.send(2).unwrap();
    /// assert_eq!(late.recv(), Ok(2));
    /// ```
    #[must_use]
    pub fn resubscribe(&self) -> Receiver<T> {
        Receiver::new(Arc::clone(&self.history))
    }

    /// How many values were sent that it has not received, those that were overwritten included.
    /// Never moves.
    ///
    /// ```
    /// let (s, r) = gosched::sync::broadcast::channel(4);
    /// s.send(1).unwrap();
    /// assert_eq!(r.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.history.len_from(self.next)
    }

    /// Whether it has received all values that were sent. Never moves.
    ///
    /// ```
    /// assert!(gosched::sync::broadcast::channel::<u8>(4).1.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether all senders are gone. There may still be values. Never moves.
    ///
    /// ```
    /// let (s, r) = gosched::sync::broadcast::channel::<u8>(4);
    /// drop(s);
    /// assert!(r.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.history.senders() == 0
    }

    /// Whether both receive from the same channel. Never moves.
    ///
    /// ```
    /// let (s, r) = gosched::sync::broadcast::channel::<u8>(4);
    /// assert!(r.same_channel(&s.subscribe()));
    /// ```
    pub fn same_channel(&self, other: &Receiver<T>) -> bool {
        Arc::ptr_eq(&self.history, &other.history)
    }

    /// A channel that never has a value and is closed when [`try_recv`](Receiver::try_recv) would
    /// not return [`Empty`](TryRecvError::Empty): for `select!`. Never moves.
    ///
    /// It takes no value: if another case is chosen, nothing is lost. Ask for one each time.
    ///
    /// ```
    /// use gosched::{chan, select, sync::broadcast};
    ///
    /// let (s, mut news) = broadcast::channel(4);
    /// let (_s, other) = chan::bounded::<u8>(0);
    /// s.send(7).unwrap();
    /// select! {
    ///     recv(other) -> _ => unreachable!("nobody sends"),
    ///     recv(news.ready()) -> _ => assert_eq!(news.try_recv(), Ok(7)),
    /// }
    /// ```
    #[must_use]
    pub fn ready(&self) -> chan::Receiver<()> {
        chan::Receiver::of_signal(self.history.listen_at(self.next).unwrap_or_else(closed_signal))
    }
}

impl<T: Clone> Receiver<T> {
    /// Receives the next value, waiting until there is one. A moving call.
    ///
    /// # Errors
    ///
    /// [`Lagged`](RecvError::Lagged) if values were overwritten that it has not received: then the
    /// next receive gets the oldest that is there. [`Closed`](RecvError::Closed) if all senders are
    /// gone, and it has received everything.
    ///
    /// ```
    /// use gosched::sync::broadcast::{RecvError, channel};
    ///
    /// let (s, mut r) = channel(2);
    /// (1..=3).for_each(|n| drop(s.send(n)));
    /// assert_eq!(r.recv(), Err(RecvError::Lagged(1)));
    /// assert_eq!((r.recv(), r.recv()), (Ok(2), Ok(3)));
    /// ```
    pub fn recv(&mut self) -> Result<T, RecvError> {
        self.recv_within(Limit::NONE).unwrap_or_else(|| unreachable!("a wait without a limit has ended"))
    }

    /// As [`recv`](Receiver::recv), waiting for `timeout` at most; `None` if there was nothing by
    /// then. A moving call.
    ///
    /// ```
    /// let (_s, mut r) = gosched::sync::broadcast::channel::<u8>(2);
    /// assert_eq!(r.recv_timeout(std::time::Duration::from_millis(1)), None);
    /// ```
    pub fn recv_timeout(&mut self, timeout: Duration) -> Option<Result<T, RecvError>> {
        self.recv_within(Limit::until(when_after(timeout)))
    }

    /// As [`recv`](Receiver::recv), until the current [context](crate::context) ends. A moving
    /// call.
    ///
    /// A value that is there is received even if the context has ended.
    ///
    /// # Errors
    ///
    /// Why the context has ended, if it did before there was something to receive.
    ///
    /// ```
    /// use gosched::context::{ContextError, background, enter};
    ///
    /// let (s, mut r) = gosched::sync::broadcast::channel(2);
    /// let ctx = background().with_cancel();
    /// ctx.cancel();
    /// s.send(1).unwrap();
    /// assert_eq!(enter(&ctx, || r.recv_ctx()), Ok(Ok(1)));
    /// assert_eq!(enter(&ctx, || r.recv_ctx()), Err(ContextError::Cancelled));
    /// ```
    pub fn recv_ctx(&mut self) -> Result<Result<T, RecvError>, ContextError> {
        self.recv_within(Limit::of_context(None)).ok_or_else(context::why_ended)
    }

    /// Receives the next value if there is one. Never waits, and never moves the calling goroutine.
    ///
    /// # Errors
    ///
    /// [`Empty`](TryRecvError::Empty) if there is none, or if another receiver clones this very
    /// value now; else as for [`recv`](Receiver::recv).
    ///
    /// ```
    /// use gosched::sync::broadcast::{TryRecvError, channel};
    ///
    /// let (s, mut r) = channel(2);
    /// assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
    /// s.send(1).unwrap();
    /// assert_eq!(r.try_recv(), Ok(1));
    /// ```
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        match self.history.find(&mut self.next) {
            Some(Ok(value)) => match value.try_lock() {
                Ok(value) => Ok(self.take(&value)),
                Err(TryLockError::Poisoned(value)) => Ok(self.take(&value.into_inner())),
                Err(TryLockError::WouldBlock) => Err(TryRecvError::Empty),
            },
            Some(Err(error)) => Err(error.into()),
            None => Err(TryRecvError::Empty),
        }
    }

    fn recv_within(&mut self, limit: Limit) -> Option<Result<T, RecvError>> {
        loop {
            match self.history.find_or_listen(&mut self.next) {
                Ok(found) => {
                    // Receiving is a moving call whether it has to wait or not.
                    checkpoint();
                    return Some(
                        found.map(|value| self.take(&value.lock().unwrap_or_else(PoisonError::into_inner))),
                    );
                }
                Err(signal) if signal.await_close(WaitReason::ChanReceive, limit) => {}
                Err(_) => return None,
            }
        }
    }

    /// Clones the value at its position, and passes that. If the clone panics, the value stays.
    fn take(&mut self, value: &T) -> T {
        let clone = value.clone();
        self.history.pass(&mut self.next);
        clone
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.history.leave(self.next);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("broadcast::Receiver { .. }")
    }
}
