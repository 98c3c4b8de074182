//! `Mutex`: std's, for goroutines.
//!
//! Invariant: whoever has the [`MutexGuard`] holds the lock; dropping the guard releases it.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::poison::{Flag, Since};
use super::raw::RawMutex;
use super::seam::Obtained;
use crate::context::{self, ContextError};
use crate::sched::Limit;

/// A mutual-exclusion lock around a value, as `std::sync::Mutex`.
///
/// A wait parks the goroutine; it blocks a thread that is not a goroutine. Uncontended locking and
/// unlocking does not enter the scheduler. Fast before fair, as in Go: a caller that finds the lock
/// free takes it, but a waiter that has waited for more than a millisecond gets it handed over. A
/// mutex costs at most 24 bytes, and its data.
///
/// A guard may be held across moving calls; it is `!Send`, as std's, and moves between threads with
/// its goroutine.
///
/// # Poisoning
///
/// A mutex is poisoned when its holder panics; [`lock`](Mutex::lock) and
/// [`try_lock`](Mutex::try_lock) then return the guard in an `Err`, until
/// [`clear_poison`](Mutex::clear_poison) is called.
///
/// ```
/// use gosched::sync::{Arc, Mutex};
///
/// let data = Arc::new(Mutex::new(0));
/// let handles: Vec<_> = (0..10)
///     .map(|_| {
///         let data = Arc::clone(&data);
///         gosched::go(move || *data.lock().unwrap() += 1)
///     })
///     .collect();
/// handles.into_iter().for_each(|handle| handle.join().unwrap());
/// assert_eq!(*data.lock().unwrap(), 10);
/// ```
pub struct Mutex<T: ?Sized> {
    raw: RawMutex,
    poison: Flag,
    data: UnsafeCell<T>,
}

// SAFETY: the lock gives one thread at a time access to its value: that needs `Send` and nothing
// more.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

/// A held [`Mutex`]; released when dropped.
///
/// ```
/// let mutex = gosched::sync::Mutex::new(String::from("a"));
/// let mut guard = mutex.lock().unwrap();
/// guard.push('b');
/// drop(guard);
/// assert_eq!(mutex.into_inner().unwrap(), "ab");
/// ```
#[must_use = "if unused the Mutex will immediately unlock"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized + 'a> {
    mutex: &'a Mutex<T>,
    since: Since,
    not_send: PhantomData<*const ()>,
}

// SAFETY: `&MutexGuard` gives access to `&T` only.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    /// A free mutex.
    ///
    /// ```
    /// use gosched::sync::Mutex;
    ///
    /// static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    /// assert!(NAMES.lock().unwrap().is_empty());
    /// ```
    #[inline]
    pub const fn new(value: T) -> Mutex<T> {
        Mutex { raw: RawMutex::new(), poison: Flag::new(), data: UnsafeCell::new(value) }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Acquires the mutex, waiting for it if need be.
    ///
    /// A moving call, if it has to wait. Locking a mutex that the goroutine itself holds waits for
    /// ever.
    ///
    /// # Errors
    ///
    /// If the mutex is poisoned; the error holds the guard.
    ///
    /// ```
    /// use gosched::sync::{Arc, Mutex};
    ///
    /// let mutex = Arc::new(Mutex::new(0));
    /// let other = Arc::clone(&mutex);
    /// gosched::go(move || *other.lock().unwrap() = 10).join().unwrap();
    /// assert_eq!(*mutex.lock().unwrap(), 10);
    /// ```
    #[inline]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.raw.lock();
        // SAFETY: just acquired.
        self.poison.wrap(unsafe { self.guard() })
    }

    /// As [`lock`](Mutex::lock), until the current [context](crate::context) ends. A moving call,
    /// if it has to wait.
    ///
    /// A free mutex is acquired even if the context has ended. A wait that the context ends does
    /// not hold up the other waiters.
    ///
    /// # Errors
    ///
    /// Outside: why the context has ended, if it did before the mutex was acquired. Inside: if the
    /// mutex is poisoned; that error holds the guard.
    ///
    /// ```
    /// use gosched::context::{ContextError, background, enter};
    /// use std::time::Duration;
    ///
    /// let mutex = gosched::sync::Mutex::new(1);
    /// let ctx = background().with_timeout(Duration::from_millis(1));
    /// enter(&ctx, || {
    ///     let guard = mutex.lock_ctx()?.unwrap();
    ///     assert_eq!(*guard, 1);
    ///     assert_eq!(mutex.lock_ctx().unwrap_err(), ContextError::DeadlineExceeded);
    ///     Ok::<(), ContextError>(())
    /// })
    /// # .unwrap();
    /// ```
    pub fn lock_ctx(&self) -> Result<LockResult<MutexGuard<'_, T>>, ContextError> {
        match self.raw.lock_within(Limit::of_context(None)) {
            // SAFETY: just acquired.
            Obtained::Yes => Ok(self.poison.wrap(unsafe { self.guard() })),
            Obtained::Late => Err(context::why_ended()),
        }
    }

    /// Acquires the mutex if nobody has it. Never moves.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](TryLockError::WouldBlock) if somebody has it, or is being handed it;
    /// [`Poisoned`](TryLockError::Poisoned), with the guard, if it is poisoned.
    ///
    /// ```
    /// let mutex = gosched::sync::Mutex::new(1);
    /// let guard = mutex.try_lock().unwrap();
    /// assert!(mutex.try_lock().is_err());
    /// drop(guard);
    /// assert_eq!(*mutex.try_lock().unwrap(), 1);
    /// ```
    #[inline]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        if !self.raw.try_lock() {
            return Err(TryLockError::WouldBlock);
        }
        // SAFETY: just acquired.
        Ok(self.poison.wrap(unsafe { self.guard() })?)
    }

    /// # Safety
    /// The caller holds the lock, and makes no other guard for it.
    #[inline]
    unsafe fn guard(&self) -> MutexGuard<'_, T> {
        MutexGuard { mutex: self, since: Since::now(), not_send: PhantomData }
    }

    /// Whether the mutex is poisoned. Never moves.
    ///
    /// ```
    /// use gosched::sync::{Arc, Mutex};
    ///
    /// let mutex = Arc::new(Mutex::new(0));
    /// let other = Arc::clone(&mutex);
    /// let _ = gosched::go(move || {
    ///     let _guard = other.lock().unwrap();
    ///     panic!("poisons it");
    /// })
    /// .join();
    /// assert!(mutex.is_poisoned());
    /// ```
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.poison.get()
    }

    /// Clears the poison. Never moves.
    ///
    /// ```
    /// use gosched::sync::{Arc, Mutex};
    ///
    /// let mutex = Arc::new(Mutex::new(0));
    /// let other = Arc::clone(&mutex);
    /// let _ = gosched::go(move || {
    ///     let _guard = other.lock().unwrap();
    ///     panic!("poisons it");
    /// })
    /// .join();
    /// let guard = mutex.lock().unwrap_or_else(|mut poisoned| {
    ///     **poisoned.get_mut() = 1;
    ///     mutex.clear_poison();
    ///     poisoned.into_inner()
    /// });
    /// assert!(!mutex.is_poisoned());
    /// assert_eq!(*guard, 1);
    /// ```
    #[inline]
    pub fn clear_poison(&self) {
        self.poison.clear();
    }

    /// The value. Never moves.
    ///
    /// # Errors
    ///
    /// If the mutex is poisoned; the error holds the value.
    ///
    /// ```
    /// assert_eq!(gosched::sync::Mutex::new(7).into_inner().unwrap(), 7);
    /// ```
    pub fn into_inner(self) -> LockResult<T>
    where
        T: Sized,
    {
        let poison = self.poison;
        poison.wrap(self.data.into_inner())
    }

    /// The value, without locking: nobody else can have it. Never moves.
    ///
    /// # Errors
    ///
    /// If the mutex is poisoned; the error holds the reference.
    ///
    /// ```
    /// let mut mutex = gosched::sync::Mutex::new(0);
    /// *mutex.get_mut().unwrap() = 10;
    /// assert_eq!(*mutex.lock().unwrap(), 10);
    /// ```
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.poison.wrap(self.data.get_mut())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Mutex<T> {
        Mutex::new(value)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => shown.field("data", &&*guard),
            Err(TryLockError::Poisoned(poisoned)) => shown.field("data", &&**poisoned.get_ref()),
            Err(TryLockError::WouldBlock) => shown.field("data", &"<locked>"),
        };
        shown.field("poisoned", &self.poison.get()).finish_non_exhaustive()
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The lock itself, for a condition variable, which releases it and acquires it again while the
    /// guard exists.
    pub(super) fn raw(&self) -> &'a RawMutex {
        &self.mutex.raw
    }

    pub(super) fn poison(&self) -> &'a Flag {
        &self.mutex.poison
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard's owner holds the lock.
        unsafe { &*self.mutex.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard's owner holds the lock, and there is one guard.
        unsafe { &mut *self.mutex.data.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.poison.done(self.since);
        self.mutex.raw.unlock();
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
