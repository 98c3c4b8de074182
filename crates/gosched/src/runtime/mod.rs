//! The runtime itself: how many goroutines and CPUs there are, and what a goroutine can ask of it. Modelled on Go's
//! `runtime` package.

#![deny(unsafe_code)]

mod config;
mod world;

pub use crate::g::Goexit;
pub use config::{Config, ConfigError, StackSizeError};
pub use world::{GoroutineInfo, ProcessorInfo, ThreadInfo, World, maxprocs, stop_the_world};

use crate::dump;
use crate::m::Worker;
use crate::m::current;
use crate::sched::{self, SCHED};
use crate::settings;

/// The number of goroutines that exist now, the main one included. The library's own do not count.
///
/// Never moves the calling goroutine.
///
/// ```
/// gosched::run(|| {
///     let before = gosched::runtime::num_goroutine();
///     let handle = gosched::go(|| gosched::thread::park());
///     assert_eq!(gosched::runtime::num_goroutine(), before + 1);
///     handle.thread().unpark();
///     handle.join().unwrap();
///     assert_eq!(gosched::runtime::num_goroutine(), before);
/// });
/// ```
#[doc(alias = "NumGoroutine")]
pub fn num_goroutine() -> usize {
    SCHED.num_goroutine()
}

/// The number of CPUs this process may use: its affinity mask, cut by its cgroup's CPU quota. Read once, at start.
///
/// Never moves the calling goroutine.
///
/// ```
/// assert!(gosched::runtime::num_cpu() >= 1);
/// ```
#[doc(alias = "NumCPU")]
pub fn num_cpu() -> usize {
    settings::num_cpu()
}

/// The id of the calling goroutine; `None` on a thread that is not a goroutine. The main goroutine has id 1.
///
/// Never moves the calling goroutine.
///
/// ```
/// assert_eq!(gosched::runtime::goroutine_id(), None);
/// let id = gosched::run(|| gosched::runtime::goroutine_id());
/// assert_eq!(id, Some(1));
/// ```
pub fn goroutine_id() -> Option<u64> {
    current::current()?.cur_g().map(|g| g.id())
}

/// Yields if the scheduler has asked this goroutine to, else does nothing, in a nanosecond or two.
///
/// For long computations that want to share their P politely instead of losing it. A moving call. On a thread that is
/// not a goroutine it does nothing.
///
/// ```
/// let sum = gosched::run(|| {
///     (0..1_000_000u64).inspect(|_| gosched::runtime::checkpoint()).sum::<u64>()
/// });
/// assert_eq!(sum, 499_999_500_000);
/// ```
#[inline]
pub fn checkpoint() {
    if let Ok(Some(worker)) = Worker::enter_moving() {
        worker.finish();
    }
}

/// Runs `f`, which may block its thread, without keeping the others waiting: the P is given up meanwhile.
///
/// Not needed for correctness: a call that blocks unannounced loses its P within a millisecond or two. Announced, it
/// costs its neighbours nothing, and itself a few nanoseconds if it does not block. A moving call: at its end the
/// goroutine may go on on another thread. What `f` returns, and `errno`, travel along. On a thread that is not a
/// goroutine it just runs `f`.
///
/// # Panics
///
/// If 65,535 such calls are under way in this goroutine, one inside the other.
///
/// ```
/// use std::io;
///
/// let text = gosched::run(|| {
///     gosched::runtime::blocking(|| std::fs::read_to_string("/proc/self/comm"))
/// })?;
/// assert!(!text.is_empty());
/// # Ok::<(), io::Error>(())
/// ```
#[doc(alias = "entersyscall")]
pub fn blocking<T>(f: impl FnOnce() -> T) -> T {
    let _blocking = sched::Blocking::enter();
    f()
}

/// Ties the calling goroutine to the OS thread it is on, until [`unlock_os_thread`] was called as
/// often. It runs only there, and the thread runs nothing else.
///
/// For what belongs to a thread: a graphics context, a C library with thread-local state, a `!Send` value that has to live
/// across moving calls. A goroutine that is locked costs a switch of threads whenever it waits.
///
/// A goroutine that ends while it is locked takes the thread with it, as in Go: so whoever has changed the thread for good (its signal mask, its
/// affinity, a namespace, thread-locals) leaves it locked, and nobody else finds it so. The thread's own thread-locals are
/// dropped then, after the goroutine has ended, on what is no longer a thread of ours: a `join` does not wait for that.
/// Whoever unlocks in time saves the making of a thread, some tens of microseconds.
///
/// Never moves the calling goroutine. On a thread that is not a goroutine it does nothing.
///
/// # Panics
///
/// If the goroutine has locked its thread 4,294,967,295 times; it stays locked so often.
///
/// ```
/// use gosched::runtime::{lock_os_thread, unlock_os_thread};
///
/// gosched::run(|| {
///     lock_os_thread();
///     let here = std::thread::current().id();
///     gosched::yield_now();
///     gosched::go(|| ()).join().unwrap();
///     assert_eq!(std::thread::current().id(), here);
///     unlock_os_thread();
/// });
/// ```
#[doc(alias = "LockOSThread")]
pub fn lock_os_thread() {
    let Some(worker) = Worker::enter() else { return };
    let g = worker.g();
    let locks = g.locks().checked_add(1);
    g.set_locks(locks.unwrap_or(u32::MAX));
    drop(worker);
    assert!(locks.is_some(), "lock_os_thread: this goroutine has locked its thread {} times", u32::MAX);
}

/// Takes back one [`lock_os_thread`]; without one it does nothing.
///
/// Never moves the calling goroutine.
///
/// ```
/// use gosched::runtime::{lock_os_thread, unlock_os_thread};
///
/// gosched::run(|| {
///     lock_os_thread();
///     lock_os_thread();
///     unlock_os_thread(); // still locked
///     unlock_os_thread();
/// });
/// ```
#[doc(alias = "UnlockOSThread")]
pub fn unlock_os_thread() {
    if let Some(worker) = Worker::enter() {
        let g = worker.g();
        g.set_locks(g.locks().saturating_sub(1));
    }
}

/// Every goroutine with its state, how long it has waited, its stack and who created it, in the form of Go's dumps.
///
/// ```text
/// goroutine 1 [join, 3 s]:
/// gosched::thread::JoinHandle<T>::join(...)
/// \t/src/gosched/src/thread/join.rs:176
/// app::main::{{closure}}(...)
/// \t/src/app/main.rs:12
/// created at src/main.rs:5:5
/// ```
///
/// The runtime's own frames are left out at both ends, and calls that were inlined are shown. Of goroutines that differ in nothing but
/// their number up to ten are listed; more of a kind are shown once, with a count. Functions have their names also without debug
/// information, then without lines.
/// It takes some milliseconds the first time, when debug information is read, and later microseconds per goroutine.
///
/// Never moves the calling goroutine; blocks its thread meanwhile. Others go on, so what the text says of two of them need not
/// be true at the same moment. Those that compute are interrupted by SIGURG for a moment, if the program has no
/// handler of its own for it.
///
/// ```
/// gosched::run(|| {
///     let waiter = gosched::thread::Builder::new().name("waiter".into()).spawn(gosched::thread::park).unwrap();
///     let text = loop {
///         let text = gosched::runtime::stacks();
///         if text.contains("\"waiter\" [park]") {
///             break text;
///         }
///         gosched::yield_now();
///     };
///     assert!(text.contains("goroutine 1 [running]:") && text.contains("gosched::thread::park(...)"));
///     waiter.thread().unpark();
///     waiter.join().unwrap();
/// });
/// ```
#[doc(alias = "Stack")]
pub fn stacks() -> String {
    sched::ensure_started();
    dump::stacks()
}

/// Ends the calling goroutine after running its destructors. `join` then returns `Err` with a [`Goexit`] inside.
///
/// It unwinds: locks held by the goroutine are poisoned, and `catch_unwind` sees it. No panic message is printed.
/// Does not return, so whether it moves does not matter.
///
/// # Panics
///
/// On a thread that is not a goroutine: there is none to end.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// static DROPPED: AtomicBool = AtomicBool::new(false);
/// struct Guard;
/// impl Drop for Guard {
///     fn drop(&mut self) {
///         DROPPED.store(true, Ordering::Relaxed);
///     }
/// }
///
/// gosched::run(|| {
///     let handle = gosched::go(|| {
///         let _guard = Guard;
///         gosched::runtime::goexit();
///     });
///     assert!(handle.join().is_err());
///     assert!(DROPPED.load(Ordering::Relaxed));
/// });
/// ```
#[doc(alias = "Goexit")]
pub fn goexit() -> ! {
    if goroutine_id().is_none() {
        panic!(
            "goexit was called on a thread that is not a goroutine: return from it, or use std::process::exit"
        );
    }
    if cfg!(panic = "abort") {
        crate::fatal::fatal!("goexit needs unwinding, and this program was built with panic=abort");
    }
    std::panic::resume_unwind(Box::new(Goexit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S51: one lock too many is refused, and changes nothing.
    #[test]
    fn a_lock_too_many_is_refused() {
        crate::run(|| {
            let g = current::current().and_then(|m| m.cur_g()).unwrap();
            g.set_locks(u32::MAX - 1);
            lock_os_thread();
            let panic = std::panic::catch_unwind(lock_os_thread).unwrap_err();
            assert!(panic.downcast_ref::<String>().unwrap().contains("4294967295 times"));
            assert_eq!(g.locks(), u32::MAX);
            unlock_os_thread();
            assert_eq!(g.locks(), u32::MAX - 1);
            g.set_locks(0);
        });
    }
}
