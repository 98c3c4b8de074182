//! Every value arrives exactly once, in its sender's order, whoever sends and receives (S18, S44).

mod common;

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{child, within};
use gosched::chan::{
    Receiver, RecvTimeoutError, Select, SelectedOperation, SendTimeoutError, Sender, TryRecvError,
    TrySendError, bounded, unbounded,
};
use gosched::{go, select, yield_now};

const CAPACITIES: [Option<usize>; 5] = [Some(0), Some(1), Some(7), Some(128), None];

fn channel<T>(capacity: Option<usize>) -> (Sender<T>, Receiver<T>) {
    capacity.map_or_else(unbounded, bounded)
}

/// How a receiver takes its values.
#[derive(Clone, Copy, Debug)]
enum Way {
    Plain,
    Timed,
    Trying,
    Selecting,
}

const WAYS: [Way; 4] = [Way::Plain, Way::Timed, Way::Trying, Way::Selecting];

fn send(s: &Sender<(usize, usize)>, value: (usize, usize), way: Way) {
    match way {
        Way::Plain => s.send(value).unwrap(),
        Way::Timed => {
            let mut value = value;
            while let Err(SendTimeoutError::Timeout(back)) = s.send_timeout(value, Duration::from_micros(50))
            {
                value = back;
            }
        }
        Way::Trying => {
            let mut value = value;
            while let Err(TrySendError::Full(back)) = s.try_send(value) {
                value = back;
                gosched::yield_now();
            }
        }
        Way::Selecting => select! { send(s, value) -> res => res.unwrap() },
    }
}

fn recv(r: &Receiver<(usize, usize)>, way: Way) -> Option<(usize, usize)> {
    match way {
        Way::Plain => r.recv().ok(),
        Way::Timed => loop {
            match r.recv_timeout(Duration::from_micros(50)) {
                Ok(value) => return Some(value),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        },
        Way::Trying => loop {
            match r.try_recv() {
                Ok(value) => return Some(value),
                Err(TryRecvError::Empty) => gosched::yield_now(),
                Err(TryRecvError::Disconnected) => return None,
            }
        },
        Way::Selecting => select! { recv(r) -> msg => msg.ok() },
    }
}

/// Checks what the receivers got: everything once, and each sender's values in its order.
fn check(got: Vec<Vec<(usize, usize)>>, senders: usize, each: usize) {
    for values in &got {
        let mut last = vec![None; senders];
        for (sender, n) in values {
            assert!(last[*sender].is_none_or(|last| last < *n), "out of order");
            last[*sender] = Some(*n);
        }
    }
    let all: Vec<(usize, usize)> = got.into_iter().flatten().collect();
    let distinct: HashSet<_> = all.iter().copied().collect();
    assert_eq!((all.len(), distinct.len()), (senders * each, senders * each));
}

/// S44: 32 goroutines and 4 foreign threads send in all ways, and as many receive in all ways.
#[gosched::test(timeout = "120s")]
fn exactly_once_and_in_order() {
    const SENDERS: usize = 36;
    let each = if cfg!(debug_assertions) { 40 } else { 200 };
    for capacity in CAPACITIES {
        let (s, r) = channel(capacity);
        let mut goroutines = Vec::new();
        let mut threads = Vec::new();
        for n in 0..SENDERS {
            let (s, r, way) = (s.clone(), r.clone(), WAYS[n % 4]);
            let sending = move || (0..each).for_each(|value| send(&s, (n, value), way));
            let receiving = move || std::iter::from_fn(|| recv(&r, WAYS[n / 4 % 4])).collect::<Vec<_>>();
            if n % 9 == 0 {
                threads.push(std::thread::spawn(receiving));
                std::thread::spawn(sending);
            } else {
                goroutines.push(go(receiving));
                go(sending);
            }
        }
        drop((s, r));
        let mut got = common::join_all(goroutines);
        got.extend(gosched::runtime::blocking(|| {
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        }));
        check(got, SENDERS, each);
    }
}

/// S44: the same with one, two and eight Ps.
#[test]
fn exactly_once_with_any_number_of_ps() {
    for procs in [1, 2, 8] {
        common::Child::of("exactly_once_and_in_order").procs(procs).run().ok();
    }
}

/// S18: foreign threads among themselves, without a goroutine anywhere.
#[test]
fn foreign_threads_alone() {
    within(Duration::from_secs(60), || {
        for capacity in CAPACITIES {
            let (s, r) = channel(capacity);
            let receivers: Vec<_> = (0..3)
                .map(|_| {
                    let r = r.clone();
                    std::thread::spawn(move || r.iter().collect::<Vec<_>>())
                })
                .collect();
            std::thread::scope(|scope| {
                for n in 0..3 {
                    let s = s.clone();
                    scope.spawn(move || (0..500).for_each(|value| s.send((n, value)).unwrap()));
                }
            });
            drop((s, r));
            check(receivers.into_iter().map(|receiver| receiver.join().unwrap()).collect(), 3, 500);
        }
    });
}

/// S18: a goroutine that waits for a channel does not block its thread: with one P, 10,000 of them
/// wait at once. (Seen to fail with one receiver too few.)
#[test]
fn ten_thousand_wait_at_once() {
    child("ten_thousand_wait_at_once", || {
        gosched::run(|| {
            static BEGUN: AtomicUsize = AtomicUsize::new(0);
            let (s, r) = bounded(0);
            let receivers: Vec<_> = (0..10_000)
                .map(|_| {
                    let r = r.clone();
                    go(move || {
                        BEGUN.fetch_add(1, Ordering::Relaxed);
                        r.recv().unwrap()
                    })
                })
                .collect();
            // To look at all of them takes a while: not before they are nearly there.
            while BEGUN.load(Ordering::Relaxed) < 10_000 {
                yield_now();
            }
            common::until_waiting("chan receive", 10_000);
            let expected = (0..10_000u64).sum();
            (0..10_000u64).for_each(|n| s.send(n).unwrap());
            assert_eq!(common::join_all(receivers).into_iter().sum::<u64>(), expected);
            assert!(common::threads() < 20, "{} threads", common::threads());
        });
    })
    .procs(1)
    .run()
    .ok();
}

/// S44: without a buffer a send ends when its value is received, not before.
#[gosched::test]
fn a_rendezvous_is_one() {
    let (s, r) = bounded(0);
    let (told, tell) = bounded(1);
    let sender = go(move || {
        s.send(1).unwrap();
        told.send(()).unwrap();
    });
    (0..100).for_each(|_| gosched::yield_now());
    assert_eq!(tell.try_recv(), Err(TryRecvError::Empty));
    assert_eq!((r.len(), r.is_empty(), r.is_full(), r.capacity()), (0, true, true, Some(0)));
    assert_eq!(r.recv(), Ok(1));
    sender.join().unwrap();
    assert_eq!(tell.try_recv(), Ok(()));
}

/// S44: length, capacity and identity of a channel.
#[gosched::test]
fn length_and_capacity() {
    let (s, r) = bounded(2);
    assert_eq!((s.len(), s.is_empty(), s.is_full(), s.capacity()), (0, true, false, Some(2)));
    s.send(1).unwrap();
    s.send(2).unwrap();
    assert_eq!((r.len(), r.is_empty(), r.is_full(), r.capacity()), (2, false, true, Some(2)));
    let (s, r) = unbounded();
    (0..1000).for_each(|n| s.send(n).unwrap());
    assert_eq!((r.len(), r.is_full(), r.capacity()), (1000, false, None));
    assert_eq!(r.try_iter().collect::<Vec<_>>(), (0..1000).collect::<Vec<_>>());
    assert!(s.same_channel(&s.clone()) && !r.same_channel(&unbounded().1));
}

/// Values of all sizes and alignments arrive whole, through buffers, hand-overs and selections.
#[gosched::test]
fn values_of_all_shapes() {
    #[repr(align(64))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Aligned(u8);
    #[repr(align(128))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Nothing;
    fn pass<T: Clone + PartialEq + std::fmt::Debug + Send + 'static>(value: T) {
        for capacity in CAPACITIES {
            let (s, r) = channel(capacity);
            let (expected, value) = (value.clone(), value.clone());
            let sender = go(move || {
                for n in 0..20 {
                    match n % 2 {
                        0 => s.send(value.clone()).unwrap(),
                        _ => select! { send(s, value.clone()) -> res => res.unwrap() },
                    }
                }
            });
            for n in 0..20 {
                let got = match n % 3 {
                    0 => r.recv().unwrap(),
                    _ => select! { recv(r) -> msg => msg.unwrap() },
                };
                assert_eq!(got, expected);
            }
            sender.join().unwrap();
        }
    }
    pass(());
    pass(7u8);
    pass([7u64; 8]);
    pass([7u64; 9]);
    pass([7u8; 5000]);
    pass(Aligned(7));
    pass(Nothing);
    pass(String::from("on the heap"));
}

/// What `crossbeam_channel` promises of its types.
#[test]
fn auto_traits() {
    fn all<T: Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    fn send_and_sync<T: Send + Sync>() {}
    all::<Sender<std::cell::Cell<u8>>>();
    all::<Receiver<std::cell::Cell<u8>>>();
    send_and_sync::<Select<'_>>();
    fn unwind<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    unwind::<SelectedOperation<'_>>();
    let (s, r) = bounded::<u8>(0);
    assert_eq!(
        format!("{s:?} {r:?} {:?} {:?}", r.iter(), r.try_iter()),
        "Sender { .. } Receiver { .. } Iter { .. } TryIter { .. }"
    );
}

/// The errors say what `crossbeam_channel`'s say; `Debug` of those with a value does not need the
/// value's `Debug`, and is in quotes.
#[test]
fn error_texts() {
    struct Silent;
    let (s, r) = bounded(1);
    let text = |error: &dyn std::fmt::Debug| format!("{error:?}");
    s.send(Silent).unwrap();
    assert_eq!(text(&s.try_send(Silent)), r#"Err("Full(..)")"#);
    assert_eq!(text(&s.send_timeout(Silent, Duration::ZERO)), r#"Err("SendTimeoutError(..)")"#);
    drop(r);
    assert_eq!(text(&s.try_send(Silent)), r#"Err("Disconnected(..)")"#);
    assert_eq!(text(&s.send(Silent)), r#"Err("SendError(..)")"#);
    assert_eq!(s.send(Silent).unwrap_err().to_string(), "sending on a disconnected channel");
}
