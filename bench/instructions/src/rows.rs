//! The operations that are counted. Each function does its operation `n` times (rounded down to
//! whole batches), on one P, from the main goroutine.

use std::hint::black_box;
use std::io::{Read, Write};
use std::time::Duration;

use gosched::chan::{self, bounded, unbounded};
use gosched::os::unix::net::UnixStream;
use gosched::sync::{Mutex, RwLock, Semaphore};
use gosched::time::Timer;
use gosched::{go, runtime, select, yield_now};

/// An operation to count.
pub struct Row {
    pub name: &'static str,
    /// What is counted once.
    pub title: &'static str,
    /// How many operations the shorter of the two runs makes.
    pub n: usize,
    pub run: fn(usize),
}

const HOUR: Duration = Duration::from_secs(3600);

pub const ROWS: &[Row] = &[
    Row { name: "enter", title: "checkpoint: into the runtime and out", n: 200_000, run: enter },
    Row { name: "spawn", title: "go and join, one at a time", n: 10_000, run: spawn },
    Row { name: "spawn_batch", title: "go, 100 at a time, then join all", n: 10_000, run: spawn_batch },
    Row { name: "switch", title: "yield among two goroutines", n: 20_000, run: switch },
    Row { name: "blocking", title: "an announced blocking call of nothing", n: 50_000, run: blocking },
    Row {
        name: "ping_pong",
        title: "unbuffered round trip between two goroutines",
        n: 10_000,
        run: ping_pong,
    },
    Row { name: "unbuffered", title: "a value through an unbuffered channel", n: 10_000, run: unbuffered },
    Row { name: "buffered", title: "send and receive, nobody waits", n: 50_000, run: buffered },
    Row {
        name: "unbounded",
        title: "send and receive, unbounded, 64 at a time",
        n: 50_000,
        run: unbounded_runs,
    },
    Row { name: "pipe", title: "a value through 128 places to another goroutine", n: 20_000, run: pipe },
    Row {
        name: "select",
        title: "select over two unbuffered channels that are fed in turn",
        n: 10_000,
        run: select_two,
    },
    Row {
        name: "select_default",
        title: "select with a default, nothing ready",
        n: 20_000,
        run: select_default,
    },
    Row {
        name: "recv_timeout",
        title: "a receive with a time limit that parks and is served",
        n: 10_000,
        run: recv_timeout,
    },
    Row { name: "timer", title: "a timer of an hour, set and stopped", n: 10_000, run: timer },
    Row { name: "mutex", title: "lock and unlock, nobody waits", n: 100_000, run: mutex },
    Row { name: "mutex_waited", title: "a lock that its waiter parks for", n: 10_000, run: mutex_waited },
    Row { name: "rwlock", title: "read and write once each, nobody waits", n: 50_000, run: rwlock },
    Row { name: "semaphore", title: "acquire and release, nobody waits", n: 50_000, run: semaphore },
    Row { name: "socket", title: "write a byte and read it, ready at once", n: 10_000, run: socket },
    Row {
        name: "socket_waited",
        title: "a byte there and back between goroutines that wait",
        n: 5_000,
        run: socket_waited,
    },
];

fn enter(n: usize) {
    (0..n).for_each(|_| runtime::checkpoint());
}

fn spawn(n: usize) {
    (0..n).for_each(|i| assert_eq!(go(move || i).join().unwrap(), i));
}

fn spawn_batch(n: usize) {
    for _ in 0..n / 100 {
        let handles: Vec<_> = (0..100).map(|i| go(move || i)).collect();
        let sum: usize = handles.into_iter().map(|handle| handle.join().unwrap()).sum();
        assert_eq!(sum, 4950);
    }
}

fn switch(n: usize) {
    let other = go(move || (0..n / 2).for_each(|_| yield_now()));
    (0..n / 2).for_each(|_| yield_now());
    other.join().unwrap();
}

fn blocking(n: usize) {
    (0..n).for_each(|i| assert_eq!(runtime::blocking(|| black_box(i)), i));
}

fn ping_pong(n: usize) {
    let (ping, pinged) = bounded(0);
    let (pong, ponged) = bounded(0);
    let other = go(move || pinged.iter().for_each(|i: usize| pong.send(i).unwrap()));
    for i in 0..n {
        ping.send(i).unwrap();
        assert_eq!(ponged.recv(), Ok(i));
    }
    drop(ping);
    other.join().unwrap();
}

fn unbuffered(n: usize) {
    let (s, r) = bounded(0);
    let other = go(move || (0..n).for_each(|i| s.send(i).unwrap()));
    assert_eq!(r.iter().count(), n);
    other.join().unwrap();
}

fn buffered(n: usize) {
    let (s, r) = bounded(1);
    for i in 0..n {
        s.send(i).unwrap();
        assert_eq!(r.recv(), Ok(i));
    }
}

fn unbounded_runs(n: usize) {
    let (s, r) = unbounded();
    for _ in 0..n / 64 {
        (0..64).for_each(|i| s.send(i).unwrap());
        (0..64).for_each(|i| assert_eq!(r.recv(), Ok(i)));
    }
}

fn pipe(n: usize) {
    let (s, r) = bounded(128);
    let other = go(move || (0..n).for_each(|i| s.send(i).unwrap()));
    assert_eq!(r.iter().count(), n);
    other.join().unwrap();
}

fn select_two(n: usize) {
    let (s1, r1) = bounded(0);
    let (s2, r2) = bounded(0);
    let other = go(move || {
        for i in 0..n / 2 {
            s1.send(i).unwrap();
            s2.send(i).unwrap();
        }
    });
    let mut sum = 0;
    for _ in 0..n / 2 * 2 {
        select! {
            recv(r1) -> i => sum += i.unwrap(),
            recv(r2) -> i => sum += i.unwrap(),
        }
    }
    black_box(sum);
    other.join().unwrap();
}

fn select_default(n: usize) {
    let (_s1, r1) = bounded::<usize>(0);
    let (_s2, r2) = bounded::<usize>(0);
    for _ in 0..n {
        select! {
            recv(r1) -> _ => unreachable!(),
            recv(r2) -> _ => unreachable!(),
            default => {}
        }
    }
}

fn recv_timeout(n: usize) {
    let (s, r) = bounded(0);
    let other = go(move || (0..n).for_each(|i| s.send(i).unwrap()));
    (0..n).for_each(|i| assert_eq!(r.recv_timeout(HOUR), Ok(i)));
    other.join().unwrap();
}

fn timer(n: usize) {
    for _ in 0..n {
        assert!(Timer::after_func(HOUR, || ()).stop());
    }
    black_box(chan::after(HOUR));
}

fn mutex(n: usize) {
    let mutex = Mutex::new(0);
    (0..n).for_each(|_| *mutex.lock().unwrap() += 1);
    assert_eq!(mutex.into_inner().unwrap(), n);
}

fn mutex_waited(n: usize) {
    static MUTEX: Mutex<usize> = Mutex::new(0);
    let work = move || {
        for _ in 0..n / 2 {
            let mut count = MUTEX.lock().unwrap();
            *count += 1;
            yield_now();
        }
    };
    let other = go(work);
    work();
    other.join().unwrap();
}

fn rwlock(n: usize) {
    let lock = RwLock::new(0);
    for i in 0..n {
        *lock.write().unwrap() += 1;
        assert_eq!(*lock.read().unwrap(), i + 1);
    }
}

fn semaphore(n: usize) {
    let semaphore = Semaphore::new(1);
    (0..n).for_each(|_| drop(semaphore.acquire()));
}

fn socket(n: usize) {
    let (mut one, mut two) = UnixStream::pair().unwrap();
    let mut byte = [0];
    for _ in 0..n {
        one.write_all(b"x").unwrap();
        two.read_exact(&mut byte).unwrap();
    }
}

fn socket_waited(n: usize) {
    let (mut one, mut two) = UnixStream::pair().unwrap();
    let other = go(move || {
        let mut byte = [0];
        for _ in 0..n {
            two.read_exact(&mut byte).unwrap();
            two.write_all(&byte).unwrap();
        }
    });
    let mut byte = [0];
    for _ in 0..n {
        one.write_all(b"x").unwrap();
        one.read_exact(&mut byte).unwrap();
    }
    other.join().unwrap();
}
