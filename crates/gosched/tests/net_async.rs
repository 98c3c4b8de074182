//! Async code and sockets (S47): `future::block_on` parks the goroutine; sockets can be awaited
//! from there and from any other executor (feature `futures-io`).
#![cfg(feature = "futures-io")]

mod common;

use std::future::Future;
use std::io::{self, Write};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use common::{child, join_all, threads, within};
use futures_io::{AsyncRead, AsyncWrite};
use gosched::future::block_on;
use gosched::go;
use gosched::net::{TcpListener, TcpStream};
use gosched::os::unix::net::UnixStream;

const LIMIT: Duration = Duration::from_secs(60);

fn with_procs(test: &'static str, body: fn()) {
    for procs in [1, 2, 8] {
        child(test, || gosched::run(body)).procs(procs).limit(LIMIT).run().ok();
    }
}

async fn read(mut stream: impl AsyncRead + Unpin, buf: &mut [u8]) -> io::Result<usize> {
    std::future::poll_fn(|cx| Pin::new(&mut stream).poll_read(cx, buf)).await
}

async fn write_all(mut stream: impl AsyncWrite + Unpin, mut buf: &[u8]) -> io::Result<()> {
    while !buf.is_empty() {
        let n = std::future::poll_fn(|cx| Pin::new(&mut stream).poll_write(cx, buf)).await?;
        buf = &buf[n..];
    }
    Ok(())
}

/// Echoes until the end, in async code.
async fn echo(stream: TcpStream) {
    let mut buffer = [0; 1000];
    loop {
        match read(&stream, &mut buffer).await.unwrap() {
            0 => return,
            n => write_all(&stream, &buffer[..n]).await.unwrap(),
        }
    }
}

/// Sends and receives in async code.
async fn client(stream: TcpStream, seed: u8) {
    for round in 0..30 {
        let sent = [seed ^ round; 777];
        write_all(&stream, &sent).await.unwrap();
        let mut back = Vec::new();
        while back.len() < sent.len() {
            let mut piece = [0; 500];
            let n = read(&stream, &mut piece).await.unwrap();
            back.extend_from_slice(&piece[..n]);
        }
        assert_eq!(back, sent);
    }
}

/// A goroutine for each connection, each in `block_on`: it waits as a goroutine, without a thread.
#[test]
fn connections_in_block_on() {
    with_procs("connections_in_block_on", || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        go(move || {
            for stream in listener.incoming() {
                go(move || block_on(echo(stream.unwrap())));
            }
        });
        let clients =
            (0..50).map(|i| go(move || block_on(client(TcpStream::connect(address).unwrap(), i)))).collect();
        join_all(clients);
        assert!(threads() < 30, "{} threads", threads());
    });
}

/// Another executor, as simple as possible: a thread that polls all its tasks when any is woken.
struct Bell {
    rung: Mutex<bool>,
    bell: Condvar,
    rings: AtomicUsize,
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        // A waker may call the library.
        gosched::yield_now();
        self.rings.fetch_add(1, Ordering::Relaxed);
        *self.rung.lock().unwrap() = true;
        self.bell.notify_one();
    }
}

fn run_elsewhere(tasks: Vec<Pin<Box<dyn Future<Output = ()> + Send>>>) -> usize {
    let bell = Arc::new(Bell { rung: Mutex::new(false), bell: Condvar::new(), rings: AtomicUsize::new(0) });
    let waker = Waker::from(Arc::clone(&bell));
    let mut tasks = tasks;
    loop {
        tasks.retain_mut(|task| task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        if tasks.is_empty() {
            return bell.rings.load(Ordering::Relaxed);
        }
        let mut rung = bell.rung.lock().unwrap();
        while !*rung {
            rung = bell.bell.wait(rung).unwrap();
        }
        *rung = false;
    }
}

/// Sockets are awaited from another executor, on a foreign thread, whose wakers call the library.
#[test]
fn another_executor() {
    // In a process of its own, because goroutines are counted.
    let alone = child("another_executor", || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let before = gosched::runtime::num_goroutine();
        let rings = std::thread::spawn(move || {
            let mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + Send>>> = Vec::new();
            for i in 0..20 {
                let ours = TcpStream::connect(address).unwrap();
                let (theirs, _) = listener.accept().unwrap();
                tasks.push(Box::pin(client(ours, i)));
                tasks.push(Box::pin(echo(theirs)));
            }
            run_elsewhere(tasks)
        });
        assert!(rings.join().unwrap() > 0);
        assert_eq!(
            gosched::runtime::num_goroutine(),
            before,
            "the goroutine that calls wakers does not count"
        );
    });
    alone.limit(LIMIT).run().ok();
}

/// A waker that panics does not keep others from being woken.
#[test]
fn a_waker_that_panics() {
    struct Called(Mutex<bool>, Condvar, bool);
    impl Wake for Called {
        fn wake(self: Arc<Called>) {
            *self.0.lock().unwrap() = true;
            self.1.notify_one();
            assert!(!self.2, "a bad waker");
        }
    }
    within(LIMIT, || {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let wakers = [true, false, true].map(|bad| Arc::new(Called(Mutex::new(false), Condvar::new(), bad)));
        for waker in &wakers {
            let waker = Waker::from(Arc::clone(waker));
            let polled = pin!(read(&ours, &mut [0; 8])).poll(&mut Context::from_waker(&waker)).is_pending();
            assert!(polled);
        }
        block_on(write_all(&theirs, b"x")).unwrap();
        for waker in &wakers {
            let mut called = waker.0.lock().unwrap();
            while !*called {
                called = waker.1.wait(called).unwrap();
            }
        }
        assert_eq!(block_on(read(&ours, &mut [0; 8])).unwrap(), 1);
    });
}

/// `block_on` remembers a wake-up that comes between two polls, and wakes up from any thread.
#[test]
fn block_on_misses_no_wake_up() {
    with_procs("block_on_misses_no_wake_up", || {
        struct Twice(u32);
        impl Future for Twice {
            type Output = u32;
            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u32> {
                self.0 += 1;
                match self.0 {
                    // By the future itself, at once.
                    1 => cx.waker().wake_by_ref(),
                    // By a goroutine.
                    2 => {
                        let waker = cx.waker().clone();
                        go(move || waker.wake());
                    }
                    // By a thread.
                    3 => {
                        let waker = cx.waker().clone();
                        std::thread::spawn(move || waker.wake());
                    }
                    n => return Poll::Ready(n),
                }
                Poll::Pending
            }
        }
        for _ in 0..100 {
            assert_eq!(block_on(Twice(0)), 4);
        }
    });
}

/// The end of the stream that is reported together with the last bytes is found, though the read
/// that took them was short.
#[test]
fn an_end_that_comes_with_the_last_bytes() {
    with_procs("an_end_that_comes_with_the_last_bytes", || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        for _ in 0..200 {
            let reader = TcpStream::connect(address).unwrap();
            let (mut writer, _) = listener.accept().unwrap();
            let reading = go(move || {
                block_on(async {
                    let mut buffer = [0; 100];
                    let mut lengths = Vec::new();
                    loop {
                        match read(&reader, &mut buffer).await.unwrap() {
                            0 => return lengths,
                            n => lengths.push(n),
                        }
                    }
                })
            });
            // With one P it waits by now; then the bytes and the end both come before anybody
            // polls.
            gosched::yield_now();
            writer.write_all(b"bye").unwrap();
            drop(writer);
            assert_eq!(reading.join().unwrap(), [3]);
        }
    });
}

/// All tasks that wait for a socket are woken when it is closed, although a waker panics.
#[test]
fn a_close_wakes_all_although_a_waker_panics() {
    struct Called(AtomicUsize, bool);
    impl Wake for Called {
        fn wake(self: Arc<Called>) {
            self.0.fetch_add(1, Ordering::Relaxed);
            assert!(!self.1, "a bad waker");
        }
    }
    within(LIMIT, || {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let wakers = [true, false, true, false].map(|bad| Arc::new(Called(AtomicUsize::new(0), bad)));
        for waker in &wakers {
            let waker = Waker::from(Arc::clone(waker));
            assert!(pin!(read(&ours, &mut [0; 8])).poll(&mut Context::from_waker(&waker)).is_pending());
        }
        let closed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(ours)));
        assert_eq!(closed.unwrap_err().downcast_ref::<&str>(), Some(&"a bad waker"));
        let called = wakers.map(|waker| waker.0.load(Ordering::Relaxed));
        assert_eq!(called, [1; 4]);
    });
}
