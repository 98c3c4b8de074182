//! Locks with the names and semantics of `std::sync`, poisoning included; from Go [`WaitGroup`],
//! [`Semaphore`], [`ErrGroup`], [`SingleFlight`], [`Pool`]; and from tokio [`broadcast`],
//! [`watch`], [`Notify`], with waits instead of async.
//!
//! A wait parks the goroutine; it blocks a thread that is not a goroutine. One for a lock allocates
//! nothing. To port code, change a `use` line: errors, [`Arc`], [`Weak`] and [`atomic`] are std's
//! own.
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
//! [`Condvar::wait_ctx`], [`Semaphore::acquire_ctx`], [`WaitGroup::wait_ctx`],
//! [`Notify::wait_ctx`], [`SingleFlight::call_ctx`] and the methods of [`broadcast`] and [`watch`]
//! whose names end with `_ctx`, and no others.
//!
//! # In `select!`
//!
//! [`Notify::notified`], [`broadcast::Receiver::ready`], [`watch::Receiver::ready`] and
//! [`JoinSet::ready`](crate::thread::JoinSet::ready) return a channel for one wait. That of
//! `Notify` is the queue of its waiters: to receive from it is to be notified. The others are
//! closed when there is something; the case then takes it, by `try_recv`, `changed` or
//! `try_join_next`. A case that is not chosen takes nothing.

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
mod pool;
mod raw;
mod rwlock;
mod seam;
mod semaphore;
mod single_flight;
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
pub use pool::{Pool, PoolGuard};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::{OwnedPermit, Permit, Semaphore};
pub use single_flight::SingleFlight;
pub use wait_group::WaitGroup;

pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak, atomic};
