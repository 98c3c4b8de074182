//! What this crate uses of the kernel: the futex, to sleep on a word and wake a sleeper, and a
//! barrier for all threads. Linux has both on every architecture; another system would be another
//! file like this one.

#[cfg(target_os = "linux")]
pub(crate) use rustix::thread::{MembarrierCommand, Timespec, futex, membarrier};

#[cfg(not(target_os = "linux"))]
compile_error!("gosched needs Linux: its threads sleep by futex, and its barrier is membarrier");
