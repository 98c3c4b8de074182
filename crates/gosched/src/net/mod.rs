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
//! - Reading, writing, accepting, connecting, sending and receiving are moving calls; so are `bind`
//!   and others that may resolve a name. The rest are not.
//! - All work from any thread; on a thread that is not a goroutine they block it.
//! - Waits end with the current [context](crate::context): at its deadline with
//!   [`ErrorKind::TimedOut`](std::io::ErrorKind::TimedOut), when it is cancelled with
//!   [`ErrorKind::Other`](std::io::ErrorKind::Other), and in both cases with the
//!   [`ContextError`](crate::context::ContextError) inside. A call that need not wait succeeds even
//!   then.
//! - [`TcpStream::shutdown`] and [`TcpListener::shutdown`] wake the goroutines and threads that
//!   wait.
//! - One socket may be used by several goroutines at once, through `&` or
//!   [`try_clone`](TcpStream::try_clone).
//! - A socket can be a case of `select!`: [`readable`](TcpStream::readable) and
//!   [`writable`](TcpStream::writable) return receivers. [`TcpStream::into_split`] gives two
//!   goroutines a half each.
//! - Names are resolved in an announced blocking call: other goroutines do not wait for it.
//! - `From` converts to and from std's types. A socket keeps its mode: one that was non-blocking
//!   before the conversion fails with [`WouldBlock`](std::io::ErrorKind::WouldBlock) where others
//!   wait, and is non-blocking when it is converted back. For the kernel all sockets here are
//!   non-blocking, and copies of a descriptor share that. So a handle of std's to the same socket
//!   sees it as non-blocking, until the last handle of ours is dropped, or one is converted back:
//!   that restores the user's mode, for all clones. If such a handle is converted, too, it has the
//!   same mode as the others. While there is such a handle, set the mode through a socket of ours.
//!
//! # Sockets of other crates
//!
//! A socket here converts to and from std's type, and through an [`OwnedFd`](std::os::fd::OwnedFd)
//! to and from everything else that is made of a descriptor: the types of `socket2`, `rustix` or
//! `mio`.
//!
//! ```
//! use gosched::net::{TcpListener, TcpStream};
//! use std::io::{self, Read, Write};
//! use std::os::fd::{AsFd, OwnedFd};
//!
//! /// In a crate that knows nothing of this one. (`socket2::Socket` is `From<OwnedFd>`, too.)
//! fn keep_alive_after_all(socket: OwnedFd) -> io::Result<OwnedFd> {
//!     rustix::net::sockopt::set_socket_keepalive(&socket, true)?;
//!     Ok(socket)
//! }
//!
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let client = TcpStream::connect(listener.local_addr()?)?;
//! let (mut server, _) = listener.accept()?;
//!
//! // To give it away and take it back: while it is away it is blocking, as others expect.
//! let fd = keep_alive_after_all(OwnedFd::from(client))?;
//! let mut client = TcpStream::from(fd);
//! client.write_all(b"hello")?;
//! server.read_exact(&mut [0; 5])?;
//!
//! // Who only sets options needs no more than a look.
//! assert!(rustix::net::sockopt::socket_keepalive(client.as_fd())?);
//!
//! // std's type in between, for crates that want that.
//! let server = std::net::TcpStream::from(server);
//! let server = TcpStream::from(server);
//! # drop(server);
//! # Ok::<(), io::Error>(())
//! ```
//!
//! # Shutting a server down
//!
//! The pattern: accept and serve under a context, each connection counted by a
//! [`WaitGroup`](crate::sync::WaitGroup) and in a goroutine with a name. To end:
//!
//! 1. cancel the context: `accept` fails, and so do the calls that wait for a peer. One from
//!    [`signal::context_until`](crate::signal::context_until) ends at Ctrl-C;
//! 2. close the listener, by dropping it: nobody else can connect;
//! 3. wait for the connections, for a limited time;
//! 4. report which connections have not ended by then, and where they are:
//!    [`runtime::stacks`](crate::runtime::stacks) has a paragraph for each goroutine, with its name
//!    in the first line.
//!
//! ```
//! use gosched::net::{TcpListener, TcpStream};
//! use gosched::signal::{Signal, context_until};
//! use gosched::sync::WaitGroup;
//! use gosched::{context, go, runtime, thread};
//! use std::io::{self, Read, Write};
//! use std::time::Duration;
//!
//! /// A connection that has been counted in; counts it out, also after a panic.
//! struct Counted(WaitGroup);
//!
//! impl Drop for Counted {
//!     fn drop(&mut self) {
//!         self.0.done();
//!     }
//! }
//!
//! fn serve(mut stream: TcpStream) -> io::Result<()> {
//!     let mut bytes = [0; 1024];
//!     let ctx = context::current();
//!     while !ctx.is_cancelled() {
//!         match stream.read(&mut bytes)? {
//!             0 => break,
//!             _ if bytes[0] == b'?' => thread::park(), // which no context ends
//!             n => stream.write_all(&bytes[..n])?,
//!         }
//!     }
//!     Ok(())
//! }
//!
//! /// Serves until the context ends, which the goroutines that are started here inherit.
//! fn accept_all(listener: TcpListener, connections: &WaitGroup) -> io::Result<()> {
//!     let ctx = context::current();
//!     while !ctx.is_cancelled() {
//!         let Ok((stream, peer)) = listener.accept() else { break };
//!         connections.add(1);
//!         let counted = Counted(connections.clone());
//!         thread::Builder::new().name(format!("connection {peer}")).spawn(move || {
//!             let _counted = counted;
//!             serve(stream)
//!         })?;
//!     }
//!     Ok(())
//! }
//!
//! /// Waits for all connections; the error names those that did not end in time, with their stacks.
//! fn wait(connections: &WaitGroup, grace: Duration) -> Result<(), String> {
//!     if connections.wait_timeout(grace) {
//!         return Ok(());
//!     }
//!     let stacks = runtime::stacks();
//!     let head = |goroutine: &str| goroutine.lines().next().unwrap_or("").contains("\"connection ");
//!     Err(stacks.split("\n\n").filter(|goroutine| head(goroutine)).collect::<Vec<_>>().join("\n\n"))
//! }
//!
//! gosched::run(|| -> io::Result<()> {
//!     let listener = TcpListener::bind("127.0.0.1:0")?;
//!     let address = listener.local_addr()?;
//!     let ctx = context_until(&[Signal::Interrupt, Signal::Terminate])?;
//!     let connections = WaitGroup::new();
//!     let server = {
//!         let (ctx, connections) = (ctx.clone(), connections.clone());
//!         go(move || context::enter(&ctx, || accept_all(listener, &connections)))
//!     };
//!     let mut good = TcpStream::connect(address)?;
//!     good.write_all(b"hello")?;
//!     good.read_exact(&mut [0; 5])?;
//!     let mut bad = TcpStream::connect(address)?;
//!     bad.write_all(b"hello")?;
//!     bad.read_exact(&mut [0; 5])?;
//!     bad.write_all(b"?")?;
//! #   let name = format!("\"connection {}\" [park", bad.local_addr()?);
//! #   while !runtime::stacks().contains(&name) {
//! #       gosched::yield_now();
//! #   }
//!
//!     ctx.cancel(); // as Ctrl-C does
//!     server.join().expect("the server does not panic")?;
//!     let stragglers = wait(&connections, Duration::from_millis(100)).unwrap_err();
//!     assert_eq!(good.read(&mut [0; 1])?, 0, "the server has closed the connection");
//!     // goroutine 7 "connection 127.0.0.1:40822" [park]:
//!     // gosched::thread::park(...)
//!     //         …/gosched/src/thread/current.rs:151
//!     // app::serve(...)
//!     //         …/app/src/main.rs:25
//!     assert!(stragglers.contains(&format!("\"connection {}\" [park", bad.local_addr()?)));
//!     assert!(stragglers.contains("gosched::thread::park(...)"));
//!     Ok(())
//! })?;
//! # Ok::<(), io::Error>(())
//! ```
//!
//! A call that need not wait succeeds even if the context has ended. So the code checks the
//! context: else peers that send or connect without a pause would still be served. A connection
//! that writes at the end, as the farewell in the example `chat`, does so under the
//! [background context](crate::context::background), with a
//! [time-out](TcpStream::set_write_timeout).
//!
//! # Out of descriptors
//!
//! `accept` then fails with the system's error (`EMFILE` or `ENFILE`), and the connection stays in
//! the queue of the listener, so that the next call fails at once, too: a server logs that once,
//! pauses and tries again. `accept_each` of the examples does so.

#![deny(unsafe_code)]

mod addr;
mod connect;
#[allow(unsafe_code)]
pub(crate) mod fd;
mod listener;
mod options;
#[cfg(any(feature = "futures-io", feature = "hyper"))]
pub(crate) mod polling;
pub(crate) mod ready;
pub(crate) mod socket;
pub(crate) mod split;
mod stream;
mod udp;

pub use listener::{Incoming, TcpListener};
pub use split::{ReadHalf, ReuniteError, WriteHalf};
pub use stream::TcpStream;
pub use udp::UdpSocket;

#[doc(no_inline)]
pub use std::net::{
    AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, SocketAddrV4, SocketAddrV6,
    ToSocketAddrs,
};
