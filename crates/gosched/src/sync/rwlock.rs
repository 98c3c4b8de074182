//! `RwLock`: std's, for goroutines.
//!
//! Invariant: whoever has a guard holds the lock, for reading or for writing; dropping the guard
//! releases it.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::forget;
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::poison::{Flag, Since};
use super::raw::RawRwLock;

/// A reader-writer lock around a value, as `std::sync::RwLock`: many may read, or one may write.
///
/// A wait parks the goroutine; it blocks a thread that is not a goroutine. Nobody starves: a
/// waiting writer keeps new readers out, and when a writer leaves, all readers that wait come in
/// before the next writer. So a goroutine that already reads and calls [`read`](RwLock::read) again
/// can wait for ever, if a writer came in between.
///
/// Poisoned when a *writer* panics; see [`Mutex`](super::Mutex#poisoning).
///
/// ```
/// use gosched::sync::RwLock;
///
/// let lock = RwLock::new(5);
/// {
///     let (one, two) = (lock.read().unwrap(), lock.read().unwrap());
///     assert_eq!(*one + *two, 10);
/// }
/// *lock.write().unwrap() += 1;
/// assert_eq!(*lock.read().unwrap(), 6);
/// ```
pub struct RwLock<T: ?Sized> {
    raw: RawRwLock,
    poison: Flag,
    data: UnsafeCell<T>,
}

// SAFETY: the lock can be given away with its value.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: hands out `&T` to several (`Sync`), and `&mut T` to one at a time (`Send`).
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

/// A [`RwLock`] held for reading; released when dropped.
///
/// ```
/// let lock = gosched::sync::RwLock::new(1);
/// let guard = lock.read().unwrap();
/// assert_eq!(*guard, 1);
/// ```
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockReadGuard<'rwlock, T: ?Sized + 'rwlock> {
    /// Not a reference: that would have to be valid as long as the guard is a function's argument,
    /// even after its drop.
    data: NonNull<T>,
    raw: &'rwlock RawRwLock,
}

// SAFETY: `&RwLockReadGuard` gives access to `&T` only.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}

/// A [`RwLock`] held for writing; released when dropped.
///
/// ```
/// let lock = gosched::sync::RwLock::new(1);
/// *lock.write().unwrap() = 2;
/// assert_eq!(lock.into_inner().unwrap(), 2);
/// ```
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'rwlock, T: ?Sized + 'rwlock> {
    lock: &'rwlock RwLock<T>,
    since: Since,
    not_send: PhantomData<*const ()>,
}

// SAFETY: `&RwLockWriteGuard` gives access to `&T` only.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<T> RwLock<T> {
    /// A free lock.
    ///
    /// ```
    /// static NAMES: gosched::sync::RwLock<Vec<String>> = gosched::sync::RwLock::new(Vec::new());
    /// assert!(NAMES.read().unwrap().is_empty());
    /// ```
    #[inline]
    pub const fn new(value: T) -> RwLock<T> {
        RwLock { raw: RawRwLock::new(), poison: Flag::new(), data: UnsafeCell::new(value) }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Acquires the lock for reading, waiting while a writer has it or waits for it. A moving call,
    /// if it has to wait.
    ///
    /// # Errors
    ///
    /// If the lock is poisoned; the error holds the guard.
    ///
    /// # Panics
    ///
    /// If there are more than about a billion readers.
    ///
    /// ```
    /// use gosched::sync::{Arc, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new(1));
    /// let reader = lock.read().unwrap();
    /// let other = Arc::clone(&lock);
    /// gosched::go(move || assert_eq!(*other.read().unwrap(), 1)).join().unwrap();
    /// assert_eq!(*reader, 1);
    /// ```
    #[inline]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.raw.read();
        // SAFETY: just acquired for reading.
        self.poison.wrap(unsafe { self.read_guard() })
    }

    /// Acquires the lock for reading if no writer has it or waits for it. Never moves.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](TryLockError::WouldBlock), or [`Poisoned`](TryLockError::Poisoned) with the
    /// guard.
    ///
    /// ```
    /// let lock = gosched::sync::RwLock::new(1);
    /// assert_eq!(*lock.try_read().unwrap(), 1);
    /// let _writer = lock.write().unwrap();
    /// assert!(lock.try_read().is_err());
    /// ```
    #[inline]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        if !self.raw.try_read() {
            return Err(TryLockError::WouldBlock);
        }
        // SAFETY: just acquired for reading.
        Ok(self.poison.wrap(unsafe { self.read_guard() })?)
    }

    /// Acquires the lock for writing, waiting for those who have it. A moving call, if it has to
    /// wait.
    ///
    /// # Errors
    ///
    /// If the lock is poisoned; the error holds the guard.
    ///
    /// ```
    /// let lock = gosched::sync::RwLock::new(1);
    /// let mut writer = lock.write().unwrap();
    /// *writer = 2;
    /// assert!(lock.try_read().is_err());
    /// ```
    #[inline]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.raw.write();
        // SAFETY: just acquired for writing.
        self.poison.wrap(unsafe { self.write_guard() })
    }

    /// Acquires the lock for writing if nobody has it. Never moves.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](TryLockError::WouldBlock), or [`Poisoned`](TryLockError::Poisoned) with the
    /// guard.
    ///
    /// ```
    /// let lock = gosched::sync::RwLock::new(1);
    /// let reader = lock.read().unwrap();
    /// assert!(lock.try_write().is_err());
    /// drop(reader);
    /// *lock.try_write().unwrap() = 2;
    /// ```
    #[inline]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        if !self.raw.try_write() {
            return Err(TryLockError::WouldBlock);
        }
        // SAFETY: just acquired for writing.
        Ok(self.poison.wrap(unsafe { self.write_guard() })?)
    }

    /// # Safety
    /// The caller reads, and this is the one guard for it.
    #[inline]
    unsafe fn read_guard(&self) -> RwLockReadGuard<'_, T> {
        // SAFETY: a cell's address is not null.
        RwLockReadGuard { data: unsafe { NonNull::new_unchecked(self.data.get()) }, raw: &self.raw }
    }

    /// # Safety
    /// The caller writes, and this is the one guard for it.
    #[inline]
    unsafe fn write_guard(&self) -> RwLockWriteGuard<'_, T> {
        RwLockWriteGuard { lock: self, since: Since::now(), not_send: PhantomData }
    }

    /// Whether the lock is poisoned. Never moves.
    ///
    /// ```
    /// use gosched::sync::{Arc, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new(0));
    /// let other = Arc::clone(&lock);
    /// let _ = gosched::go(move || {
    ///     let _guard = other.write().unwrap();
    ///     panic!("poisons it");
    /// })
    /// .join();
    /// assert!(lock.is_poisoned());
    /// ```
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.poison.get()
    }

    /// Clears the poison. Never moves.
    ///
    /// ```
    /// let lock = gosched::sync::RwLock::new(0);
    /// lock.clear_poison();
    /// assert!(!lock.is_poisoned());
    /// ```
    #[inline]
    pub fn clear_poison(&self) {
        self.poison.clear();
    }

    /// The value. Never moves.
    ///
    /// # Errors
    ///
    /// If the lock is poisoned; the error holds the value.
    ///
    /// ```
    /// assert_eq!(gosched::sync::RwLock::new(7).into_inner().unwrap(), 7);
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
    /// If the lock is poisoned; the error holds the reference.
    ///
    /// ```
    /// let mut lock = gosched::sync::RwLock::new(0);
    /// *lock.get_mut().unwrap() = 10;
    /// assert_eq!(*lock.read().unwrap(), 10);
    /// ```
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.poison.wrap(self.data.get_mut())
    }
}

impl<'rwlock, T: ?Sized> RwLockWriteGuard<'rwlock, T> {
    /// Makes the writer a reader, without another writer in between. Never moves.
    ///
    /// ```
    /// use gosched::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(1);
    /// let mut writer = lock.write().unwrap();
    /// *writer = 2;
    /// let reader = RwLockWriteGuard::downgrade(writer);
    /// assert_eq!((*reader, *lock.read().unwrap()), (2, 2));
    /// ```
    pub fn downgrade(s: Self) -> RwLockReadGuard<'rwlock, T> {
        let lock = s.lock;
        forget(s);
        lock.raw.downgrade();
        // SAFETY: the write lock has just become a read lock, and its guard is gone.
        unsafe { lock.read_guard() }
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> RwLock<T> {
        RwLock::new(value)
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => shown.field("data", &&*guard),
            Err(TryLockError::Poisoned(poisoned)) => shown.field("data", &&**poisoned.get_ref()),
            Err(TryLockError::WouldBlock) => shown.field("data", &format_args!("<locked>")),
        };
        shown.field("poisoned", &self.poison.get()).finish_non_exhaustive()
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard's owner holds the lock for reading.
        unsafe { self.data.as_ref() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard's owner holds the lock.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard's owner holds the lock for writing, and there is one guard.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.raw.read_unlock();
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.poison.done(self.since);
        self.lock.raw.write_unlock();
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
