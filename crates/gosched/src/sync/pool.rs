//! `Pool`: Go's `sync.Pool`.
//!
//! Each P has a *shelf*, so that goroutines on different Ps do not meet; foreign threads share the
//! first one. Which P a goroutine has is a hint: a shelf has a lock.
//!
//! Invariant: a shelf's lock is std's, held for a moment, outside the runtime. Values are made and
//! dropped without it.

use core::fmt;
use core::ops::{Deref, DerefMut};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::m::{M, current};
use crate::runtime::{maxprocs, num_cpu};

/// Values that are used again, because making them is expensive: Go's `sync.Pool`.
///
/// A value that is put back goes to the shelf of the caller's P, and is taken from there first. The
/// pool keeps all values that were put into it, so it grows to as many as were in use at the same
/// time; they are dropped with it. (Go's collector drops those that are not used.)
///
/// Nothing here is a moving call.
///
/// ```
/// use gosched::sync::Pool;
///
/// static BUFFERS: Pool<Vec<u8>> = Pool::new(|| Vec::with_capacity(4096));
///
/// let mut buffer = BUFFERS.get();
/// buffer.clear(); // it is as its last user has left it
/// buffer.extend(b"text");
/// drop(buffer); // back into the pool
/// ```
pub struct Pool<T> {
    make: fn() -> T,
    /// Made at the first use, as many as there are Ps then.
    shelves: OnceLock<Box<[Shelf<T>]>>,
}

/// The values of one P, apart from other shelves' cache lines.
#[repr(align(128))]
struct Shelf<T>(Mutex<Vec<T>>);

/// A value of a [`Pool`]; dropping this puts it back.
///
/// ```
/// let pool = gosched::sync::Pool::new(|| 0);
/// let mut number = pool.get();
/// *number += 1;
/// drop(number);
/// assert_eq!(*pool.get(), 1);
/// ```
#[must_use = "if unused the value goes back at once"]
pub struct PoolGuard<'a, T> {
    pool: &'a Pool<T>,
    /// `None` once it was taken out.
    value: Option<T>,
}

impl<T> Shelf<T> {
    fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn put(&self, value: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    }
}

impl<T> Pool<T> {
    /// An empty pool. `make` makes a value when there is none.
    ///
    /// ```
    /// let pool = gosched::sync::Pool::new(String::new);
    /// assert_eq!(*pool.get(), "");
    /// ```
    #[must_use]
    pub const fn new(make: fn() -> T) -> Pool<T> {
        Pool { make, shelves: OnceLock::new() }
    }

    /// A value of the pool, or a new one.
    ///
    /// ```
    /// let pool = gosched::sync::Pool::new(|| vec![0; 1024]);
    /// assert_eq!(pool.get().len(), 1024);
    /// ```
    #[doc(alias = "Get")]
    pub fn get(&self) -> PoolGuard<'_, T> {
        let shelves = self.shelves();
        let here = here(shelves);
        let (before, from) = shelves.split_at(here);
        let kept = from.iter().chain(before).find_map(Shelf::take);
        PoolGuard { pool: self, value: Some(kept.unwrap_or_else(self.make)) }
    }

    /// Puts a value into the pool.
    ///
    /// ```
    /// let pool = gosched::sync::Pool::new(|| 1);
    /// pool.put(2);
    /// assert_eq!(*pool.get(), 2);
    /// ```
    #[doc(alias = "Put")]
    pub fn put(&self, value: T) {
        let shelves = self.shelves();
        shelves[here(shelves)].put(value);
    }

    fn shelves(&self) -> &[Shelf<T>] {
        self.shelves.get().unwrap_or_else(|| {
            // Made before, so that nobody waits for it to be made.
            let shelves = (0..maxprocs(None).max(num_cpu())).map(|_| Shelf(Mutex::new(Vec::new())));
            let shelves: Box<[_]> = shelves.collect();
            self.shelves.get_or_init(|| shelves)
        })
    }
}

/// The index of the caller's shelf.
fn here<T>(shelves: &[Shelf<T>]) -> usize {
    current::current().and_then(M::p_hint).map_or(0, |p| p.id as usize % shelves.len())
}

impl<T> PoolGuard<'_, T> {
    /// Takes the value out: it does not go back.
    ///
    /// ```
    /// use gosched::sync::{Pool, PoolGuard};
    ///
    /// let pool = Pool::new(|| 1);
    /// let number = PoolGuard::into_inner(pool.get());
    /// assert_eq!(number, 1);
    /// ```
    pub fn into_inner(mut guard: Self) -> T {
        guard.value.take().unwrap_or_else(|| unreachable!("taken out by the drop only"))
    }
}

impl<T> Drop for PoolGuard<'_, T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            self.pool.put(value);
        }
    }
}

impl<T> Deref for PoolGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().unwrap_or_else(|| unreachable!("taken out by the drop only"))
    }
}

impl<T> DerefMut for PoolGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().unwrap_or_else(|| unreachable!("taken out by the drop only"))
    }
}

impl<T> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

impl<T: fmt::Debug> fmt::Debug for PoolGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
