//! Why a context has ended.

use core::error::Error;
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
    /// Somebody called [`cancel`](super::Context::cancel) on it, or on one that it is derived from.
    Cancelled,
    /// Its deadline has passed, or that of one that it is derived from.
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

impl Error for ContextError {}

impl ContextError {
    /// The context's error in what I/O returned, if that is why it failed.
    ///
    /// I/O that ends with its context fails with an error that carries the `ContextError` inside
    /// (see [`From<ContextError>`](#impl-From<ContextError>-for-Error)): [`io::Error::get_ref`]
    /// returns it, and a downcast finds it. An I/O error may be wrapped: this also looks into an
    /// `io::Error` inside another one, and through the [sources](Error::source) of other errors.
    ///
    /// ```
    /// use gosched::context::{self, ContextError};
    /// use gosched::net::TcpListener;
    /// use std::time::Duration;
    ///
    /// gosched::run(|| {
    ///     let listener = TcpListener::bind("127.0.0.1:0")?;
    ///     let ctx = context::background().with_timeout(Duration::from_millis(1));
    ///     let error = context::enter(&ctx, || listener.accept()).unwrap_err();
    ///     assert_eq!(ContextError::of(&error), Some(ContextError::DeadlineExceeded));
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// # .unwrap();
    /// ```
    #[must_use]
    pub fn of(error: &io::Error) -> Option<ContextError> {
        let mut inner = error.get_ref().map(|inner| inner as &(dyn Error + 'static));
        while let Some(error) = inner {
            if let Some(found) = error.downcast_ref::<ContextError>() {
                return Some(*found);
            }
            inner = match error.downcast_ref::<io::Error>() {
                // Its `source` is that of the error inside: it would skip the error inside itself.
                Some(wrapped) => wrapped.get_ref().map(|inner| inner as &(dyn Error + 'static)),
                None => error.source(),
            };
        }
        None
    }
}

/// The error of I/O whose context has ended: `TimedOut` at a deadline, `Other` if cancelled. (Never
/// `Interrupted`, after which std would try again.) The `ContextError` is inside, where
/// [`ContextError::of`] finds it.
///
/// ```
/// use gosched::context::ContextError;
/// use std::io;
///
/// let error = io::Error::from(ContextError::DeadlineExceeded);
/// assert_eq!(error.kind(), io::ErrorKind::TimedOut);
/// assert_eq!(ContextError::of(&error), Some(ContextError::DeadlineExceeded));
/// let inside = error.get_ref().and_then(|inside| inside.downcast_ref::<ContextError>());
/// assert_eq!(inside, Some(&ContextError::DeadlineExceeded));
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
