//! The errors, with the texts of `crossbeam_channel`. The `Debug` of those that carry a value does
//! not need the value's, and is in quotes.

use core::error::Error;
use core::fmt;

/// An error of [`send`](super::Sender::send): the channel is closed. The value comes back in it.
///
/// ```
/// use gosched::chan::{SendError, bounded};
///
/// let (s, r) = bounded(1);
/// drop(r);
/// assert_eq!(s.send("hello"), Err(SendError("hello")));
/// ```
#[derive(PartialEq, Eq, Clone, Copy)]
pub struct SendError<T>(pub T);

/// An error of [`try_send`](super::Sender::try_send). The value comes back in it.
///
/// ```
/// use gosched::chan::{TrySendError, bounded};
///
/// let (s, r) = bounded(1);
/// s.try_send(1).unwrap();
/// assert_eq!(s.try_send(2), Err(TrySendError::Full(2)));
/// drop(r);
/// assert_eq!(s.try_send(3), Err(TrySendError::Disconnected(3)));
/// ```
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum TrySendError<T> {
    /// There is no place for the value, or, without a buffer, no receiver waits.
    Full(T),
    /// The channel is closed.
    Disconnected(T),
}

/// An error of [`send_timeout`](super::Sender::send_timeout) and
/// [`send_deadline`](super::Sender::send_deadline). The value comes back in it.
///
/// ```
/// use gosched::chan::{SendTimeoutError, bounded};
/// use std::time::Duration;
///
/// let (s, _r) = bounded(0);
/// assert_eq!(s.send_timeout(7, Duration::from_millis(1)), Err(SendTimeoutError::Timeout(7)));
/// ```
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum SendTimeoutError<T> {
    /// The time was over before there was a place, or a receiver.
    Timeout(T),
    /// The channel is closed.
    Disconnected(T),
}

/// An error of [`recv`](super::Receiver::recv): the channel is empty and closed.
///
/// ```
/// use gosched::chan::{RecvError, bounded};
///
/// let (s, r) = bounded::<u32>(1);
/// drop(s);
/// assert_eq!(r.recv(), Err(RecvError));
/// ```
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct RecvError;

/// An error of [`try_recv`](super::Receiver::try_recv).
///
/// ```
/// use gosched::chan::{TryRecvError, bounded};
///
/// let (s, r) = bounded::<u32>(1);
/// assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
/// drop(s);
/// assert_eq!(r.try_recv(), Err(TryRecvError::Disconnected));
/// ```
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub enum TryRecvError {
    /// There is no value.
    Empty,
    /// There is no value, and the channel is closed.
    Disconnected,
}

/// An error of [`recv_timeout`](super::Receiver::recv_timeout) and
/// [`recv_deadline`](super::Receiver::recv_deadline).
///
/// ```
/// use gosched::chan::{RecvTimeoutError, bounded};
/// use std::time::Duration;
///
/// let (_s, r) = bounded::<u32>(1);
/// assert_eq!(r.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout));
/// ```
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub enum RecvTimeoutError {
    /// The time was over before there was a value.
    Timeout,
    /// There is no value, and the channel is closed.
    Disconnected,
}

/// An error of [`try_select`](super::Select::try_select): every operation would wait.
///
/// ```
/// use gosched::chan::{Select, TrySelectError, bounded};
///
/// let (_s, r) = bounded::<u32>(1);
/// let mut sel = Select::new();
/// sel.recv(&r);
/// assert_eq!(sel.try_select().unwrap_err(), TrySelectError);
/// ```
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct TrySelectError;

/// An error of [`select_timeout`](super::Select::select_timeout) and
/// [`select_deadline`](super::Select::select_deadline): the time was over before an operation could
/// be done.
///
/// ```
/// use gosched::chan::{Select, SelectTimeoutError, bounded};
/// use std::time::Duration;
///
/// let (_s, r) = bounded::<u32>(1);
/// let mut sel = Select::new();
/// sel.recv(&r);
/// assert_eq!(sel.select_timeout(Duration::from_millis(1)).unwrap_err(), SelectTimeoutError);
/// ```
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct SelectTimeoutError;

/// An error of [`try_ready`](super::Select::try_ready): every operation would wait.
///
/// ```
/// use gosched::chan::{Select, TryReadyError, bounded};
///
/// let (_s, r) = bounded::<u32>(1);
/// let mut sel = Select::new();
/// sel.recv(&r);
/// assert_eq!(sel.try_ready(), Err(TryReadyError));
/// ```
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct TryReadyError;

/// An error of [`ready_timeout`](super::Select::ready_timeout) and
/// [`ready_deadline`](super::Select::ready_deadline): the time was over before an operation was
/// ready.
///
/// ```
/// use gosched::chan::{ReadyTimeoutError, Select, bounded};
/// use std::time::Duration;
///
/// let (_s, r) = bounded::<u32>(1);
/// let mut sel = Select::new();
/// sel.recv(&r);
/// assert_eq!(sel.ready_timeout(Duration::from_millis(1)), Err(ReadyTimeoutError));
/// ```
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct ReadyTimeoutError;

const SEND_CLOSED: &str = "sending on a disconnected channel";
const RECV_CLOSED: &str = "receiving on an empty and disconnected channel";

impl<T> SendError<T> {
    /// The value that was not sent.
    ///
    /// ```
    /// use gosched::chan::unbounded;
    ///
    /// let (s, r) = unbounded();
    /// drop(r);
    /// assert_eq!(s.send("back").unwrap_err().into_inner(), "back");
    /// ```
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> TrySendError<T> {
    /// The value that was not sent.
    ///
    /// ```
    /// let (s, _r) = gosched::chan::bounded(0);
    /// assert_eq!(s.try_send("back").unwrap_err().into_inner(), "back");
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            TrySendError::Full(value) | TrySendError::Disconnected(value) => value,
        }
    }

    /// Whether there was no place.
    ///
    /// ```
    /// let (s, _r) = gosched::chan::bounded(0);
    /// assert!(s.try_send(1).unwrap_err().is_full());
    /// ```
    pub fn is_full(&self) -> bool {
        matches!(self, TrySendError::Full(_))
    }

    /// Whether the channel is closed.
    ///
    /// ```
    /// let (s, r) = gosched::chan::bounded(0);
    /// drop(r);
    /// assert!(s.try_send(1).unwrap_err().is_disconnected());
    /// ```
    pub fn is_disconnected(&self) -> bool {
        matches!(self, TrySendError::Disconnected(_))
    }
}

impl<T> SendTimeoutError<T> {
    /// The value that was not sent.
    ///
    /// ```
    /// let (s, _r) = gosched::chan::bounded(0);
    /// let error = s.send_timeout("back", std::time::Duration::ZERO).unwrap_err();
    /// assert_eq!(error.into_inner(), "back");
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            SendTimeoutError::Timeout(value) | SendTimeoutError::Disconnected(value) => value,
        }
    }

    /// Whether the time was over.
    ///
    /// ```
    /// let (s, _r) = gosched::chan::bounded(0);
    /// assert!(s.send_timeout(1, std::time::Duration::ZERO).unwrap_err().is_timeout());
    /// ```
    pub fn is_timeout(&self) -> bool {
        matches!(self, SendTimeoutError::Timeout(_))
    }

    /// Whether the channel is closed.
    ///
    /// ```
    /// let (s, r) = gosched::chan::bounded(0);
    /// drop(r);
    /// assert!(s.send_timeout(1, std::time::Duration::ZERO).unwrap_err().is_disconnected());
    /// ```
    pub fn is_disconnected(&self) -> bool {
        matches!(self, SendTimeoutError::Disconnected(_))
    }
}

impl TryRecvError {
    /// Whether there was no value.
    ///
    /// ```
    /// let (_s, r) = gosched::chan::bounded::<u32>(0);
    /// assert!(r.try_recv().unwrap_err().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        matches!(self, TryRecvError::Empty)
    }

    /// Whether the channel is closed.
    ///
    /// ```
    /// let (s, r) = gosched::chan::bounded::<u32>(0);
    /// drop(s);
    /// assert!(r.try_recv().unwrap_err().is_disconnected());
    /// ```
    pub fn is_disconnected(&self) -> bool {
        matches!(self, TryRecvError::Disconnected)
    }
}

impl RecvTimeoutError {
    /// Whether the time was over.
    ///
    /// ```
    /// let (_s, r) = gosched::chan::bounded::<u32>(0);
    /// assert!(r.recv_timeout(std::time::Duration::ZERO).unwrap_err().is_timeout());
    /// ```
    pub fn is_timeout(&self) -> bool {
        matches!(self, RecvTimeoutError::Timeout)
    }

    /// Whether the channel is closed.
    ///
    /// ```
    /// let (s, r) = gosched::chan::bounded::<u32>(0);
    /// drop(s);
    /// assert!(r.recv_timeout(std::time::Duration::ZERO).unwrap_err().is_disconnected());
    /// ```
    pub fn is_disconnected(&self) -> bool {
        matches!(self, RecvTimeoutError::Disconnected)
    }
}

impl<T> From<SendError<T>> for TrySendError<T> {
    fn from(error: SendError<T>) -> TrySendError<T> {
        TrySendError::Disconnected(error.0)
    }
}

impl<T> From<SendError<T>> for SendTimeoutError<T> {
    fn from(error: SendError<T>) -> SendTimeoutError<T> {
        SendTimeoutError::Disconnected(error.0)
    }
}

impl From<RecvError> for TryRecvError {
    fn from(_: RecvError) -> TryRecvError {
        TryRecvError::Disconnected
    }
}

impl From<RecvError> for RecvTimeoutError {
    fn from(_: RecvError) -> RecvTimeoutError {
        RecvTimeoutError::Disconnected
    }
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt("SendError(..)", f)
    }
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            TrySendError::Full(_) => "Full(..)",
            TrySendError::Disconnected(_) => "Disconnected(..)",
        };
        fmt::Debug::fmt(text, f)
    }
}

impl<T> fmt::Debug for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt("SendTimeoutError(..)", f)
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(SEND_CLOSED)
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            TrySendError::Full(_) => "sending on a full channel",
            TrySendError::Disconnected(_) => SEND_CLOSED,
        })
    }
}

impl<T> fmt::Display for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SendTimeoutError::Timeout(_) => "timed out waiting on send operation",
            SendTimeoutError::Disconnected(_) => SEND_CLOSED,
        })
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(RECV_CLOSED)
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            TryRecvError::Empty => "receiving on an empty channel",
            TryRecvError::Disconnected => RECV_CLOSED,
        })
    }
}

impl fmt::Display for RecvTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            RecvTimeoutError::Timeout => "timed out waiting on receive operation",
            RecvTimeoutError::Disconnected => "channel is empty and disconnected",
        })
    }
}

impl fmt::Display for TrySelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("all operations in select would block")
    }
}

impl fmt::Display for SelectTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("timed out waiting on select")
    }
}

impl<T: Send> Error for SendError<T> {}
impl<T: Send> Error for TrySendError<T> {}
impl<T: Send> Error for SendTimeoutError<T> {}
impl Error for RecvError {}
impl Error for TryRecvError {}
impl Error for RecvTimeoutError {}
impl Error for TrySelectError {}
impl Error for SelectTimeoutError {}
