//! Goroutines with the names of `std::thread`.
//!
//! Everything here works from goroutines and from other threads; on the latter, a call that waits
//! blocks the thread. Each function says whether it is a *moving call*, in which a goroutine may
//! resume on another OS thread.

#![deny(unsafe_code)]

pub(crate) mod builder;
mod current;
mod done;
mod join;
mod join_set;
mod local;
mod scope;
mod sleep;

pub use builder::{Builder, spawn};
#[allow(deprecated)] // std has it too
pub use current::park_timeout_ms;
pub use current::{Thread, ThreadId, current, park, park_timeout};
pub use join::{JoinFuture, JoinHandle};
pub use join_set::JoinSet;
pub use local::{AccessError, LocalKey};
pub use scope::{Scope, ScopedJoinHandle, scope};
pub use sleep::sleep;
#[allow(deprecated)] // std has it too
pub use sleep::sleep_ms;

pub(crate) use builder::{Around, go_around, spawn_main};

/// What [`JoinHandle::join`] returns: the closure's value, or what it panicked with.
///
/// ```
/// fn answer() -> gosched::thread::Result<i32> {
///     gosched::thread::spawn(|| 42).join()
/// }
/// assert_eq!(answer().unwrap(), 42);
/// ```
pub type Result<T> = std::thread::Result<T>;

/// Lets others run: the goroutine goes to the tail of the global queue (Go's `runtime.Gosched`).
///
/// A moving call. On a thread that is not a goroutine it is std's. Does nothing while the goroutine
/// is locked to its thread, or unwinds.
///
/// ```
/// gosched::run(|| {
///     let other = gosched::go(|| 1);
///     while !other.is_finished() {
///         gosched::thread::yield_now();
///     }
/// });
/// ```
#[doc(alias = "Gosched")]
pub fn yield_now() {
    crate::sched::yield_now();
}

/// Whether the calling goroutine is unwinding because of a panic.
///
/// Never moves. The same as `std::thread::panicking`: a goroutine stays on its thread while it
/// unwinds.
///
/// ```
/// assert!(!gosched::thread::panicking());
/// ```
pub fn panicking() -> bool {
    std::thread::panicking()
}

/// How many goroutines can run at the same time: the number of Ps.
///
/// Never moves. Starts the runtime if it isn't running.
///
/// # Errors
///
/// None at present; the signature is std's.
///
/// ```
/// assert!(gosched::thread::available_parallelism()?.get() >= 1);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn available_parallelism() -> std::io::Result<core::num::NonZeroUsize> {
    core::num::NonZeroUsize::new(crate::runtime::maxprocs(None)).ok_or_else(|| std::io::Error::other("no Ps"))
}
