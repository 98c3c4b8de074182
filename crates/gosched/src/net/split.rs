//! The two halves of a stream, the same for TCP and Unix streams (`os/unix/net/split.rs`).
//!
//! Invariant: the halves share one stream, and nobody else has it. So a half that has been given
//! back its other half has the stream alone.

/// Implements `into_split` for `$stream`, with the types of its halves.
///
/// `$example` makes two connected streams, `ours` and `theirs`.
macro_rules! halves {
    ($stream:ident, $example:literal) => {
        impl $stream {
            /// Splits it into a half for reading and one for writing, each for a goroutine of its
            /// own. As tokio's: dropping the [`WriteHalf`] shuts writing down, so that the peer
            /// sees the end; the connection is closed when both are dropped. Never moves.
            ///
            /// ```
            /// use std::io::{self, Read, Write};
            ///
            /// gosched::run(|| -> io::Result<()> {
            #[doc = $example]
            ///     let (mut input, mut output) = ours.into_split();
            ///     let reading = gosched::go(move || -> io::Result<String> {
            ///         let mut text = String::new();
            ///         input.read_to_string(&mut text)?;
            ///         Ok(text)
            ///     });
            ///     output.write_all(b"question")?;
            ///     drop(output);
            ///     let mut question = String::new();
            ///     (&theirs).read_to_string(&mut question)?; // sees the end
            ///     (&theirs).write_all(b"answer")?;
            ///     drop(theirs);
            ///     assert_eq!((question.as_str(), reading.join().unwrap()?.as_str()), ("question", "answer"));
            ///     Ok(())
            /// })?;
            /// # Ok::<(), io::Error>(())
            /// ```
            #[must_use = "dropping the halves closes the connection"]
            pub fn into_split(self) -> (ReadHalf, WriteHalf) {
                let stream = Arc::new(self);
                (ReadHalf(Arc::clone(&stream)), WriteHalf { stream, at_drop: AtDrop::ShutDown })
            }
        }

        #[doc = concat!("The half for reading of a [`", stringify!($stream), "`]: see")]
        #[doc = concat!("[`into_split`](", stringify!($stream), "::into_split).")]
        /// Reading is a moving call. Dropping it has no effect on writing.
        ///
        /// ```
        /// use std::io::Read;
        ///
        #[doc = $example]
        /// let (mut input, _output) = ours.into_split();
        /// drop(theirs);
        /// assert_eq!(input.read(&mut [0; 8])?, 0);
        /// # Ok::<(), std::io::Error>(())
        /// ```
        #[derive(Debug)]
        pub struct ReadHalf(Arc<$stream>);

        #[doc = concat!("The half for writing of a [`", stringify!($stream), "`]: see")]
        #[doc = concat!("[`into_split`](", stringify!($stream), "::into_split).")]
        /// Writing is a moving call. Dropping it shuts writing down.
        ///
        /// ```
        /// use std::io::{Read, Write};
        ///
        #[doc = $example]
        /// let (_input, mut output) = ours.into_split();
        /// output.write_all(b"hello")?;
        /// drop(output);
        /// let mut text = String::new();
        /// (&theirs).read_to_string(&mut text)?;
        /// assert_eq!(text, "hello");
        /// # Ok::<(), std::io::Error>(())
        /// ```
        #[derive(Debug)]
        pub struct WriteHalf {
            stream: Arc<$stream>,
            at_drop: AtDrop,
        }

        /// What a half for writing does when it is dropped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum AtDrop {
            ShutDown,
            Nothing,
        }

        /// Two halves that are not of the same stream; they come back in it.
        ///
        /// ```
        #[doc = $example]
        /// let ((input, _output), (_input, output)) = (ours.into_split(), theirs.into_split());
        /// let error = input.reunite(output).unwrap_err();
        /// assert_eq!(error.to_string(), "tried to reunite halves that are not from the same socket");
        /// # Ok::<(), std::io::Error>(())
        /// ```
        #[derive(Debug)]
        pub struct ReuniteError(pub ReadHalf, pub WriteHalf);

        impl fmt::Display for ReuniteError {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad("tried to reunite halves that are not from the same socket")
            }
        }

        impl Error for ReuniteError {}

        impl ReadHalf {
            /// The stream, from both halves. Never moves.
            ///
            /// # Errors
            ///
            /// If the other half is that of another stream. Both come back.
            ///
            /// ```
            #[doc = $example]
            /// let (input, output) = ours.into_split();
            /// let whole = input.reunite(output).unwrap();
            /// # drop((whole, theirs));
            /// # Ok::<(), std::io::Error>(())
            /// ```
            pub fn reunite(self, other: WriteHalf) -> Result<$stream, ReuniteError> {
                if !Arc::ptr_eq(&self.0, &other.stream) {
                    return Err(ReuniteError(self, other));
                }
                other.forget();
                Ok(Arc::try_unwrap(self.0).unwrap_or_else(|_| unreachable!("only the halves have the stream")))
            }

            #[doc = concat!("As [`", stringify!($stream), "::readable`]. Never moves.")]
            ///
            /// ```
            #[doc = $example]
            /// let (input, _output) = ours.into_split();
            /// drop(theirs);
            /// assert_eq!(input.readable().recv(), Ok(()));
            /// # Ok::<(), std::io::Error>(())
            /// ```
            #[must_use = "dropping the receiver ends the wait"]
            pub fn readable(&self) -> Receiver<()> {
                self.0.readable()
            }
        }

        impl WriteHalf {
            /// As [`ReadHalf::reunite`]. Never moves.
            ///
            /// # Errors
            ///
            /// If the other half is that of another stream. Both come back.
            ///
            /// ```
            #[doc = $example]
            /// let (input, output) = ours.into_split();
            /// let whole = output.reunite(input).unwrap();
            /// # drop((whole, theirs));
            /// # Ok::<(), std::io::Error>(())
            /// ```
            pub fn reunite(self, other: ReadHalf) -> Result<$stream, ReuniteError> {
                other.reunite(self)
            }

            /// Drops it without shutting writing down. Never moves.
            ///
            /// ```
            /// use std::io::Write;
            ///
            #[doc = $example]
            /// let (input, output) = ours.into_split();
            /// output.forget();
            /// input.as_ref().write_all(b"still possible")?;
            /// # drop(theirs);
            /// # Ok::<(), std::io::Error>(())
            /// ```
            pub fn forget(mut self) {
                self.at_drop = AtDrop::Nothing;
            }

            #[doc = concat!("As [`", stringify!($stream), "::writable`]. Never moves.")]
            ///
            /// ```
            #[doc = $example]
            /// let (_input, output) = ours.into_split();
            /// assert_eq!(output.writable().recv(), Ok(()));
            /// # drop(theirs);
            /// # Ok::<(), std::io::Error>(())
            /// ```
            #[must_use = "dropping the receiver ends the wait"]
            pub fn writable(&self) -> Receiver<()> {
                self.stream.writable()
            }
        }

        impl Drop for WriteHalf {
            fn drop(&mut self) {
                if self.at_drop == AtDrop::ShutDown {
                    // Fails if the connection is gone.
                    let _ = self.stream.shutdown(Shutdown::Write);
                }
            }
        }

        /// For addresses, time-outs and other settings.
        impl AsRef<$stream> for ReadHalf {
            fn as_ref(&self) -> &$stream {
                &self.0
            }
        }

        /// For addresses, time-outs and other settings.
        impl AsRef<$stream> for WriteHalf {
            fn as_ref(&self) -> &$stream {
                &self.stream
            }
        }

        halves!(io: &ReadHalf, &WriteHalf);
        halves!(io: ReadHalf, WriteHalf);
    };
    (io: $read:ty, $write:ty) => {
        /// Moving calls.
        impl Read for $read {
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                (&*self.0).read(buf)
            }

            fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                (&*self.0).read_vectored(bufs)
            }
        }

        /// Moving calls.
        impl Write for $write {
            fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
                (&*self.stream).write(buf)
            }

            fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                (&*self.stream).write_vectored(bufs)
            }

            fn flush(&mut self) -> io::Result<()> {
                (&*self.stream).flush()
            }
        }
    };
}
pub(crate) use halves;

use std::error::Error;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::sync::Arc;

use super::{Shutdown, TcpStream};
use crate::chan::Receiver;

halves!(
    TcpStream,
    "# use gosched::net::{TcpListener, TcpStream};
# let listener = TcpListener::bind(\"127.0.0.1:0\")?;
# let ours = TcpStream::connect(listener.local_addr()?)?;
# let (theirs, _) = listener.accept()?;"
);
