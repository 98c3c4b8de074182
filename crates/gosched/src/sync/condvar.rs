//! `Condvar`: std's, for goroutines.
//!
//! Invariant: a node in the line is in the frame of a wait that does not end before the node was
//! taken out.
#![allow(unsafe_code)]

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::time::Duration;
use std::sync::LockResult;
use std::time::Instant;

use gosched_locks::{GRANTED, Node, Notified};

use super::mutex::MutexGuard;
use super::raw::RawMutex;
use super::seam::{wake_by, wake_each};
use crate::clock::when_after;
use crate::context::{self, ContextError};
use crate::g::waiter::{WaitReason, Waiter};
use crate::sched::{Caller, Inside, Limit, MayWait, Visitor};

/// A condition variable, as `std::sync::Condvar`: releases a mutex, waits for a notification, and
/// locks the mutex again.
///
/// Waiters are notified in the order in which they came. There are no spurious wake-ups.
/// Nevertheless the condition must be checked again after a wait, since somebody else may have had
/// the mutex in between. May be used with more than one mutex.
///
/// ```
/// use gosched::sync::{Arc, Condvar, Mutex};
///
/// let pair = Arc::new((Mutex::new(false), Condvar::new()));
/// let other = Arc::clone(&pair);
/// gosched::go(move || {
///     *other.0.lock().unwrap() = true;
///     other.1.notify_one();
/// });
/// let mut started = pair.0.lock().unwrap();
/// while !*started {
///     started = pair.1.wait(started).unwrap();
/// }
/// ```
pub struct Condvar(gosched_locks::Condvar<Waiter>);

impl UnwindSafe for Condvar {}
impl RefUnwindSafe for Condvar {}

/// Whether a wait with a time limit ended by its time-out.
///
/// ```
/// use gosched::sync::{Condvar, Mutex};
/// use std::time::Duration;
///
/// let (mutex, condvar) = (Mutex::new(()), Condvar::new());
/// let (_guard, result) = condvar.wait_timeout(mutex.lock().unwrap(), Duration::from_millis(1)).unwrap();
/// assert!(result.timed_out());
/// ```
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether it did.
    ///
    /// ```
    /// use gosched::sync::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let (mutex, condvar) = (Mutex::new(1), Condvar::new());
    /// let met = |n: &mut i32| *n != 1;
    /// let (_, result) = condvar.wait_timeout_while(mutex.lock().unwrap(), Duration::MAX, met).unwrap();
    /// assert!(!result.timed_out(), "there was nothing to wait for");
    /// ```
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// A condition variable that nobody waits for.
    ///
    /// ```
    /// static CHANGED: gosched::sync::Condvar = gosched::sync::Condvar::new();
    /// CHANGED.notify_all();
    /// ```
    #[must_use]
    #[inline]
    pub const fn new() -> Condvar {
        Condvar(gosched_locks::Condvar::new())
    }

    /// Releases the mutex, waits for a notification, and acquires the mutex again. A moving call.
    ///
    /// A notification that comes after the mutex was released is not missed.
    ///
    /// # Errors
    ///
    /// If the mutex is poisoned when it is acquired again; the error holds the guard.
    ///
    /// ```
    /// use gosched::sync::{Condvar, Mutex};
    ///
    /// let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    /// gosched::scope(|s| {
    ///     s.spawn(|| {
    ///         *mutex.lock().unwrap() = 1;
    ///         condvar.notify_one();
    ///     });
    ///     let mut value = mutex.lock().unwrap();
    ///     while *value == 0 {
    ///         value = condvar.wait(value).unwrap();
    ///     }
    /// });
    /// ```
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let _ = self.wait_until(guard.raw(), Limit::NONE);
        guard.poison().wrap(guard)
    }

    /// As [`wait`](Condvar::wait), until the current [context](crate::context) ends, and then until
    /// the mutex is acquired again. A moving call.
    ///
    /// The result beside the guard is `Ok` after a notification, or says why the context has ended.
    /// No notification is lost by a wait that the context ends: it goes to the next in line.
    ///
    /// # Errors
    ///
    /// As for [`wait`](Condvar::wait).
    ///
    /// ```
    /// use gosched::context::{ContextError, background, enter};
    /// use gosched::sync::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let (mutex, condvar) = (Mutex::new(()), Condvar::new());
    /// let ctx = background().with_timeout(Duration::from_millis(1));
    /// let (_guard, waited) = enter(&ctx, || condvar.wait_ctx(mutex.lock().unwrap())).unwrap();
    /// assert_eq!(waited, Err(ContextError::DeadlineExceeded));
    /// ```
    #[allow(clippy::type_complexity, reason = "std's shape: the guard and how the wait ended")]
    pub fn wait_ctx<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
    ) -> LockResult<(MutexGuard<'a, T>, Result<(), ContextError>)> {
        let poison = guard.poison();
        let waited = match self.wait_until(guard.raw(), Limit::of_context(None)).timed_out() {
            true => Err(context::why_ended()),
            false => Ok(()),
        };
        poison.wrap((guard, waited))
    }

    /// Waits while `condition` returns `true`. It is called at once, and again after each
    /// notification. A moving call, if it has to wait.
    ///
    /// # Errors
    ///
    /// As for [`wait`](Condvar::wait).
    ///
    /// ```
    /// use gosched::sync::{Condvar, Mutex};
    ///
    /// let (mutex, condvar) = (Mutex::new(true), Condvar::new());
    /// gosched::scope(|s| {
    ///     s.spawn(|| {
    ///         *mutex.lock().unwrap() = false;
    ///         condvar.notify_one();
    ///     });
    ///     let pending = condvar.wait_while(mutex.lock().unwrap(), |pending| *pending).unwrap();
    ///     assert!(!*pending);
    /// });
    /// ```
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while holds(&mut condition, &mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// As [`wait_timeout`](Condvar::wait_timeout), in milliseconds; the `bool` is `false` if the
    /// time ran out.
    ///
    /// # Errors
    ///
    /// As for [`wait`](Condvar::wait).
    ///
    /// ```
    /// # #![allow(deprecated)]
    /// use gosched::sync::{Condvar, Mutex};
    ///
    /// let (mutex, condvar) = (Mutex::new(()), Condvar::new());
    /// assert!(!condvar.wait_timeout_ms(mutex.lock().unwrap(), 1).unwrap().1);
    /// ```
    #[deprecated(note = "replaced by `Condvar::wait_timeout`")]
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        ms: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        let poison = guard.poison();
        let waited = self.wait_timeout(guard, Duration::from_millis(ms.into()));
        let (guard, result) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
        poison.wrap((guard, !result.timed_out()))
    }

    /// As [`wait`](Condvar::wait), for `dur` at most, and then until the mutex is acquired again. A
    /// moving call.
    ///
    /// # Errors
    ///
    /// As for [`wait`](Condvar::wait).
    ///
    /// ```
    /// use gosched::sync::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let (mutex, condvar) = (Mutex::new(false), Condvar::new());
    /// gosched::scope(|s| {
    ///     s.spawn(|| {
    ///         *mutex.lock().unwrap() = true;
    ///         condvar.notify_one();
    ///     });
    ///     let mut started = mutex.lock().unwrap();
    ///     while !*started {
    ///         started = condvar.wait_timeout(started, Duration::from_millis(10)).unwrap().0;
    ///     }
    /// });
    /// ```
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        dur: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let result = self.wait_until(guard.raw(), Limit::until(when_after(dur)));
        guard.poison().wrap((guard, result))
    }

    /// As [`wait_while`](Condvar::wait_while), for `dur` at most. A moving call, if it has to wait.
    ///
    /// # Errors
    ///
    /// As for [`wait`](Condvar::wait).
    ///
    /// ```
    /// use gosched::sync::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let (mutex, condvar) = (Mutex::new(true), Condvar::new());
    /// let limit = Duration::from_millis(1);
    /// let (_, result) = condvar.wait_timeout_while(mutex.lock().unwrap(), limit, |pending| *pending).unwrap();
    /// assert!(result.timed_out());
    /// ```
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        dur: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let start = Instant::now();
        loop {
            if !holds(&mut condition, &mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let Some(left) = dur.checked_sub(start.elapsed()) else {
                return Ok((guard, WaitTimeoutResult(true)));
            };
            guard = self.wait_timeout(guard, left)?.0;
        }
    }

    /// Releases the caller's `mutex`, waits, and acquires it again. "Timed out" means that the
    /// limit has ended the wait, by time or by the context.
    fn wait_until(&self, mutex: &RawMutex, limit: Limit) -> WaitTimeoutResult {
        let may_wait = match MayWait::ask() {
            Ok(may_wait) => may_wait,
            Err(stopped) => {
                return WaitTimeoutResult(stopped.complete(limit.is_over().then_some(true)));
            }
        };
        let node = Node::new(0);
        {
            let _inside = Visitor::enter();
            // SAFETY: the node is in this frame, which stays until the node was notified or has
            // left the line.
            unsafe { self.0.join(&node) };
        }
        mutex.unlock();
        let result = self.wait_in_line(&may_wait, &node, limit);
        mutex.lock();
        result
    }

    fn wait_in_line(&self, may_wait: &MayWait, node: &Node<Waiter>, limit: Limit) -> WaitTimeoutResult {
        let caller = Caller::enter_by(may_wait);
        let Some(joined) = self.0.settle(node) else {
            caller.leave();
            return WaitTimeoutResult(false);
        };
        let outcome = caller.wait_ticket(WaitReason::Condvar, limit, node.ticket(), || joined.settled());
        if outcome == GRANTED {
            return WaitTimeoutResult(false);
        }
        let _inside = Visitor::enter();
        self.0.leave(node);
        WaitTimeoutResult(true)
    }

    /// Wakes the waiter that has waited longest, if there is one. Never moves.
    ///
    /// ```
    /// let condvar = gosched::sync::Condvar::new();
    /// condvar.notify_one(); // nobody waits: nothing happens, and it is not remembered
    /// ```
    pub fn notify_one(&self) {
        if self.0.is_idle() {
            return;
        }
        wake_by(|| match self.0.notify_one() {
            Notified::Wake(waiter) => Some(waiter),
            Notified::Early | Notified::Nobody => None,
        });
    }

    /// Wakes all who wait. Never moves.
    ///
    /// ```
    /// use gosched::sync::{Condvar, Mutex};
    ///
    /// let (mutex, condvar) = (Mutex::new(true), Condvar::new());
    /// gosched::scope(|s| {
    ///     for _ in 0..10 {
    ///         s.spawn(|| condvar.wait_while(mutex.lock().unwrap(), |closed| *closed).map(drop).unwrap());
    ///     }
    ///     *mutex.lock().unwrap() = false;
    ///     condvar.notify_all();
    /// });
    /// ```
    pub fn notify_all(&self) {
        if self.0.is_idle() {
            return;
        }
        let mut bound = None;
        wake_each(|| {
            let bound = *bound.get_or_insert_with(|| self.0.next_number());
            loop {
                match self.0.notify_before(bound) {
                    Notified::Wake(waiter) => return Some(waiter),
                    Notified::Early => {}
                    Notified::Nobody => return None,
                }
            }
        });
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

/// Calls the condition. Never inlined: between two calls the goroutine may have moved to another
/// thread, and within one function the compiler may reuse the address of a thread-local
/// ([`soundness`](crate::soundness)).
#[inline(never)]
fn holds<T>(condition: &mut impl FnMut(&mut T) -> bool, value: &mut T) -> bool {
    condition(value)
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}
