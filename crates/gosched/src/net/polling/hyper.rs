//! `hyper::rt::Read` and `Write`, for streams.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io::{self, IoSlice, Write};
use std::net::Shutdown;

use gosched_primitives::Direction;
use hyper::rt::ReadBufCursor;
use rustix::net::{RecvFlags, recv};

use crate::net::TcpStream;
use crate::net::polling::AfterShort;
use crate::net::socket::{Socket, StdSocket};
use crate::os::unix::net::UnixStream;

/// Reads into the free part of `buf`.
fn poll_read<S: StdSocket>(
    socket: &Socket<S>,
    after_short: AfterShort,
    cx: &mut Context<'_>,
    mut buf: ReadBufCursor<'_>,
) -> Poll<io::Result<()>> {
    let room = buf.remaining();
    let read = |stream: &S| {
        // SAFETY: `recv` does not make bytes uninitialised that were initialised.
        let free = unsafe { buf.as_mut() };
        let ((read, _), _) = recv(stream, free, RecvFlags::empty())?;
        Ok(read.len())
    };
    let n = ready!(socket.poll_read(cx, room, after_short, read))?;
    // SAFETY: the kernel has written `n` bytes there.
    unsafe { buf.advance(n) };
    Poll::Ready(Ok(()))
}

macro_rules! streams {
    ($($type:ty: $after_short:ident),*) => {$(
        impl hyper::rt::Read for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: ReadBufCursor<'_>,
            ) -> Poll<io::Result<()>> {
                poll_read(&self.0, AfterShort::$after_short, cx, buf)
            }
        }

        impl hyper::rt::Write for $type {
            fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                self.0.poll(cx, Direction::Write, |mut stream| stream.write(buf))
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.shutdown(Shutdown::Write))
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.0.poll(cx, Direction::Write, |mut stream| stream.write_vectored(bufs))
            }
        }
    )*};
}

streams!(TcpStream: Nothing, UnixStream: More);
