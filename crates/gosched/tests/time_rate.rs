//! `time::RateLimiter`: golang.org/x/time/rate's semantics. Nobody is early; one that gives up
//! gives its token back.
//!
//! Seen to fail (2026-11-19): a token that is not given back; a wait beyond the deadline; waits
//! that are too short by a fifth.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{everywhere, join_all, until_waiting, waiting};
use gosched::context::{ContextError, background, enter};
use gosched::time::RateLimiter;
use gosched::{go, thread};

const FOR_EVER: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_millis(1);

/// A rate at which no test sees a second token come.
const SLOW: f64 = 1e-6;

#[gosched::test]
fn the_bucket_is_full_at_first() {
    let limiter = RateLimiter::new(SLOW, 3);
    assert!((0..3).all(|_| limiter.try_take()));
    assert!(!limiter.try_take());
}

#[gosched::test]
fn the_bucket_fills_to_the_burst() {
    let limiter = RateLimiter::new(1e6, 2);
    thread::sleep(SOON);
    // A thousand tokens' time has passed; more than two may come while this runs, but not at once.
    let before = Instant::now();
    let taken = (0..1000).filter(|_| limiter.try_take()).count() as f64;
    assert!(taken <= 2.0 + before.elapsed().as_secs_f64() * 1e6 + 1.0, "{taken}");
}

/// The rate is kept: n tokens beyond the burst take at least n periods, by several waiters too.
#[test]
fn nobody_is_early() {
    everywhere("nobody_is_early", || {
        let limiter = Arc::new(RateLimiter::new(2_000, 4));
        let began = Instant::now();
        let waiters: Vec<_> = (0..4)
            .map(|_| {
                let limiter = Arc::clone(&limiter);
                go(move || (0..10).for_each(|_| limiter.wait()))
            })
            .collect();
        (0..4).for_each(|_| limiter.wait_ctx().unwrap());
        join_all(waiters);
        // 44 tokens, of which 4 were there.
        assert!(began.elapsed() >= Duration::from_micros(40 * 500), "{:?}", began.elapsed());
    });
}

/// First come, first served: each waits for the token after those of the earlier ones.
#[test]
fn waiters_come_in_turn() {
    everywhere("waiters_come_in_turn", || {
        const PERIOD: Duration = Duration::from_millis(20);
        let limiter = Arc::new(RateLimiter::new(50, 1));
        let began = Instant::now();
        assert!(limiter.try_take());
        let mut waiters: Vec<gosched::JoinHandle<Instant>> = Vec::new();
        for n in 0..4 {
            let limiter = Arc::clone(&limiter);
            waiters.push(go(move || {
                limiter.wait();
                Instant::now()
            }));
            // Until it has its turn.
            while waiters.iter().filter(|waiter| waiter.is_finished()).count() + waiting("sleep") <= n {
                thread::yield_now();
            }
        }
        for (ended, n) in join_all(waiters).into_iter().zip(1..) {
            assert!(ended >= began + n * PERIOD, "number {n} after {:?}", ended - began);
        }
    });
}

/// As in x/time/rate: a wait beyond the deadline fails at once, and takes nothing.
#[gosched::test]
fn a_wait_beyond_the_deadline_fails_at_once() {
    let limiter = RateLimiter::new(SLOW, 1);
    let ctx = background().with_timeout(FOR_EVER);
    let began = Instant::now();
    enter(&ctx, || {
        assert_eq!(limiter.wait_ctx(), Ok(()));
        for _ in 0..3 {
            assert_eq!(limiter.wait_ctx(), Err(ContextError::DeadlineExceeded));
        }
    });
    assert!(began.elapsed() < FOR_EVER / 2 && !ctx.is_cancelled());
}

/// What is there is taken, even if the context has ended.
#[gosched::test]
fn a_token_that_is_there_is_taken() {
    let limiter = RateLimiter::new(SLOW, 2);
    let ctx = background().with_cancel();
    ctx.cancel();
    enter(&ctx, || {
        assert_eq!((limiter.wait_ctx(), limiter.wait_ctx()), (Ok(()), Ok(())));
        assert_eq!(limiter.wait_ctx(), Err(ContextError::Cancelled));
    });
}

/// One that the context ends gives its token back: the next one waits no longer than it would have
/// without it.
#[test]
fn one_that_gives_up_gives_its_token_back() {
    everywhere("one_that_gives_up_gives_its_token_back", || {
        // A token in ten seconds.
        let limiter = Arc::new(RateLimiter::new(0.1, 1));
        assert!(limiter.try_take());
        let ctx = background().with_cancel();
        let waiters: Vec<_> = (0..5)
            .map(|_| {
                let limiter = Arc::clone(&limiter);
                enter(&ctx, || go(move || limiter.wait_ctx()))
            })
            .collect();
        until_waiting("sleep", 5);
        ctx.cancel();
        assert_eq!(join_all(waiters), [Err(ContextError::Cancelled); 5]);
        // With the five tokens gone the next one would have come in a minute. (As in x/time/rate, a
        // token is given back only as far as no later one counts on it; so some of them are.)
        let soon = background().with_timeout(Duration::from_secs(59));
        let waiter = {
            let limiter = Arc::clone(&limiter);
            enter(&soon, || go(move || limiter.wait_ctx()))
        };
        until_waiting("sleep", 1);
        soon.cancel();
        assert_eq!(waiter.join().unwrap(), Err(ContextError::Cancelled), "it did not fail at once");
    });
}

#[gosched::test]
fn the_rates_at_the_ends() {
    let all = RateLimiter::new(f64::INFINITY, 0);
    assert!((0..10_000).all(|_| all.try_take()));
    all.wait();
    assert_eq!(all.wait_ctx(), Ok(()));
    let none = RateLimiter::new(0, 1);
    assert!(none.try_take() && !none.try_take());
    let ctx = background().with_timeout(SOON);
    assert_eq!(enter(&ctx, || none.wait_ctx()), Err(ContextError::DeadlineExceeded));
    let closed = RateLimiter::new(1_000, 0);
    assert!(!closed.try_take());
    assert!(catch_unwind(AssertUnwindSafe(|| closed.wait())).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| closed.wait_ctx())).is_err());
    assert!(catch_unwind(|| RateLimiter::new(-1, 1)).is_err());
    assert!(catch_unwind(|| RateLimiter::new(f64::NAN, 1)).is_err());
}
