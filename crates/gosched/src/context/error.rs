//! Why a context has ended.

use core::fmt;
use std::io;

/// Why a [`Context`](super::Context) has ended.
///
/// ```
/// use gosched::context::{ContextError, background};
///
/// let ctx = background().with_cancel();
/// ctx.cancel();
/// assert_eq!(ctx.err(), Some(ContextError::Cancelled));
/// assert_eq!(ContextError::Cancelled.to_string(), "context canceled");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContextError {
    /// Somebody called [`cancel`](super::Context::cancel) on it, or on one that it comes from.
    Cancelled,
    /// Its deadline has passed, or that of one that it comes from.
    DeadlineExceeded,
}

impl fmt::Display for ContextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ContextError::Cancelled => "context canceled",
            ContextError::DeadlineExceeded => "context deadline exceeded",
        })
    }
}

impl std::error::Error for ContextError {}

/// How I/O fails when its context has ended: `TimedOut` at a deadline, `Other` if cancelled. (Never `Interrupted`, after which
/// std would try again.)
///
/// ```
/// use gosched::context::ContextError;
/// use std::io;
///
/// let error = io::Error::from(ContextError::DeadlineExceeded);
/// assert_eq!(error.kind(), io::ErrorKind::TimedOut);
/// let why = error.get_ref().and_then(|e| e.downcast_ref::<ContextError>());
/// assert_eq!(why, Some(&ContextError::DeadlineExceeded));
/// ```
impl From<ContextError> for io::Error {
    fn from(error: ContextError) -> io::Error {
        let kind = match error {
            ContextError::Cancelled => io::ErrorKind::Other,
            ContextError::DeadlineExceeded => io::ErrorKind::TimedOut,
        };
        io::Error::new(kind, error)
    }
}
