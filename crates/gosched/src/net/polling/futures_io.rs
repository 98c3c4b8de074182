//! `futures_io::AsyncRead` and `AsyncWrite`, for streams and references to them.

use crate::net::TcpStream;

/// Implements them for types that are newtypes around a `Socket`, or references to one.
macro_rules! streams {
    ($($type:ty: $after_short:ident),*) => {$(
        impl ::futures_io::AsyncRead for $type {
            fn poll_read(self: ::core::pin::Pin<&mut Self>, cx: &mut ::core::task::Context<'_>, buf: &mut [u8]) -> ::core::task::Poll<::std::io::Result<usize>> {
                self.0.poll_read(cx, buf.len(), $crate::net::polling::AfterShort::$after_short, |mut stream| ::std::io::Read::read(&mut stream, buf))
            }

            fn poll_read_vectored(
                self: ::core::pin::Pin<&mut Self>,
                cx: &mut ::core::task::Context<'_>,
                bufs: &mut [::std::io::IoSliceMut<'_>],
            ) -> ::core::task::Poll<::std::io::Result<usize>> {
                let room = bufs.iter().map(|buf| buf.len()).sum();
                self.0.poll_read(cx, room, $crate::net::polling::AfterShort::$after_short, |mut stream| ::std::io::Read::read_vectored(&mut stream, bufs))
            }
        }

        impl ::futures_io::AsyncWrite for $type {
            fn poll_write(self: ::core::pin::Pin<&mut Self>, cx: &mut ::core::task::Context<'_>, buf: &[u8]) -> ::core::task::Poll<::std::io::Result<usize>> {
                self.0.poll(cx, ::gosched_primitives::Direction::Write, |mut stream| ::std::io::Write::write(&mut stream, buf))
            }

            fn poll_write_vectored(
                self: ::core::pin::Pin<&mut Self>,
                cx: &mut ::core::task::Context<'_>,
                bufs: &[::std::io::IoSlice<'_>],
            ) -> ::core::task::Poll<::std::io::Result<usize>> {
                self.0.poll(cx, ::gosched_primitives::Direction::Write, |mut stream| ::std::io::Write::write_vectored(&mut stream, bufs))
            }

            fn poll_flush(self: ::core::pin::Pin<&mut Self>, _: &mut ::core::task::Context<'_>) -> ::core::task::Poll<::std::io::Result<()>> {
                ::core::task::Poll::Ready(Ok(()))
            }

            fn poll_close(self: ::core::pin::Pin<&mut Self>, _: &mut ::core::task::Context<'_>) -> ::core::task::Poll<::std::io::Result<()>> {
                ::core::task::Poll::Ready(self.shutdown(::std::net::Shutdown::Write))
            }
        }
    )*};
}
pub(crate) use streams;

streams!(TcpStream: Nothing, &TcpStream: Nothing);
