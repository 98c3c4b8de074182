//! The two halves of a Unix stream.

use std::error::Error;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

use super::UnixStream;
use crate::chan::Receiver;
use crate::net::split::halves;

halves!(
    UnixStream,
    "# use gosched::os::unix::net::UnixStream;
# let (ours, theirs) = UnixStream::pair()?;"
);
