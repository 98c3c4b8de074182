//! The receiving side: of a channel, of a timer channel, or of nothing.

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use super::err::{RecvError, RecvTimeoutError, TryRecvError};
use super::future::RecvFuture;
use super::iter::{IntoIter, Iter, TryIter};
use super::ops;
use super::patience::Patience;
use super::shared::{Handle, ReceivingSide};
use super::timer::{self, TimerChan};

/// The receiving side of a channel. Clones receive from the same channel; each value goes to one of
/// them.
///
/// When the last one is dropped, the channel is closed, and the values in it are dropped.
///
/// ```
/// use gosched::chan::unbounded;
/// use gosched::go;
///
/// let (s, r) = unbounded();
/// let workers: Vec<_> = (0..4)
///     .map(|_| {
///         let r = r.clone();
///         go(move || r.iter().sum::<i32>())
///     })
///     .collect();
/// for n in 1..=100 {
///     s.send(n).unwrap();
/// }
/// drop(s);
/// assert_eq!(workers.into_iter().map(|worker| worker.join().unwrap()).sum::<i32>(), 5050);
/// ```
pub struct Receiver<T> {
    flavor: Flavor<T>,
}

/// Where the values come from.
pub(super) enum Flavor<T> {
    Chan(Handle<T, ReceivingSide>),
    Time(Timed<T>),
    Never,
}

/// A timer channel, and how a value is made from the moment at which it was due.
pub(super) struct Timed<T> {
    pub(super) chan: Arc<TimerChan>,
    pub(super) value: fn(Instant) -> T,
}

impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl Receiver<Instant> {
    /// Receives the moments at which `chan` was due.
    pub(crate) fn of_time(chan: Arc<TimerChan>) -> Receiver<Instant> {
        Receiver { flavor: Flavor::Time(Timed { chan, value: |when| when }) }
    }
}

impl Receiver<()> {
    /// Receives no values; its receives fail when `chan` is closed.
    pub(crate) fn of_signal(chan: Arc<TimerChan>) -> Receiver<()> {
        Receiver { flavor: Flavor::Time(Timed { chan, value: |_| () }) }
    }
}

impl<T> Receiver<T> {
    pub(super) fn new(handle: Handle<T, ReceivingSide>) -> Receiver<T> {
        Receiver { flavor: Flavor::Chan(handle) }
    }

    pub(super) const fn never() -> Receiver<T> {
        Receiver { flavor: Flavor::Never }
    }

    #[inline]
    pub(super) fn flavor(&self) -> &Flavor<T> {
        &self.flavor
    }

    #[inline(never)]
    pub(crate) fn recv_for(&self, patience: Patience) -> Result<T, RecvTimeoutError> {
        match &self.flavor {
            Flavor::Chan(chan) => ops::recv(chan, patience),
            Flavor::Time(timed) => timed.chan.recv(patience).map(timed.value),
            Flavor::Never => timer::never(patience),
        }
    }

    /// Receives a value, waiting until there is one.
    ///
    /// Receivers that wait get their turn first come, first served. A moving call.
    ///
    /// # Errors
    ///
    /// If the channel is empty and closed.
    ///
    /// ```
    /// use gosched::chan::{RecvError, bounded};
    ///
    /// let (s, r) = bounded(0);
    /// gosched::go(move || s.send("hello"));
    /// assert_eq!(r.recv(), Ok("hello"));
    /// assert_eq!(r.recv(), Err(RecvError)); // the sender is gone
    /// ```
    #[inline]
    pub fn recv(&self) -> Result<T, RecvError> {
        let received = match &self.flavor {
            Flavor::Chan(chan) => ops::recv(chan, Patience::Endless),
            _ => self.recv_for(Patience::Endless),
        };
        received.map_err(|_| RecvError)
    }

    /// Receives a value if there is one. Never moves.
    ///
    /// # Errors
    ///
    /// If there is none; [`Disconnected`](TryRecvError::Disconnected) if there never will be.
    ///
    /// ```
    /// use gosched::chan::{TryRecvError, unbounded};
    ///
    /// let (s, r) = unbounded();
    /// assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
    /// s.send(5).unwrap();
    /// drop(s);
    /// assert_eq!(r.try_recv(), Ok(5));
    /// assert_eq!(r.try_recv(), Err(TryRecvError::Disconnected));
    /// ```
    #[inline]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match &self.flavor {
            Flavor::Chan(chan) => ops::try_recv(chan),
            Flavor::Time(timed) => timed.chan.try_recv().map(timed.value),
            Flavor::Never => Err(TryRecvError::Empty),
        }
    }

    /// As [`recv`](Receiver::recv), waiting for `timeout` at most. A moving call.
    ///
    /// # Errors
    ///
    /// If the time is over, or as for [`recv`](Receiver::recv).
    ///
    /// ```
    /// use gosched::chan::{RecvTimeoutError, unbounded};
    /// use std::time::Duration;
    ///
    /// let (_s, r) = unbounded::<u32>();
    /// assert_eq!(r.recv_timeout(Duration::from_millis(5)), Err(RecvTimeoutError::Timeout));
    /// ```
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.recv_for(Patience::For(timeout))
    }

    /// As [`recv`](Receiver::recv), waiting until `deadline` at most. A moving call.
    ///
    /// # Errors
    ///
    /// If the time is over, or as for [`recv`](Receiver::recv).
    ///
    /// ```
    /// use gosched::chan::{RecvTimeoutError, unbounded};
    /// use std::time::{Duration, Instant};
    ///
    /// let (_s, r) = unbounded::<u32>();
    /// let deadline = Instant::now() + Duration::from_millis(5);
    /// assert_eq!(r.recv_deadline(deadline), Err(RecvTimeoutError::Timeout));
    /// ```
    pub fn recv_deadline(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        self.recv_for(Patience::Until(deadline))
    }

    /// Receives in async code: returns a future that waits without blocking the thread.
    ///
    /// A future that is dropped before it is ready loses no value: one that it has been given
    /// already goes to the next receiver.
    ///
    /// ```
    /// use gosched::chan::bounded;
    ///
    /// let (s, r) = bounded(1);
    /// s.send(7).unwrap();
    /// let receiving = async move { r.recv_async().await };
    /// # let mut receiving = Box::pin(receiving);
    /// # let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    /// # let std::task::Poll::Ready(received) = receiving.as_mut().poll(&mut cx) else { panic!() };
    /// assert_eq!(received, Ok(7)); // what a task gets from `receiving`
    /// ```
    pub fn recv_async(&self) -> RecvFuture<'_, T> {
        RecvFuture::new(self)
    }

    /// Closes the channel for everyone, at once, as Go's `close` does: receivers get what is in it
    /// and then an error, senders that wait get their values back. Returns whether this call has
    /// closed it. Never moves.
    ///
    /// Does nothing to a receiver made by [`never`](super::never()), nor to one that never has a
    /// value: only the end of the context or goroutine closes the channel that its `done` returns,
    /// and only what is waited for that of a `ready`.
    ///
    /// ```
    /// use gosched::chan::{RecvError, SendError, bounded};
    ///
    /// let (s, r) = bounded(2);
    /// s.send(1).unwrap();
    /// assert!(r.close());
    /// assert!(!r.close());
    /// assert_eq!(s.send(2), Err(SendError(2)));
    /// assert_eq!((r.recv(), r.recv()), (Ok(1), Err(RecvError)));
    /// ```
    pub fn close(&self) -> bool {
        match &self.flavor {
            Flavor::Chan(chan) => chan.close_by_receiver(),
            Flavor::Time(timed) => timed.chan.close_by_receiver(),
            Flavor::Never => false,
        }
    }

    /// Whether the channel is closed, by a `close` or because all senders are gone. There may still
    /// be values in it. Never moves.
    ///
    /// ```
    /// let (s, r) = gosched::chan::bounded::<u32>(1);
    /// assert!(!r.is_closed());
    /// drop(s);
    /// assert!(r.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        match &self.flavor {
            Flavor::Chan(chan) => ops::look(chan, |state| state.is_closed()),
            Flavor::Time(timed) => timed.chan.is_closed(),
            Flavor::Never => false,
        }
    }

    /// Whether there is no value in the channel. A channel without a buffer is always empty. Never
    /// moves.
    ///
    /// ```
    /// let (s, r) = gosched::chan::unbounded();
    /// assert!(r.is_empty());
    /// s.send(0).unwrap();
    /// assert!(!r.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        match &self.flavor {
            Flavor::Chan(chan) => ops::look(chan, |state| state.is_empty()),
            Flavor::Time(timed) => !timed.chan.is_due(),
            Flavor::Never => true,
        }
    }

    /// Whether there is no place in the channel. A channel without a buffer is always full. Never
    /// moves.
    ///
    /// ```
    /// let (s, r) = gosched::chan::bounded(1);
    /// assert!(!r.is_full());
    /// s.send(0).unwrap();
    /// assert!(r.is_full());
    /// ```
    pub fn is_full(&self) -> bool {
        match &self.flavor {
            Flavor::Chan(chan) => ops::look(chan, |state| state.is_full()),
            Flavor::Time(timed) => timed.chan.is_due(),
            Flavor::Never => true,
        }
    }

    /// How many values are in the channel. Never moves.
    ///
    /// ```
    /// let (s, r) = gosched::chan::unbounded();
    /// s.send(1).unwrap();
    /// s.send(2).unwrap();
    /// assert_eq!(r.len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        match &self.flavor {
            Flavor::Chan(chan) => ops::look(chan, |state| state.len()),
            Flavor::Time(timed) => usize::from(timed.chan.is_due()),
            Flavor::Never => 0,
        }
    }

    /// How many values it can hold; `None` if there is no limit. Never moves.
    ///
    /// ```
    /// use gosched::chan::{bounded, unbounded};
    ///
    /// assert_eq!(unbounded::<u32>().1.capacity(), None);
    /// assert_eq!(bounded::<u32>(5).1.capacity(), Some(5));
    /// ```
    pub fn capacity(&self) -> Option<usize> {
        match &self.flavor {
            Flavor::Chan(chan) => chan.capacity(),
            Flavor::Time(_) => Some(1),
            Flavor::Never => Some(0),
        }
    }

    /// The values as they come, until the channel is empty and closed. Taking the next one is a
    /// moving call.
    ///
    /// ```
    /// use gosched::chan::bounded;
    ///
    /// let (s, r) = bounded(0);
    /// gosched::go(move || (1..=3).for_each(|n| s.send(n).unwrap()));
    /// assert_eq!(r.iter().collect::<Vec<_>>(), [1, 2, 3]);
    /// ```
    pub fn iter(&self) -> Iter<'_, T> {
        Iter::new(self)
    }

    /// The values that are there already. Never moves.
    ///
    /// ```
    /// let (s, r) = gosched::chan::unbounded();
    /// s.send(1).unwrap();
    /// s.send(2).unwrap();
    /// assert_eq!(r.try_iter().collect::<Vec<_>>(), [1, 2]);
    /// ```
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter::new(self)
    }

    /// Whether both receive from the same channel. Never moves.
    ///
    /// ```
    /// use gosched::chan::unbounded;
    ///
    /// let (_, r) = unbounded::<u32>();
    /// assert!(r.same_channel(&r.clone()));
    /// assert!(!r.same_channel(&unbounded().1));
    /// ```
    pub fn same_channel(&self, other: &Receiver<T>) -> bool {
        match (&self.flavor, &other.flavor) {
            (Flavor::Chan(a), Flavor::Chan(b)) => a.is(b),
            (Flavor::Time(a), Flavor::Time(b)) => Arc::ptr_eq(&a.chan, &b.chan),
            (Flavor::Never, Flavor::Never) => true,
            _ => false,
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Receiver<T> {
        let flavor = match &self.flavor {
            Flavor::Chan(chan) => Flavor::Chan(chan.clone()),
            Flavor::Time(timed) => Flavor::Time(Timed { chan: Arc::clone(&timed.chan), value: timed.value }),
            Flavor::Never => Flavor::Never,
        };
        Receiver { flavor }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Receiver { .. }")
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
        IntoIter::new(self)
    }
}
