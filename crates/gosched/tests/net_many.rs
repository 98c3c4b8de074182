//! Very many connections (S47): idle ones cost a stack page and no thread, active ones lose no
//! byte, closed ones leave no descriptor behind.

mod common;

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{Random, child, join_all, resident};
use gosched::go;
use gosched::net::{Shutdown, TcpListener, TcpStream};

const LIMIT: Duration = Duration::from_secs(240);
const CLIENT: &str = "GOSCHED_TEST_CLIENT";

/// Raises the limit of descriptors as far as it goes; returns it.
fn raise_limit() -> usize {
    // SAFETY: reads and sets a limit of this process.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit), 0);
        limit.rlim_cur = limit.rlim_max;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0);
        usize::try_from(limit.rlim_cur).unwrap()
    }
}

/// Open descriptors that are sockets. (The monitor keeps others open, for threads.)
fn sockets() -> usize {
    let all = std::fs::read_dir("/proc/self/fd").unwrap();
    all.filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok())
        .filter(|to| to.to_string_lossy().starts_with("socket:"))
        .count()
}

/// Threads of the runtime: without those of the test harness and its watchdog.
fn runtime_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok())
        .filter(|name| name.starts_with("gosched"))
        .count()
}

/// Waits until `done`.
#[track_caller]
fn eventually(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(120), "{what}");
        gosched::sleep(Duration::from_millis(1));
    }
}

/// 10,000 idle connections (fewer if the limit of descriptors is lower): fewer than 10 threads,
/// less than 12 KiB each. The other ends are in another process, so that each process needs one
/// descriptor per connection.
#[test]
fn idle_connections_cost_a_page() {
    if common::spared_by_sanitizer("it needs more memory for each stack, and for its shadow") {
        return;
    }
    if let Ok(spec) = std::env::var(CLIENT) {
        return be_the_client(&spec);
    }
    let outcome = child("idle_connections_cost_a_page", || {
        let count = (raise_limit() - 200).min(10_000);
        gosched::run(|| {
            let listener = TcpListener::bind("0.0.0.0:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            // Sets up what is needed once.
            let warm = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (mut other, _) = listener.accept().unwrap();
            let waiting = go(move || other.read(&mut [0; 8]).unwrap());
            drop(warm);
            waiting.join().unwrap();

            let mut client = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "idle_connections_cost_a_page", "--nocapture"])
                .env(CLIENT, format!("{port} {count}"))
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            let (before, open) = (resident(), sockets());
            static WAITING: AtomicUsize = AtomicUsize::new(0);
            static ENDED: AtomicUsize = AtomicUsize::new(0);
            for _ in 0..count {
                let (mut stream, _) = listener.accept().unwrap();
                go(move || {
                    WAITING.fetch_add(1, Ordering::Relaxed);
                    while stream.read(&mut [0; 64]).unwrap() > 0 {}
                    drop(stream);
                    ENDED.fetch_add(1, Ordering::Relaxed);
                });
            }
            eventually("all wait", || WAITING.load(Ordering::Relaxed) == count);
            gosched::sleep(Duration::from_millis(100));
            println!("count: {count}");
            println!("threads: {}", runtime_threads());
            println!("bytes: {}", (resident().saturating_sub(before)) / count);
            drop(client.stdin.take());
            eventually("all end", || ENDED.load(Ordering::Relaxed) == count);
            assert!(client.wait().unwrap().success());
            println!("left open: {}", sockets().saturating_sub(open));
        });
    })
    .procs(2)
    .limit(LIMIT)
    .run()
    .ok();
    let number = |key| outcome.value(key).parse::<usize>().unwrap();
    assert!(number("count") >= 4_500, "{outcome:#?}");
    assert!(number("threads") < 10, "{outcome:#?}");
    assert!(number("bytes") < 12 * 1024, "{outcome:#?}");
    assert_eq!(number("left open"), 0, "{outcome:#?}");
}

/// Connects as often as asked, holds all connections until its standard input ends.
fn be_the_client(spec: &str) {
    raise_limit();
    let (port, count) = spec.split_once(' ').unwrap();
    let (port, count): (u16, usize) = (port.parse().unwrap(), count.parse().unwrap());
    let address = |i: usize| SocketAddr::from(([127, 0, 0, 1 + (i % 4) as u8], port));
    let streams: Vec<_> = (0..count).map(|i| std::net::TcpStream::connect(address(i)).unwrap()).collect();
    let _ = io::stdin().read(&mut [0; 1]);
    drop(streams);
}

/// What connection number `i` sends at `offset`.
fn byte(i: usize, offset: usize) -> u8 {
    (i.wrapping_mul(7) ^ offset ^ (offset >> 8)) as u8
}

/// 500 connections echo 64 MiB in all, in pieces of all sizes; every byte comes back. With 1, 2 and
/// 8 Ps.
#[test]
fn active_connections_lose_nothing() {
    const CONNECTIONS: usize = 500;
    const EACH: usize = (64 << 20) / CONNECTIONS;
    for procs in [1, 2, 8] {
        child("active_connections_lose_nothing", || {
            raise_limit();
            gosched::run(|| {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let address = listener.local_addr().unwrap();
                go(move || {
                    for stream in listener.incoming() {
                        let stream = stream.unwrap();
                        go(move || io::copy(&mut &stream, &mut &stream).unwrap());
                    }
                });
                let total: usize =
                    join_all((0..CONNECTIONS).map(|i| go(move || echoed(address, i, EACH))).collect())
                        .into_iter()
                        .sum();
                assert_eq!(total, CONNECTIONS * EACH);
            });
        })
        .procs(procs)
        .limit(LIMIT)
        .run()
        .ok();
    }
}

/// Sends `bytes` bytes and checks what comes back, at the same time. Returns how much came.
fn echoed(address: SocketAddr, i: usize, bytes: usize) -> usize {
    let stream = Arc::new(TcpStream::connect(address).unwrap());
    let sender = {
        let stream = Arc::clone(&stream);
        go(move || {
            let mut random = Random::new(i as u64);
            let mut sent = 0;
            while sent < bytes {
                let n = (1 + random.below(20_000) as usize).min(bytes - sent);
                let piece: Vec<u8> = (sent..sent + n).map(|offset| byte(i, offset)).collect();
                (&*stream).write_all(&piece).unwrap();
                sent += n;
            }
            stream.shutdown(Shutdown::Write).unwrap();
        })
    };
    let mut received = 0;
    let mut buffer = [0; 4096];
    loop {
        let n = (&*stream).read(&mut buffer).unwrap();
        if n == 0 {
            break;
        }
        for (at, found) in buffer[..n].iter().enumerate() {
            assert_eq!(*found, byte(i, received + at), "connection {i}, byte {}", received + at);
        }
        received += n;
    }
    sender.join().unwrap();
    received
}

/// No descriptor is left behind after very many connections: 100,000 in release, fewer in debug.
#[test]
fn closed_connections_leave_nothing_open() {
    const CONNECTIONS: usize = if cfg!(debug_assertions) { 8_000 } else { 100_000 };
    const CLIENTS: usize = 32;
    child("closed_connections_leave_nothing_open", || {
        gosched::run(|| {
            let listener = TcpListener::bind("0.0.0.0:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            static SERVED: AtomicUsize = AtomicUsize::new(0);
            go(move || {
                for stream in listener.incoming() {
                    let mut stream = stream.unwrap();
                    go(move || {
                        // Some clients are gone before they have said a word, or before the answer.
                        let mut byte = [0];
                        if let Ok(1) = stream.read(&mut byte) {
                            let _ = stream.write(&byte);
                        }
                        drop(stream);
                        SERVED.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
            // Sets up what is needed once.
            drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
            eventually("the first is served", || SERVED.load(Ordering::Relaxed) == 1);
            let open = sockets();
            let clients = (0..CLIENTS)
                .map(|client| {
                    go(move || {
                        for round in 0..CONNECTIONS / CLIENTS {
                            let host = 1 + ((client + round) % 100) as u8;
                            let mut stream =
                                TcpStream::connect((std::net::Ipv4Addr::new(127, 0, 0, host), port)).unwrap();
                            match round % 4 {
                                0 => {}
                                1 => stream.write_all(b"x").unwrap(),
                                _ => {
                                    stream.write_all(b"x").unwrap();
                                    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 1);
                                }
                            }
                        }
                    })
                })
                .collect();
            join_all(clients);
            eventually("all are served", || {
                SERVED.load(Ordering::Relaxed) == 1 + CONNECTIONS / CLIENTS * CLIENTS
            });
            assert_eq!(sockets(), open);
        });
    })
    .procs(2)
    .limit(LIMIT)
    .run()
    .ok();
}
