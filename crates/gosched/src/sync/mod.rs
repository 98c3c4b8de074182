//! Locks with the names and semantics of `std::sync`, poisoning included, and what Go has beside: [`WaitGroup`],
//! [`Semaphore`], [`ErrGroup`].
//!
//! Whoever has to wait parks its goroutine; a thread that is not a goroutine is blocked. Nothing is allocated for it. Porting
//! is changing a `use` line: errors, [`Arc`], [`Weak`] and [`atomic`] are std's own.
//!
//! ```
//! use gosched::go;
//! use gosched::sync::{Arc, Mutex};
//!
//! let total = Arc::new(Mutex::new(0));
//! let handles: Vec<_> = (1..=10)
//!     .map(|n| {
//!         let total = Arc::clone(&total);
//!         go(move || *total.lock().unwrap() += n)
//!     })
//!     .collect();
//! handles.into_iter().for_each(|handle| handle.join().unwrap());
//! assert_eq!(*total.lock().unwrap(), 55);
//! ```
//!
//! # Fairness
//!
//! A [`Mutex`] is taken by whoever finds it free, as Go's is, which makes it fast; but one that has waited for a millisecond gets it
//! handed over. A waiting writer keeps new readers out of a [`RwLock`]; readers that wait come in together, after one
//! writer at most. A [`Semaphore`] serves strictly in order.
//!
//! # Contexts
//!
//! None of these waits is cut short when a context ends.

#![deny(unsafe_code)]

mod barrier;
mod condvar;
mod err_group;
mod lazy_lock;
pub mod mpsc;
mod mutex;
mod once;
mod once_lock;
mod poison;
mod raw;
mod rwlock;
mod seam;
mod semaphore;
mod wait_group;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use err_group::ErrGroup;
pub use lazy_lock::LazyLock;
pub use mutex::{Mutex, MutexGuard};
#[expect(deprecated, reason = "std has it, so does this")]
pub use once::ONCE_INIT;
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::{OwnedPermit, Permit, Semaphore};
pub use wait_group::WaitGroup;

pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak, atomic};
