//! The runtime's internal lock (D6): a bounded spin, then a futex. Never `sched_yield`, which
//! inverts priorities.
//!
//! It is not `std::sync::Mutex`, because a selection holds the locks of several channels at once,
//! without guards ([`RawLock`]); and because poisoning has no meaning for runtime state.
//!
//! Invariants: the word is FREE, HELD (nobody sleeps) or CONTENDED (someone may sleep). A thread
//! that slept acquires as CONTENDED, because others may still sleep. The lock is never held across
//! user code.

use crate::sync::{Futex, Ordering, const_fn, relax};
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// How often a held lock is checked before the thread sleeps. Under loom one check is as good as
/// many.
const SPINS: u32 = if cfg!(loom) { 1 } else { 12 };
/// Before each check the number of pauses doubles, up to 2 to the power of this. Rare checks leave
/// the holder's cache lines alone, and the holder, which mostly acquires the lock again at once,
/// gets through many critical sections. (4 senders and 4 receivers on a channel with 128 places, 2
/// CPUs, 2026-11-16: 110 ns a value with one pause before each of 100 checks, 31 with up to 32, 25
/// with up to 128 or 256.)
const LONGEST_PAUSE: u32 = 7;

/// A mutual-exclusion lock around a value.
///
/// ```
/// use gosched_primitives::Lock;
/// static TOTAL: Lock<u64> = Lock::new(0);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 1);
/// ```
pub struct Lock<T> {
    raw: RawLock,
    value: UnsafeCell<T>,
}

/// A [`Lock`] without its value: a `select` holds several of these at once, of values of different
/// types.
///
/// ```
/// use gosched_primitives::RawLock;
///
/// let lock = RawLock::new();
/// lock.lock();
/// assert!(!lock.try_lock());
/// // SAFETY: just acquired.
/// unsafe { lock.unlock() };
/// ```
pub struct RawLock(Futex);

// SAFETY: the lock hands its value to one thread at a time, which needs `Send` and nothing more.
unsafe impl<T: Send> Sync for Lock<T> {}

/// A held [`Lock`]; released when dropped.
#[must_use = "the lock is released when the guard is dropped"]
pub struct LockGuard<'l, T> {
    lock: &'l Lock<T>,
}

// SAFETY: shares nothing but `&T`. (It may also be sent: the futex does not care who unlocks.)
unsafe impl<T: Sync> Sync for LockGuard<'_, T> {}

impl RawLock {
    const_fn! {
        /// A free lock.
        pub const fn new() -> RawLock {
            RawLock(Futex::new(FREE))
        }
    }

    /// Acquires the lock, blocking the thread if need be.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow();
        }
    }

    /// Acquires the lock if it is free. Returns whether it was.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // ORDERING: partner is the swap in `unlock`.
        self.0.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn lock_slow(&self) {
        for spin in 0..SPINS {
            for _ in 0..1u32 << spin.min(LONGEST_PAUSE) {
                relax();
            }
            match self.0.word.load(Ordering::Relaxed) {
                FREE => {
                    if self.try_lock() {
                        return;
                    }
                }
                HELD => {}
                _ => break,
            }
        }
        // ORDERING: partner is the swap in `unlock`.
        while self.0.word.swap(CONTENDED, Ordering::Acquire) != FREE {
            self.0.wait(CONTENDED, None);
        }
    }

    /// Releases the lock.
    ///
    /// # Safety
    ///
    /// It is held, and the caller is the one to release it.
    #[inline]
    pub unsafe fn unlock(&self) {
        // ORDERING: partners are the acquires in `try_lock` and `lock_slow`.
        if self.0.word.swap(FREE, Ordering::Release) == CONTENDED {
            self.0.wake_one();
        }
    }
}

impl Default for RawLock {
    fn default() -> RawLock {
        RawLock::new()
    }
}

impl<T> Lock<T> {
    const_fn! {
        /// A free lock.
        pub const fn new(value: T) -> Lock<T> {
            Lock { raw: RawLock::new(), value: UnsafeCell::new(value) }
        }
    }

    /// Acquires the lock, blocking the thread if need be.
    #[inline]
    pub fn lock(&self) -> LockGuard<'_, T> {
        self.raw.lock();
        LockGuard { lock: self }
    }

    /// The lock without its value. While it is held, the value can be reached by
    /// [`data`](Lock::data).
    #[inline]
    pub fn raw(&self) -> &RawLock {
        &self.raw
    }

    /// The value, for a caller that holds the lock without a guard. The pointers that this returns
    /// must not be turned into two references at the same time.
    #[inline]
    pub fn data(&self) -> *mut T {
        self.value.get()
    }
}

impl<T> Deref for LockGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for LockGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard holds the lock, and is borrowed mutably.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for LockGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard held the lock and is gone after this.
        unsafe { self.lock.raw.unlock() }
    }
}

impl<T: Default> Default for Lock<T> {
    fn default() -> Lock<T> {
        Lock::new(T::default())
    }
}
