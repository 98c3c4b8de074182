//! TCP and UDP, with the names of `std::net`: a goroutine waits, not a thread.
//!
//! ```
//! use gosched::net::{TcpListener, TcpStream};
//! use std::io::{self, Read, Write};
//!
//! gosched::run(|| -> io::Result<()> {
//!     let listener = TcpListener::bind("127.0.0.1:0")?;
//!     let address = listener.local_addr()?;
//!     gosched::go(move || -> io::Result<()> {
//!         for stream in listener.incoming() {
//!             let mut stream = stream?;
//!             gosched::go(move || io::copy(&mut stream.try_clone()?, &mut stream));
//!         }
//!         Ok(())
//!     });
//!     let mut stream = TcpStream::connect(address)?;
//!     stream.write_all(b"echo")?;
//!     let mut back = [0; 4];
//!     stream.read_exact(&mut back)?;
//!     assert_eq!(&back, b"echo");
//!     Ok(())
//! })?;
//! # Ok::<(), io::Error>(())
//! ```
//!
//! Everything is as in `std::net`, and besides:
//!
//! - Reading, writing, accepting, connecting, sending and receiving are moving calls. The others are not.
//! - They work from any thread; from one that is not a goroutine they block it.
//! - They end with the [context](crate::context) they are made in: at its deadline with
//!   [`ErrorKind::TimedOut`](std::io::ErrorKind::TimedOut), when it is cancelled with
//!   [`ErrorKind::Other`](std::io::ErrorKind::Other), and in both cases with the
//!   [`ContextError`](crate::context::ContextError) inside. What can be done at once is done all the same.
//! - [`TcpStream::shutdown`] and [`TcpListener::shutdown`] wake whoever waits.
//! - One socket may be used by several goroutines at once, through `&` or [`try_clone`](TcpStream::try_clone).
//! - Names are resolved in an announced blocking call: other goroutines do not wait for it.
//! - Conversions to and from std's types are there, `From` both ways. Underneath, sockets are non-blocking; one that is
//!   converted to std's is made blocking again, for all clones of it, as these share the setting.
//!
//! # Shutting a server down
//!
//! The pattern: accept and serve under a context; to end, cancel it. `accept` fails, the loop ends, the connections that wait
//! for their peers fail too and close; then wait for them for a while.
//!
//! ```
//! use gosched::{context, net::{TcpListener, TcpStream}};
//! use std::io::{self, Read, Write};
//! use std::time::{Duration, Instant};
//!
//! fn serve(mut stream: TcpStream) -> io::Result<()> {
//!     let mut bytes = [0; 1024];
//!     loop {
//!         match stream.read(&mut bytes)? {
//!             0 => return Ok(()),
//!             n => stream.write_all(&bytes[..n])?,
//!         }
//!     }
//! }
//!
//! gosched::run(|| -> io::Result<()> {
//!     let listener = TcpListener::bind("127.0.0.1:0")?;
//!     let address = listener.local_addr()?;
//!     let ctx = context::background().with_cancel();
//!     let server = {
//!         let ctx = ctx.clone();
//!         gosched::go(move || {
//!             context::enter(&ctx, || {
//!                 // Goroutines that are started here are in the context too.
//!                 let mut connections = Vec::new();
//!                 while let Ok((stream, _)) = listener.accept() {
//!                     connections.push(gosched::go(move || serve(stream)));
//!                 }
//!                 connections
//!             })
//!         })
//!     };
//!     let mut client = TcpStream::connect(address)?;
//!     client.write_all(b"hello")?;
//!     client.read_exact(&mut [0; 5])?;
//!
//!     ctx.cancel();
//!     let connections = server.join().expect("the server does not panic");
//!     let deadline = Instant::now() + Duration::from_secs(5);
//!     for connection in &connections {
//!         while !connection.is_finished() && Instant::now() < deadline {
//!             gosched::sleep(Duration::from_millis(1));
//!         }
//!         assert!(connection.is_finished(), "a straggler: {:?}", connection.thread().id());
//!     }
//!     assert_eq!(client.read(&mut [0; 1])?, 0, "the server has closed the connection");
//!     Ok(())
//! })?;
//! # Ok::<(), io::Error>(())
//! ```

#![deny(unsafe_code)]

mod addr;
mod connect;
#[allow(unsafe_code)]
mod fd;
mod listener;
#[cfg(any(feature = "futures-io", feature = "hyper"))]
mod polling;
pub(crate) mod socket;
mod stream;
mod udp;

pub use listener::{Incoming, TcpListener};
pub use stream::TcpStream;
pub use udp::UdpSocket;

#[doc(no_inline)]
pub use std::net::{
    AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, SocketAddrV4, SocketAddrV6,
    ToSocketAddrs,
};
