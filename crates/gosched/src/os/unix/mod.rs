//! What Unix systems have, with the names of `std::os::unix`.
//!
//! There is no counterpart of `std::os::unix::thread::JoinHandleExt`: a goroutine has no
//! `pthread_t` that its handle could return, since it runs on many threads in turn. A goroutine
//! that needs a thread for itself is [pinned](crate::thread::Builder::pinned), or calls
//! [`lock_os_thread`](crate::runtime::lock_os_thread), and asks for its thread from inside, by
//! `pthread_self`.

pub mod net;
pub mod process;
