//! Nothing allocates and nothing frees inside the runtime (ARCHITECTURE.md), nor does the monitor:
//! what is in there holds locks, and the user's allocator is the user's code. An allocator that
//! watches ends the process when it is called there; everything that enters the runtime is driven
//! under it, with 1, 2 and 8 Ps.
//!
//! Seen to fail (2026-11-18): with a `Box` made in `Sched::resize`, in `Sched::put_global_one`, and
//! in `Monitor::tick`.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::future::Future;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::child;
use gosched::chan::{self, Select, after, bounded, never, tick, unbounded};
use gosched::context::{self, Context};
use gosched::future::block_on;
use gosched::net::{TcpListener, TcpStream, UdpSocket};
use gosched::os::unix::net::{UnixDatagram, UnixStream};
use gosched::runtime::{self, blocking, checkpoint, maxprocs, stop_the_world};
use gosched::signal::{Signal, context_until, notify};
use gosched::sync::{
    Barrier, Condvar, ErrGroup, LazyLock, Mutex, Notify, Once, OnceLock, Pool, RwLock, Semaphore,
    SingleFlight, WaitGroup, broadcast, mpsc, watch,
};
use gosched::thread::{self, Builder, JoinSet};
use gosched::time::{self, Ticker, Timer, timeout};
use gosched::{fs, go, goroutine_local, process, select, yield_now};

/// The system's allocator, watched.
struct Watched;

static CALLS: AtomicUsize = AtomicUsize::new(0);

/// Whether this thread is the monitor.
fn is_monitor() -> bool {
    let mut name = [0_u8; 16];
    // SAFETY: the kernel writes at most 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name.starts_with(b"gosched-sysmon\0")
}

#[inline(never)]
fn watch(what: &str) {
    thread_local! {
        static TELLING: Cell<bool> = const { Cell::new(false) };
    }
    CALLS.fetch_add(1, Ordering::Relaxed);
    if (gosched::__private::is_inside_runtime() || is_monitor()) && !TELLING.replace(true) {
        eprintln!("{what} inside the runtime:\n{}", Backtrace::force_capture());
        std::process::abort();
    }
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        watch("allocated");
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        watch("freed");
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

const SOON: Duration = Duration::from_millis(1);
const NEVER: Duration = Duration::from_secs(100);

/// Runs `body` as the main goroutine of a process of its own, with 1, 2 and 8 Ps, twice: what is
/// made at first use, too, and what is used again.
fn drive(test: &'static str, body: fn()) {
    if common::spared_by_sanitizer("what is noted of stacks for it allocates") {
        return;
    }
    for procs in [1, 2, 8] {
        let run = || {
            for _ in 0..2 {
                gosched::run(body);
            }
            assert!(CALLS.load(Ordering::Relaxed) > 0, "nobody watches");
        };
        child(test, run).procs(procs).run().ok();
        if procs == 2 {
            // And while all of it is recorded.
            child(test, run).procs(procs).env("GOSCHED_TRACE", "/dev/null").run().ok();
        }
    }
}

goroutine_local! {
    static LOCAL: Cell<Option<Box<u32>>> = Cell::new(Some(Box::new(1)));
}

/// So many goroutines that queues, caches and the arena of headers grow.
#[test]
fn goroutines() {
    drive("goroutines", || {
        assert!(!gosched::__private::is_inside_runtime());
        let many: Vec<_> = (0..3_000_u64).map(|n| go(move || n)).collect();
        assert_eq!(many.into_iter().map(|handle| handle.join().unwrap()).sum::<u64>(), 3_000 * 2_999 / 2);
        drop(go(|| Box::new(1)));
        let named = Builder::new()
            .name("named".into())
            .stack_size(256 * 1024)
            .spawn(|| thread::current().name().map(str::to_owned));
        assert_eq!(named.unwrap().join().unwrap().as_deref(), Some("named"));
        let pinned = Builder::new().pinned().spawn(|| LOCAL.take().map(|one| *one));
        assert_eq!(pinned.unwrap().join().unwrap(), Some(1));
        let mut lent = Vec::new();
        thread::scope(|s| drop(s.spawn(|| lent.push(1))));
        thread::scope(|s| s.spawn(|| LOCAL.set(None)).join().unwrap());
        assert_eq!(gosched::run(|| lent.len()), 1);

        let (end, ending) = bounded::<()>(0);
        let mut slow = go(move || ending.recv());
        assert!(slow.join_timeout(SOON).is_none());
        let done = slow.done();
        drop(end);
        assert!(done.recv().is_err());
        assert!(slow.join_ctx().unwrap().is_ok() && slow.is_finished());

        let parked = go(|| {
            thread::park();
            thread::park_timeout(SOON);
            runtime::lock_os_thread();
            yield_now();
            thread::sleep(SOON);
            runtime::unlock_os_thread();
            runtime::goroutine_id()
        });
        let foreign = parked.thread().clone();
        std::thread::spawn(move || foreign.unpark()).join().unwrap();
        assert!(parked.join().unwrap().is_some());
        // The thread ends with it.
        drop(go(runtime::lock_os_thread).join());
        drop(go(|| runtime::goexit()).join());
        let panicked = go(|| {
            let _dropped = go(yield_now);
            std::panic::resume_unwind(Box::new("over"));
        });
        assert!(panicked.join().is_err());
        let caught = go(|| std::panic::catch_unwind(|| panic!("caught")).is_err());
        assert!(caught.join().unwrap());
    });
}

#[test]
fn channels() {
    drive("channels", || {
        for capacity in [0, 1, 64] {
            let (sender, receiver) = bounded::<Box<u64>>(capacity);
            let from = go(move || (0..500).for_each(|n| sender.send(Box::new(n)).unwrap()));
            assert_eq!(receiver.iter().count(), 500);
            from.join().unwrap();
        }
        let (sender, receiver) = unbounded();
        (0..2_000).for_each(|n| sender.send(Box::new(n)).unwrap());
        assert_eq!(receiver.try_iter().count(), 2_000);
        assert!(receiver.recv_timeout(SOON).is_err() && receiver.try_recv().is_err());
        let waiting: Vec<_> = (0..20)
            .map(|_| {
                let receiver = receiver.clone();
                go(move || receiver.recv())
            })
            .collect();
        yield_now();
        drop(sender);
        assert!(waiting.into_iter().all(|handle| handle.join().unwrap().is_err()));

        let ends: Vec<_> = (0..40).map(|_| bounded::<Box<u64>>(0)).collect();
        let (first, last) = (ends[0].clone(), ends[39].0.clone());
        let peer = go(move || {
            last.send(Box::new(39)).unwrap();
            select! {
                send(first.0, Box::new(1)) -> sent => sent.unwrap(),
                recv(first.1) -> _ => unreachable!(),
                recv(never::<u8>()) -> _ => unreachable!(),
            }
        });
        let mut cases = Select::new();
        for (_, receiver) in &ends {
            cases.recv(receiver);
        }
        let case = cases.select();
        let index = case.index();
        assert_eq!((index, *case.recv(&ends[index].1).unwrap()), (39, 39));
        assert!(ends[0].1.recv().is_ok());
        peer.join().unwrap();
        assert!(cases.select_timeout(SOON).is_err() && cases.try_ready().is_err());
        assert!(cases.ready_timeout(SOON).is_err());
        select! {
            recv(ends[1].1) -> _ => unreachable!(),
            recv(after(SOON)) -> _ => {}
        }
        select! {
            recv(ends[1].1) -> _ => unreachable!(),
            default(SOON) => {}
        }
        let ticks = tick(SOON);
        assert_eq!(ticks.iter().take(3).count(), 3);
        assert!(ends[2].0.send_timeout(Box::new(1), SOON).is_err());

        let (sender, receiver) = ends[3].clone();
        let foreign = std::thread::spawn(move || {
            block_on(async { sender.send_async(Box::new(7)).await.unwrap() });
            sender.close();
        });
        assert_eq!(block_on(async { receiver.recv_async().await }).map(|seven| *seven), Ok(7));
        assert!(receiver.recv().is_err());
        foreign.join().unwrap();
        let (sender, receiver) = chan::bounded::<u8>(0);
        let given_up = go(move || assert!(block_on(poll_once(receiver.recv_async())).is_none()));
        given_up.join().unwrap();
        drop(sender);
        let (sender, receiver) = mpsc::sync_channel(1);
        let from = go(move || (0..50).for_each(|n| sender.send(Box::new(n)).unwrap()));
        assert_eq!(receiver.iter().count(), 50);
        from.join().unwrap();
    });
}

/// Polls a future once, and lets it go.
async fn poll_once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = Box::pin(future);
    std::future::poll_fn(|cx| {
        std::task::Poll::Ready(match future.as_mut().poll(cx) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

#[test]
fn locks() {
    drive("locks", || {
        struct Shared {
            mutex: Mutex<Vec<usize>>,
            changed: Condvar,
            rwlock: RwLock<Vec<usize>>,
            permits: Semaphore,
            barrier: Barrier,
            once: Once,
            cell: OnceLock<Box<u32>>,
        }
        static LAZY: LazyLock<Box<u32>> = LazyLock::new(|| Box::new(5));
        let shared = Arc::new(Shared {
            mutex: Mutex::default(),
            changed: Condvar::new(),
            rwlock: RwLock::default(),
            permits: Semaphore::new(2),
            barrier: Barrier::new(16),
            once: Once::new(),
            cell: OnceLock::new(),
        });
        let work = |shared: Arc<Shared>, n: usize| {
            shared.once.call_once(|| thread::sleep(SOON));
            assert_eq!(**shared.cell.get_or_init(|| Box::new(3)) + **LAZY, 8);
            for _ in 0..20 {
                shared.mutex.lock().unwrap().push(n);
                let held = shared.mutex.lock().unwrap();
                yield_now();
                drop(held);
                let permit = shared.permits.acquire();
                yield_now();
                drop(permit);
                match n % 4 {
                    0 => shared.rwlock.write().unwrap().push(n),
                    _ => drop(shared.rwlock.read().unwrap().len()),
                }
            }
            let _ = shared.permits.acquire_timeout(SOON);
            shared.changed.notify_all();
            shared.barrier.wait();
        };
        let members: Vec<_> = (0..15)
            .map(|n| {
                let shared = Arc::clone(&shared);
                go(move || work(shared, n))
            })
            .collect();
        let from_outside = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || work(shared, 15))
        };
        let guard = shared.mutex.lock().unwrap();
        let (guard, _) = shared.changed.wait_timeout(guard, SOON).unwrap();
        drop(shared.changed.wait_timeout_while(guard, NEVER, |pushed| pushed.len() < 16 * 20).unwrap());
        members.into_iter().for_each(|member| member.join().unwrap());
        from_outside.join().unwrap();

        let group = Arc::new(WaitGroup::new());
        (0..10).for_each(|_| group.go(yield_now));
        assert!(!group.wait_timeout(Duration::ZERO) || group.wait_timeout(SOON));
        group.wait();
        let group = ErrGroup::with_limit(2);
        (0..6).for_each(|n| group.go(move || if n == 5 { Err(Box::new(n)) } else { Ok(()) }));
        assert!(group.wait().is_err());
    });
}

/// What is built on channels and locks.
#[test]
fn what_is_shared() {
    drive("what_is_shared", || {
        let mut set = JoinSet::new();
        (0..200).for_each(|n| set.spawn(move || Box::new(n)));
        assert!(set.join_next_timeout(NEVER).is_some() && set.ready().recv().is_err());
        set.spawn(|| panic::resume_unwind(Box::new("over")));
        assert_eq!(set.join_all().len(), 200);
        let mut set = JoinSet::new();
        set.spawn(|| time::sleep(NEVER));
        set.detach_all();
        set.spawn(|| time::sleep(NEVER));
        drop(set);

        let notify = Arc::new(Notify::new());
        let (s, r) = broadcast::channel(4);
        let (set_to, seen) = watch::channel(Box::new(0));
        let flights = Arc::new(SingleFlight::new());
        let pool = Arc::new(Pool::new(|| Box::new(0)));
        let waiters: Vec<_> = (0..10)
            .map(|_| {
                let (notify, flights, pool) = (Arc::clone(&notify), Arc::clone(&flights), Arc::clone(&pool));
                let (mut r, mut seen) = (r.resubscribe(), seen.clone());
                go(move || {
                    let _ = notify.wait_timeout(SOON);
                    while !matches!(r.recv(), Err(broadcast::RecvError::Closed)) {}
                    **pool.get() += 1;
                    assert_eq!(**seen.wait_for(|n| **n == 10).unwrap(), 10);
                    *flights.call(String::from("key"), || {
                        thread::sleep(SOON);
                        Box::new(5)
                    })
                })
            })
            .collect();
        for n in 0..=10 {
            yield_now();
            if n % 2 == 0 {
                notify.notify_one()
            } else {
                notify.notify_waiters()
            }
            s.send(Box::new(n)).unwrap();
            set_to.send(Box::new(n)).unwrap();
        }
        drop((s, r));
        assert!(waiters.into_iter().all(|waiter| waiter.join().unwrap() == 5));
        let limiter = time::RateLimiter::new(5_000, 1);
        (0..5).for_each(|_| limiter.wait());
        assert!(timeout(SOON, || limiter.wait_ctx()).is_ok());
        let failed = ErrGroup::scope_with_limit(2, |group| {
            (0..6).for_each(|n| group.go(move || if n == 5 { Err(Box::new(n)) } else { Ok(()) }));
        });
        assert!(failed.is_err());
        assert!(chan::never_sender().send_timeout(Box::new(1), SOON).is_err());
    });
}

/// So many timers that heaps grow and shrink.
#[test]
fn times() {
    drive("times", || {
        let sleepers: Vec<_> =
            (0..1_000).map(|n| go(move || thread::sleep(Duration::from_micros(n * 7 % 5_000)))).collect();
        sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
        let (sender, receiver) = bounded(1);
        let _timer = Timer::after_func(SOON, move || sender.send(Box::new(1)).unwrap());
        assert!(receiver.recv().is_ok());
        let timer = Timer::new(NEVER);
        assert!(timer.reset(SOON) && timer.receiver().recv().is_ok() && !timer.stop());
        let ticker = Ticker::new(NEVER);
        ticker.reset(SOON);
        assert!(ticker.receiver().recv().is_ok());
        ticker.stop();
        assert!(timeout(SOON, || time::sleep(NEVER)).is_err());
        time::sleep_until(Instant::now() + SOON).unwrap();
        std::thread::spawn(|| thread::sleep(SOON)).join().unwrap();

        let parent = context::background().with_value(Box::new(7)).with_cancel();
        let (ended, end) = bounded(1);
        let _after = parent.after_func(move || ended.send(()).unwrap());
        let waits = |ctx: Context| go(move || context::enter(&ctx, || time::sleep(NEVER)));
        let waiting: Vec<_> = (0..10).map(|_| waits(parent.with_timeout(NEVER))).collect();
        let (lone, lock) = (bounded::<u8>(0), Arc::new(Mutex::new(())));
        let in_line = {
            let (ctx, receiver, lock) = (parent.clone(), lone.1.clone(), Arc::clone(&lock));
            go(move || {
                context::enter(&ctx, || {
                    receiver.recv_ctx().is_err() && lock.lock_ctx().is_ok_and(|got| got.is_ok())
                })
            })
        };
        yield_now();
        parent.cancel_with("enough");
        assert!(waiting.into_iter().all(|handle| handle.join().unwrap().is_err()));
        let _ = in_line.join().unwrap();
        end.recv().unwrap();
        assert!(parent.done().recv().is_err());
        assert!(waits(context::background().with_timeout(SOON)).join().unwrap().is_err());
    });
}

/// So many sockets that the poller's slab grows.
#[test]
fn networks() {
    drive("networks", || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let server = go(move || {
            let echo = |mut stream: TcpStream| {
                let mut bytes = [0; 64];
                while let Ok(n @ 1..) = stream.read(&mut bytes) {
                    stream.write_all(&bytes[..n]).unwrap();
                }
            };
            let served: Vec<_> = (0..100)
                .map(|_| {
                    let (stream, _) = listener.accept().unwrap();
                    go(move || echo(stream))
                })
                .collect();
            served.into_iter().for_each(|served| served.join().unwrap());
        });
        let clients: Vec<_> = (0..100)
            .map(|n| {
                go(move || {
                    let mut stream = TcpStream::connect(address).unwrap();
                    let mut bytes = [0; 5];
                    for _ in 0..3 {
                        stream.write_all(b"hello").unwrap();
                        stream.read_exact(&mut bytes).unwrap();
                    }
                    stream.set_read_timeout(Some(SOON)).unwrap();
                    assert!(n > 10 || stream.read(&mut bytes).is_err());
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        server.join().unwrap();

        let [one, other] = [0, 1].map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let to = other.local_addr().unwrap();
        let got = go(move || other.recv_from(&mut [0; 8]).unwrap().0);
        yield_now();
        assert_eq!((one.send_to(b"abc", to).unwrap(), got.join().unwrap()), (3, 3));
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let from_outside = std::thread::spawn(move || theirs.read(&mut [0; 8]).unwrap());
        ours.write_all(b"ab").unwrap();
        assert_eq!(from_outside.join().unwrap(), 2);
        let (datagrams, _peer) = UnixDatagram::pair().unwrap();
        let cut_short = timeout(SOON, || datagrams.recv(&mut [0; 8]).is_err());
        assert!(!matches!(cut_short, Ok(false)));

        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        for _ in 0..20 {
            let (told, dropped) = (ours.readable(), ours.readable());
            let writes = go(move || theirs.write_all(b"a").map(|()| theirs));
            drop(dropped);
            select! { recv(told) -> told => told.unwrap(), recv(never::<()>()) -> _ => {} }
            assert_eq!(ours.read(&mut [0; 8]).unwrap(), 1);
            theirs = writes.join().unwrap().unwrap();
        }
    });
}

/// Signals, also while listeners come and go.
#[test]
fn signals() {
    drive("signals", || {
        for _ in 0..20 {
            let got = notify(&[Signal::User1, Signal::User2]).unwrap();
            let ctx = context_until(&[Signal::User1]).unwrap();
            let others = got.clone();
            let waits = go(move || others.recv().unwrap());
            yield_now();
            for signal in [libc::SIGUSR1, libc::SIGUSR2] {
                // SAFETY: takes a number.
                unsafe { libc::raise(signal) };
            }
            got.recv().unwrap();
            waits.join().unwrap();
            assert!(ctx.done().recv().is_err());
        }
    });
}

/// What a foreign thread waits with is not freed by its waker, even if the thread ends first. (Seen
/// to fail: when the waker drops its count itself, with a pause of a millisecond before it does.)
#[test]
fn threads_that_end_when_woken() {
    drive("threads_that_end_when_woken", || {
        for _ in 0..200 {
            let (sender, receiver) = bounded::<()>(0);
            let waits = std::thread::spawn(move || receiver.recv());
            while sender.try_send(()).is_err() {
                gosched::yield_now();
            }
            waits.join().unwrap().unwrap();
        }
    });
}

/// Calls that block, with the hand-offs and takings that follow; and what looks at the scheduler.
#[test]
fn threads() {
    drive("threads", || {
        let blocked: Vec<_> = (0..20)
            .map(|n| {
                go(move || match n % 3 {
                    0 => blocking(|| std::thread::sleep(20 * SOON)),
                    1 => std::thread::sleep(30 * SOON),
                    _ => {
                        let began = Instant::now();
                        while began.elapsed() < 30 * SOON {
                            std::hint::spin_loop();
                        }
                        checkpoint();
                    }
                })
            })
            .collect();
        let path = std::env::temp_dir().join(format!("gosched-no-allocation-{}", std::process::id()));
        fs::write(&path, b"abc").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "abc");
        fs::remove_file(&path).unwrap();
        assert!(process::Command::new("true").status().unwrap().success());
        assert!(runtime::stacks().contains("goroutine"));
        blocked.into_iter().for_each(|handle| handle.join().unwrap());
        let before = maxprocs(None);
        for n in [3, 64, 1, 12, 2, before] {
            let works: Vec<_> = (0..50).map(|n| go(move || thread::sleep(n * SOON / 50))).collect();
            maxprocs(Some(n));
            std::thread::spawn(move || maxprocs(Some(n + 1))).join().unwrap();
            assert_eq!(maxprocs(Some(before)), n + 1);
            let seen = stop_the_world(|world| {
                let all: Vec<_> = world.goroutines().map(|g| g.id).collect();
                assert!(!gosched::__private::is_inside_runtime());
                all.len() + world.threads().count() + world.processors().count()
            });
            assert!(seen > before);
            works.into_iter().for_each(|handle| handle.join().unwrap());
        }
        assert!(runtime::num_goroutine() > 0);
    });
}
