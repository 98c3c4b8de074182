//! The sending side of a watch channel.

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::time::Duration;
use std::sync::Arc;

use super::error::SendError;
use super::watched::Watched;
use super::{Receiver, Ref};
use crate::clock::when_after;
use crate::context::{self, ContextError};
use crate::g::waiter::WaitReason;
use crate::runtime::checkpoint;
use crate::sched::Limit;

/// The sending side of a [`channel`](super::channel). Clones set the same value.
///
/// What changes the value waits while somebody has a [`Ref`] to it: then it is a moving call.
///
/// ```
/// let (s, r) = gosched::sync::watch::channel(1);
/// s.send(2).unwrap();
/// assert_eq!(*r.borrow(), 2);
/// ```
pub struct Sender<T> {
    watched: Arc<Watched<T>>,
}

impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}

impl<T> Sender<T> {
    /// As [`channel`](super::channel), without a receiver: [`subscribe`](Sender::subscribe) makes
    /// them.
    ///
    /// ```
    /// let s = gosched::sync::watch::Sender::new(1);
    /// assert!(s.send(2).is_err(), "nobody watches");
    /// assert_eq!(s.send_replace(3), 1);
    /// ```
    #[must_use]
    pub fn new(init: T) -> Sender<T> {
        Sender { watched: Watched::new(init) }
    }

    /// Sets the value, and wakes all who wait for a new one. Moves only if it has to wait.
    ///
    /// # Errors
    ///
    /// If there are no receivers. The new value comes back, and the old one stays:
    /// [`send_replace`](Sender::send_replace) sets it in any case.
    ///
    /// ```
    /// let (s, r) = gosched::sync::watch::channel(1);
    /// s.send(2).unwrap();
    /// drop(r);
    /// assert_eq!(s.send(3).unwrap_err().0, 3);
    /// assert_eq!(*s.borrow(), 2);
    /// ```
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.receiver_count() == 0 {
            return Err(SendError(value));
        }
        self.send_replace(value);
        Ok(())
    }

    /// Sets the value, also if there are no receivers, and returns the one before. Moves only if it
    /// has to wait.
    ///
    /// ```
    /// let (s, r) = gosched::sync::watch::channel(1);
    /// assert_eq!(s.send_replace(2), 1);
    /// assert_eq!(*r.borrow(), 2);
    /// ```
    pub fn send_replace(&self, value: T) -> T {
        let mut value = value;
        self.send_modify(|old| core::mem::swap(old, &mut value));
        value
    }

    /// Changes the value in place. Moves only if it has to wait.
    ///
    /// # Panics
    ///
    /// With the panic of `modify`. Then nobody is told that the value has changed.
    ///
    /// ```
    /// let (s, r) = gosched::sync::watch::channel(vec![1]);
    /// s.send_modify(|list| list.push(2));
    /// assert_eq!(*r.borrow(), [1, 2]);
    /// ```
    pub fn send_modify(&self, modify: impl FnOnce(&mut T)) {
        self.watched.modify(|value| {
            modify(value);
            true
        });
    }

    /// As [`send_modify`](Sender::send_modify), for a `modify` that says whether it has changed the
    /// value: if not, nobody is told. Returns the same.
    ///
    /// # Panics
    ///
    /// As [`send_modify`](Sender::send_modify).
    ///
    /// ```
    /// let (s, r) = gosched::sync::watch::channel(1);
    /// assert!(!s.send_if_modified(|_| false));
    /// assert_eq!(r.has_changed(), Ok(false));
    /// ```
    pub fn send_if_modified(&self, modify: impl FnOnce(&mut T) -> bool) -> bool {
        self.watched.modify(modify)
    }

    /// The value. Moves only if it has to wait.
    ///
    /// ```
    /// assert_eq!(*gosched::sync::watch::channel(1).0.borrow(), 1);
    /// ```
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref { value: self.watched.read().0, has_changed: false }
    }

    /// A new receiver, which has seen the value of now. Never moves.
    ///
    /// ```
    /// let s = gosched::sync::watch::Sender::new(1);
    /// let r = s.subscribe();
    /// assert_eq!(r.has_changed(), Ok(false));
    /// ```
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver::new(Arc::clone(&self.watched))
    }

    /// How many receivers there are. Never moves.
    ///
    /// ```
    /// let (s, r) = gosched::sync::watch::channel(1);
    /// assert_eq!(s.receiver_count(), 1);
    /// # drop(r);
    /// ```
    pub fn receiver_count(&self) -> usize {
        self.watched.receivers()
    }

    /// How many senders there are. Never moves.
    ///
    /// ```
    /// let (s, _r) = gosched::sync::watch::channel(1);
    /// assert_eq!(s.clone().sender_count(), 2);
    /// ```
    pub fn sender_count(&self) -> usize {
        self.watched.senders()
    }

    /// Whether there are no receivers. Never moves.
    ///
    /// ```
    /// let (s, r) = gosched::sync::watch::channel(1);
    /// drop(r);
    /// assert!(s.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.receiver_count() == 0
    }

    /// Waits until there are no receivers. A moving call.
    ///
    /// ```
    /// let (s, r) = gosched::sync::watch::channel(1);
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
    /// let (s, r) = gosched::sync::watch::channel(1);
    /// assert!(!s.closed_timeout(std::time::Duration::from_millis(1)));
    /// # drop(r);
    /// ```
    #[must_use = "says whether there are no receivers"]
    pub fn closed_timeout(&self, timeout: Duration) -> bool {
        self.closed_within(Limit::until(when_after(timeout)))
    }

    /// As [`closed`](Sender::closed), until the current [context](crate::context) ends. A moving
    /// call.
    ///
    /// # Errors
    ///
    /// Why the context has ended, if it did before there were no receivers.
    ///
    /// ```
    /// let (s, r) = gosched::sync::watch::channel(1);
    /// drop(r);
    /// assert_eq!(s.closed_ctx(), Ok(()));
    /// ```
    pub fn closed_ctx(&self) -> Result<(), ContextError> {
        if self.closed_within(Limit::of_context(None)) { Ok(()) } else { Err(context::why_ended()) }
    }

    fn closed_within(&self, limit: Limit) -> bool {
        while let Some(signal) = self.watched.listen_left() {
            if !signal.await_close(WaitReason::ChanSend, limit) {
                return false;
            }
        }
        checkpoint();
        true
    }

    /// Whether both set the same value. Never moves.
    ///
    /// ```
    /// let s = gosched::sync::watch::Sender::new(1);
    /// assert!(s.same_channel(&s.clone()));
    /// ```
    pub fn same_channel(&self, other: &Sender<T>) -> bool {
        Arc::ptr_eq(&self.watched, &other.watched)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        self.watched.add_sender();
        Sender { watched: Arc::clone(&self.watched) }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.watched.remove_sender();
    }
}

impl<T: Default> Default for Sender<T> {
    fn default() -> Sender<T> {
        Sender::new(T::default())
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("watch::Sender { .. }")
    }
}
