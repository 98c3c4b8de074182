//! S42: calls that may wait, made in the closure of `stop_the_world`, by a goroutine and by a
//! foreign thread. What can complete without waiting completes; what would have to wait panics
//! before it has changed, queued, unlocked or lent anything. So after each refusal the object is
//! used once more, with other waiters.
//!
//! Before the right to wait was a value that the stopper does not get, all of these failed but
//! `once`: some because nothing completed, some by a crash, a lock that stayed held, a barrier that
//! opened too early or a `try_recv` that waited.

mod common;

use std::future::IntoFuture;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{everywhere, until_waiting};
use gosched::chan::{self, RecvTimeoutError, Select, SendTimeoutError, TryRecvError, bounded, unbounded};
use gosched::net::{TcpListener, TcpStream, UdpSocket};
use gosched::os::unix::net::UnixStream;
use gosched::runtime::{self, blocking, checkpoint, maxprocs, stop_the_world};
use gosched::signal::{self, Signal};
use gosched::sync::{
    Arc, Barrier, Condvar, ErrGroup, Mutex, Notify, Once, OnceLock, PoisonError, Pool, RwLock, Semaphore,
    SingleFlight, WaitGroup, broadcast, mpsc, watch,
};
use gosched::thread::JoinSet;
use gosched::{context, future, go, select, thread, time};

const SOON: Duration = Duration::from_millis(1);

/// What the closure panicked with.
fn said<T>(f: impl FnOnce() -> T) -> String {
    let refused = catch_unwind(AssertUnwindSafe(|| stop_the_world(|_| f()))).map(|_| "no panic");
    let panic = refused.expect_err("it did not refuse");
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

/// Asserts that `f` refuses in a stopped world.
#[track_caller]
fn refused<T>(f: impl FnOnce() -> T) {
    let said = said(f);
    assert!(said.contains("the closure of stop_the_world must not"), "{said:?}");
}

/// Asserts that `f` completes in a stopped world.
fn completes<T>(f: impl FnOnce() -> T) -> T {
    stop_the_world(|_| f())
}

/// What listens or watches never waits; a wait for a signal refuses, and listens no more.
#[test]
fn signals_and_cases() {
    everywhere("signals_and_cases", || {
        let signals = completes(|| signal::notify(&[Signal::User1]).unwrap());
        refused(|| signals.recv());
        refused(signal::ctrl_c);
        let ctx = completes(|| signal::context_until(&[Signal::Interrupt]).unwrap());
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let told = completes(|| ours.readable());
        refused(|| told.recv());
        completes(|| drop(theirs.readable()));
        // SAFETY: takes numbers.
        unsafe { (libc::raise(libc::SIGUSR1), libc::raise(libc::SIGINT)) };
        theirs.write_all(b"x").unwrap();
        assert_eq!((signals.recv(), told.recv()), (Ok(Signal::User1), Ok(())));
        assert_eq!(ours.read(&mut [0; 8]).unwrap(), 1);
        assert!(ctx.done().recv().is_err());
        completes(|| drop((signals, told, ours, theirs)));
    });
}

#[test]
fn what_lends_its_frame_refuses() {
    everywhere("what_lends_its_frame_refuses", || {
        static RAN: AtomicUsize = AtomicUsize::new(0);
        for _ in 0..100 {
            let mut value = [1u64; 64];
            refused(|| {
                gosched::scope(|s| drop(s.spawn(|| value.fill(RAN.fetch_add(1, Ordering::Relaxed) as u64))))
            });
            refused(|| gosched::scope(|_| ()));
            let borrowed = &mut value;
            refused(|| gosched::run(|| borrowed.fill(2)));
            assert_eq!(value, [1; 64]);
        }
        assert_eq!(RAN.load(Ordering::Relaxed), 0, "a goroutine was started all the same");
        assert_eq!(gosched::scope(|s| s.spawn(|| 7).join().unwrap()), 7);
        assert_eq!(gosched::run(|| 8), 8);
    });
}

#[test]
fn threads_and_time() {
    everywhere("threads_and_time", || {
        refused(gosched::yield_now);
        refused(thread::park);
        refused(|| thread::park_timeout(SOON));
        refused(|| thread::sleep(SOON));
        refused(|| time::sleep(SOON));
        refused(|| time::sleep_until(Instant::now() + SOON));
        refused(|| stop_the_world(|_| ()));
        refused(|| maxprocs(Some(7)));
        refused(|| future::block_on(core::future::pending::<()>()));
        let parked = go(thread::park);
        until_waiting("park", 1);
        completes(|| {
            checkpoint();
            thread::sleep(Duration::ZERO);
            time::sleep(Duration::ZERO).unwrap();
            time::sleep_until(Instant::now()).unwrap();
            thread::park_timeout(Duration::ZERO);
            thread::current().unpark();
            thread::park();
            thread::current().unpark();
            thread::park_timeout(Duration::MAX);
            assert_eq!(maxprocs(Some(maxprocs(None))), maxprocs(None));
            assert!(blocking(|| std::fs::read_to_string("/proc/self/comm").is_ok()));
            assert!(gosched::fs::read_to_string("/proc/self/comm").is_ok());
            assert_eq!(future::block_on(async { 5 }), 5);
            assert!(runtime::stacks().contains("[park"));
            assert_eq!(time::timeout(Duration::MAX, || 6), Ok(6));
        });
        let ended = context::background().with_cancel();
        ended.cancel();
        context::enter(&ended, || completes(|| assert!(time::sleep(SOON).is_err())));
        parked.thread().unpark();
        parked.join().unwrap();
        // A refused `park` has left nothing behind that a later `unpark` could find.
        let me = thread::current();
        go(move || me.unpark()).join().unwrap();
        thread::park();
        thread::park_timeout(SOON);
        thread::sleep(SOON);
    });
}

#[test]
fn join() {
    everywhere("join", || {
        let done = go(|| 1);
        while !done.is_finished() {
            thread::sleep(SOON);
        }
        assert_eq!(completes(|| done.join().unwrap()), 1);
        let (s, r) = bounded::<()>(0);
        let handle = go(move || r.recv().is_ok());
        let mut handle = Some(handle);
        refused(|| handle.take().unwrap().join());
        s.send(()).unwrap();
        let (s, r) = bounded::<()>(0);
        let handle = go(move || r.recv().is_ok());
        refused(|| assert!(future::block_on(handle.into_future()).is_ok()));
        s.send(()).unwrap();

        let (s, r) = bounded::<()>(0);
        let mut set = JoinSet::new();
        assert!(completes(|| set.join_next()).is_none());
        set.spawn(move || r.recv().is_ok());
        refused(|| set.join_next());
        refused(|| set.join_next_timeout(SOON));
        refused(|| set.join_next_ctx());
        assert!(completes(|| set.join_next_timeout(Duration::ZERO)).is_none());
        assert!(completes(|| set.try_join_next()).is_none() && set.len() == 1);
        s.send(()).unwrap();
        assert!(set.ready().recv().is_err());
        assert!(completes(|| set.join_next()).unwrap().unwrap());
        let (_s, r) = bounded::<()>(0);
        set.spawn(move || r.recv().is_ok());
        refused(|| set.join_all());
    });
}

#[test]
fn locks() {
    everywhere("locks", || {
        let mutex = Arc::new(Mutex::new(0));
        *completes(|| mutex.lock().unwrap()) += 1;
        let held = mutex.lock().unwrap();
        let others: Vec<_> = (0..3)
            .map(|_| {
                let mutex = Arc::clone(&mutex);
                go(move || *mutex.lock().unwrap() += 1)
            })
            .collect();
        until_waiting("sync.Mutex.Lock", 3);
        for _ in 0..10 {
            refused(|| mutex.lock());
        }
        drop(held);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(*mutex.lock().unwrap(), 4);

        let lock = Arc::new(RwLock::new(0));
        completes(|| {
            *lock.write().unwrap() += 1;
            assert_eq!(*lock.read().unwrap(), 1);
        });
        let reading = lock.read().unwrap();
        refused(|| lock.write());
        assert_eq!(*completes(|| lock.read().unwrap()), 1);
        drop(reading);
        let writing = lock.write().unwrap();
        refused(|| lock.write());
        refused(|| lock.read());
        let other = Arc::clone(&lock);
        let other = go(move || *other.write().unwrap() += 1);
        until_waiting("sync.RWMutex.Lock", 1);
        refused(|| lock.write());
        drop(writing);
        other.join().unwrap();
        *lock.write().unwrap() += 1;
        assert_eq!(*lock.read().unwrap(), 3);

        let semaphore = Arc::new(Semaphore::new(1));
        drop(completes(|| semaphore.acquire()));
        let permit = semaphore.acquire();
        refused(|| semaphore.acquire());
        refused(|| semaphore.acquire_many(2));
        drop(permit);
        drop(semaphore.acquire());
        assert_eq!(semaphore.available(), 1);
    });
}

#[test]
fn conditions() {
    everywhere("conditions", || {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        for _ in 0..10 {
            refused(|| pair.1.wait(pair.0.lock().unwrap_or_else(PoisonError::into_inner)));
            refused(|| {
                drop(pair.1.wait_timeout(pair.0.lock().unwrap_or_else(PoisonError::into_inner), SOON))
            });
            refused(|| {
                drop(pair.1.wait_while(pair.0.lock().unwrap_or_else(PoisonError::into_inner), |_| true))
            });
            pair.1.notify_one();
            pair.1.notify_all();
        }
        pair.0.clear_poison();
        completes(|| {
            let guard = pair.1.wait_while(pair.0.lock().unwrap(), |_| false).unwrap();
            let (_guard, waited) = pair.1.wait_timeout(guard, Duration::ZERO).unwrap();
            assert!(waited.timed_out());
        });
        let other = Arc::clone(&pair);
        let waits = go(move || *other.1.wait_while(other.0.lock().unwrap(), |n| *n == 0).unwrap());
        until_waiting("sync.Cond.Wait", 1);
        completes(|| *pair.0.lock().unwrap() = 3);
        pair.1.notify_one();
        assert_eq!(waits.join().unwrap(), 3);

        let group = WaitGroup::new();
        completes(|| group.wait());
        group.add(1);
        refused(|| group.wait());
        let other = group.clone();
        let waits = go(move || other.wait());
        until_waiting("sync.WaitGroup.Wait", 1);
        refused(|| group.wait());
        group.done();
        waits.join().unwrap();
        group.wait();

        let (s, r) = bounded::<()>(0);
        let group = ErrGroup::<()>::with_limit(1);
        group.go(move || r.recv().map_err(drop));
        refused(|| group.go(|| Err(())));
        refused(|| group.wait());
        assert!(!completes(|| group.try_go(|| Err(()))));
        s.send(()).unwrap();
        assert_eq!(group.wait(), Ok(()));
        refused(|| ErrGroup::<()>::scope(|group| group.go(|| Err(()))));
    });
}

#[test]
fn barriers() {
    everywhere("barriers", || {
        let barrier = Arc::new(Barrier::new(3));
        refused(|| barrier.wait());
        refused(|| barrier.wait());
        let through = Arc::new(AtomicUsize::new(0));
        let two: Vec<_> = (0..2)
            .map(|_| {
                let (barrier, through) = (Arc::clone(&barrier), Arc::clone(&through));
                go(move || {
                    let leads = barrier.wait().is_leader();
                    through.fetch_add(1, Ordering::Relaxed);
                    leads
                })
            })
            .collect();
        until_waiting("barrier", 2);
        assert_eq!(through.load(Ordering::Relaxed), 0, "a barrier of three has opened for two");
        assert!(completes(|| barrier.wait().is_leader()), "the last one need not wait");
        assert!(two.into_iter().all(|one| !one.join().unwrap()));
    });
}

#[test]
fn once() {
    everywhere("once", || {
        static ONCE: Once = Once::new();
        completes(|| ONCE.call_once(|| ()));
        completes(|| ONCE.wait());
        let once = Arc::new(Once::new());
        refused(|| once.wait());
        let (s, r) = bounded::<()>(0);
        let other = Arc::clone(&once);
        let runs = go(move || other.call_once(|| r.recv().unwrap()));
        until_waiting("chan receive", 1);
        refused(|| once.call_once(|| unreachable!()));
        refused(|| once.wait());
        s.send(()).unwrap();
        runs.join().unwrap();
        once.wait();
        let cell = OnceLock::new();
        assert_eq!(*completes(|| cell.get_or_init(|| 4)), 4);
        assert_eq!(*completes(|| cell.wait()), 4);
    });
}

#[test]
fn channels() {
    everywhere("channels", || {
        for capacity in [0, 1] {
            let (s, r) = bounded(capacity);
            (0..capacity).for_each(|n| completes(|| s.send(n).unwrap()));
            refused(|| s.send(9).unwrap());
            refused(|| s.send_timeout(9, SOON).unwrap());
            refused(|| s.send_deadline(9, Instant::now() + SOON).unwrap());
            assert_eq!(completes(|| s.send_timeout(9, Duration::ZERO)), Err(SendTimeoutError::Timeout(9)));
            (0..capacity).for_each(|n| assert_eq!(completes(|| r.recv()), Ok(n)));
            refused(|| r.recv());
            refused(|| r.recv_timeout(SOON));
            refused(|| r.recv_deadline(Instant::now() + SOON));
            refused(|| r.iter().next());
            assert_eq!(completes(|| r.recv_timeout(Duration::ZERO)), Err(RecvTimeoutError::Timeout));
            // Nobody is queued, on either side.
            assert!(s.try_send(7).is_ok() == (capacity > 0));
            assert_eq!(r.try_recv().ok(), (capacity > 0).then_some(7));
            // A waiting peer is served.
            let receiver = r.clone();
            let waits = go(move || receiver.recv());
            until_waiting("chan receive", 1);
            completes(|| s.send(5).unwrap());
            assert_eq!(waits.join().unwrap(), Ok(5));
            let sender = s.clone();
            let waits = go(move || (0..=capacity).for_each(|n| sender.send(n).unwrap()));
            until_waiting("chan send", 1);
            assert_eq!(completes(|| r.recv()), Ok(0));
            (0..capacity).for_each(|n| assert_eq!(r.recv(), Ok(n + 1)));
            waits.join().unwrap();
            drop(s);
            assert!(completes(|| r.recv()).is_err());
        }
        let (s, r) = unbounded();
        completes(|| (0..1000).for_each(|n| s.send(n).unwrap()));
        assert_eq!(completes(|| r.try_iter().sum::<i32>()), 499_500);
        refused(|| chan::after(Duration::from_secs(3600)).recv());
        refused(|| chan::tick(Duration::from_secs(3600)).recv());
        refused(|| chan::never::<()>().recv());
        assert!(completes(|| chan::after(Duration::ZERO).recv()).is_ok());
        assert!(completes(|| chan::never::<()>().recv_timeout(Duration::ZERO)).is_err());
        let (s, r) = mpsc::sync_channel(1);
        completes(|| s.send(1).unwrap());
        refused(|| s.send(2).unwrap());
        assert_eq!(completes(|| r.recv()), Ok(1));
        refused(|| r.recv());
        s.send(3).unwrap();
        assert_eq!(r.recv(), Ok(3));
    });
}

#[test]
fn notifications_and_changes() {
    everywhere("notifications_and_changes", || {
        let notify = Arc::new(Notify::new());
        for _ in 0..3 {
            refused(|| notify.wait());
            refused(|| notify.wait_timeout(SOON));
            refused(|| notify.wait_ctx());
        }
        completes(|| {
            assert!(!notify.wait_timeout(Duration::ZERO));
            notify.notify_waiters();
            notify.notify_one();
            notify.wait();
        });
        let other = Arc::clone(&notify);
        let waits = go(move || other.wait());
        until_waiting("chan receive", 1);
        completes(|| notify.notify_one());
        waits.join().unwrap();

        let (s, mut r) = broadcast::channel(2);
        refused(|| r.recv());
        refused(|| r.recv_timeout(SOON));
        refused(|| r.recv_ctx());
        refused(|| s.closed());
        completes(|| {
            assert_eq!(r.recv_timeout(Duration::ZERO), None);
            (1..=3).for_each(|n| drop(s.send(n)));
            assert_eq!(r.recv(), Err(broadcast::RecvError::Lagged(1)));
            assert_eq!((r.recv(), r.try_recv()), (Ok(2), Ok(3)));
            assert!(r.try_recv().is_err());
        });
        let waits = go(move || r.recv());
        until_waiting("chan receive", 1);
        completes(|| s.send(4).unwrap());
        assert_eq!(waits.join().unwrap(), Ok(4));
        completes(|| s.closed());

        let (s, mut r) = watch::channel(1);
        refused(|| r.changed());
        refused(|| r.changed_timeout(SOON));
        refused(|| r.changed_ctx());
        refused(|| r.wait_for(|n| *n == 2).map(drop));
        refused(|| s.closed());
        let looks = r.clone();
        let value = looks.borrow();
        refused(|| s.send(9));
        drop(value);
        completes(|| {
            assert_eq!(*r.borrow(), 1, "it was not set");
            assert_eq!(r.changed_timeout(Duration::ZERO), None);
            s.send(2).unwrap();
            assert_eq!(r.changed(), Ok(()));
            assert_eq!(*r.wait_for(|n| *n == 2).unwrap(), 2);
        });
        let waits = go(move || r.changed());
        until_waiting("chan receive", 1);
        completes(|| s.send(3).unwrap());
        assert_eq!(waits.join().unwrap(), Ok(()));
    });
}

#[test]
fn shared_calls_and_rates() {
    everywhere("shared_calls_and_rates", || {
        let flights = Arc::new(SingleFlight::new());
        assert_eq!(completes(|| flights.call(1, || 7)), 7);
        let (end, ended) = bounded::<()>(0);
        let other = Arc::clone(&flights);
        let first = go(move || {
            other.call(1, || {
                let _ = ended.recv();
                8
            })
        });
        until_waiting("chan receive", 1);
        refused(|| flights.call(1, || unreachable!()));
        refused(|| flights.call_ctx(1, || unreachable!()));
        assert_eq!(completes(|| flights.call(2, || 9)), 9);
        drop(end);
        assert_eq!(first.join().unwrap(), 8);

        let pool = Pool::new(|| 1);
        completes(|| pool.put(*pool.get() + 1));

        let limiter = time::RateLimiter::new(1e-6, 3);
        completes(|| {
            limiter.wait();
            limiter.wait_ctx().unwrap();
        });
        assert!(limiter.try_take());
        refused(|| limiter.wait());
        refused(|| limiter.wait_ctx());
        assert!(completes(|| !limiter.try_take()));
        let limiter = time::RateLimiter::new(20, 1);
        limiter.wait();
        // What was refused has taken nothing: else the next one would be late by ten seconds.
        (0..200).for_each(|_| drop(catch_unwind(AssertUnwindSafe(|| stop_the_world(|_| limiter.wait())))));
        let began = Instant::now();
        limiter.wait();
        assert!(began.elapsed() < Duration::from_secs(5));
    });
}

#[test]
fn selects() {
    everywhere("selects", || {
        let (s1, r1) = bounded::<i32>(0);
        let (s2, r2) = bounded::<i32>(0);
        for _ in 0..10 {
            refused(|| {
                select! {
                    recv(r1) -> _ => unreachable!(),
                    recv(r2) -> _ => unreachable!(),
                }
            });
            refused(|| {
                select! {
                    send(s1, 1) -> _ => unreachable!(),
                    recv(r2) -> _ => unreachable!(),
                }
            });
            refused(|| {
                select! {
                    recv(r1) -> _ => unreachable!(),
                    default(SOON) => unreachable!(),
                }
            });
            refused(|| {
                let mut select = Select::new();
                select.recv(&r1);
                select.recv(&r2);
                select.ready()
            });
        }
        refused(|| select! {});
        completes(|| {
            select! {
                recv(r1) -> _ => unreachable!(),
                default => {}
            }
            select! {
                recv(r1) -> _ => unreachable!(),
                default(Duration::ZERO) => {}
            }
        });
        // The channels are not locked, and nobody is queued at them.
        assert!(s1.try_send(1).is_err() && s2.try_send(1).is_err() && r1.try_recv().is_err());
        let (r, other) = (r1.clone(), r2.clone());
        let waits = go(move || {
            select! {
                recv(r) -> n => n.unwrap(),
                recv(other) -> n => n.unwrap() + 100,
            }
        });
        until_waiting("select", 1);
        completes(|| {
            select! {
                send(s2, 7) -> done => done.unwrap(),
                recv(r1) -> _ => unreachable!(),
            }
        });
        assert_eq!(waits.join().unwrap(), 107);
    });
}

/// A select that waits to send has no value yet (an *offer*): a receiver would have to wait for it.
#[test]
fn an_offer_that_cannot_be_completed_counts_as_none() {
    everywhere("an_offer_that_cannot_be_completed_counts_as_none", || {
        let (s, r) = bounded::<i32>(0);
        let (sender, never) = (s.clone(), chan::never::<()>());
        let offers = go(move || {
            select! {
                send(sender, 5) -> done => done.unwrap(),
                recv(never) -> _ => unreachable!(),
            }
        });
        until_waiting("select", 1);
        let start = Instant::now();
        completes(|| {
            assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
            let mut select = Select::new();
            select.recv(&r);
            assert!(select.try_select().is_err());
            select! {
                recv(r) -> _ => unreachable!(),
                default => {}
            }
            assert_eq!(r.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
        });
        refused(|| r.recv());
        refused(|| {
            select! {
                recv(r) -> _ => unreachable!(),
                recv(chan::never::<()>()) -> _ => unreachable!(),
            }
        });
        assert!(start.elapsed() < Duration::from_secs(5), "a try waited: {:?}", start.elapsed());
        assert_eq!(r.recv(), Ok(5));
        offers.join().unwrap();
    });
}

#[test]
fn sockets() {
    everywhere("sockets", || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        refused(|| listener.accept());
        let mut client = TcpStream::connect(addr).unwrap();
        let mut server = completes(|| listener.accept().unwrap().0);
        let mut byte = [0];
        refused(|| server.read(&mut byte));
        let early = context::background().with_cancel();
        early.cancel();
        context::enter(&early, || completes(|| assert!(server.read(&mut [0]).is_err())));
        completes(|| client.write_all(b"x").unwrap());
        server.read_exact(&mut byte).unwrap();
        client.write_all(b"y").unwrap();
        // The byte has arrived when the peek returns.
        server.peek(&mut byte).unwrap();
        completes(|| server.read_exact(&mut byte).unwrap());
        assert_eq!(&byte, b"y");
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        refused(|| udp.recv_from(&mut byte));
        udp.send_to(b"z", udp.local_addr().unwrap()).unwrap();
        assert_eq!(udp.recv_from(&mut byte).unwrap().0, 1);
        let reads = go(move || {
            let mut byte = [0];
            server.read_exact(&mut byte).map(|()| byte)
        });
        until_waiting("IO wait", 1);
        completes(|| client.write_all(b"w").unwrap());
        assert_eq!(&reads.join().unwrap().unwrap(), b"w");
    });
}
