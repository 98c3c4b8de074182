//! Goroutines that borrow: `scope` waits for all that were spawned in it, even if it panics.
//!
//! Invariant: the group counts the goroutines of the scope whose closure, or result without a
//! handle, may still be alive. Each counts itself out as its last step, and `scope` neither returns
//! nor unwinds before all have.
#![allow(unsafe_code)]

use core::fmt;
use core::marker::PhantomData;
use core::panic::{Location, RefUnwindSafe};
use core::ptr::NonNull;
use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::Result;
use super::builder::joinable;
use super::current::Thread;
use super::join::Joinable;
use crate::chan::Receiver;
use crate::context::ContextError;
use crate::g::scope_group::ScopeGroup;
use crate::g::task::Argument;
use crate::sched::{self, MayWait, Role, Spawn};

/// A place to spawn goroutines that borrow from outside it; see [`scope`].
///
/// ```
/// let mut numbers = vec![1, 2, 3];
/// gosched::scope(|s| {
///     s.spawn(|| numbers.push(4));
/// });
/// assert_eq!(numbers.len(), 4);
/// ```
pub struct Scope<'scope, 'env: 'scope> {
    group: ScopeGroup,
    /// Invariant in both lifetimes, as std's.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Runs `f` with a scope for goroutines that borrow from the caller, and waits for all of them.
///
/// A moving call. If `f` panics, the scope still waits for its goroutines first.
///
/// # Panics
///
/// With the panic of `f`, or if a goroutine of the scope panicked and was not joined. Inside
/// [`stop_the_world`](crate::runtime::stop_the_world).
///
/// ```
/// let words = ["a", "goroutine", "borrows"];
/// let mut longest = 0;
/// let total: usize = gosched::scope(|s| {
///     s.spawn(|| longest = words.iter().map(|w| w.len()).max().unwrap());
///     let total = s.spawn(|| words.iter().map(|w| w.len()).sum());
///     total.join().unwrap()
/// });
/// assert_eq!((longest, total), (9, 17));
/// ```
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let may_wait = Scope::may_open();
    // SAFETY: closed below.
    let scope = unsafe { Scope::open() };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    scope.close(&may_wait);
    match result {
        Err(panic) => resume_unwind(panic),
        Ok(_) if scope.group.has_unjoined_panic() => panic!("a scoped thread panicked"),
        Ok(value) => value,
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// The right to wait for a scope's goroutines, asked for before there are any. Panics in a
    /// stopped world.
    pub(crate) fn may_open() -> MayWait {
        MayWait::ask().unwrap_or_else(|stopped| stopped.refuse("open a scope"))
    }

    /// A scope without goroutines.
    ///
    /// # Safety
    /// Between the last use of it as a scope and its end it is [closed](Scope::close), whatever
    /// happens.
    pub(crate) unsafe fn open() -> Scope<'scope, 'env> {
        Scope { group: ScopeGroup::new(), scope: PhantomData, env: PhantomData }
    }

    /// Waits for all goroutines of the scope. Does not unwind.
    pub(crate) fn close(&self, may_wait: &MayWait) {
        match self.group.is_empty() {
            // A scope is a moving call whether it has to wait or not (S39).
            true => crate::runtime::checkpoint(),
            false => self.group.await_all(may_wait),
        }
    }

    /// Starts a goroutine that may borrow from outside the scope. Never moves the caller.
    ///
    /// ```
    /// let text = String::from("here");
    /// gosched::scope(|s| {
    ///     s.spawn(|| assert_eq!(text, "here"));
    /// });
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let how = Spawn {
            name: None,
            class: None,
            role: Role::Ordinary,
            group: None,
            locks: 0,
            place: Location::caller(),
        };
        // SAFETY: forgotten below.
        let handle = unsafe { self.spawn_with(how, Argument::new(&f)) };
        core::mem::forget(f);
        handle
    }

    /// Never unwinds once it has `f`.
    ///
    /// # Safety
    /// As for `Argument::new`.
    pub(super) unsafe fn spawn_with<F, T>(
        &'scope self,
        how: Spawn,
        f: Argument<F>,
    ) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let name = how.name.clone();
        self.group.add();
        // SAFETY: `scope` does not end before this goroutine has counted itself out, which it does
        // when its closure is gone and, if the handle was dropped, its result too. A result whose
        // handle lives is taken or dropped within 'scope, or never.
        let g = unsafe { sched::spawn(Spawn { group: Some(NonNull::from(&self.group)), ..how }, f) };
        ScopedJoinHandle(joinable(g, name), PhantomData)
    }
}

impl RefUnwindSafe for Scope<'_, '_> {}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

/// Owns the right to wait for a goroutine of a [`scope`].
///
/// ```
/// let numbers = [1, 2, 3];
/// let sum = gosched::scope(|s| s.spawn(|| numbers.iter().sum::<i32>()).join().unwrap());
/// assert_eq!(sum, 6);
/// ```
pub struct ScopedJoinHandle<'scope, T>(Joinable<T>, PhantomData<&'scope ()>);

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the goroutine's end and returns its result, or `Err` with what it panicked with. A
    /// moving call.
    ///
    /// # Panics
    ///
    /// If a goroutine joins itself, or if the result was taken before.
    ///
    /// ```
    /// gosched::scope(|s| assert!(s.spawn(|| panic!("caught")).join().is_err()));
    /// ```
    pub fn join(self) -> Result<T> {
        self.0.join()
    }

    /// As [`JoinHandle::join_ctx`](super::JoinHandle::join_ctx): joins until the current
    /// [context](crate::context) ends. A moving call.
    ///
    /// # Errors
    ///
    /// Why the context has ended, if it did before the goroutine.
    ///
    /// # Panics
    ///
    /// If the result was taken before: it can be had once. If a goroutine joins itself.
    ///
    /// ```
    /// let number = 5;
    /// gosched::scope(|s| assert_eq!(s.spawn(|| number + 1).join_ctx().unwrap().unwrap(), 6));
    /// ```
    pub fn join_ctx(&mut self) -> core::result::Result<Result<T>, ContextError> {
        self.0.join_ctx()
    }

    /// As [`JoinHandle::join_timeout`](super::JoinHandle::join_timeout): waits for `timeout` at
    /// most. A moving call.
    ///
    /// # Panics
    ///
    /// If the result was taken before: it can be had once. If a goroutine joins itself.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// gosched::scope(|s| {
    ///     let mut handle = s.spawn(|| gosched::thread::park());
    ///     assert!(handle.join_timeout(Duration::from_millis(1)).is_none());
    ///     handle.thread().unpark();
    ///     assert!(handle.join_timeout(Duration::from_secs(60)).unwrap().is_ok());
    /// });
    /// ```
    pub fn join_timeout(&mut self, timeout: Duration) -> Option<Result<T>> {
        self.0.join_timeout(timeout)
    }

    /// As [`JoinHandle::done`](super::JoinHandle::done): a channel that is closed when the
    /// goroutine has ended. Never moves.
    ///
    /// ```
    /// gosched::scope(|s| assert!(s.spawn(|| ()).done().recv().is_err()));
    /// ```
    #[must_use]
    pub fn done(&self) -> Receiver<()> {
        Receiver::of_signal(self.0.signal())
    }

    /// The goroutine's [`Thread`].
    ///
    /// ```
    /// gosched::scope(|s| {
    ///     let handle = s.spawn(|| gosched::thread::park());
    ///     handle.thread().unpark();
    /// });
    /// ```
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }

    /// Whether the goroutine has ended. Never moves.
    ///
    /// ```
    /// gosched::scope(|s| {
    ///     let handle = s.spawn(|| gosched::thread::park());
    ///     assert!(!handle.is_finished());
    ///     handle.thread().unpark();
    /// });
    /// ```
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
