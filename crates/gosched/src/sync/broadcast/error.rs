//! The errors of [`broadcast`](super), with tokio's names and texts.

use core::error::Error;
use core::fmt;

/// An error of [`Sender::send`](super::Sender::send): there are no receivers. The value comes back.
///
/// ```
/// let (s, r) = gosched::sync::broadcast::channel(1);
/// drop(r);
/// assert_eq!(s.send(7).unwrap_err().0, 7);
/// ```
pub struct SendError<T>(pub T);

/// An error of [`Receiver::recv`](super::Receiver::recv).
///
/// ```
/// use gosched::sync::broadcast::{channel, error::RecvError};
///
/// let (s, mut r) = channel(1);
/// s.send(1).unwrap();
/// s.send(2).unwrap();
/// drop(s);
/// assert_eq!(r.recv(), Err(RecvError::Lagged(1)));
/// assert_eq!((r.recv(), r.recv()), (Ok(2), Err(RecvError::Closed)));
/// ```
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum RecvError {
    /// All values were received, and all senders are gone.
    Closed,
    /// The receiver was too slow: so many values were overwritten before it received them. The next
    /// receive gets the oldest one that is there.
    Lagged(u64),
}

/// An error of [`Receiver::try_recv`](super::Receiver::try_recv).
///
/// ```
/// use gosched::sync::broadcast::{channel, error::TryRecvError};
///
/// let (_s, mut r) = channel::<i32>(1);
/// assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
/// ```
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum TryRecvError {
    /// There is no value that this receiver has not received.
    Empty,
    /// All values were received, and all senders are gone.
    Closed,
    /// As [`RecvError::Lagged`].
    Lagged(u64),
}

impl From<RecvError> for TryRecvError {
    fn from(error: RecvError) -> TryRecvError {
        match error {
            RecvError::Closed => TryRecvError::Closed,
            RecvError::Lagged(missed) => TryRecvError::Lagged(missed),
        }
    }
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError").finish_non_exhaustive()
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed")
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecvError::Closed => f.write_str("channel closed"),
            RecvError::Lagged(missed) => write!(f, "channel lagged by {missed}"),
        }
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryRecvError::Empty => f.write_str("channel empty"),
            TryRecvError::Closed => f.write_str("channel closed"),
            TryRecvError::Lagged(missed) => write!(f, "channel lagged by {missed}"),
        }
    }
}

impl<T> Error for SendError<T> {}
impl Error for RecvError {}
impl Error for TryRecvError {}
