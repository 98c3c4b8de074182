//! The errors of [`watch`](super), with tokio's names and texts.

use core::error::Error;
use core::fmt;

/// An error of [`Sender::send`](super::Sender::send): there are no receivers. The value comes back.
///
/// ```
/// let (s, r) = gosched::sync::watch::channel(1);
/// drop(r);
/// assert_eq!(s.send(7).unwrap_err().0, 7);
/// ```
#[derive(PartialEq, Eq, Clone, Copy)]
pub struct SendError<T>(pub T);

/// An error of [`Receiver::changed`](super::Receiver::changed): all senders are gone.
///
/// ```
/// let (s, mut r) = gosched::sync::watch::channel(1);
/// drop(s);
/// assert_eq!(r.changed().unwrap_err().to_string(), "channel closed");
/// ```
#[derive(Debug, PartialEq, Eq, Clone)]
pub struct RecvError(pub(super) ());

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
        f.write_str("channel closed")
    }
}

impl<T> Error for SendError<T> {}
impl Error for RecvError {}
