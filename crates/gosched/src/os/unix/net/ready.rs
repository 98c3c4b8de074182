//! Unix sockets as cases of a selection.

use gosched_primitives::Direction;

use super::{UnixDatagram, UnixListener, UnixStream};
use crate::chan::Receiver;
use crate::net::ready::ready_cases;

ready_cases!(
    UnixStream,
    "bytes or the end of the stream can be read",
    "bytes can be written, or the connection is broken",
    writable,
    "# use gosched::os::unix::net::UnixStream;
let (socket, other) = UnixStream::pair()?;
# std::mem::forget(other);"
);
ready_cases!(
    UnixListener,
    "a connection can be accepted",
    "it has been shut down; nothing else makes a listener writable",
    readable,
    "# use gosched::os::unix::net::{UnixListener, UnixStream};
# let path = std::env::temp_dir().join(format!(\"gosched-doc-{}-{}\", std::process::id(), line!()));
# let _ = std::fs::remove_file(&path);
let socket = UnixListener::bind(&path)?;
let client = UnixStream::connect(&path)?;
# std::mem::forget(client);
# std::fs::remove_file(&path)?;"
);
ready_cases!(
    UnixDatagram,
    "a datagram can be received",
    "a datagram can be sent",
    readable,
    "# use gosched::os::unix::net::UnixDatagram;
let (socket, other) = UnixDatagram::pair()?;
other.send(b\"x\")?;"
);
