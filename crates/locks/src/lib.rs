#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! | file | holds |
//! |---|---|
//! | `line.rs` | [`Node`], [`Line`], [`LinePlace`]: waiters, first in first out |
//! | `mutex.rs` | [`Mutex`]: barging, and hand-over to a waiter that has waited too long |
//! | `rwlock.rs` | [`RwLock`]: a waiting writer keeps new readers out, readers come in together |
//! | `condvar.rs` | [`Condvar`]: joins the line before the mutex is released |
//! | `once.rs` | [`Once`]: one runs, the others wait |
//! | `barrier.rs` | [`Barrier`]: the last to arrive releases all |
//! | `semaphore.rs` | [`Semaphore`]: permits, strictly in order |
//! | `group.rs` | [`Group`]: a counter, and waiters for its being zero |

mod barrier;
mod condvar;
mod group;
mod line;
mod mutex;
mod once;
mod rwlock;
mod semaphore;

pub use barrier::{Arrival, Barrier, Gathering};
pub use condvar::{Condvar, Joined, Notified};
pub use group::{Add, Group};
pub use line::{Acquire, GRANTED, Line, LinePlace, Node, Numbered, RETRY};
pub use mutex::{Attempt, Mutex, STARVING_AFTER, Unlocked};
pub use once::{Once, OnceStage, Poison, Start, Until};
pub use rwlock::{Lines, RwLock, TooManyReaders};
pub use semaphore::{Permits, Semaphore, Served, TooManyPermits};

/// Declares a `const fn` that is a plain `fn` under loom, whose atomics cannot be made at compile
/// time.
macro_rules! const_fn {
    ($(#[$meta:meta])* $vis:vis const fn $($rest:tt)*) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $vis const fn $($rest)*

        #[cfg(loom)]
        $(#[$meta])*
        $vis fn $($rest)*
    };
}
use const_fn;
