//! The sending side.

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::time::Duration;
use std::time::Instant;

use gosched_chan::Chan;

use super::err::{SendError, SendTimeoutError, TrySendError};
use super::future::SendFuture;
use super::ops;
use super::patience::Patience;
use super::shared::{Handle, SendingSide};
use crate::g::waiter::Waiter;

/// The sending side of a channel. Clones send into the same channel.
///
/// When the last one is dropped, the channel is closed: receivers get what is in it, and then an
/// error.
///
/// ```
/// use gosched::chan::unbounded;
///
/// let (s1, r) = unbounded();
/// let s2 = s1.clone();
/// gosched::go(move || s1.send(1).unwrap());
/// gosched::go(move || s2.send(2).unwrap());
/// assert_eq!(r.iter().sum::<i32>(), 3);
/// ```
pub struct Sender<T> {
    handle: Handle<T, SendingSide>,
}

impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}

impl<T> Sender<T> {
    pub(super) fn new(handle: Handle<T, SendingSide>) -> Sender<T> {
        Sender { handle }
    }

    #[inline]
    pub(crate) fn chan(&self) -> &Chan<T, Waiter> {
        &self.handle
    }

    /// Sends a value, waiting until there is a place for it or, without a buffer, a receiver.
    ///
    /// Senders that wait get their turn first come, first served; nobody overtakes them. A moving
    /// call.
    ///
    /// # Errors
    ///
    /// If the channel is closed. The value comes back.
    ///
    /// ```
    /// use gosched::chan::{SendError, bounded};
    ///
    /// let (s, r) = bounded(1);
    /// let receiver = gosched::go(move || (r.recv(), r.recv()));
    /// assert_eq!(s.send(1), Ok(()));
    /// assert_eq!(s.send(2), Ok(())); // waits for a place
    /// assert_eq!(receiver.join().unwrap(), (Ok(1), Ok(2)));
    /// assert_eq!(s.send(3), Err(SendError(3))); // the receiver is gone
    /// ```
    #[inline]
    pub fn send(&self, msg: T) -> Result<(), SendError<T>> {
        ops::send(self.chan(), msg, Patience::Endless).map_err(|error| SendError(error.into_inner()))
    }

    /// Sends a value if it can be sent without waiting. Never moves.
    ///
    /// # Errors
    ///
    /// If the channel is full (without a buffer: if no receiver waits), or closed. The value comes
    /// back.
    ///
    /// ```
    /// use gosched::chan::{TrySendError, bounded};
    ///
    /// let (s, r) = bounded(1);
    /// assert_eq!(s.try_send(1), Ok(()));
    /// assert_eq!(s.try_send(2), Err(TrySendError::Full(2)));
    /// drop(r);
    /// assert_eq!(s.try_send(3), Err(TrySendError::Disconnected(3)));
    /// ```
    #[inline]
    pub fn try_send(&self, msg: T) -> Result<(), TrySendError<T>> {
        ops::try_send(self.chan(), msg)
    }

    /// As [`send`](Sender::send), waiting for `timeout` at most. A moving call.
    ///
    /// # Errors
    ///
    /// If the time is over, or as for [`send`](Sender::send). The value comes back.
    ///
    /// ```
    /// use gosched::chan::{SendTimeoutError, bounded};
    /// use std::time::Duration;
    ///
    /// let (s, _r) = bounded(0);
    /// assert_eq!(s.send_timeout(1, Duration::from_millis(5)), Err(SendTimeoutError::Timeout(1)));
    /// ```
    pub fn send_timeout(&self, msg: T, timeout: Duration) -> Result<(), SendTimeoutError<T>> {
        ops::send(self.chan(), msg, Patience::For(timeout))
    }

    /// As [`send`](Sender::send), waiting until `deadline` at most. A moving call.
    ///
    /// # Errors
    ///
    /// If the time is over, or as for [`send`](Sender::send). The value comes back.
    ///
    /// ```
    /// use gosched::chan::{SendTimeoutError, bounded};
    /// use std::time::{Duration, Instant};
    ///
    /// let (s, _r) = bounded(0);
    /// let deadline = Instant::now() + Duration::from_millis(5);
    /// assert_eq!(s.send_deadline(1, deadline), Err(SendTimeoutError::Timeout(1)));
    /// ```
    pub fn send_deadline(&self, msg: T, deadline: Instant) -> Result<(), SendTimeoutError<T>> {
        ops::send(self.chan(), msg, Patience::Until(deadline))
    }

    /// Sends from async code: returns a future that waits without blocking the thread.
    ///
    /// A future that is dropped before it is ready drops the value, unless a receiver has got it
    /// already.
    ///
    /// ```
    /// use gosched::chan::bounded;
    ///
    /// let (s, r) = bounded(1);
    /// let sending = async move { s.send_async(7).await };
    /// # let mut sending = Box::pin(sending);
    /// # let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    /// # assert!(sending.as_mut().poll(&mut cx).is_ready());
    /// assert_eq!(r.recv(), Ok(7)); // once a task has run `sending`
    /// ```
    pub fn send_async(&self, msg: T) -> SendFuture<'_, T> {
        SendFuture::new(self, msg)
    }

    /// Closes the channel for everyone, at once, as Go's `close` does: receivers get what is in it
    /// and then an error, senders that wait get their values back. Returns whether this call has
    /// closed it. Never moves.
    ///
    /// Does nothing to a sender made by [`never_sender`](super::never_sender).
    ///
    /// ```
    /// use gosched::chan::{RecvError, SendError, bounded};
    ///
    /// let (s, r) = bounded(2);
    /// s.send(1).unwrap();
    /// assert!(s.close());
    /// assert!(!s.close());
    /// assert_eq!(s.send(2), Err(SendError(2)));
    /// assert_eq!((r.recv(), r.recv()), (Ok(1), Err(RecvError)));
    /// ```
    pub fn close(&self) -> bool {
        // Without receivers it was closed by the last one, or never is.
        !self.handle.is_alone() && ops::close(self.chan())
    }

    /// Whether the channel is closed, by a `close` or because all receivers are gone. Never moves.
    ///
    /// ```
    /// let (s, r) = gosched::chan::bounded::<u32>(1);
    /// assert!(!s.is_closed());
    /// drop(r);
    /// assert!(s.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        ops::look(self.chan(), |state| state.is_closed())
    }

    /// Whether there is no value in the channel. A channel without a buffer is always empty. Never
    /// moves.
    ///
    /// ```
    /// let (s, _r) = gosched::chan::unbounded();
    /// assert!(s.is_empty());
    /// s.send(0).unwrap();
    /// assert!(!s.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        ops::look(self.chan(), |state| state.is_empty())
    }

    /// Whether there is no place in the channel. A channel without a buffer is always full. Never
    /// moves.
    ///
    /// ```
    /// let (s, _r) = gosched::chan::bounded(1);
    /// assert!(!s.is_full());
    /// s.send(0).unwrap();
    /// assert!(s.is_full());
    /// ```
    pub fn is_full(&self) -> bool {
        ops::look(self.chan(), |state| state.is_full())
    }

    /// How many values are in the channel. Never moves.
    ///
    /// ```
    /// let (s, _r) = gosched::chan::unbounded();
    /// s.send(1).unwrap();
    /// s.send(2).unwrap();
    /// assert_eq!(s.len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        ops::look(self.chan(), |state| state.len())
    }

    /// How many values it can hold; `None` if there is no limit. Never moves.
    ///
    /// ```
    /// use gosched::chan::{bounded, unbounded};
    ///
    /// assert_eq!(unbounded::<u32>().0.capacity(), None);
    /// assert_eq!(bounded::<u32>(5).0.capacity(), Some(5));
    /// ```
    pub fn capacity(&self) -> Option<usize> {
        self.handle.capacity()
    }

    /// Whether both send into the same channel. Never moves.
    ///
    /// ```
    /// use gosched::chan::unbounded;
    ///
    /// let (s, _) = unbounded::<u32>();
    /// assert!(s.same_channel(&s.clone()));
    /// assert!(!s.same_channel(&unbounded().0));
    /// ```
    pub fn same_channel(&self, other: &Sender<T>) -> bool {
        self.handle.is(&other.handle)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        Sender { handle: self.handle.clone() }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sender { .. }")
    }
}
