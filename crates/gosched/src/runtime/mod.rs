//! The runtime itself: its settings, how many goroutines and CPUs there are, and what a goroutine
//! can ask of it. Modelled on Go's `runtime` package.

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

/// The number of CPUs this process may use: those of its affinity mask, limited by its cgroup's CPU
/// quota. Read once, at first use.
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

/// The id of the calling goroutine; `None` on a thread that is not a goroutine. The main goroutine
/// has id 1.
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
/// For long computations that want to share their P politely instead of losing it. A moving call.
/// On a thread that is not a goroutine it does nothing.
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

/// Runs `f`, which may block its thread, without keeping the others waiting: the P is given up
/// meanwhile.
///
/// Not needed for correctness: a goroutine that blocks its thread without saying so loses its P
/// after a few milliseconds, if others wait for one. An announced call costs the others nothing,
/// and itself a few nanoseconds if it does not block. A moving call: the goroutine may resume on
/// another thread when `f` returns. The result of `f` and `errno` go with it. On a thread that is
/// not a goroutine it just runs `f`.
///
/// # Panics
///
/// If 65,535 such calls are nested in this goroutine already. With the panic of `f`.
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

/// Locks the calling goroutine to the OS thread it is on, until [`unlock_os_thread`] was called as
/// often. It runs only there, and the thread runs nothing else.
///
/// For what belongs to a thread: a graphics context, a C library with thread-local state, a `!Send`
/// value that has to live across moving calls. A locked goroutine costs a switch of threads
/// whenever it waits.
///
/// If a goroutine ends while it is locked, its thread ends too, as in Go. So a goroutine that has
/// changed its thread for good (the signal mask, the affinity, a namespace, thread-locals) stays
/// locked, and no other goroutine runs on the changed thread. The thread's thread-locals are
/// dropped after the goroutine has ended: a `join` does not wait for that. A goroutine that unlocks
/// before it ends saves the creation of a new thread, some tens of microseconds.
///
/// Never moves the calling goroutine. On a thread that is not a goroutine it does nothing.
///
/// # Panics
///
/// If the goroutine has locked its thread 4,294,967,295 times already. The call changes nothing
/// then.
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

/// Undoes one [`lock_os_thread`]; does nothing if there is none to undo.
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

/// Every goroutine with its state, how long it has waited, its stack and who created it, in the
/// form of Go's dumps.
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
/// The runtime's own frames are left out at both ends, and inlined calls are shown. Up to ten
/// goroutines that differ only in their number are listed singly; more are shown once, with a
/// count. Without debug information functions have names but no lines. The first call reads the
/// debug information, which takes some milliseconds; later calls take microseconds per goroutine.
///
/// Never moves the calling goroutine; blocks its thread meanwhile. The others keep running, so the
/// text does not show all of them at the same moment. A goroutine that computes is interrupted by
/// SIGURG for a moment, unless the program has a handler of its own for it.
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

/// Ends the calling goroutine after running its destructors. `join` then returns `Err` with a
/// [`Goexit`] inside.
///
/// It unwinds: locks held by the goroutine are poisoned, and `catch_unwind` sees it. No panic
/// message is printed. With `panic = "abort"` it ends the process with a message. Does not return,
/// so whether it moves does not matter.
///
/// # Panics
///
/// On a thread that is not a goroutine.
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
