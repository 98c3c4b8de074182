//! `Semaphore`: a number of permits.

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};

use gosched_locks::{Line, TooManyPermits};

use super::seam::{obtain, wake_line};
use crate::sched::Visitor;
use crate::waiter::{WaitReason, Waiter};

/// A number of permits, which are acquired, and come back when they are dropped.
///
/// First come, first served: one that wants many and waits keeps those behind it waiting, however few they want.
///
/// ```
/// use gosched::sync::Semaphore;
///
/// let downloads = Semaphore::new(2);
/// gosched::scope(|s| {
///     for n in 0..10 {
///         let downloads = &downloads;
///         s.spawn(move || {
///             let _permit = downloads.acquire();
///             println!("download {n}: one of two at a time");
///         });
///     }
/// });
/// assert_eq!(downloads.available(), 2);
/// ```
pub struct Semaphore(gosched_locks::Semaphore<Waiter>);

impl UnwindSafe for Semaphore {}
impl RefUnwindSafe for Semaphore {}

/// Permits of a [`Semaphore`]; they go back when this is dropped.
///
/// ```
/// let semaphore = gosched::sync::Semaphore::new(1);
/// let permit = semaphore.acquire();
/// assert_eq!(semaphore.available(), 0);
/// drop(permit);
/// assert_eq!(semaphore.available(), 1);
/// ```
#[must_use = "if unused the permit goes back at once"]
#[clippy::has_significant_drop]
pub struct Permit<'a> {
    semaphore: &'a Semaphore,
    n: usize,
}

impl Semaphore {
    /// A semaphore with `n` permits.
    ///
    /// ```
    /// static LIMIT: gosched::sync::Semaphore = gosched::sync::Semaphore::new(10);
    /// assert_eq!(LIMIT.available(), 10);
    /// ```
    #[must_use]
    pub const fn new(n: usize) -> Semaphore {
        Semaphore(gosched_locks::Semaphore::new(n))
    }

    /// Acquires a permit, waiting for its turn if need be. A moving call.
    ///
    /// ```
    /// let semaphore = gosched::sync::Semaphore::new(1);
    /// let _permit = semaphore.acquire();
    /// assert!(semaphore.try_acquire().is_none());
    /// ```
    pub fn acquire(&self) -> Permit<'_> {
        self.acquire_many(1)
    }

    /// Acquires `n` permits at once, waiting for its turn if need be. A moving call.
    ///
    /// If `n` is more than there will ever be, it waits for ever.
    ///
    /// ```
    /// let semaphore = gosched::sync::Semaphore::new(3);
    /// let both = semaphore.acquire_many(2);
    /// assert_eq!(semaphore.available(), 1);
    /// # drop(both);
    /// ```
    pub fn acquire_many(&self, n: usize) -> Permit<'_> {
        obtain(WaitReason::Semaphore, n as u64, || self.0.try_acquire(n), || self.0.acquire(n));
        Permit { semaphore: self, n }
    }

    /// Acquires a permit if there is one and nobody waits. Never moves.
    ///
    /// ```
    /// let semaphore = gosched::sync::Semaphore::new(1);
    /// let permit = semaphore.try_acquire();
    /// assert!(permit.is_some() && semaphore.try_acquire().is_none());
    /// ```
    pub fn try_acquire(&self) -> Option<Permit<'_>> {
        let acquired = {
            let _inside = Visitor::enter();
            self.0.try_acquire(1)
        };
        // Lazily: a permit that is made in vain would be given back when dropped.
        acquired.then(|| Permit { semaphore: self, n: 1 })
    }

    /// Adds a permit. Never moves.
    ///
    /// # Panics
    ///
    /// If there are `usize::MAX` already.
    ///
    /// ```
    /// let semaphore = gosched::sync::Semaphore::new(0);
    /// semaphore.release();
    /// drop(semaphore.acquire());
    /// ```
    pub fn release(&self) {
        if self.give_back(1).is_err() {
            panic!("a Semaphore can't have more than usize::MAX permits");
        }
    }

    fn give_back(&self, n: usize) -> Result<(), TooManyPermits> {
        let served: Line<Waiter> = {
            let _inside = Visitor::enter();
            self.0.release(n)?
        };
        wake_line(served);
        Ok(())
    }

    /// How many permits are there. Never moves.
    ///
    /// ```
    /// assert_eq!(gosched::sync::Semaphore::new(3).available(), 3);
    /// ```
    pub fn available(&self) -> usize {
        let _inside = Visitor::enter();
        self.0.available()
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        // Permits that were added meanwhile may leave no room for this one: then there are more than enough.
        let _ = self.semaphore.give_back(self.n);
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").field("available", &self.available()).finish()
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("n", &self.n).finish_non_exhaustive()
    }
}
