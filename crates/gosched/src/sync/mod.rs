//! Locks with the names and semantics of `std::sync`, poisoning included, and three from Go:
//! [`WaitGroup`], [`Semaphore`], [`ErrGroup`].
//!
//! A wait parks the goroutine; it blocks a thread that is not a goroutine. It allocates nothing. To
//! port code, change a `use` line: errors, [`Arc`], [`Weak`] and [`atomic`] are std's own.
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
//! A caller that finds a [`Mutex`] free takes it, even if others wait, as in Go: that is fast. But
//! the mutex is handed over to a waiter that has waited for more than a millisecond. A waiting
//! writer keeps new readers out of a [`RwLock`]; readers that wait come in together, after one
//! writer at most. A [`Semaphore`] serves strictly in order.
//!
//! # Contexts
//!
//! The end of a [context](crate::context) cuts short the waits of [`Mutex::lock_ctx`],
//! [`Condvar::wait_ctx`], [`Semaphore::acquire_ctx`] and [`WaitGroup::wait_ctx`], and no others.

#![deny(unsafe_code)]

mod barrier;
pub mod broadcast;
mod condvar;
mod err_group;
mod err_outcome;
mod err_scope;
mod lazy_lock;
pub mod mpsc;
mod mutex;
mod notify;
mod once;
mod once_lock;
mod poison;
mod raw;
mod rwlock;
mod seam;
mod semaphore;
mod wait_group;
pub mod watch;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use err_group::ErrGroup;
pub use err_scope::ErrScope;
pub use lazy_lock::LazyLock;
pub use mutex::{Mutex, MutexGuard};
pub use notify::Notify;
#[expect(deprecated, reason = "std has it, so does this")]
pub use once::ONCE_INIT;
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::{OwnedPermit, Permit, Semaphore};
pub use wait_group::WaitGroup;

pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak, atomic};
