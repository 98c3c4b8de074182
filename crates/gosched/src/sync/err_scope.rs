//! `ErrGroup::scope`: an `ErrGroup` whose members borrow.
//!
//! Invariant: the scope of the members is closed before the group's frame ends, whatever happens in
//! the user's closure. So members, which borrow the group and what the caller has, have ended by
//! then.
#![allow(unsafe_code)]

use core::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::err_outcome::ErrOutcome;
use crate::context::{self, Context};
use crate::thread::Scope;

/// A group whose members may borrow from outside; see [`ErrGroup::scope`](super::ErrGroup::scope).
///
/// ```
/// use gosched::sync::ErrGroup;
///
/// let text = String::from("7");
/// let parsed = ErrGroup::scope(|group| group.go(|| text.parse::<i32>().map(drop)));
/// assert!(parsed.is_ok());
/// ```
pub struct ErrScope<'scope, 'env: 'scope, E> {
    scope: Scope<'scope, 'env>,
    outcome: ErrOutcome<E>,
}

/// A member; dropping it frees its place, and takes it off the counter.
struct ScopedMember<'a, E>(&'a ErrOutcome<E>);

impl<E> ScopedMember<'_, E> {
    /// Runs the member. Takes it as a whole, so that a closure that calls this owns it.
    fn run(self, f: impl FnOnce() -> Result<(), E>) {
        self.0.run(f);
    }
}

impl<E> Drop for ScopedMember<'_, E> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Runs `f` with a group, waits for the members, and returns how they have ended.
#[track_caller]
pub(super) fn run<'env, F, T, E>(limit: Option<usize>, f: F) -> Result<T, E>
where
    F: for<'scope> FnOnce(&'scope ErrScope<'scope, 'env, E>) -> T,
{
    let may_wait = Scope::may_open();
    let outcome = ErrOutcome::new(limit);
    // SAFETY: closed below. Nothing before that unwinds: the closure's panics are caught.
    let group = ErrScope { scope: unsafe { Scope::open() }, outcome };
    let result = catch_unwind(AssertUnwindSafe(|| {
        let cancel_at_panic = group.outcome.context.drop_guard();
        let value = f(&group);
        cancel_at_panic.disarm();
        value
    }));
    group.scope.close(&may_wait);
    let value = result.unwrap_or_else(|panic| resume_unwind(panic));
    group.outcome.take().map(|()| value)
}

impl<'scope, E> ErrScope<'scope, '_, E> {
    /// Runs `f` in a new goroutine, under the group's [`context`](ErrScope::context). In a group
    /// with a limit, waits for a place first: a moving call then.
    ///
    /// ```
    /// use gosched::sync::ErrGroup;
    ///
    /// let result = ErrGroup::scope(|group| {
    ///     // A member may start others.
    ///     group.go(|| {
    ///         group.go(|| Err("fails"));
    ///         Ok(())
    ///     });
    /// });
    /// assert_eq!(result, Err("fails"));
    /// ```
    #[track_caller]
    pub fn go<F>(&'scope self, f: F)
    where
        F: FnOnce() -> Result<(), E> + Send + 'scope,
        E: Send + 'scope,
    {
        self.outcome.enter();
        self.start(f);
    }

    /// As [`go`](ErrScope::go), unless the group has a limit and there is no place now: then `f` is
    /// dropped. Returns whether it was started. Never moves.
    ///
    /// ```
    /// use gosched::sync::ErrGroup;
    ///
    /// let result = ErrGroup::<()>::scope(|group| group.try_go(|| Ok(())));
    /// assert_eq!(result, Ok(true), "there is no limit");
    /// ```
    #[must_use = "says whether it was started"]
    #[track_caller]
    pub fn try_go<F>(&'scope self, f: F) -> bool
    where
        F: FnOnce() -> Result<(), E> + Send + 'scope,
        E: Send + 'scope,
    {
        let has_place = self.outcome.try_enter();
        if has_place {
            self.start(f);
        }
        has_place
    }

    /// Starts a member that has entered.
    #[track_caller]
    fn start<F>(&'scope self, f: F)
    where
        F: FnOnce() -> Result<(), E> + Send + 'scope,
        E: Send + 'scope,
    {
        let member = ScopedMember(&self.outcome);
        let _under = context::make_current(&self.outcome.context);
        drop(self.scope.spawn(move || member.run(f)));
    }

    /// Waits until all members have ended, and returns the first error, if there is one. A moving
    /// call. Not for a member: it would wait for itself.
    ///
    /// The group may be used again; an error that was returned is not returned again, neither here
    /// nor by [`ErrGroup::scope`](super::ErrGroup::scope).
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
    /// use gosched::sync::ErrGroup;
    ///
    /// let result = ErrGroup::<&str>::scope(|group| {
    ///     group.go(|| Err("first"));
    ///     assert_eq!(group.wait(), Err("first"));
    ///     group.go(|| Err("second"));
    /// });
    /// assert_eq!(result, Err("second"));
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
    /// let result = ErrGroup::scope(|group| {
    ///     group.go(|| time::sleep(Duration::from_secs(3600)).map_err(|_| "cancelled"));
    ///     group.context().cancel();
    /// });
    /// assert_eq!(result, Err("cancelled"));
    /// ```
    #[must_use]
    pub fn context(&self) -> Context {
        self.outcome.context.clone()
    }
}

impl<E> fmt::Debug for ErrScope<'_, '_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrScope").field("running", self.outcome.running()).finish_non_exhaustive()
    }
}
