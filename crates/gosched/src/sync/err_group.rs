//! `ErrGroup`: Go's `errgroup`.
#![allow(unsafe_code)]

use core::fmt;
use core::panic::Location;
use std::sync::Arc;

use super::err_outcome::ErrOutcome;
use super::err_scope::{self, ErrScope};
use crate::context::{self, Context};
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
    outcome: Arc<ErrOutcome<E>>,
}

/// A member; dropping it frees its place, and takes it off the counter.
struct Member<E>(Arc<ErrOutcome<E>>);

impl<E> Drop for Member<E> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl<E> Around<Result<(), E>> for Member<E> {
    fn call(self, f: impl FnOnce() -> Result<(), E>) {
        self.0.run(f);
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
    #[track_caller]
    pub fn with_limit(n: usize) -> ErrGroup<E> {
        ErrGroup::with_places(Some(n))
    }

    #[track_caller]
    fn with_places(limit: Option<usize>) -> ErrGroup<E> {
        ErrGroup { outcome: Arc::new(ErrOutcome::new(limit)) }
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
        self.outcome.enter();
        // SAFETY: forgotten below.
        unsafe { self.start(Argument::new(&f), Location::caller()) };
        core::mem::forget(f);
    }

    /// As [`go`](ErrGroup::go), unless the group has a limit and there is no place now: then `f` is
    /// dropped. Returns whether it was started. Never moves.
    ///
    /// ```
    /// let group = gosched::sync::ErrGroup::<()>::with_limit(1);
    /// assert!(group.try_go(|| Ok(gosched::thread::park())));
    /// assert!(!group.try_go(|| unreachable!("there is one place")));
    /// ```
    #[doc(alias = "TryGo")]
    #[must_use = "says whether it was started"]
    #[track_caller]
    pub fn try_go<F>(&self, f: F) -> bool
    where
        F: FnOnce() -> Result<(), E> + Send + 'static,
        E: Send + 'static,
    {
        if !self.outcome.try_enter() {
            return false;
        }
        // SAFETY: forgotten below.
        unsafe { self.start(Argument::new(&f), Location::caller()) };
        core::mem::forget(f);
        true
    }

    /// Starts a member that has entered. Does not unwind after it has taken `f`.
    ///
    /// # Safety
    /// As for `Argument::new`.
    unsafe fn start<F>(&self, f: Argument<F>, place: &'static Location<'static>)
    where
        F: FnOnce() -> Result<(), E> + Send + 'static,
        E: Send + 'static,
    {
        let member = Member(Arc::clone(&self.outcome));
        let _under = context::make_current(&self.outcome.context);
        // SAFETY: by contract.
        unsafe { go_around(f, member, place) };
    }

    /// Runs `f` with a group whose members may borrow from the caller, and waits for all of them.
    /// Returns what `f` has returned, or the first error of a member. A moving call.
    ///
    /// The group's context is cancelled when the first member fails or panics, and when `f` panics.
    ///
    /// # Errors
    ///
    /// With the first error of a member.
    ///
    /// # Panics
    ///
    /// With the panic of `f`, or else with the first panic of a member, when all have ended. Inside
    /// [`stop_the_world`](crate::runtime::stop_the_world).
    ///
    /// ```
    /// use gosched::sync::{ErrGroup, Mutex};
    ///
    /// let (words, sum) = (["1", "2", "3"], Mutex::new(0));
    /// let parsed = ErrGroup::scope(|group| {
    ///     for word in &words {
    ///         group.go(|| Ok(*sum.lock().unwrap() += word.parse::<i32>()?));
    ///     }
    /// });
    /// assert_eq!(parsed, Ok::<(), std::num::ParseIntError>(()));
    /// assert_eq!(sum.into_inner().unwrap(), 6);
    /// ```
    pub fn scope<'env, F, T>(f: F) -> Result<T, E>
    where
        F: for<'scope> FnOnce(&'scope ErrScope<'scope, 'env, E>) -> T,
    {
        err_scope::run(None, f)
    }

    /// As [`scope`](ErrGroup::scope), for a group of which at most `n` run at the same time.
    ///
    /// # Errors
    ///
    /// As for [`scope`](ErrGroup::scope).
    ///
    /// # Panics
    ///
    /// If `n` is 0, and as [`scope`](ErrGroup::scope).
    ///
    /// ```
    /// use gosched::sync::ErrGroup;
    ///
    /// let result: Result<(), String> = ErrGroup::scope_with_limit(2, |group| {
    ///     for n in 0..10 {
    ///         group.go(move || Ok(println!("{n}: one of two at a time")));
    ///     }
    /// });
    /// assert_eq!(result, Ok(()));
    /// ```
    #[track_caller]
    pub fn scope_with_limit<'env, F, T>(n: usize, f: F) -> Result<T, E>
    where
        F: for<'scope> FnOnce(&'scope ErrScope<'scope, 'env, E>) -> T,
    {
        err_scope::run(Some(n), f)
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
        self.outcome.wait()
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
        self.outcome.context.clone()
    }
}

impl<E> Default for ErrGroup<E> {
    fn default() -> ErrGroup<E> {
        ErrGroup::new()
    }
}

impl<E> fmt::Debug for ErrGroup<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrGroup").field("running", self.outcome.running()).finish_non_exhaustive()
    }
}
