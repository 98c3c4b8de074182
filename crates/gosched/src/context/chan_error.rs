//! The errors of sends and receives that end with the context, in the style of those of `chan`: the
//! `Debug` of the one that carries a value does not need the value's.

use core::error::Error;
use core::fmt;

use super::ContextError;
use crate::chan::{RecvError, SendError};

/// An error of [`recv_ctx`](crate::chan::Receiver::recv_ctx): the channel is closed, or the context
/// has ended.
///
/// ```
/// use gosched::chan::bounded;
/// use gosched::context::{ContextError, RecvCtxError, background, enter};
///
/// let (s, r) = bounded::<u32>(1);
/// let ctx = background().with_cancel();
/// ctx.cancel();
/// enter(&ctx, || {
///     assert_eq!(r.recv_ctx(), Err(RecvCtxError::Done(ContextError::Cancelled)));
///     drop(s);
///     assert_eq!(r.recv_ctx(), Err(RecvCtxError::Disconnected));
/// });
/// ```
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub enum RecvCtxError {
    /// There is no value, and the channel is closed.
    Disconnected,
    /// The context ended before there was a value.
    Done(ContextError),
}

/// An error of [`send_ctx`](crate::chan::Sender::send_ctx): the channel is closed, or the context
/// has ended. The value comes back in it.
///
/// ```
/// use gosched::chan::bounded;
/// use gosched::context::{ContextError, SendCtxError, background, enter};
///
/// let (s, r) = bounded(0);
/// let ctx = background().with_cancel();
/// ctx.cancel();
/// enter(&ctx, || {
///     assert_eq!(s.send_ctx("back"), Err(SendCtxError::Done("back", ContextError::Cancelled)));
///     drop(r);
///     assert_eq!(s.send_ctx("back"), Err(SendCtxError::Disconnected("back")));
/// });
/// ```
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum SendCtxError<T> {
    /// The channel is closed.
    Disconnected(T),
    /// The context ended before there was a place, or a receiver.
    Done(T, ContextError),
}

impl RecvCtxError {
    /// Whether the context has ended.
    ///
    /// ```
    /// use gosched::context::{ContextError, RecvCtxError};
    ///
    /// assert!(RecvCtxError::Done(ContextError::Cancelled).is_done());
    /// ```
    pub fn is_done(&self) -> bool {
        matches!(self, RecvCtxError::Done(_))
    }

    /// Whether the channel is closed.
    ///
    /// ```
    /// assert!(gosched::context::RecvCtxError::Disconnected.is_disconnected());
    /// ```
    pub fn is_disconnected(&self) -> bool {
        matches!(self, RecvCtxError::Disconnected)
    }
}

impl<T> SendCtxError<T> {
    /// The value that was not sent.
    ///
    /// ```
    /// let (s, r) = gosched::chan::bounded(0);
    /// drop(r);
    /// assert_eq!(s.send_ctx("back").unwrap_err().into_inner(), "back");
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            SendCtxError::Disconnected(value) | SendCtxError::Done(value, _) => value,
        }
    }

    /// Whether the context has ended.
    ///
    /// ```
    /// use gosched::context::{ContextError, SendCtxError};
    ///
    /// assert!(SendCtxError::Done(7, ContextError::Cancelled).is_done());
    /// ```
    pub fn is_done(&self) -> bool {
        matches!(self, SendCtxError::Done(..))
    }

    /// Whether the channel is closed.
    ///
    /// ```
    /// assert!(gosched::context::SendCtxError::Disconnected(7).is_disconnected());
    /// ```
    pub fn is_disconnected(&self) -> bool {
        matches!(self, SendCtxError::Disconnected(_))
    }
}

impl From<RecvError> for RecvCtxError {
    fn from(_: RecvError) -> RecvCtxError {
        RecvCtxError::Disconnected
    }
}

impl From<ContextError> for RecvCtxError {
    fn from(error: ContextError) -> RecvCtxError {
        RecvCtxError::Done(error)
    }
}

impl<T> From<SendError<T>> for SendCtxError<T> {
    fn from(error: SendError<T>) -> SendCtxError<T> {
        SendCtxError::Disconnected(error.0)
    }
}

impl<T> fmt::Debug for SendCtxError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            SendCtxError::Disconnected(_) => "Disconnected(..)",
            SendCtxError::Done(_, ContextError::Cancelled) => "Done(.., Cancelled)",
            SendCtxError::Done(_, ContextError::DeadlineExceeded) => "Done(.., DeadlineExceeded)",
        };
        fmt::Debug::fmt(text, f)
    }
}

impl fmt::Display for RecvCtxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecvCtxError::Disconnected => fmt::Display::fmt(&RecvError, f),
            RecvCtxError::Done(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl<T> fmt::Display for SendCtxError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendCtxError::Disconnected(_) => fmt::Display::fmt(&SendError(()), f),
            SendCtxError::Done(_, error) => fmt::Display::fmt(error, f),
        }
    }
}

impl Error for RecvCtxError {}
impl<T: Send> Error for SendCtxError<T> {}
