//! `RateLimiter`: a bucket of tokens, with the semantics of golang.org/x/time/rate.
//!
//! The bucket holds at most `burst` tokens, is full at first, and fills at the given rate. Whoever
//! takes a token that is not there yet makes the number negative, and waits until it would be 0
//! again: so each has the moment of its token when it begins to wait, and they come first, first
//! served.
//!
//! Invariant: the lock is std's, held for a moment, outside the runtime.

use core::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::clock::{NEVER, now, when_at};
use crate::context::{self, ContextError};
use crate::g::waiter::{INTERRUPTED, Ticket, WaitReason};
use crate::runtime::checkpoint;
use crate::sched::{Caller, Limit, MayWait};

const NANOS: f64 = 1e9;

/// Lets something happen so often in a second, and in bursts: golang.org/x/time/rate's `Limiter`.
///
/// ```
/// use gosched::time::RateLimiter;
/// use std::time::Instant;
///
/// let limiter = RateLimiter::new(500, 2);
/// let began = Instant::now();
/// for _ in 0..4 {
///     limiter.wait(); // two at once, and then one each 2 ms
/// }
/// assert!(began.elapsed().as_millis() >= 3);
/// ```
pub struct RateLimiter {
    per_second: f64,
    burst: usize,
    bucket: Mutex<Bucket>,
}

struct Bucket {
    /// How many there were at `filled`; below 0 if some were taken in advance.
    tokens: f64,
    filled: u64,
    /// The latest moment of a token that was taken.
    latest: u64,
}

impl RateLimiter {
    /// Lets `per_second` through in a second, and at most `burst` at once. With
    /// [`f64::INFINITY`] it lets everything through, whatever `burst` is; with a rate of 0 only the
    /// first `burst`. Never moves.
    ///
    /// # Panics
    ///
    /// If `per_second` is negative or not a number.
    ///
    /// ```
    /// use gosched::time::RateLimiter;
    ///
    /// let limiter = RateLimiter::new(0.1, 1);
    /// assert!(limiter.try_take());
    /// assert!(!limiter.try_take(), "the next one is there in ten seconds");
    /// ```
    #[doc(alias = "NewLimiter")]
    #[must_use]
    #[track_caller]
    pub fn new(per_second: impl Into<f64>, burst: usize) -> RateLimiter {
        let per_second = per_second.into();
        assert!(
            per_second >= 0.0,
            "a RateLimiter can't let {per_second} through in a second: give it 0 or more"
        );
        let bucket = Mutex::new(Bucket { tokens: burst as f64, filled: now(), latest: 0 });
        RateLimiter { per_second, burst, bucket }
    }

    /// Takes a token if there is one. Never moves.
    ///
    /// ```
    /// let limiter = gosched::time::RateLimiter::new(1, 2);
    /// assert!(limiter.try_take() && limiter.try_take());
    /// assert!(!limiter.try_take());
    /// ```
    #[doc(alias = "Allow")]
    pub fn try_take(&self) -> bool {
        let now = now();
        self.reserve(now, now).is_some()
    }

    /// Takes a token, waiting until there is one. First come, first served. A moving call.
    ///
    /// # Panics
    ///
    /// If `burst` is 0 and the rate is finite: it would never return.
    ///
    /// ```
    /// let limiter = gosched::time::RateLimiter::new(1000, 1);
    /// limiter.wait();
    /// limiter.wait(); // a millisecond later
    /// ```
    pub fn wait(&self) {
        self.refuse_no_burst();
        let may_wait = match MayWait::ask() {
            Ok(may_wait) => may_wait,
            Err(stopped) => return stopped.complete(self.try_take().then_some(())),
        };
        let now = now();
        match self.reserve(now, NEVER) {
            Some(when) if when > now => {
                let ticket = Ticket::new();
                let caller = Caller::enter_by(&may_wait);
                let _ = caller.wait_ticket(WaitReason::Sleep, Limit::until(when), &ticket, || ());
            }
            _ => checkpoint(),
        }
    }

    /// As [`wait`](RateLimiter::wait), until the current [context](crate::context) ends. A moving
    /// call.
    ///
    /// If the token would come after the context's deadline, fails at once. A token that is there
    /// is taken even if the context has ended. One that the context has kept from being used goes
    /// back, as far as others do not count on it.
    ///
    /// # Errors
    ///
    /// Why the context has ended, or would end, before there is a token.
    ///
    /// # Panics
    ///
    /// As [`wait`](RateLimiter::wait).
    ///
    /// ```
    /// use gosched::context::{ContextError, background, enter};
    /// use gosched::time::RateLimiter;
    /// use std::time::Duration;
    ///
    /// let limiter = RateLimiter::new(0.001, 1);
    /// let ctx = background().with_timeout(Duration::from_secs(60));
    /// enter(&ctx, || {
    ///     assert_eq!(limiter.wait_ctx(), Ok(()));
    ///     assert_eq!(limiter.wait_ctx(), Err(ContextError::DeadlineExceeded)); // now, not in a minute
    /// });
    /// ```
    pub fn wait_ctx(&self) -> Result<(), ContextError> {
        self.refuse_no_burst();
        let may_wait = match MayWait::ask() {
            Ok(may_wait) => may_wait,
            Err(stopped) => {
                let ended = || context::current_error().map(Err);
                return stopped.complete(self.try_take().then_some(Ok(())).or_else(ended));
            }
        };
        let (context, now) = (context::current(), now());
        let last = if context.is_cancelled() { now } else { context.deadline().map_or(NEVER, when_at) };
        let Some(when) = self.reserve(now, last.max(now)) else {
            checkpoint();
            return Err(context.err().unwrap_or(ContextError::DeadlineExceeded));
        };
        if when <= now {
            checkpoint();
            return Ok(());
        }
        let ticket = Ticket::new();
        let caller = Caller::enter_by(&may_wait);
        match caller.wait_ticket(WaitReason::Sleep, Limit::of_context(Some(when)), &ticket, || ()) {
            INTERRUPTED => {
                self.give_back(when);
                Err(context::why_ended())
            }
            _ => Ok(()),
        }
    }

    #[track_caller]
    fn refuse_no_burst(&self) {
        assert!(
            self.burst > 0 || self.per_second == f64::INFINITY,
            "a RateLimiter with a burst of 0 never lets anything through: give it 1 or more"
        );
    }

    fn lock(&self) -> MutexGuard<'_, Bucket> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a token that will be there at `last` at the latest; returns when. By the clock of
    /// timers.
    fn reserve(&self, now: u64, last: u64) -> Option<u64> {
        if self.per_second == f64::INFINITY {
            return Some(now);
        }
        let mut bucket = self.lock();
        let tokens = self.tokens_at(&bucket, now) - 1.0;
        let when = if tokens < 0.0 { now.saturating_add(self.time_of(-tokens)).min(NEVER - 1) } else { now };
        if self.burst == 0 || when > last {
            return None;
        }
        *bucket = Bucket { tokens, filled: now.max(bucket.filled), latest: when };
        Some(when)
    }

    /// Gives a token back that was reserved for `when`, but for what later reservations count on.
    fn give_back(&self, when: u64) {
        let now = now();
        let mut bucket = self.lock();
        let counted_on = bucket.latest.saturating_sub(when) as f64 / NANOS * self.per_second;
        let rest = 1.0 - counted_on;
        if rest <= 0.0 || when < now {
            return;
        }
        bucket.tokens = (self.tokens_at(&bucket, now) + rest).min(self.burst as f64);
        bucket.filled = now.max(bucket.filled);
        if bucket.latest == when {
            bucket.latest = when.saturating_sub(self.time_of(1.0)).max(now);
        }
    }

    fn tokens_at(&self, bucket: &Bucket, now: u64) -> f64 {
        let elapsed = now.saturating_sub(bucket.filled) as f64 / NANOS;
        (bucket.tokens + elapsed * self.per_second).min(self.burst as f64)
    }

    /// How long so many tokens take to come, rounded up: nobody is early.
    fn time_of(&self, tokens: f64) -> u64 {
        (tokens / self.per_second * NANOS).ceil() as u64
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimiter")
            .field("per_second", &self.per_second)
            .field("burst", &self.burst)
            .finish_non_exhaustive()
    }
}
