//! The operating system, wrapped: each file covers one part of Linux with functions that the
//! library uses without `errno`. Nothing here knows a G, M or P.

pub(crate) mod caught;
pub(crate) mod clock;
pub(crate) mod cpu;
pub(crate) mod epoll;
pub(crate) mod errno;
pub(crate) mod fd;
pub(crate) mod handler;
pub(crate) mod mem;
pub(crate) mod process;
pub(crate) mod signal;
pub(crate) mod stderr;
pub(crate) mod task;
pub(crate) mod thread;
