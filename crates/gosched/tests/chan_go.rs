//! The programs with which Go tests its channels, written anew: pipelines, sieves, chains, series,
//! and selections that race (S44, S45).

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::join_all;
use gosched::chan::{Receiver, Sender, bounded, unbounded};
use gosched::{go, select};

/// Values come out in the order they went in, at once and one by one.
#[gosched::test]
fn fifo() {
    let (s, r) = bounded(10);
    (0..10).for_each(|n| s.send(n).unwrap());
    assert_eq!((0..10).map(|_| r.recv().unwrap()).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    // Each waits for its neighbour's signal before it looks at the channel.
    let (s, r) = bounded(0);
    let (begin, mut previous) = bounded::<()>(1);
    let mut handles = Vec::new();
    for n in 0..10 {
        let (done, next) = bounded::<()>(1);
        let (r, before) = (r.clone(), previous);
        handles.push(go(move || {
            before.recv().unwrap();
            assert_eq!(r.recv(), Ok(n));
            done.send(()).unwrap();
        }));
        previous = next;
    }
    begin.send(()).unwrap();
    (0..10).for_each(|n| s.send(n).unwrap());
    previous.recv().unwrap();
    join_all(handles);
}

/// A chain of filters, each of which lets through what its prime does not divide.
fn sieve(capacity: usize, count: usize) -> Vec<u32> {
    let (s, mut numbers) = bounded(capacity);
    go(move || (2..).try_for_each(|n| s.send(n)));
    let mut primes = Vec::new();
    while primes.len() < count {
        let prime: u32 = numbers.recv().unwrap();
        primes.push(prime);
        let (s, filtered) = bounded(capacity);
        go(move || {
            for n in numbers.iter().filter(|n| n % prime != 0) {
                if s.send(n).is_err() {
                    return;
                }
            }
        });
        numbers = filtered;
    }
    primes
}

#[gosched::test]
fn sieves() {
    for capacity in [0, 1, 16] {
        let primes = sieve(capacity, 60);
        assert_eq!((primes[0], primes[1], primes[59]), (2, 3, 281));
    }
}

/// A message through 10,000 goroutines.
#[gosched::test]
fn chain_of_ten_thousand() {
    let (mut left, rightmost) = bounded(0);
    let mut links = Vec::new();
    for _ in 0..10_000 {
        let (s, r) = bounded(0);
        let to = std::mem::replace(&mut left, s);
        links.push(go(move || to.send(r.recv().unwrap() + 1).unwrap()));
    }
    go(move || left.send(0).unwrap());
    assert_eq!(rightmost.recv(), Ok(10_000));
    join_all(links);
}

/// A selection never takes part twice: one sender selects among four channels, four receivers merge
/// them again.
#[gosched::test]
fn double_select() {
    const N: usize = 5_000;
    let channels: Vec<(Sender<usize>, Receiver<usize>)> = (0..4).map(|_| bounded(0)).collect();
    let (merged_s, merged) = bounded(0);
    let (s, r): (Vec<_>, Vec<_>) = channels.into_iter().unzip();
    for r in r {
        let merged_s = merged_s.clone();
        go(move || r.iter().for_each(|n| merged_s.send(n).unwrap()));
    }
    drop(merged_s);
    go(move || {
        for n in 0..N {
            select! {
                send(s[0], n) -> res => res.unwrap(),
                send(s[1], n) -> res => res.unwrap(),
                send(s[2], n) -> res => res.unwrap(),
                send(s[3], n) -> res => res.unwrap(),
            }
        }
    });
    let mut seen = vec![false; N];
    for n in merged.iter() {
        assert!(!std::mem::replace(&mut seen[n], true), "{n} came twice");
    }
    assert!(seen.into_iter().all(|seen| seen));
}

/// While two channels both have a value, each of them is chosen often enough: neither is starved.
#[gosched::test]
fn fair_select() {
    let (s1, r1) = bounded(1);
    let (s2, r2) = bounded(1);
    let (stop, stopped) = bounded::<()>(0);
    for s in [s1, s2] {
        let stopped = stopped.clone();
        go(move || {
            loop {
                select! {
                    send(s, ()) -> _ => {}
                    recv(stopped) -> _ => return,
                }
            }
        });
    }
    let (out, never) = bounded::<()>(0);
    // How often each was taken while both had something.
    let mut counts = [0; 2];
    while counts.iter().min() < Some(&1_000) {
        let both = !r1.is_empty() && !r2.is_empty();
        let taken = select! {
            recv(r1) -> _ => 0,
            recv(r2) -> _ => 1,
            recv(never) -> _ => unreachable!(),
        };
        counts[taken] += i32::from(both);
        assert!(counts.iter().max() < Some(&20_000), "{counts:?}");
        if !both {
            gosched::yield_now();
        }
    }
    drop((stop, out));
}

/// Goroutines that send and receive at random on channels with and without buffers, singly and by
/// selections: all come to an end.
#[gosched::test(timeout = "120s")]
fn select_stress() {
    const N: usize = 2_000;
    let channels: Arc<Vec<(Sender<usize>, Receiver<usize>)>> = Arc::new([0, 0, 2, 3].map(bounded).into());
    let mut handles = Vec::new();
    for k in 0..4 {
        let c = Arc::clone(&channels);
        handles.push(go(move || (0..N).for_each(|_| c[k].0.send(0).unwrap())));
        let c = Arc::clone(&channels);
        handles.push(go(move || assert_eq!(c[k].1.iter().take(N).count(), N)));
    }
    let c = Arc::clone(&channels);
    handles.push(go(move || {
        let mut left = [N; 4];
        let off = bounded::<usize>(0);
        while left.iter().any(|left| *left > 0) {
            let s = |k: usize| if left[k] > 0 { &c[k].0 } else { &off.0 };
            select! {
                send(s(3), 0) -> _ => left[3] -= 1,
                send(s(2), 0) -> _ => left[2] -= 1,
                send(s(0), 0) -> _ => left[0] -= 1,
                send(s(1), 0) -> _ => left[1] -= 1,
            }
        }
    }));
    let c = Arc::clone(&channels);
    handles.push(go(move || {
        let mut left = [N; 4];
        let off = bounded::<usize>(0);
        while left.iter().any(|left| *left > 0) {
            let r = |k: usize| if left[k] > 0 { &c[k].1 } else { &off.1 };
            select! {
                recv(r(0)) -> _ => left[0] -= 1,
                recv(r(1)) -> _ => left[1] -= 1,
                recv(r(2)) -> _ => left[2] -= 1,
                recv(r(3)) -> _ => left[3] -= 1,
            }
        }
    }));
    join_all(handles);
    assert!(channels.iter().all(|(_, r)| r.is_empty()));
}

/// Tries on one side meet waiters on the other: a value that a try sends is received, and a waiting
/// sender is found.
#[gosched::test]
fn nonblocking() {
    let (s, r) = bounded(0);
    assert!(s.try_send(0).is_err() && r.try_recv().is_err());
    let receiver = {
        let r = r.clone();
        go(move || r.recv())
    };
    while s.try_send(7).is_err() {
        gosched::yield_now();
    }
    assert_eq!(receiver.join().unwrap(), Ok(7));
    let sender = {
        let s = s.clone();
        go(move || s.send(8))
    };
    let got = loop {
        select! {
            recv(r) -> msg => break msg,
            default => gosched::yield_now(),
        }
    };
    assert_eq!(got, Ok(8));
    sender.join().unwrap().unwrap();
}

/// At each moment at least one of two channels has a value, so the other goroutine never finds both
/// empty.
#[gosched::test]
fn nonblocking_race() {
    let rounds = if cfg!(debug_assertions) { 2_000 } else { 20_000 };
    for _ in 0..rounds {
        let (s1, r1) = bounded(1);
        let (s2, r2) = bounded(1);
        let (tell, told) = bounded(1);
        s1.send(1).unwrap();
        let other = {
            let (r1, r2) = (r1.clone(), r2.clone());
            go(move || {
                let both_empty = select! {
                    recv(r1) -> _ => false,
                    default => select! { recv(r2) -> _ => false, default => true },
                };
                tell.send(both_empty).unwrap();
            })
        };
        s2.send(1).unwrap();
        let _ = r1.try_recv();
        assert_eq!(told.recv(), Ok(false));
        other.join().unwrap();
    }
}

/// Formal power series as infinite streams of coefficients, each a goroutine: sums and products.
mod powers {
    use super::*;

    pub type Series = Receiver<i64>;

    fn series(f: impl FnOnce(&Sender<i64>) -> Option<()> + Send + 'static) -> Series {
        let (s, r) = bounded(0);
        go(move || f(&s));
        r
    }

    fn put(s: &Sender<i64>, coefficient: i64) -> Option<()> {
        s.send(coefficient).ok()
    }

    /// 1 + x + x² + ...
    pub fn ones() -> Series {
        series(|s| {
            loop {
                put(s, 1)?;
            }
        })
    }

    pub fn add(f: Series, g: Series) -> Series {
        series(move |s| {
            loop {
                put(s, f.recv().ok()? + g.recv().ok()?)?;
            }
        })
    }

    /// The same series twice.
    pub fn split(f: Series) -> (Series, Series) {
        let ((s1, r1), (s2, r2)) = (unbounded(), unbounded());
        go(move || {
            f.iter().take(200).for_each(|n| {
                let _ = (s1.send(n), s2.send(n));
            });
        });
        (r1, r2)
    }

    /// f·g = f₀g₀ + x(f₀·G + g₀·F) + x²·F·G, with F and G the tails.
    pub fn multiply(f: Series, g: Series) -> Series {
        series(move |s| {
            let (f0, g0) = (f.recv().ok()?, g.recv().ok()?);
            put(s, f0 * g0)?;
            let ((f1, f2), (g1, g2)) = (split(f), split(g));
            let rest = multiply(f2, g2);
            put(s, f0 * g1.recv().ok()? + g0 * f1.recv().ok()?)?;
            loop {
                put(s, f0 * g1.recv().ok()? + g0 * f1.recv().ok()? + rest.recv().ok()?)?;
            }
        })
    }
}

#[gosched::test]
fn power_series() {
    use powers::{add, multiply, ones};
    let first = |series: powers::Series| series.iter().take(12).collect::<Vec<_>>();
    assert_eq!(first(add(ones(), ones())), [2; 12]);
    assert_eq!(first(multiply(ones(), ones())), (1..=12).collect::<Vec<_>>());
    let cubes = first(multiply(ones(), multiply(ones(), ones())));
    assert_eq!(cubes, (1..=12).map(|n| n * (n + 1) / 2).collect::<Vec<_>>());
}

/// One feeder, 23 workers and one collector: each value passes through exactly one worker, and none
/// is lost.
#[gosched::test]
fn multi_consumer() {
    const WORKERS: usize = 23;
    let (q, work) = bounded(WORKERS * 2);
    let (r, results) = bounded(WORKERS * 2);
    let primes = [2usize, 3, 7, 11, 13, 17, 19, 23, 27, 31];
    let taken = Arc::new(AtomicUsize::new(0));
    for n in 0..WORKERS {
        let (work, r, taken) = (work.clone(), r.clone(), Arc::clone(&taken));
        go(move || {
            for v in work.iter() {
                if n % 4 == v % 4 {
                    gosched::yield_now();
                }
                taken.fetch_add(1, Ordering::Relaxed);
                r.send(v).unwrap();
            }
        });
    }
    drop(r);
    let feeding = go(move || {
        let values = (0..3_000).map(|n| primes[n % primes.len()]);
        values.clone().for_each(|v| q.send(v).unwrap());
        values.sum::<usize>()
    });
    let sum: usize = results.iter().sum();
    assert_eq!((sum, taken.load(Ordering::Relaxed)), (feeding.join().unwrap(), 3_000));
}
