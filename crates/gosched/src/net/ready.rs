//! Sockets as cases of a selection, the same for all of them (those of Unix are in
//! `os/unix/net/ready.rs`).

/// Implements `readable` and `writable` for `$type`, a newtype around a `Socket`.
///
/// `$input` and `$output` say what the kernel reports; `$example` makes a `socket` that is ready
/// for `$direction`.
macro_rules! ready_cases {
    ($type:ident, $input:literal, $output:literal, $direction:ident, $example:literal) => {
        impl $type {
            #[doc = concat!("A receiver that gets one value when ", $input, ": a case of `select!`.")]
            ///
            /// At once if that is so already, and when the socket is closed. If somebody else uses
            /// the socket, too, the call that follows may still have to wait. For the next time,
            /// call this again: the receiver gets no second value, and is never closed. Dropping it
            /// ends the wait. Never moves.
            ///
            /// ```
            /// use gosched::select;
            /// use std::time::Duration;
            ///
            #[doc = $example]
            /// select! {
            #[doc = concat!("    recv(socket.", stringify!($direction), "()) -> _ => println!(\"now\"),")]
            ///     default(Duration::from_secs(5)) => panic!("not in five seconds"),
            /// }
            /// # Ok::<(), std::io::Error>(())
            /// ```
            #[must_use = "dropping the receiver ends the wait"]
            pub fn readable(&self) -> Receiver<()> {
                self.0.watch(Direction::Read)
            }

            #[doc = concat!("As [`readable`](", stringify!($type), "::readable), for when ", $output, ".")]
            /// Never moves.
            ///
            /// ```
            /// use std::time::Duration;
            ///
            #[doc = $example]
            /// let writable = socket.writable();
            /// let _in_time = writable.recv_timeout(Duration::from_millis(5)).is_ok();
            /// # Ok::<(), std::io::Error>(())
            /// ```
            #[must_use = "dropping the receiver ends the wait"]
            pub fn writable(&self) -> Receiver<()> {
                self.0.watch(Direction::Write)
            }
        }
    };
}
pub(crate) use ready_cases;

use gosched_primitives::Direction;

use super::{TcpListener, TcpStream, UdpSocket};
use crate::chan::Receiver;

ready_cases!(
    TcpStream,
    "bytes or the end of the stream can be read",
    "bytes can be written, or the connection is broken",
    writable,
    "# use gosched::net::{TcpListener, TcpStream};
# let listener = TcpListener::bind(\"127.0.0.1:0\")?;
let socket = TcpStream::connect(listener.local_addr()?)?;"
);
ready_cases!(
    TcpListener,
    "a connection can be accepted",
    "it has been shut down; nothing else makes a listener writable",
    readable,
    "# use gosched::net::{TcpListener, TcpStream};
let socket = TcpListener::bind(\"127.0.0.1:0\")?;
let client = TcpStream::connect(socket.local_addr()?)?;
# std::mem::forget(client);"
);
ready_cases!(
    UdpSocket,
    "a datagram can be received",
    "a datagram can be sent",
    readable,
    "# use gosched::net::UdpSocket;
let socket = UdpSocket::bind(\"127.0.0.1:0\")?;
socket.send_to(b\"x\", socket.local_addr()?)?;"
);
