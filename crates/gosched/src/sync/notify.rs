//! `Notify`: tokio's.
//!
//! The waiters of a *round* receive from a channel with one place. `notify_one` sends into it: the
//! value goes to the first waiter, or stays there as the permit. `notify_waiters` closes it: that
//! ends the round. So waiting, giving up and being a case of `select!` are the channel's own: a
//! notification goes to a waiter that takes it, or to the next one.
//!
//! Invariants:
//! - whoever finds the channel closed before it waits or notifies replaces it by that of a new
//!   round, under the lock, unless somebody else has: so nobody waits in a round that has ended;
//! - a permit that is in a channel when that is closed goes to the new round, unless a waiter of
//!   the old one takes it: it may have come at any time before the close;
//! - the lock is std's, held for a moment, outside the runtime.

use core::fmt;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::chan::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use crate::context::{ContextError, RecvCtxError};

/// Wakes one waiter, or all: tokio's `Notify`, with waits.
///
/// It carries no value; what has changed is found out by other means. A
/// [`notify_one`](Notify::notify_one) that finds nobody waiting is remembered, once: the next
/// [`wait`](Notify::wait) returns at once. First come, first served.
///
/// ```
/// use gosched::sync::{Arc, Notify};
///
/// let notify = Arc::new(Notify::new());
/// let other = Arc::clone(&notify);
/// let waiter = gosched::go(move || other.wait());
/// notify.notify_one();
/// waiter.join().unwrap();
/// ```
pub struct Notify {
    round: Mutex<Option<Round>>,
}

/// The channel of those who wait now; made when it is first needed.
#[derive(Clone)]
struct Round {
    sender: Sender<()>,
    receiver: Receiver<()>,
}

impl Round {
    fn new() -> Round {
        let (sender, receiver) = bounded(1);
        Round { sender, receiver }
    }
}

impl Notify {
    /// Nobody waits, and nothing is remembered.
    ///
    /// ```
    /// static CHANGED: gosched::sync::Notify = gosched::sync::Notify::new();
    /// CHANGED.notify_one();
    /// CHANGED.wait();
    /// ```
    #[must_use]
    pub const fn new() -> Notify {
        Notify { round: Mutex::new(None) }
    }

    /// Waits for a notification: a remembered one, a [`notify_one`](Notify::notify_one) of which
    /// this is the first waiter, or a [`notify_waiters`](Notify::notify_waiters). A moving call.
    ///
    /// ```
    /// let notify = gosched::sync::Notify::new();
    /// notify.notify_one();
    /// notify.wait();
    /// ```
    #[doc(alias = "notified")]
    pub fn wait(&self) {
        // A closed channel is a notification, too.
        let _ = self.notified().recv();
    }

    /// As [`wait`](Notify::wait), for `timeout` at most. Returns whether it was notified. A moving
    /// call.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let notify = gosched::sync::Notify::new();
    /// assert!(!notify.wait_timeout(Duration::from_millis(1)));
    /// notify.notify_one();
    /// assert!(notify.wait_timeout(Duration::ZERO));
    /// ```
    #[must_use = "says whether it was notified"]
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.notified().recv_timeout(timeout) != Err(RecvTimeoutError::Timeout)
    }

    /// As [`wait`](Notify::wait), until the current [context](crate::context) ends. A moving call.
    ///
    /// A remembered notification is taken even if the context has ended. One that comes when the
    /// context has ended the wait goes to the next waiter.
    ///
    /// # Errors
    ///
    /// Why the context has ended, if it did before a notification.
    ///
    /// ```
    /// use gosched::context::{ContextError, background, enter};
    ///
    /// let notify = gosched::sync::Notify::new();
    /// let ctx = background().with_cancel();
    /// ctx.cancel();
    /// assert_eq!(enter(&ctx, || notify.wait_ctx()), Err(ContextError::Cancelled));
    /// notify.notify_one();
    /// assert_eq!(enter(&ctx, || notify.wait_ctx()), Ok(()));
    /// ```
    pub fn wait_ctx(&self) -> Result<(), ContextError> {
        match self.notified().recv_ctx() {
            Ok(()) | Err(RecvCtxError::Disconnected) => Ok(()),
            Err(RecvCtxError::Done(error)) => Err(error),
        }
    }

    /// A channel for one wait, as a case of `select!`: receiving from it, whatever the result, is
    /// to be notified. Never moves.
    ///
    /// It gets the notifications for which [`wait`](Notify::wait) would return, if that were called
    /// now: also a [`notify_waiters`](Notify::notify_waiters) that comes before the receive begins.
    /// A notification is taken only by a receive that is chosen; if another case is, it stays, or
    /// goes to the next waiter. Ask for a new one each time: after a `notify_waiters` it remains
    /// closed. (To close it has the effect of one.)
    ///
    /// ```
    /// use gosched::{chan, select};
    ///
    /// let notify = gosched::sync::Notify::new();
    /// let (s, r) = chan::bounded(1);
    /// notify.notify_one();
    /// s.send(7).unwrap();
    /// gosched::select_biased! {
    ///     recv(r) -> value => assert_eq!(value, Ok(7)),
    ///     recv(notify.notified()) -> _ => unreachable!("the first that is ready is chosen"),
    /// }
    /// select! {
    ///     recv(r) -> _ => unreachable!("it is empty"),
    ///     recv(notify.notified()) -> _ => println!("it was not lost"),
    /// }
    /// ```
    pub fn notified(&self) -> Receiver<()> {
        let mut round = self.round();
        if round.receiver.is_closed() {
            round = self.replace(&round);
        }
        round.receiver
    }

    /// Wakes the waiter that has waited longest. If nobody waits, the next one need not wait:
    /// however often this is called, one is remembered. Never moves.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let notify = gosched::sync::Notify::new();
    /// notify.notify_one();
    /// notify.notify_one();
    /// notify.wait();
    /// assert!(!notify.wait_timeout(Duration::from_millis(1)), "one was remembered");
    /// ```
    pub fn notify_one(&self) {
        let mut round = self.round();
        while let Err(TrySendError::Disconnected(())) = round.sender.try_send(()) {
            round = self.replace(&round);
        }
    }

    /// Wakes all who wait now, and those with a channel that [`notified`](Notify::notified) has
    /// returned before. Nothing is remembered for later ones. Never moves.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let notify = gosched::sync::Notify::new();
    /// let waits = notify.notified();
    /// notify.notify_waiters();
    /// assert!(waits.try_recv().is_err_and(|error| error.is_disconnected()), "it is notified");
    /// assert!(!notify.wait_timeout(Duration::from_millis(1)), "this one comes too late");
    /// ```
    pub fn notify_waiters(&self) {
        let old = self.lock().clone();
        let Some(old) = old else { return };
        old.sender.close();
        // The permit, if there is one that no waiter has taken.
        if old.receiver.try_recv().is_ok() {
            self.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Round>> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The round of now.
    fn round(&self) -> Round {
        if let Some(round) = &*self.lock() {
            return round.clone();
        }
        let new = Round::new();
        let mut round = self.lock();
        match &*round {
            Some(round) => round.clone(),
            None => round.insert(new).clone(),
        }
    }

    /// Begins a new round in place of `old`, unless that is over; returns the one of now.
    fn replace(&self, old: &Round) -> Round {
        let new = Round::new();
        let mut round = self.lock();
        match &mut *round {
            Some(now) if !now.sender.same_channel(&old.sender) => now.clone(),
            now => {
                let over = now.replace(new.clone());
                drop(round);
                drop(over);
                new
            }
        }
    }
}

impl Default for Notify {
    fn default() -> Notify {
        Notify::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notify").finish_non_exhaustive()
    }
}
