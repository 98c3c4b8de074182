//! I/O and contexts (S47): a wait ends when its context does, with the right error; what is ready
//! at once still succeeds.

mod common;

use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use common::{child, join_all, within};
use gosched::context::{self, Context, ContextError};
use gosched::net::{TcpListener, TcpStream, UdpSocket};
use gosched::os::unix::net::{UnixListener, UnixStream};
use gosched::{go, time};

const LIMIT: Duration = Duration::from_secs(60);

fn with_procs(test: &'static str, body: fn()) {
    for procs in [1, 2, 8] {
        child(test, || gosched::run(body)).procs(procs).limit(LIMIT).run().ok();
    }
}

#[track_caller]
fn assert_cancelled<T>(result: io::Result<T>) {
    assert_ended(result, ErrorKind::Other, ContextError::Cancelled);
}

#[track_caller]
fn assert_ended<T>(result: io::Result<T>, kind: ErrorKind, why: ContextError) {
    let error = result.err().expect("the context has ended");
    assert_eq!(error.kind(), kind);
    assert_eq!(error.get_ref().and_then(|e| e.downcast_ref::<ContextError>()), Some(&why));
}

/// Runs `f` on a goroutine under a context, and cancels that context.
fn cancelled<T: Send + 'static>(f: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let ctx = context::background().with_cancel();
    let waiting = {
        let ctx = ctx.clone();
        go(move || context::enter(&ctx, f))
    };
    gosched::sleep(Duration::from_millis(10));
    ctx.cancel();
    waiting.join().unwrap()
}

/// Reading, accepting, receiving and writing end when the context is cancelled: the error is
/// `Other`, never `Interrupted`, after which `read_exact` would try again.
#[test]
fn cancelling_ends_waits() {
    with_procs("cancelling_ends_waits", || {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let reader = ours.try_clone().unwrap();
        assert_cancelled(cancelled(move || (&reader).read_exact(&mut [0; 8])));
        assert_cancelled(cancelled(move || (&ours).write_all(&[0; 1 << 24])));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_cancelled(cancelled(move || listener.accept()));
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_cancelled(cancelled(move || socket.recv_from(&mut [0; 8])));
        let path = std::env::temp_dir().join(format!("gosched-net-context-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        assert_cancelled(cancelled(move || listener.accept()));
        std::fs::remove_file(path).unwrap();
    });
}

/// A deadline ends a wait as `TimedOut`, not before its time; `time::timeout` too.
#[test]
fn deadlines_end_waits() {
    with_procs("deadlines_end_waits", || {
        let limit = Duration::from_millis(20);
        let (mut ours, _theirs) = UnixStream::pair().unwrap();
        let began = Instant::now();
        let ctx = context::background().with_timeout(limit);
        let read = context::enter(&ctx, || ours.read_exact(&mut [0; 8]));
        assert_ended(read, ErrorKind::TimedOut, ContextError::DeadlineExceeded);
        assert!(began.elapsed() >= limit);
        let elapsed = time::timeout(limit, || ours.read(&mut [0; 8]));
        assert!(elapsed.is_err() || elapsed.is_ok_and(|read| read.is_err()));
    });
}

/// Under a context that has ended, what is ready at once succeeds, and what would wait fails at
/// once. Outside it the socket works as before.
#[test]
fn what_is_ready_still_succeeds() {
    with_procs("what_is_ready_still_succeeds", || {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let ctx = context::background().with_cancel();
        ctx.cancel();
        context::enter(&ctx, || {
            theirs.write_all(b"x").unwrap();
            assert_eq!(ours.read(&mut [0; 8]).unwrap(), 1);
            assert_cancelled(ours.read(&mut [0; 8]));
        });
        theirs.write_all(b"x").unwrap();
        assert_eq!(ours.read(&mut [0; 8]).unwrap(), 1);
    });
}

/// The same on a foreign thread.
#[test]
fn foreign_threads_have_contexts_too() {
    within(LIMIT, || {
        let (mut ours, _theirs) = UnixStream::pair().unwrap();
        let ctx = context::background().with_cancel();
        let canceller = {
            let ctx = ctx.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                ctx.cancel();
            })
        };
        assert_cancelled(context::enter(&ctx, || ours.read(&mut [0; 8])));
        canceller.join().unwrap();
    });
}

/// Connecting to an address where nobody answers ends, too.
#[test]
fn connecting_can_be_cancelled() {
    with_procs("connecting_can_be_cancelled", || {
        let full = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        // SAFETY: shortens the queue of an open listener.
        unsafe { libc::listen(std::os::fd::AsRawFd::as_raw_fd(&full), 0) };
        let address = full.local_addr().unwrap();
        let ctx: Context = context::background().with_timeout(Duration::from_millis(100));
        let clients: Vec<_> =
            context::enter(&ctx, || (0..10).map(|_| go(move || TcpStream::connect(address))).collect());
        let failed: Vec<_> = join_all(clients).into_iter().filter_map(Result::err).collect();
        assert!(!failed.is_empty());
        for error in failed {
            assert_ended::<()>(Err(error), ErrorKind::TimedOut, ContextError::DeadlineExceeded);
        }
    });
}

/// Cancelling and data race: each read ends one way or the other, and no byte is lost that was not
/// read.
#[test]
fn cancelling_and_data_race() {
    with_procs("cancelling_and_data_race", || {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let writer = go(move || {
            // Few rounds: with one P the others share a whole time slice before this one runs again
            // (S27).
            for _ in 0..20 {
                theirs.write_all(&[7; 100]).unwrap();
                gosched::yield_now();
            }
        });
        let mut total = 0;
        while total < 2000 {
            let ctx = context::background().with_cancel();
            let canceller = {
                let ctx = ctx.clone();
                go(move || ctx.cancel())
            };
            match context::enter(&ctx, || (&ours).read(&mut [0; 3])) {
                Ok(n) => total += n,
                cancelled => assert_cancelled(cancelled),
            }
            canceller.join().unwrap();
        }
        writer.join().unwrap();
        assert_eq!(total, 2000);
    });
}
