//! Sends and receives that end with the current context.

use core::iter::FusedIterator;

use super::{ContextError, RecvCtxError, SendCtxError, why_ended};
use crate::chan::patience::Patience;
use crate::chan::{IterCtx, Receiver, RecvTimeoutError, SendTimeoutError, Sender, ops};

impl<T> Receiver<T> {
    /// As [`recv`](Receiver::recv), until the current [context](crate::context) ends. A moving
    /// call.
    ///
    /// A value that is there is received even if the context has ended.
    ///
    /// # Errors
    ///
    /// [`Disconnected`](RecvCtxError::Disconnected) if the channel is empty and closed,
    /// [`Done`](RecvCtxError::Done) if the context has ended and there is nothing to receive.
    ///
    /// ```
    /// use gosched::chan::bounded;
    /// use gosched::context::{ContextError, RecvCtxError, background, enter};
    /// use std::time::Duration;
    ///
    /// let (_s, r) = bounded::<u32>(0);
    /// let ctx = background().with_timeout(Duration::from_millis(1));
    /// let received = enter(&ctx, || r.recv_ctx());
    /// assert_eq!(received, Err(RecvCtxError::Done(ContextError::DeadlineExceeded)));
    /// ```
    pub fn recv_ctx(&self) -> Result<T, RecvCtxError> {
        self.recv_for(Patience::Context).map_err(|error| match error {
            RecvTimeoutError::Timeout => RecvCtxError::Done(why_ended()),
            RecvTimeoutError::Disconnected => RecvCtxError::Disconnected,
        })
    }

    /// The values as they come, until the channel is empty and closed, or until the current
    /// [context](crate::context) ends: then the last item is its error. Taking the next one is a
    /// moving call.
    ///
    /// ```
    /// use gosched::chan::unbounded;
    /// use gosched::context::{ContextError, background, enter};
    ///
    /// let (s, r) = unbounded();
    /// s.send(1).unwrap();
    /// let ctx = background().with_cancel();
    /// ctx.cancel();
    /// let items: Vec<_> = enter(&ctx, || r.iter_ctx().collect());
    /// assert_eq!(items, [Ok(1), Err(ContextError::Cancelled)]);
    /// drop(s);
    /// assert_eq!(r.iter_ctx().next(), None);
    /// ```
    pub fn iter_ctx(&self) -> IterCtx<'_, T> {
        IterCtx { receiver: Some(self) }
    }
}

impl<T> Sender<T> {
    /// As [`send`](Sender::send), until the current [context](crate::context) ends. A moving call.
    ///
    /// A value that can be sent without waiting is sent even if the context has ended.
    ///
    /// # Errors
    ///
    /// [`Disconnected`](SendCtxError::Disconnected) if the channel is closed,
    /// [`Done`](SendCtxError::Done) if the context has ended and there is no place, or no receiver.
    /// The value comes back.
    ///
    /// ```
    /// use gosched::chan::bounded;
    /// use gosched::context::{ContextError, SendCtxError, background, enter};
    /// use std::time::Duration;
    ///
    /// let (s, _r) = bounded(1);
    /// let ctx = background().with_timeout(Duration::from_millis(1));
    /// enter(&ctx, || {
    ///     assert_eq!(s.send_ctx(1), Ok(()));
    ///     assert_eq!(s.send_ctx(2), Err(SendCtxError::Done(2, ContextError::DeadlineExceeded)));
    /// });
    /// ```
    pub fn send_ctx(&self, msg: T) -> Result<(), SendCtxError<T>> {
        ops::send(self.chan(), msg, Patience::Context).map_err(|error| match error {
            SendTimeoutError::Timeout(msg) => SendCtxError::Done(msg, why_ended()),
            SendTimeoutError::Disconnected(msg) => SendCtxError::Disconnected(msg),
        })
    }
}

impl<T> Iterator for IterCtx<'_, T> {
    type Item = Result<T, ContextError>;

    fn next(&mut self) -> Option<Result<T, ContextError>> {
        let error = match self.receiver?.recv_ctx() {
            Ok(value) => return Some(Ok(value)),
            Err(error) => error,
        };
        self.receiver = None;
        match error {
            RecvCtxError::Disconnected => None,
            RecvCtxError::Done(error) => Some(Err(error)),
        }
    }
}

impl<T> FusedIterator for IterCtx<'_, T> {}
