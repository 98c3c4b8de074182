//! Sockets in async code: the traits of futures-io and of hyper.
//!
//! With a waker of `future::block_on` the poller wakes the goroutine itself; another executor's
//! waker is called by a goroutine of the library's own. Contexts and time-outs have no effect here:
//! in async code they are futures.

#[cfg(feature = "futures-io")]
pub(crate) mod futures_io;
#[cfg(feature = "hyper")]
#[allow(unsafe_code)]
pub(crate) mod hyper;

use core::task::{Context, Poll};
use std::io;

use gosched_primitives::Direction;

use super::socket::{Socket, StdSocket};
use crate::source::Promised;

impl<S: StdSocket> Socket<S> {
    /// As [`run`](Socket::run), for an async task, which is woken when it should try again.
    pub(crate) fn poll<T>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        mut op: impl FnMut(&S) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        loop {
            let seen = self.source.seen(direction);
            match op(self.std()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
            match self.source.wait_async(direction, seen, cx.waker()) {
                Ok(Promised::Wake) => return Poll::Pending,
                Ok(Promised::TryAgain) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// As [`poll`](Socket::poll), for a read into `room` bytes. After a short read that has left
    /// nothing, the next call waits at once, and saves the system call that would return "would
    /// block".
    pub(crate) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        room: usize,
        after_short: AfterShort,
        mut op: impl FnMut(&S) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        self.poll(cx, Direction::Read, |stream| {
            let seen = self.source.seen(Direction::Read);
            if self.source.is_drained(seen) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let read = op(stream)?;
            if after_short == AfterShort::Nothing && (1..room).contains(&read) {
                self.source.note_drained(seen);
            }
            Ok(read)
        })
    }
}

/// What may still be there after a read from a stream that was shorter than the buffer, if no end
/// and no error was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterShort {
    /// TCP reads take what there is.
    Nothing,
    /// Reads from a Unix stream also stop after a message with descriptors.
    More,
}
