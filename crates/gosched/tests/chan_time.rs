//! `after`, `at`, `tick` and `never`: channels whose values come with time.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use common::{join_all, within};
use gosched::chan::{
    Receiver, RecvError, RecvTimeoutError, Select, TryRecvError, after, at, bounded, never, tick,
};
use gosched::time::Timer;
use gosched::{go, select};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// One value, the moment it was due, never early; for goroutines and for foreign threads.
fn one_value() {
    let r = after(Duration::from_secs(3600));
    assert_eq!((r.len(), r.is_empty(), r.is_full(), r.capacity()), (0, true, false, Some(1)));
    assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(r.recv_timeout(ms(1)), Err(RecvTimeoutError::Timeout));
    let when = Instant::now() + ms(10);
    let r = at(when);
    assert_eq!(r.recv(), Ok(when));
    assert!(Instant::now() >= when);
    assert_eq!(r.recv_timeout(ms(5)), Err(RecvTimeoutError::Timeout));
    let r = after(ms(0));
    assert_eq!((r.len(), r.is_full()), (1, true));
    assert!(r.try_recv().is_ok() && r.is_empty());
}

#[gosched::test]
fn one_value_for_a_goroutine() {
    one_value();
}

#[test]
fn one_value_for_a_thread() {
    within(Duration::from_secs(60), one_value);
}

/// Of several receivers that wait for one value, one gets it.
#[gosched::test]
fn one_value_for_many() {
    let r = after(ms(10));
    let waiting: Vec<_> = (0..10)
        .map(|_| {
            let r = r.clone();
            go(move || r.recv_timeout(ms(50)).is_ok())
        })
        .collect();
    assert_eq!(join_all(waiting).into_iter().filter(|got| *got).count(), 1);
}

/// Ticks come one period apart, and those that are missed are not made up for.
#[gosched::test]
fn ticks() {
    let start = Instant::now();
    let r = tick(ms(5));
    let first = r.recv().unwrap();
    assert!(first >= start + ms(5));
    gosched::thread::sleep(ms(30));
    let awake = Instant::now();
    let second = r.recv().unwrap();
    assert!(second > first && second < awake, "it was due during the sleep");
    let third = r.recv().unwrap();
    assert!(third > awake, "what was missed is not made up for");
    for later in [second, third] {
        assert_eq!((later - first).as_nanos() % ms(5).as_nanos(), 0);
    }
}

/// `never` gives no value, cannot be closed, and can be a constant; nor do times beyond the clock's
/// range come.
#[gosched::test]
fn nothing_ever() {
    let r: Receiver<u32> = never();
    assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(r.recv_timeout(ms(2)), Err(RecvTimeoutError::Timeout));
    assert_eq!((r.len(), r.is_empty(), r.is_full(), r.capacity()), (0, true, true, Some(0)));
    assert!(!r.close() && !r.is_closed() && r.same_channel(&never()));
    assert_eq!(after(Duration::MAX).recv_timeout(ms(2)), Err(RecvTimeoutError::Timeout));
    assert_eq!(tick(Duration::MAX).recv_timeout(ms(2)), Err(RecvTimeoutError::Timeout));
    const STATIC: Receiver<u8> = never();
    assert!(STATIC.is_empty());
}

/// A close ends the waits of all, as for other channels.
#[gosched::test]
fn closing_time() {
    let r = after(Duration::from_secs(3600));
    let waiting: Vec<_> = (0..4)
        .map(|_| {
            let r = r.clone();
            go(move || r.recv())
        })
        .collect();
    (0..20).for_each(|_| gosched::yield_now());
    assert!(r.close() && !r.close() && r.is_closed());
    assert!(join_all(waiting).into_iter().all(|got| got == Err(RecvError)));
    assert_eq!(r.try_recv(), Err(TryRecvError::Disconnected));
}

/// A time-out runs from the call, however often the wait begins anew: here because a timer among
/// the operations is reset all the time, which makes its receivers look again. Seen to fail when a
/// selection went on with the whole duration after each look.
#[gosched::test]
fn resets_do_not_prolong_a_timeout() {
    let hour = Duration::from_secs(3600);
    let timer = Arc::new(Timer::new(hour));
    let resets = Arc::new(AtomicU32::new(0));
    let (stop, stopped) = bounded::<()>(0);
    let resetting = go({
        let (timer, resets) = (Arc::clone(&timer), Arc::clone(&resets));
        move || {
            // For longer than all of the waits may last together.
            let start = Instant::now();
            while start.elapsed() < ms(30_000)
                && stopped.recv_timeout(ms(20)) == Err(RecvTimeoutError::Timeout)
            {
                timer.reset(hour);
                resets.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let r = timer.receiver();
    let selection = || {
        let mut selection = Select::new();
        selection.recv(r);
        selection
    };
    let waits: [(&str, &dyn Fn()); 4] = [
        ("recv_timeout", &|| assert_eq!(r.recv_timeout(ms(200)), Err(RecvTimeoutError::Timeout))),
        ("select!", &|| {
            select! {
                recv(r) -> _ => panic!("an hour has passed"),
                default(ms(200)) => {}
            }
        }),
        ("select_timeout", &|| assert!(selection().select_timeout(ms(200)).is_err())),
        ("ready_timeout", &|| assert!(selection().ready_timeout(ms(200)).is_err())),
    ];
    for (name, wait) in waits {
        let before = resets.load(Ordering::Relaxed);
        let start = Instant::now();
        wait();
        let took = start.elapsed();
        assert!(took >= ms(200) && took < ms(5_000), "{name} took {took:?}");
        assert!(resets.load(Ordering::Relaxed) > before, "the timer was not reset during {name}");
    }
    drop(stop);
    resetting.join().unwrap();
}

/// A time-out also runs while a receiver waits for a `select` that computes its value, and fails
/// to: a value that comes after the time is not received. Seen to fail when the receiver went on
/// with the whole duration.
#[gosched::test]
fn a_value_that_fails_does_not_prolong_a_timeout() {
    fn fail() -> i32 {
        gosched::sleep(ms(600));
        panic!("no value")
    }
    fn late(receive: impl FnOnce(Receiver<i32>) -> bool + Send + 'static) {
        let (s, r) = bounded(0);
        let failing = go({
            let s = s.clone();
            move || select! { send(s, fail()) -> _ => unreachable!() }
        });
        let mut offered = Select::new();
        offered.recv(&r);
        assert_eq!(offered.ready(), 0);
        let receiver = go(move || receive(r));
        assert!(failing.join().is_err());
        // Time enough for the receiver to learn that its time is over.
        gosched::sleep(ms(300));
        let _ = s.send_timeout(1, ms(10_000));
        assert!(receiver.join().unwrap(), "it received what came too late");
    }
    late(|r| r.recv_timeout(ms(500)) == Err(RecvTimeoutError::Timeout));
    late(|r| select! { recv(r) -> _ => false, default(ms(500)) => true });
}
