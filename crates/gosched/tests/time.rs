//! `time`: timers, tickers, time limits (S46).
//!
//! Seen to fail (2026-11-16): a run forgotten that is due while the function still runs
//! (`after_func_that_is_due_while_it_runs`); a `reset` that overtakes another and returns `false`
//! (`after_func_under_many_hands`).

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Random, join_all, within};
use gosched::chan::{self, RecvTimeoutError, TryRecvError};
use gosched::context::{self, ContextError};
use gosched::time::{self, Duration, Elapsed, Instant, Ticker, Timer};
use gosched::{go, select, thread};

const FOR_EVER: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(2);

fn is_send_and_sync<T: Send + Sync + 'static>() {}

#[test]
fn timers_go_anywhere() {
    is_send_and_sync::<Timer>();
    is_send_and_sync::<Ticker>();
    is_send_and_sync::<Elapsed>();
}

/// std's types are there, and the same.
#[test]
fn std_is_re_exported() {
    let d: std::time::Duration = time::Duration::from_secs(1);
    let _: std::time::Instant = time::Instant::now() + d;
    assert!(time::SystemTime::now().duration_since(time::UNIX_EPOCH).is_ok());
    let error: time::SystemTimeError = time::UNIX_EPOCH.duration_since(time::SystemTime::now()).unwrap_err();
    assert!(error.duration() > d);
    let _: time::TryFromFloatSecsError = time::Duration::try_from_secs_f32(-1.0).unwrap_err();
}

#[gosched::test]
fn sleep_until_a_moment() {
    let t = Instant::now() + SHORT;
    assert_eq!(time::sleep_until(t), Ok(()));
    assert!(Instant::now() >= t);
    assert_eq!(time::sleep_until(t), Ok(()));
}

#[gosched::test]
fn after_and_tick() {
    let began = Instant::now();
    let after = time::after(SHORT);
    select! {
        recv(after) -> due => assert!(due.unwrap() >= began + SHORT),
        default(FOR_EVER) => unreachable!(),
    }
    assert!(began.elapsed() >= SHORT);
    let tick = time::tick(SHORT);
    let (first, second) = (tick.recv().unwrap(), tick.recv().unwrap());
    assert!(second >= first + SHORT && Instant::now() >= began + 3 * SHORT);
}

#[gosched::test]
fn a_timer_fires_once_and_never_early() {
    let mut random = Random::new(5);
    let timers = (0..200)
        .map(|_| {
            let d = Duration::from_micros(random.below(5_000));
            go(move || {
                let began = Instant::now();
                let timer = Timer::new(d);
                timer.receiver().recv().unwrap();
                assert!(began.elapsed() >= d);
                assert_eq!(timer.receiver().recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
                assert!(!timer.stop());
            })
        })
        .collect();
    join_all(timers);
}

/// Go 1.23's rules: after `stop` and `reset` no earlier value comes, also if it was due and not
/// received; both return whether they prevented one.
#[gosched::test]
fn no_stale_value_from_a_timer() {
    let timer = Timer::new(Duration::ZERO);
    thread::sleep(SHORT);
    assert!(timer.stop(), "due, but not received");
    assert_eq!(timer.receiver().try_recv(), Err(TryRecvError::Empty));
    assert!(!timer.stop());
    assert!(!timer.reset(Duration::ZERO), "it was stopped");
    thread::sleep(SHORT);
    assert!(timer.reset(FOR_EVER), "due, but not received");
    assert_eq!(timer.receiver().recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
    let began = Instant::now();
    assert!(timer.reset(SHORT));
    assert!(timer.receiver().recv().unwrap() >= began + SHORT);
    assert!(!timer.reset(FOR_EVER), "received");
    assert!(timer.stop());
    assert!(Timer::new(Duration::MAX).stop());
}

/// Goroutines that wait for a timer, in a receive or a `select`, follow a `reset`, from whatever
/// thread it comes.
#[gosched::test]
fn who_waits_follows_a_reset() {
    let timer = Arc::new(Timer::new(FOR_EVER));
    let waiters = (0..2)
        .map(|i| {
            let timer = Arc::clone(&timer);
            go(move || match i {
                0 => timer.receiver().recv().is_ok(),
                _ => select! { recv(timer.receiver()) -> due => due.is_ok() },
            })
        })
        .collect();
    thread::sleep(SHORT);
    std::thread::spawn({
        let timer = Arc::clone(&timer);
        move || {
            assert!(timer.reset(Duration::from_millis(1)));
        }
    })
    .join()
    .unwrap();
    while timer.stop() {
        assert!(!timer.reset(Duration::from_millis(1)));
        thread::sleep(SHORT);
    }
    // One of them has received; the other gets the next value.
    timer.reset(Duration::ZERO);
    assert_eq!(join_all(waiters), [true, true]);
}

#[gosched::test]
fn a_ticker_ticks() {
    let began = Instant::now();
    let ticker = Ticker::new(SHORT);
    for tick in 1..=5 {
        let due = ticker.receiver().recv().unwrap();
        assert!(due >= began + tick * SHORT && due <= Instant::now());
    }
    ticker.stop();
}

/// Go: a slow receiver gets one tick for those it missed; `stop` leaves none, and does not close
/// the channel; `reset` begins a new period.
#[gosched::test]
fn no_stale_value_from_a_ticker() {
    let ticker = Ticker::new(Duration::from_millis(1));
    thread::sleep(Duration::from_millis(10));
    let (missed, next) = (ticker.receiver().recv().unwrap(), ticker.receiver().recv().unwrap());
    assert!(next > missed);
    thread::sleep(SHORT);
    ticker.stop();
    assert_eq!(ticker.receiver().try_recv(), Err(TryRecvError::Empty));
    assert_eq!(ticker.receiver().recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
    ticker.reset(Duration::ZERO + Duration::from_nanos(1));
    thread::sleep(SHORT);
    ticker.reset(FOR_EVER);
    assert_eq!(ticker.receiver().try_recv(), Err(TryRecvError::Empty));
    let began = Instant::now();
    ticker.reset(SHORT);
    assert!(ticker.receiver().recv().unwrap() >= began + SHORT);
    assert!(ticker.receiver().recv().unwrap() >= began + 2 * SHORT);
}

#[test]
#[should_panic(expected = "non-positive interval for Ticker::new: give it a duration above zero")]
fn a_ticker_without_a_period() {
    let _ = Ticker::new(Duration::ZERO);
}

#[test]
#[should_panic(expected = "non-positive interval for Ticker::reset: give it a duration above zero")]
fn a_ticker_that_loses_its_period() {
    Ticker::new(FOR_EVER).reset(Duration::ZERO);
}

/// `after_func` runs its function in a goroutine of its own, once, not early, under the caller's
/// context; and also when the handle is gone.
#[gosched::test]
fn after_func_runs_in_its_own_goroutine() {
    let (s, r) = chan::unbounded();
    let began = Instant::now();
    let ctx = context::background().with_value(5_u8);
    let timer = context::enter(&ctx, || {
        Timer::after_func(SHORT, move || {
            let value = context::current().value::<u8>().map(|value| *value);
            s.send((gosched::runtime::goroutine_id(), value)).unwrap();
        })
    });
    assert_eq!(timer.receiver().try_recv(), Err(TryRecvError::Empty));
    let (id, value) = r.recv().unwrap();
    assert!(began.elapsed() >= SHORT);
    assert_eq!(value, Some(5));
    assert!(id.is_some() && id != gosched::runtime::goroutine_id());
    assert!(!timer.stop());
    assert_eq!(r.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
    let (s, r) = chan::unbounded();
    drop(Timer::after_func(SHORT, move || s.send(()).unwrap()));
    assert_eq!(r.recv(), Ok(()));
}

#[gosched::test]
fn after_func_stop_and_reset() {
    let runs = Arc::new(AtomicUsize::new(0));
    let (s, r) = chan::unbounded();
    let f = {
        let runs = Arc::clone(&runs);
        move || {
            runs.fetch_add(1, Ordering::Relaxed);
            s.send(()).unwrap();
        }
    };
    let timer = Timer::after_func(FOR_EVER, f);
    assert!(timer.stop());
    assert!(!timer.stop());
    assert!(!timer.reset(FOR_EVER));
    assert!(timer.reset(Duration::from_millis(1)));
    r.recv().unwrap();
    assert!(!timer.reset(Duration::from_millis(1)), "it had run, and runs again");
    r.recv().unwrap();
    assert!(!timer.stop());
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    drop(timer);
    // Its goroutine may still be ending.
    while Arc::strong_count(&runs) > 1 {
        thread::yield_now();
    }
}

/// A function that is due while it still runs is run again when it has returned.
#[gosched::test]
fn after_func_that_is_due_while_it_runs() {
    let (begun, begins) = chan::unbounded();
    let (go_on, may_go_on) = chan::unbounded::<()>();
    let mut runs = 0;
    let timer = Timer::after_func(Duration::ZERO, move || {
        runs += 1;
        begun.send(runs).unwrap();
        may_go_on.recv().unwrap();
    });
    assert_eq!(begins.recv(), Ok(1));
    assert!(!timer.reset(Duration::ZERO));
    assert_eq!(begins.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
    go_on.send(()).unwrap();
    assert_eq!(begins.recv(), Ok(2));
    go_on.send(()).unwrap();
    assert!(!timer.stop());
}

/// A panic in the function stays in its goroutine.
#[gosched::test]
fn after_func_that_panics() {
    let captured = Arc::new(());
    let timer = Timer::after_func(Duration::ZERO, {
        let captured = Arc::clone(&captured);
        move || panic!("on purpose, with {} owners", Arc::strong_count(&captured))
    });
    while Arc::strong_count(&captured) > 1 {
        thread::yield_now();
    }
    assert!(!timer.reset(Duration::ZERO));
    drop(timer);
}

/// `stop` and `reset` race with each other and with the timer: the function runs exactly as often
/// as their results say, and everything is freed.
#[test]
fn after_func_under_many_hands() {
    within(Duration::from_secs(60), || {
        let shared = Arc::new(());
        let runs = Arc::new(AtomicUsize::new(0));
        let mut expected = 0;
        for round in 0..300_u64 {
            let (captured, counter) = (Arc::clone(&shared), Arc::clone(&runs));
            let timer = Arc::new(Timer::after_func(Duration::from_micros(round % 40), move || {
                let _ = &captured;
                counter.fetch_add(1, Ordering::Relaxed);
            }));
            // Every success of `reset` moves one run, every failure adds one; every success of
            // `stop` takes one away.
            let hand = |reset: bool, timer: Arc<Timer>| {
                move || match reset {
                    true => isize::from(!timer.reset(Duration::from_micros(round % 17))),
                    false => -isize::from(timer.stop()),
                }
            };
            let goroutine = go(hand(round % 3 == 0, Arc::clone(&timer)));
            let thread = std::thread::spawn(hand(round % 2 == 0, Arc::clone(&timer)));
            expected += 1 + goroutine.join().unwrap() + thread.join().unwrap();
        }
        while Arc::strong_count(&shared) > 1 || runs.load(Ordering::Relaxed) < expected as usize {
            std::thread::yield_now();
        }
        assert_eq!(runs.load(Ordering::Relaxed), expected as usize);
    });
}

#[gosched::test]
fn timeout_returns_the_value_in_time() {
    assert_eq!(time::timeout(FOR_EVER, || 7), Ok(7));
    assert_eq!(time::timeout(Duration::MAX, || 7), Ok(7));
    let seen = time::timeout(FOR_EVER, || {
        let deadline = context::current().deadline().unwrap();
        assert!(deadline > Instant::now());
        time::sleep(Duration::from_millis(1))
    });
    assert_eq!(seen, Ok(Ok(())));
    assert_eq!(context::current().deadline(), None);
}

#[gosched::test]
fn timeout_cuts_short_what_ends_with_the_context() {
    let began = Instant::now();
    let mut inside = None;
    let late = time::timeout(SHORT, || {
        inside = Some(time::sleep(FOR_EVER));
        "lost"
    });
    assert_eq!((late, inside), (Err(Elapsed), Some(Err(ContextError::DeadlineExceeded))));
    assert!(began.elapsed() >= SHORT);
    let (_s, r) = chan::bounded::<u8>(0);
    assert_eq!(time::timeout(SHORT, || r.recv_ctx()), Err(Elapsed));
    // What can't be interrupted returns late.
    assert_eq!(time::timeout(SHORT, || r.recv_timeout(2 * SHORT)), Err(Elapsed));
    assert!(began.elapsed() >= 4 * SHORT);
    assert_eq!(time::timeout(SHORT, || thread::sleep(2 * SHORT)), Err(Elapsed));
    assert_eq!(time::timeout(Duration::ZERO, || 1), Err(Elapsed));
    // The outer limit is shorter; the inner one has not passed.
    let nested = time::timeout(SHORT, || time::timeout(FOR_EVER, || time::sleep(FOR_EVER)));
    assert_eq!(nested, Err(Elapsed));
    let error: Box<dyn std::error::Error> = Box::new(Elapsed);
    assert_eq!(error.to_string(), "deadline has elapsed");
}

/// S46: sleeps, time limits and timers on foreign threads.
#[test]
fn on_a_foreign_thread() {
    within(Duration::from_secs(60), || {
        let began = Instant::now();
        assert_eq!(time::sleep(SHORT), Ok(()));
        assert!(began.elapsed() >= SHORT);
        assert_eq!(time::timeout(SHORT, || time::sleep(FOR_EVER)), Err(Elapsed));
        let timer = Timer::new(SHORT);
        timer.receiver().recv().unwrap();
        let (s, r) = chan::unbounded();
        let timer = Timer::after_func(SHORT, move || s.send(()).unwrap());
        assert_eq!(r.recv(), Ok(()));
        assert!(!timer.stop());
    });
}

/// A clone is the same timer, of both kinds.
#[gosched::test]
fn a_clone_is_the_same_timer() {
    let timer = Timer::new(FOR_EVER);
    let clone = timer.clone();
    assert!(clone.reset(SHORT));
    drop(clone);
    timer.receiver().recv().unwrap();
    assert!(!timer.clone().stop(), "its value was received");
    let (rings, rung) = chan::unbounded();
    let timer = Timer::after_func(FOR_EVER, move || rings.send(()).unwrap());
    assert!(timer.clone().reset(SHORT));
    rung.recv().unwrap();
    assert!(!timer.reset(FOR_EVER) && timer.clone().stop() && !timer.stop());
}
