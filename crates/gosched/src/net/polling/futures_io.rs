//! `futures_io::AsyncRead` and `AsyncWrite`, for streams and references to them.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;

use futures_io::{AsyncRead, AsyncWrite};
use gosched_primitives::Direction;

use crate::net::TcpStream;
use crate::net::polling::AfterShort;
use crate::os::unix::net::UnixStream;

macro_rules! streams {
    ($($type:ty: $after_short:ident),*) => {$(
        impl AsyncRead for $type {
            fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
                self.0.poll_read(cx, buf.len(), AfterShort::$after_short, |mut stream| stream.read(buf))
            }

            fn poll_read_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                let room = bufs.iter().map(|buf| buf.len()).sum();
                self.0.poll_read(cx, room, AfterShort::$after_short, |mut stream| stream.read_vectored(bufs))
            }
        }

        impl AsyncWrite for $type {
            fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                self.0.poll(cx, Direction::Write, |mut stream| stream.write(buf))
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.0.poll(cx, Direction::Write, |mut stream| stream.write_vectored(bufs))
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.shutdown(Shutdown::Write))
            }
        }
    )*};
}

streams!(TcpStream: Nothing, &TcpStream: Nothing, UnixStream: More, &UnixStream: More);
