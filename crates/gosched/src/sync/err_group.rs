//! `ErrGroup`: Go's `errgroup`.
//!
//! Invariant: a member is counted until its outcome has been noted.
#![allow(unsafe_code)]

use core::any::Any;
use core::fmt;
use core::panic::Location;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, PoisonError};

use super::mutex::{Mutex, MutexGuard};
use super::semaphore::Semaphore;
use super::wait_group::WaitGroup;
use crate::context::{self, Context};
use crate::g::Goexit;
use crate::g::task::Argument;
use crate::thread::{Around, go_around};

/// Goroutines that work on parts of one task, which fails if one of them fails: Go's
/// `errgroup.Group`.
///
/// ```
/// use gosched::sync::ErrGroup;
///
/// let group = ErrGroup::new();
/// for n in ["1", "2", "three"] {
///     group.go(move || n.parse::<i32>().map(drop));
/// }
/// assert!(group.wait().is_err());
/// ```
pub struct ErrGroup<E> {
    shared: Arc<ErrGroupShared<E>>,
}

struct ErrGroupShared<E> {
    running: WaitGroup,
    places: Option<Semaphore>,
    failure: Mutex<Failure<E>>,
    context: Context,
}

/// The first error and the first panic.
struct Failure<E> {
    error: Option<E>,
    panic: Option<Box<dyn Any + Send>>,
}

/// A member; dropping it frees its place, and takes it off the counter.
struct Member<E>(Arc<ErrGroupShared<E>>);

impl<E> Drop for Member<E> {
    fn drop(&mut self) {
        if let Some(places) = &self.0.places {
            places.release();
        }
        self.0.running.done();
    }
}

impl<E> Around<Result<(), E>> for Member<E> {
    fn call(self, f: impl FnOnce() -> Result<(), E>) {
        self.0.note(catch_unwind(AssertUnwindSafe(f)));
    }
}

impl<E> ErrGroupShared<E> {
    fn failure(&self) -> MutexGuard<'_, Failure<E>> {
        // Nothing of the user's runs under this lock.
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the outcome of a member. All but the first error and the first panic are dropped,
    /// outside the lock.
    fn note(&self, outcome: std::thread::Result<Result<(), E>>) {
        let late = match outcome {
            Ok(Ok(())) => return,
            Err(payload) if payload.is::<Goexit>() => return,
            Ok(Err(error)) => {
                let mut failure = self.failure();
                match failure.error {
                    None => {
                        failure.error = Some(error);
                        None
                    }
                    Some(_) => Some(Ok(error)),
                }
            }
            Err(payload) => {
                let mut failure = self.failure();
                match failure.panic {
                    None => {
                        failure.panic = Some(payload);
                        None
                    }
                    Some(_) => Some(Err(payload)),
                }
            }
        };
        self.context.cancel();
        drop(late);
    }
}

impl<E> ErrGroup<E> {
    /// A group whose members all run at the same time.
    ///
    /// ```
    /// let group = gosched::sync::ErrGroup::<String>::new();
    /// assert_eq!(group.wait(), Ok(()));
    /// ```
    #[must_use]
    pub fn new() -> ErrGroup<E> {
        ErrGroup::with_places(None)
    }

    /// A group of which at most `n` run at the same time: [`go`](ErrGroup::go) waits for a place.
    ///
    /// # Panics
    ///
    /// If `n` is 0: nobody would ever run.
    ///
    /// ```
    /// let group = gosched::sync::ErrGroup::<String>::with_limit(2);
    /// for n in 0..10 {
    ///     group.go(move || Ok(println!("{n}: one of two at a time")));
    /// }
    /// assert_eq!(group.wait(), Ok(()));
    /// ```
    #[must_use]
    pub fn with_limit(n: usize) -> ErrGroup<E> {
        assert!(n > 0, "an ErrGroup with a limit of 0 would never run anything: give it 1 or more");
        ErrGroup::with_places(Some(Semaphore::new(n)))
    }

    fn with_places(places: Option<Semaphore>) -> ErrGroup<E> {
        let failure = Mutex::new(Failure { error: None, panic: None });
        let context = context::current().with_cancel();
        ErrGroup { shared: Arc::new(ErrGroupShared { running: WaitGroup::new(), places, failure, context }) }
    }

    /// Runs `f` in a new goroutine, under the group's [`context`](ErrGroup::context). In a group
    /// with a limit, waits for a place first: a moving call then.
    ///
    /// When one fails, the others' I/O, [`time::sleep`](crate::time::sleep)s and `*_ctx` waits end;
    /// other waits and computations continue.
    ///
    /// ```
    /// let group = gosched::sync::ErrGroup::new();
    /// group.go(|| Err("fails"));
    /// assert_eq!(group.wait(), Err("fails"));
    /// ```
    #[track_caller]
    pub fn go<F>(&self, f: F)
    where
        F: FnOnce() -> Result<(), E> + Send + 'static,
        E: Send + 'static,
    {
        if let Some(places) = &self.shared.places {
            // The member gives it back.
            core::mem::forget(places.acquire());
        }
        self.shared.running.add(1);
        let member = Member(Arc::clone(&self.shared));
        let _under = context::make_current(&self.shared.context);
        // SAFETY: forgotten below.
        unsafe { go_around(Argument::new(&f), member, Location::caller()) };
        core::mem::forget(f);
    }

    /// Waits until all members have ended, and returns the first error, if there is one. A moving
    /// call.
    ///
    /// The group may be used again; an error that was returned is not returned again.
    ///
    /// # Errors
    ///
    /// With the first error of a member.
    ///
    /// # Panics
    ///
    /// With the first panic of a member, if one panicked.
    ///
    /// ```
    /// let group = gosched::sync::ErrGroup::new();
    /// group.go(|| Ok(()));
    /// group.go(|| Err(7));
    /// assert_eq!(group.wait(), Err(7));
    /// ```
    pub fn wait(&self) -> Result<(), E> {
        self.shared.running.wait();
        let (panic, error) = {
            let mut failure = self.shared.failure();
            (failure.panic.take(), failure.error.take())
        };
        if let Some(payload) = panic {
            drop(error);
            resume_unwind(payload);
        }
        error.map_or(Ok(()), Err)
    }

    /// The group's context: derived from the one that was current when the group was made, and
    /// cancelled when the first member fails or panics. Members run under it. Never moves.
    ///
    /// ```
    /// use gosched::{sync::ErrGroup, time};
    /// use std::time::Duration;
    ///
    /// let group = ErrGroup::new();
    /// // Ends early, because the other one fails:
    /// group.go(|| time::sleep(Duration::from_secs(3600)).map_err(|_| "cancelled"));
    /// group.go(|| Err("fails"));
    /// assert_eq!(group.wait(), Err("fails"));
    /// assert!(group.context().is_cancelled());
    /// ```
    #[must_use]
    pub fn context(&self) -> Context {
        self.shared.context.clone()
    }
}

impl<E> Default for ErrGroup<E> {
    fn default() -> ErrGroup<E> {
        ErrGroup::new()
    }
}

impl<E> fmt::Debug for ErrGroup<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrGroup").field("running", &self.shared.running).finish_non_exhaustive()
    }
}
