//! Plain channel operations, joins and locks under a context are exactly their models: the end of a
//! context is never mistaken for a closed channel, a value or a time.
//!
//! Before (2026-11-17) sends, receives, selects and the channels of time ended with the context, as
//! if disconnected.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::within;
use gosched::chan::{RecvTimeoutError, Select, SendTimeoutError, after, at, bounded, never, tick};
use gosched::context::{Context, ContextError, background, current, enter};
use gosched::sync::{
    Barrier, Condvar, Mutex, Notify, RwLock, Semaphore, SingleFlight, WaitGroup, broadcast, mpsc, watch,
};
use gosched::thread::JoinSet;
use gosched::{go, select, thread, time};

/// Longer than any test may last: a wait that runs this long has missed what should end it.
const FOR_EVER: Duration = Duration::from_secs(3600);
/// Long enough for a wait that wrongly ends with its context to end.
const A_WHILE: Duration = Duration::from_millis(4);

/// Contexts that have ended, and one that ends while somebody waits under it.
fn contexts() -> [Context; 3] {
    let ended = background().with_cancel();
    ended.cancel();
    [ended, background().with_timeout(Duration::ZERO), background().with_timeout(A_WHILE / 4)]
}

/// Runs `make`'s first closure under each of the contexts, on a goroutine and on a foreign thread:
/// it must last until the second one is called.
#[track_caller]
fn lasts<W, E>(make: impl Fn() -> (W, E))
where
    W: FnOnce() + Send + 'static,
    E: FnOnce(),
{
    for foreign in [false, true] {
        for ctx in contexts() {
            let (wait, end) = make();
            let over = Arc::new(AtomicBool::new(false));
            let waits = {
                let (over, ctx) = (Arc::clone(&over), ctx.clone());
                move || {
                    enter(&ctx, wait);
                    assert!(over.load(Ordering::SeqCst), "the wait ended with the context");
                }
            };
            let waiting: Box<dyn FnOnce() -> thread::Result<()>> = if foreign {
                let waiting = std::thread::spawn(waits);
                Box::new(move || waiting.join())
            } else {
                let waiting = go(waits);
                Box::new(move || waiting.join())
            };
            thread::sleep(A_WHILE);
            over.store(true, Ordering::SeqCst);
            end();
            assert!(waiting().is_ok() && ctx.is_cancelled());
        }
    }
}

/// Go's usual loop: a closed channel is success, the context's end a failure.
fn work(jobs: &gosched::chan::Receiver<u32>) -> Result<u32, ContextError> {
    let mut done = 0;
    loop {
        select! {
            recv(jobs) -> job => match job {
                Ok(job) => done += job,
                Err(_) => return Ok(done),
            },
            recv(current().done()) -> _ => return Err(current().err().unwrap()),
        }
    }
}

/// The loop never takes a deadline for a closed channel, on a goroutine or on a foreign thread.
#[test]
fn gos_usual_loop_tells_a_deadline_from_a_closed_channel() {
    within(Duration::from_secs(60), || {
        let mistaken = AtomicUsize::new(0);
        gosched::scope(|s| {
            for round in 0..100 {
                let mistaken = &mistaken;
                s.spawn(move || {
                    let (_jobs, queue) = bounded::<u32>(0);
                    let ctx = background().with_timeout(Duration::from_micros(round * 40));
                    let worked = enter(&ctx, || work(&queue));
                    mistaken.fetch_add(usize::from(worked.is_ok()), Ordering::Relaxed);
                });
            }
        });
        assert_eq!(mistaken.into_inner(), 0, "of 100");
        for round in 0..20 {
            let (_jobs, queue) = bounded::<u32>(0);
            let ctx = background().with_timeout(Duration::from_micros(round * 40));
            assert_eq!(enter(&ctx, || work(&queue)), Err(ContextError::DeadlineExceeded));
        }
        let (jobs, queue) = bounded(1);
        jobs.send(7).unwrap();
        drop(jobs);
        assert_eq!(work(&queue), Ok(7));
    });
}

/// A channel of time does not give its value earlier because a context ends.
#[gosched::test]
fn a_channel_of_time_does_not_fire_with_the_context() {
    for ctx in contexts() {
        enter(&ctx, || {
            select! {
                recv(after(FOR_EVER)) -> _ => panic!("an hour is not over"),
                recv(ctx.done()) -> ended => assert!(ended.is_err()),
            }
            let timer = time::Timer::new(FOR_EVER);
            assert_eq!(timer.receiver().recv_timeout(A_WHILE), Err(RecvTimeoutError::Timeout));
            assert_eq!(tick(FOR_EVER).recv_timeout(A_WHILE), Err(RecvTimeoutError::Timeout));
            assert_eq!(at(Instant::now() + FOR_EVER).recv_timeout(A_WHILE), Err(RecvTimeoutError::Timeout));
            assert_eq!(never::<u8>().recv_timeout(A_WHILE), Err(RecvTimeoutError::Timeout));
            let began = Instant::now();
            after(A_WHILE).recv().unwrap();
            assert!(began.elapsed() >= A_WHILE);
        });
    }
}

/// An iterator over a channel ends when that is closed, and not before.
#[gosched::test]
fn an_iterator_gets_all_values() {
    for ctx in contexts() {
        let (s, r) = bounded(3);
        let sender = go(move || {
            for n in 0..1000 {
                if n % 100 == 0 {
                    thread::sleep(Duration::from_micros(500));
                }
                s.send(n).unwrap();
            }
        });
        let mut count = 0;
        enter(&ctx, || {
            for n in &r {
                assert_eq!(n, count);
                count += 1;
            }
        });
        assert_eq!(count, 1000);
        sender.join().unwrap();
    }
}

#[gosched::test]
fn sends_and_receives_last() {
    lasts(|| {
        let (s, r) = bounded(0);
        (move || assert_eq!(r.recv(), Ok(1)), move || s.send(1).unwrap())
    });
    lasts(|| {
        let (s, r) = bounded::<u8>(0);
        (move || assert!(r.recv().is_err()), move || drop(s))
    });
    lasts(|| {
        let (s, r) = bounded(0);
        (move || s.send(1).unwrap(), move || assert_eq!(r.recv(), Ok(1)))
    });
    lasts(|| {
        let (s, r) = bounded(0);
        (move || assert_eq!(r.recv_timeout(FOR_EVER), Ok(1)), move || s.send(1).unwrap())
    });
    lasts(|| {
        let (s, r) = bounded(1);
        s.send(0).unwrap();
        let until = Instant::now() + FOR_EVER;
        (move || s.send_deadline(1, until).unwrap(), move || assert_eq!(r.iter().sum::<i32>(), 1))
    });
    lasts(|| {
        let (s, r) = mpsc::channel();
        (move || assert_eq!(r.recv(), Ok(1)), move || s.send(1).unwrap())
    });
}

/// A wait with a time limit is not ended earlier by a context.
#[gosched::test]
fn time_limits_run_to_their_end() {
    for ctx in contexts() {
        enter(&ctx, || {
            let (s, r) = bounded::<u8>(0);
            let began = Instant::now();
            assert_eq!(r.recv_timeout(A_WHILE), Err(RecvTimeoutError::Timeout));
            assert_eq!(s.send_timeout(1, A_WHILE), Err(SendTimeoutError::Timeout(1)));
            let mut sel = Select::new();
            sel.recv(&r);
            assert!(sel.select_timeout(A_WHILE).is_err());
            assert!(sel.ready_timeout(A_WHILE).is_err());
            assert!(began.elapsed() >= 4 * A_WHILE);
            let limiter = time::RateLimiter::new(1.0 / A_WHILE.as_secs_f64(), 1);
            limiter.wait();
            let began = Instant::now();
            limiter.wait();
            assert!(began.elapsed() >= A_WHILE / 2);
        });
    }
}

#[gosched::test]
fn selects_last() {
    lasts(|| {
        let (s, r) = bounded(0);
        (move || assert_eq!(select! { recv(r) -> value => value }, Ok(1)), move || s.send(1).unwrap())
    });
    lasts(|| {
        let (s, r) = bounded(0);
        (move || select! { send(s, 1) -> sent => sent.unwrap() }, move || assert_eq!(r.recv(), Ok(1)))
    });
    lasts(|| {
        let (s, r) = bounded::<u8>(1);
        let wait = move || {
            let mut sel = Select::new();
            sel.recv(&r);
            assert_eq!(sel.ready(), 0);
            assert_eq!(r.try_recv(), Ok(1));
        };
        (wait, move || s.send(1).unwrap())
    });
}

#[gosched::test]
fn sets_notifications_and_changes_last() {
    lasts(|| {
        let (s, r) = bounded::<u8>(0);
        // The members run under the set's context: under none here.
        let mut set = JoinSet::new();
        set.spawn(move || r.recv());
        let wait = move || assert_eq!(set.join_next().unwrap().unwrap(), Ok(1));
        (wait, move || s.send(1).unwrap())
    });
    lasts(|| {
        let notify = Arc::new(Notify::new());
        let other = Arc::clone(&notify);
        (move || notify.wait(), move || other.notify_one())
    });
    lasts(|| {
        let (s, mut r) = broadcast::channel(1);
        (move || assert_eq!(r.recv(), Ok(1)), move || drop(s.send(1)))
    });
    lasts(|| {
        let (s, mut r) = watch::channel(0);
        (move || r.changed().unwrap(), move || s.send(1).unwrap())
    });
    lasts(|| {
        let (s, mut r) = watch::channel(0);
        (move || assert_eq!(*r.wait_for(|n| *n == 1).unwrap(), 1), move || s.send(1).unwrap())
    });
    lasts(|| {
        let (s, r) = watch::channel(0);
        (move || s.closed(), move || drop(r))
    });
    lasts(|| {
        let (s, r) = broadcast::channel::<u8>(1);
        (move || s.closed(), move || drop(r))
    });
    lasts(|| {
        let flights = Arc::new(SingleFlight::new());
        let (end, ended) = bounded::<u8>(0);
        let (begin, begun) = bounded::<u8>(0);
        let other = Arc::clone(&flights);
        go(move || {
            other.call(1, || {
                drop(begin);
                ended.recv().is_err()
            })
        });
        assert!(begun.recv().is_err());
        (move || assert!(flights.call(1, || unreachable!())), move || drop(end))
    });
}

#[gosched::test]
fn locks_joins_and_waits_last() {
    lasts(|| {
        let (s, r) = bounded::<u8>(0);
        let handle = go(move || r.recv());
        (move || assert_eq!(handle.join().unwrap(), Ok(1)), move || s.send(1).unwrap())
    });
    lasts(|| {
        let semaphore = Arc::new(Semaphore::new(0));
        let other = Arc::clone(&semaphore);
        (move || drop(semaphore.acquire()), move || other.release())
    });
    lasts(|| {
        let group = WaitGroup::new();
        group.add(1);
        let other = group.clone();
        (move || group.wait(), move || other.done())
    });
    lasts(|| {
        let barrier = Arc::new(Barrier::new(2));
        let other = Arc::clone(&barrier);
        // The last to come leads, and on a busy machine that may be either.
        (move || _ = barrier.wait(), move || _ = other.wait())
    });
    lasts(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let wait = move || drop(pair.1.wait_while(pair.0.lock().unwrap(), |open| !*open).unwrap());
        (wait, move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_all();
        })
    });
    static MUTEX: Mutex<u8> = Mutex::new(0);
    lasts(|| {
        let guard = MUTEX.lock().unwrap();
        (|| drop(MUTEX.lock().unwrap()), move || drop(guard))
    });
    static RWLOCK: RwLock<u8> = RwLock::new(0);
    lasts(|| {
        let guard = RWLOCK.write().unwrap();
        (|| drop(RWLOCK.read().unwrap()), move || drop(guard))
    });
}
