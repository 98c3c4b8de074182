//! `hyper::rt::Read` and `Write`, for streams.

use core::task::{Context, Poll, ready};
use std::io;

use hyper::rt::ReadBufCursor;
use rustix::net::{RecvFlags, recv};

use crate::net::TcpStream;
use crate::net::polling::AfterShort;
use crate::net::socket::{Socket, StdSocket};

/// Reads into the free part of `buf`.
pub(crate) fn poll_read<S: StdSocket>(
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

/// Implements them for types that are newtypes around a `Socket`.
macro_rules! streams {
    ($($type:ty: $after_short:ident),*) => {$(
        impl ::hyper::rt::Read for $type {
            fn poll_read(
                self: ::core::pin::Pin<&mut Self>,
                cx: &mut ::core::task::Context<'_>,
                buf: ::hyper::rt::ReadBufCursor<'_>,
            ) -> ::core::task::Poll<::std::io::Result<()>> {
                $crate::net::polling::hyper::poll_read(&self.0, $crate::net::polling::AfterShort::$after_short, cx, buf)
            }
        }

        impl ::hyper::rt::Write for $type {
            fn poll_write(self: ::core::pin::Pin<&mut Self>, cx: &mut ::core::task::Context<'_>, buf: &[u8]) -> ::core::task::Poll<::std::io::Result<usize>> {
                self.0.poll(cx, ::gosched_primitives::Direction::Write, |mut stream| ::std::io::Write::write(&mut stream, buf))
            }

            fn poll_flush(self: ::core::pin::Pin<&mut Self>, _: &mut ::core::task::Context<'_>) -> ::core::task::Poll<::std::io::Result<()>> {
                ::core::task::Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: ::core::pin::Pin<&mut Self>, _: &mut ::core::task::Context<'_>) -> ::core::task::Poll<::std::io::Result<()>> {
                ::core::task::Poll::Ready(self.shutdown(::std::net::Shutdown::Write))
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_write_vectored(
                self: ::core::pin::Pin<&mut Self>,
                cx: &mut ::core::task::Context<'_>,
                bufs: &[::std::io::IoSlice<'_>],
            ) -> ::core::task::Poll<::std::io::Result<usize>> {
                self.0.poll(cx, ::gosched_primitives::Direction::Write, |mut stream| ::std::io::Write::write_vectored(&mut stream, bufs))
            }
        }
    )*};
}
pub(crate) use streams;

streams!(TcpStream: Nothing);
