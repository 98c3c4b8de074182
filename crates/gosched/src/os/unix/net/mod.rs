//! Unix sockets, with the names of `std::os::unix::net`: a goroutine waits, not a thread. What
//! [`net`](crate::net) says about contexts, clones and conversions holds here too.
//!
//! ```
//! use gosched::os::unix::net::UnixStream;
//! use std::io::{self, Read, Write};
//!
//! gosched::run(|| -> io::Result<()> {
//!     let (mut ours, mut theirs) = UnixStream::pair()?;
//!     let reading = gosched::go(move || -> io::Result<String> {
//!         let mut text = String::new();
//!         theirs.read_to_string(&mut text)?;
//!         Ok(text)
//!     });
//!     ours.write_all(b"hello")?;
//!     drop(ours);
//!     assert_eq!(reading.join().unwrap()?, "hello");
//!     Ok(())
//! })?;
//! # Ok::<(), io::Error>(())
//! ```

mod datagram;
#[allow(unsafe_code)]
mod fd;
mod listener;
mod ready;
mod split;
mod stream;

pub use datagram::UnixDatagram;
pub use listener::{Incoming, UnixListener};
pub use split::{ReadHalf, ReuniteError, WriteHalf};
pub use stream::UnixStream;

#[doc(no_inline)]
pub use std::os::unix::net::SocketAddr;
