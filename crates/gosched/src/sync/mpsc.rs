//! Channels with the names and semantics of `std::sync::mpsc`: many senders, one receiver.
//!
//! Built on [`chan`](mod@crate::chan), whose channels can do more; the errors are std's own. A wait
//! parks the goroutine; it blocks a thread that is not a goroutine. The end of a
//! [context](crate::context) does not end a wait here.
//!
//! ```
//! use gosched::sync::mpsc::channel;
//!
//! let (tx, rx) = channel();
//! for n in 0..10 {
//!     let tx = tx.clone();
//!     gosched::go(move || tx.send(n).unwrap());
//! }
//! drop(tx);
//! assert_eq!(rx.iter().sum::<i32>(), 45);
//! ```

#![deny(unsafe_code)]

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::time::Duration;

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use crate::chan;

/// The sending half of a [`channel`].
///
/// ```
/// let (tx, rx) = gosched::sync::mpsc::channel();
/// tx.send(1).unwrap();
/// assert_eq!(rx.recv(), Ok(1));
/// ```
pub struct Sender<T> {
    inner: chan::Sender<T>,
}

/// The sending half of a [`sync_channel`].
///
/// ```
/// let (tx, rx) = gosched::sync::mpsc::sync_channel(1);
/// tx.send(1).unwrap();
/// assert_eq!(rx.recv(), Ok(1));
/// ```
pub struct SyncSender<T> {
    inner: chan::Sender<T>,
}

/// The receiving half of a [`channel`] or [`sync_channel`]. There is one, which can be sent, but
/// not shared.
///
/// ```
/// let (tx, rx) = gosched::sync::mpsc::channel();
/// gosched::go(move || tx.send("hello").unwrap());
/// assert_eq!(rx.recv(), Ok("hello"));
/// ```
pub struct Receiver<T> {
    inner: chan::Receiver<T>,
    not_sync: PhantomData<Cell<()>>,
}

impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}
impl<T> UnwindSafe for SyncSender<T> {}
impl<T> RefUnwindSafe for SyncSender<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

/// A channel of any length: a send never waits.
///
/// ```
/// let (tx, rx) = gosched::sync::mpsc::channel();
/// gosched::go(move || tx.send(6 * 7).unwrap());
/// assert_eq!(rx.recv().unwrap(), 42);
/// ```
#[must_use]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (tx, rx) = chan::unbounded();
    (Sender { inner: tx }, Receiver { inner: rx, not_sync: PhantomData })
}

/// A channel with room for `bound` values: a send waits for a place. With a bound of 0 it waits
/// until its value is received.
///
/// ```
/// let (tx, rx) = gosched::sync::mpsc::sync_channel(1);
/// tx.send(1).unwrap();
/// gosched::go(move || tx.send(2).unwrap()); // waits until the first is received
/// assert_eq!((rx.recv(), rx.recv()), (Ok(1), Ok(2)));
/// ```
#[must_use]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let (tx, rx) = chan::bounded(bound);
    (SyncSender { inner: tx }, Receiver { inner: rx, not_sync: PhantomData })
}

impl<T> Sender<T> {
    /// Sends a value. Never waits; a moving call all the same, as every send is.
    ///
    /// # Errors
    ///
    /// With the value, if the receiver is gone.
    ///
    /// ```
    /// let (tx, rx) = gosched::sync::mpsc::channel();
    /// tx.send(1).unwrap();
    /// drop(rx);
    /// assert_eq!(tx.send(2).unwrap_err().0, 2);
    /// ```
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        send(&self.inner, t)
    }
}

impl<T> SyncSender<T> {
    /// Sends a value, waiting for a place. A moving call.
    ///
    /// # Errors
    ///
    /// With the value, if the receiver is gone.
    ///
    /// ```
    /// let (tx, rx) = gosched::sync::mpsc::sync_channel(0);
    /// gosched::go(move || tx.send(1).unwrap());
    /// assert_eq!(rx.recv(), Ok(1));
    /// ```
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        send(&self.inner, t)
    }

    /// Sends a value if there is a place for it. Never moves.
    ///
    /// # Errors
    ///
    /// With the value, if the channel is full or the receiver is gone.
    ///
    /// ```
    /// use gosched::sync::mpsc::{TrySendError, sync_channel};
    ///
    /// let (tx, rx) = sync_channel(1);
    /// assert_eq!(tx.try_send(1), Ok(()));
    /// assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    /// drop(rx);
    /// assert_eq!(tx.try_send(3), Err(TrySendError::Disconnected(3)));
    /// ```
    pub fn try_send(&self, t: T) -> Result<(), TrySendError<T>> {
        self.inner.try_send(t).map_err(|error| match error {
            chan::TrySendError::Full(t) => TrySendError::Full(t),
            chan::TrySendError::Disconnected(t) => TrySendError::Disconnected(t),
        })
    }
}

fn send<T>(sender: &chan::Sender<T>, t: T) -> Result<(), SendError<T>> {
    sender.send(t).map_err(|chan::SendError(t)| SendError(t))
}

impl<T> Receiver<T> {
    /// Receives a value if one is there. Never moves.
    ///
    /// # Errors
    ///
    /// If there is none; `Disconnected` if there will be none, because all senders are gone.
    ///
    /// ```
    /// use gosched::sync::mpsc::{TryRecvError, channel};
    ///
    /// let (tx, rx) = channel::<i32>();
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// drop(tx);
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    /// ```
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.inner.try_recv().map_err(|error| match error {
            chan::TryRecvError::Empty => TryRecvError::Empty,
            chan::TryRecvError::Disconnected => TryRecvError::Disconnected,
        })
    }

    /// Receives a value, waiting for it. A moving call.
    ///
    /// # Errors
    ///
    /// If all senders are gone and everything was received.
    ///
    /// ```
    /// use gosched::sync::mpsc::{RecvError, channel};
    ///
    /// let (tx, rx) = channel();
    /// gosched::go(move || tx.send(1).unwrap());
    /// assert_eq!((rx.recv(), rx.recv()), (Ok(1), Err(RecvError)));
    /// ```
    pub fn recv(&self) -> Result<T, RecvError> {
        self.inner.recv().map_err(|chan::RecvError| RecvError)
    }

    /// Receives a value, waiting for it for `timeout` at most. A moving call.
    ///
    /// # Errors
    ///
    /// If none has come in that time; or if none will come, because all senders are gone.
    ///
    /// ```
    /// use gosched::sync::mpsc::{RecvTimeoutError, channel};
    /// use std::time::Duration;
    ///
    /// let (tx, rx) = channel::<i32>();
    /// assert_eq!(rx.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout));
    /// drop(tx);
    /// assert_eq!(rx.recv_timeout(Duration::MAX), Err(RecvTimeoutError::Disconnected));
    /// ```
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.inner.recv_timeout(timeout).map_err(|error| match error {
            chan::RecvTimeoutError::Timeout => RecvTimeoutError::Timeout,
            chan::RecvTimeoutError::Disconnected => RecvTimeoutError::Disconnected,
        })
    }

    /// Everything that comes until all senders are gone. Its `next` is a moving call.
    ///
    /// ```
    /// let (tx, rx) = gosched::sync::mpsc::channel();
    /// gosched::go(move || (1..=3).for_each(|n| tx.send(n).unwrap()));
    /// assert_eq!(rx.iter().collect::<Vec<_>>(), [1, 2, 3]);
    /// ```
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { rx: self }
    }

    /// Everything that is there. Never moves.
    ///
    /// ```
    /// let (tx, rx) = gosched::sync::mpsc::channel();
    /// assert_eq!(rx.try_iter().next(), None);
    /// tx.send(1).unwrap();
    /// tx.send(2).unwrap();
    /// assert_eq!(rx.try_iter().collect::<Vec<_>>(), [1, 2]);
    /// ```
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { rx: self }
    }
}

/// Values as they come; see [`Receiver::iter`].
///
/// ```
/// let (tx, rx) = gosched::sync::mpsc::channel();
/// tx.send(1).unwrap();
/// assert_eq!(rx.iter().next(), Some(1));
/// ```
#[derive(Debug)]
pub struct Iter<'a, T: 'a> {
    rx: &'a Receiver<T>,
}

/// Values that are there; see [`Receiver::try_iter`].
///
/// ```
/// let (tx, rx) = gosched::sync::mpsc::channel();
/// tx.send(1).unwrap();
/// assert_eq!(rx.try_iter().count(), 1);
/// ```
#[derive(Debug)]
pub struct TryIter<'a, T: 'a> {
    rx: &'a Receiver<T>,
}

/// Values as they come, with the receiver inside.
///
/// ```
/// let (tx, rx) = gosched::sync::mpsc::channel();
/// tx.send(1).unwrap();
/// drop(tx);
/// assert_eq!(rx.into_iter().collect::<Vec<_>>(), [1]);
/// ```
#[derive(Debug)]
pub struct IntoIter<T> {
    rx: Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.rx.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.rx.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.rx.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { rx: self }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        Sender { inner: self.inner.clone() }
    }
}

impl<T> Clone for SyncSender<T> {
    fn clone(&self) -> SyncSender<T> {
        SyncSender { inner: self.inner.clone() }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
