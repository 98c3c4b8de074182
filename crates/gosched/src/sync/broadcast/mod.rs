//! A channel on which each receiver gets each value: tokio's `sync::broadcast`, with waits.
//!
//! It holds the last values. A send never waits: if the channel is full, it overwrites the oldest
//! value, and a receiver that has not received that is told how many it has missed
//! ([`RecvError::Lagged`]). Each receiver gets a clone.
//!
//! ```
//! use gosched::sync::broadcast;
//! use gosched::{chan, select};
//!
//! let (news, mut reader) = broadcast::channel(16);
//! let mut other = news.subscribe();
//! let (_quit, quitting) = chan::bounded::<()>(0);
//! let printer = gosched::go(move || {
//!     loop {
//!         select! {
//!             recv(reader.ready()) -> _ => match reader.try_recv() {
//!                 Ok(value) => println!("{value}"),
//!                 Err(broadcast::TryRecvError::Closed) => break,
//!                 Err(error) => println!("{error}"),
//!             },
//!             recv(quitting) -> _ => break,
//!         }
//!     }
//! });
//! news.send("hello").unwrap();
//! assert_eq!(other.recv(), Ok("hello"));
//! drop(news);
//! printer.join().unwrap();
//! ```

pub mod error;
mod history;
mod receiver;

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::time::Duration;
use std::sync::Arc;

use crate::clock::when_after;
use crate::context::{self, ContextError};
use crate::g::waiter::WaitReason;
use crate::runtime::checkpoint;
use crate::sched::Limit;
use history::History;

pub use error::{RecvError, SendError, TryRecvError};
pub use receiver::Receiver;

/// A channel that holds the last `capacity` values, or some more: that is rounded up to a power of
/// two, as tokio does. Never moves.
///
/// # Panics
///
/// If `capacity` is 0, or above `usize::MAX / 2`.
///
/// ```
/// let (s, mut r) = gosched::sync::broadcast::channel(2);
/// assert_eq!(s.send(1).unwrap(), 1);
/// assert_eq!(r.recv(), Ok(1));
/// ```
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new(capacity);
    let receiver = sender.subscribe();
    (sender, receiver)
}

/// The sending side of a [`channel`]. Clones send into the same channel. When the last one is
/// dropped, the receivers get what is there, and then [`RecvError::Closed`].
///
/// ```
/// let (s, mut r) = gosched::sync::broadcast::channel(1);
/// let other = s.clone();
/// drop(s);
/// other.send(5).unwrap();
/// assert_eq!(r.recv(), Ok(5));
/// ```
pub struct Sender<T> {
    history: Arc<History<T>>,
}

impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}

impl<T> Sender<T> {
    /// As [`channel`], without a receiver: [`subscribe`](Sender::subscribe) makes them.
    ///
    /// # Panics
    ///
    /// As [`channel`].
    ///
    /// ```
    /// let s = gosched::sync::broadcast::Sender::new(4);
    /// assert!(s.send(1).is_err(), "nobody receives");
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new(capacity: usize) -> Sender<T> {
        assert!(capacity > 0, "broadcast channel capacity cannot be zero");
        assert!(capacity <= usize::MAX / 2, "broadcast channel capacity exceeded `usize::MAX / 2`");
        Sender { history: History::new(capacity.next_power_of_two()) }
    }

    /// Sends a value to all receivers, and returns how many they are. Never waits or moves.
    ///
    /// # Errors
    ///
    /// If there are no receivers. The value comes back. A later send may succeed, if somebody
    /// [subscribes](Sender::subscribe).
    ///
    /// ```
    /// let (s, mut r) = gosched::sync::broadcast::channel(1);
    /// let _other = s.subscribe();
    /// assert_eq!(s.send("both").unwrap(), 2);
    /// # assert_eq!(r.recv(), Ok("both"));
    /// ```
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        self.history.add(value).map_err(SendError)
    }

    /// A new receiver, which gets the values that are sent from now on. Never moves.
    ///
    /// ```
    /// let (s, _r) = gosched::sync::broadcast::channel(4);
    /// s.send(1).unwrap();
    /// let mut late = s.subscribe();
    /// s.send(2).unwrap();
    /// assert_eq!(late.recv(), Ok(2));
    /// ```
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver::new(Arc::clone(&self.history))
    }

    /// How many values there are that some receiver has not received. Never moves.
    ///
    /// ```
    /// let (s, mut r) = gosched::sync::broadcast::channel(4);
    /// s.send(1).unwrap();
    /// assert_eq!(s.len(), 1);
    /// r.recv().unwrap();
    /// assert!(s.is_empty());
    /// ```
    pub fn len(&self) -> usize {
        self.history.unseen()
    }

    /// Whether all receivers have received all values. Never moves.
    ///
    /// ```
    /// assert!(gosched::sync::broadcast::channel::<u8>(4).0.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many receivers there are. Never moves.
    ///
    /// ```
    /// let (s, r) = gosched::sync::broadcast::channel::<u8>(4);
    /// assert_eq!(s.receiver_count(), 1);
    /// drop(r);
    /// assert_eq!(s.receiver_count(), 0);
    /// ```
    pub fn receiver_count(&self) -> usize {
        self.history.receivers()
    }

    /// Waits until there are no receivers. A moving call.
    ///
    /// ```
    /// let (s, r) = gosched::sync::broadcast::channel::<u8>(4);
    /// gosched::go(move || drop(r));
    /// s.closed();
    /// ```
    pub fn closed(&self) {
        let _ = self.closed_within(Limit::NONE);
    }

    /// As [`closed`](Sender::closed), for `timeout` at most. Returns whether there are no
    /// receivers. A moving call.
    ///
    /// ```
    /// let (s, r) = gosched::sync::broadcast::channel::<u8>(4);
    /// assert!(!s.closed_timeout(std::time::Duration::from_millis(1)));
    /// # drop(r);
    /// ```
    #[must_use = "says whether there are no receivers"]
    pub fn closed_timeout(&self, timeout: Duration) -> bool {
        self.closed_within(Limit::until(when_after(timeout)))
    }

    /// As [`closed`](Sender::closed), until the current [context] ends. A moving
    /// call.
    ///
    /// # Errors
    ///
    /// Why the context has ended, if it did before there were no receivers.
    ///
    /// ```
    /// let (s, r) = gosched::sync::broadcast::channel::<u8>(4);
    /// drop(r);
    /// assert_eq!(s.closed_ctx(), Ok(()));
    /// ```
    pub fn closed_ctx(&self) -> Result<(), ContextError> {
        if self.closed_within(Limit::of_context(None)) { Ok(()) } else { Err(context::why_ended()) }
    }

    fn closed_within(&self, limit: Limit) -> bool {
        while let Some(signal) = self.history.listen_left() {
            if !signal.await_close(WaitReason::ChanSend, limit) {
                return false;
            }
        }
        checkpoint();
        true
    }

    /// Whether both send into the same channel. Never moves.
    ///
    /// ```
    /// let s = gosched::sync::broadcast::Sender::<u8>::new(4);
    /// assert!(s.same_channel(&s.clone()));
    /// ```
    pub fn same_channel(&self, other: &Sender<T>) -> bool {
        Arc::ptr_eq(&self.history, &other.history)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        self.history.add_sender();
        Sender { history: Arc::clone(&self.history) }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.history.remove_sender();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("broadcast::Sender { .. }")
    }
}
