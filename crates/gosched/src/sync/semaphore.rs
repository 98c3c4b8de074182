//! `Semaphore`: a number of permits.

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::time::Duration;
use std::sync::Arc;

use gosched_locks::{Served, TooManyPermits};

use super::seam::{Obtained, obtain, obtain_within, wake_each};
use crate::clock::when_after;
use crate::context::{self, ContextError};
use crate::g::waiter::{WaitReason, Waiter};
use crate::sched::{Limit, Visitor};

/// A number of permits. Dropping an acquired permit returns it.
///
/// First come, first served: while a caller waits for many permits, those behind it wait too,
/// however few they want.
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

/// Permits of a [`Semaphore`]; dropping this returns them.
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

/// A permit that owns an `Arc` of its [`Semaphore`]; see [`Semaphore::acquire_owned`]. Dropping
/// this returns it.
///
/// ```
/// use gosched::sync::{Arc, OwnedPermit, Semaphore};
///
/// let semaphore = Arc::new(Semaphore::new(1));
/// let permit: OwnedPermit = Arc::clone(&semaphore).acquire_owned();
/// assert_eq!(semaphore.available(), 0);
/// drop(permit);
/// assert_eq!(semaphore.available(), 1);
/// ```
#[must_use = "if unused the permit goes back at once"]
#[clippy::has_significant_drop]
pub struct OwnedPermit {
    semaphore: Arc<Semaphore>,
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
    /// If there are never `n` permits, it waits for ever.
    ///
    /// ```
    /// let semaphore = gosched::sync::Semaphore::new(3);
    /// let both = semaphore.acquire_many(2);
    /// assert_eq!(semaphore.available(), 1);
    /// # drop(both);
    /// ```
    pub fn acquire_many(&self, n: usize) -> Permit<'_> {
        self.obtain(n);
        Permit { semaphore: self, n }
    }

    fn obtain(&self, n: usize) {
        obtain(WaitReason::Semaphore, n as u64, || self.0.try_acquire(n), || self.0.acquire(n));
    }

    fn try_obtain(&self) -> bool {
        let _inside = Visitor::enter();
        self.0.try_acquire(1)
    }

    /// One that was obtained.
    fn permit(&self) -> Permit<'_> {
        Permit { semaphore: self, n: 1 }
    }

    /// As [`acquire`](Semaphore::acquire), until the current [context](crate::context) ends. A
    /// moving call.
    ///
    /// If a permit is free and nobody waits, it is acquired even if the context has ended. A wait
    /// that the context ends does not hold up the other waiters.
    ///
    /// # Errors
    ///
    /// Why the context has ended, if it did before there was a permit.
    ///
    /// ```
    /// use gosched::context::{ContextError, background, enter};
    ///
    /// let semaphore = gosched::sync::Semaphore::new(1);
    /// let ctx = background().with_cancel();
    /// ctx.cancel();
    /// enter(&ctx, || {
    ///     let permit = semaphore.acquire_ctx();
    ///     assert!(permit.is_ok(), "it is there");
    ///     assert_eq!(semaphore.acquire_ctx().unwrap_err(), ContextError::Cancelled);
    /// });
    /// ```
    pub fn acquire_ctx(&self) -> Result<Permit<'_>, ContextError> {
        match self.acquire_within(Limit::of_context(None)) {
            Obtained::Yes => Ok(self.permit()),
            Obtained::Late => Err(context::why_ended()),
        }
    }

    /// As [`acquire`](Semaphore::acquire), waiting for `timeout` at most; `None` if there was no
    /// permit by then. A moving call.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let semaphore = gosched::sync::Semaphore::new(1);
    /// let permit = semaphore.acquire_timeout(Duration::from_secs(60)).unwrap();
    /// assert!(semaphore.acquire_timeout(Duration::from_millis(1)).is_none());
    /// # drop(permit);
    /// ```
    pub fn acquire_timeout(&self, timeout: Duration) -> Option<Permit<'_>> {
        match self.acquire_within(Limit::until(when_after(timeout))) {
            Obtained::Yes => Some(self.permit()),
            Obtained::Late => None,
        }
    }

    fn acquire_within(&self, limit: Limit) -> Obtained {
        let mut served = Served::All;
        let obtained = obtain_within(
            WaitReason::Semaphore,
            1,
            limit,
            || self.0.try_acquire(1),
            || self.0.acquire(1),
            |node| served = self.0.leave(node),
        );
        self.serve(served);
        obtained
    }

    /// As [`acquire`](Semaphore::acquire), with a permit that owns an `Arc` of the semaphore, and
    /// so borrows nothing. A moving call.
    ///
    /// ```
    /// use gosched::sync::{Arc, Semaphore};
    ///
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// let permit = Arc::clone(&semaphore).acquire_owned();
    /// gosched::go(move || drop(permit)).join().unwrap();
    /// assert_eq!(semaphore.available(), 1);
    /// ```
    pub fn acquire_owned(self: Arc<Self>) -> OwnedPermit {
        self.obtain(1);
        OwnedPermit { semaphore: self }
    }

    /// As [`try_acquire`](Semaphore::try_acquire), with a permit that owns an `Arc` of the
    /// semaphore. Never moves.
    ///
    /// ```
    /// use gosched::sync::{Arc, Semaphore};
    ///
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// let permit = Arc::clone(&semaphore).try_acquire_owned();
    /// assert!(permit.is_some());
    /// assert!(semaphore.try_acquire_owned().is_none());
    /// ```
    pub fn try_acquire_owned(self: Arc<Self>) -> Option<OwnedPermit> {
        self.try_obtain().then(|| OwnedPermit { semaphore: self })
    }

    /// Acquires a permit if there is one and nobody waits. Never moves.
    ///
    /// ```
    /// let semaphore = gosched::sync::Semaphore::new(1);
    /// let permit = semaphore.try_acquire();
    /// assert!(permit.is_some() && semaphore.try_acquire().is_none());
    /// ```
    pub fn try_acquire(&self) -> Option<Permit<'_>> {
        // `then`, not `then_some`: dropping a permit that was not obtained would add one.
        self.try_obtain().then(|| self.permit())
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
        let served = {
            let _inside = Visitor::enter();
            self.0.release(n)?
        };
        self.serve(served);
        Ok(())
    }

    /// Wakes the waiters for whom there are enough permits now.
    fn serve(&self, served: Served) {
        if served == Served::NotYet {
            wake_each(|| self.0.serve());
        }
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
        // Permits that were added meanwhile may leave no room for this one: then there are more
        // than enough.
        let _ = self.semaphore.give_back(self.n);
    }
}

impl Drop for OwnedPermit {
    fn drop(&mut self) {
        // As for `Permit`.
        let _ = self.semaphore.give_back(1);
    }
}

impl fmt::Debug for OwnedPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit").finish_non_exhaustive()
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
