//! Which goroutine runs next (S21–S24, S26–S28), seen from outside: with one P the order is
//! determined.

mod common;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{Child, Outcome, tid};
use gosched::thread;

/// In a child with one P: the order in which `n` goroutines run that main creates before it parks.
fn order_of(n: usize) -> Vec<usize> {
    gosched::run(|| {
        note_thread();
        let order = Arc::new(Mutex::new(Vec::with_capacity(n)));
        let main = thread::current();
        for i in 0..n {
            let (order, main) = (Arc::clone(&order), main.clone());
            gosched::go(move || {
                note_thread();
                let mut order = order.lock().unwrap();
                order.push(i);
                if order.len() == n {
                    main.unpark();
                }
            });
        }
        thread::park();
        order.lock().unwrap().clone()
    })
}

fn tell_order_of(n: usize) {
    println!("order: {}", line(&order_of(n)));
    tell_threads();
}

/// The threads that goroutines have run on.
static THREADS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn note_thread() {
    THREADS.lock().unwrap().insert(tid());
}

fn tell_threads() {
    println!("threads: {}", THREADS.lock().unwrap().len());
}

/// Runs `child`, which has one P, until one thread has done it all. If the kernel blocks that
/// thread meanwhile (for a page, say), its P moves to another one (S20), and other orders are
/// possible.
fn undisturbed(child: &Child) -> Outcome {
    let mut outcomes = (0..20).map(|_| child.run().ok());
    outcomes.find(|outcome| outcome.value("threads") == "1").expect("one thread that is never blocked")
}

fn numbers(text: &str) -> Vec<usize> {
    text.split_whitespace().map(|n| n.parse().unwrap()).collect()
}

fn line(order: &[usize]) -> String {
    order.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// S22: with one P, ten goroutines created in a loop run as 9 0 1 2 3 4 5 6 7 8 when their creator
/// parks.
#[test]
fn the_well_known_order_by_park() {
    let child = common::child("the_well_known_order_by_park", || tell_order_of(10));
    assert_eq!(undisturbed(&child.procs(1)).value("order"), "9 0 1 2 3 4 5 6 7 8");
}

/// S22: the same order when the creator joins them, one after the other.
#[test]
fn the_well_known_order_by_join() {
    let child = common::child("the_well_known_order_by_join", || {
        let order = gosched::run(|| {
            note_thread();
            let order = Arc::new(Mutex::new(Vec::new()));
            let note = |i| {
                let order = Arc::clone(&order);
                gosched::go(move || {
                    note_thread();
                    order.lock().unwrap().push(i);
                })
            };
            let handles: Vec<_> = (0..10).map(note).collect();
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            order.lock().unwrap().clone()
        });
        println!("order: {}", line(&order));
        tell_threads();
    });
    assert_eq!(undisturbed(&child.procs(1)).value("order"), "9 0 1 2 3 4 5 6 7 8");
}

/// S21, S23 and S24 as a program: the order in which `n` goroutines run on one P whose tick begins
/// at `tick`.
fn model(n: usize, mut tick: usize) -> Vec<usize> {
    let (mut next, mut ring, mut global) = (None, VecDeque::new(), VecDeque::new());
    for i in 0..n {
        let Some(kicked) = next.replace(i) else { continue };
        if ring.len() == 256 {
            global.extend(ring.drain(..128));
            global.push_back(kicked);
        } else {
            ring.push_back(kicked);
        }
    }
    let mut order = Vec::new();
    while order.len() < n {
        let fair = if tick.is_multiple_of(61) { global.pop_front() } else { None };
        if fair.is_none()
            && let Some(i) = next.take()
        {
            order.push(i); // inherits the slice: does not count
            continue;
        }
        let picked = fair.or_else(|| ring.pop_front()).unwrap_or_else(|| {
            let share = (global.len() + 1).min(global.len()).min(128);
            ring.extend(global.drain(..share));
            ring.pop_front().unwrap()
        });
        order.push(picked);
        tick += 1;
    }
    order
}

/// S21, S23, S24: with one P and `randomize=0`, 10 to 2,500 goroutines run in the one order that
/// the rules give: overflow in batches of 129, one from the global queue at every 61st pick, shares
/// of at most 128. (So many can be created within one time slice, also without optimisation. After
/// it new ones may have to queue behind others.)
#[test]
fn a_full_ring_overflows_in_order() {
    if common::spared_by_sanitizer("so many goroutines are not made within one time slice") {
        return;
    }
    let child = common::child("a_full_ring_overflows_in_order", || {
        tell_order_of(common::arg().parse().unwrap());
    });
    let child = child.procs(1).env("GOSCHED_DEBUG", "randomize=0");
    for n in [10, 257, 258, 1000, 2500] {
        let outcome = undisturbed(&child.clone().arg(&n.to_string()));
        let order = numbers(outcome.value("order"));
        // Main's own picks came before; how many they were is not part of the rules.
        let phase = (0..61).find(|&tick| order == model(n, tick));
        assert!(phase.is_some(), "{n} goroutines ran in an order the rules don't give: {order:?}");
    }
}

/// S21: of 258 goroutines, 0–127 and 256 go to the global queue together and are shuffled; the ring
/// keeps its order.
#[test]
fn an_overflowing_batch_is_shuffled() {
    let child = common::child("an_overflowing_batch_is_shuffled", || tell_order_of(258)).procs(1);
    let run = |seed: u32| {
        let seeded = child.clone().env("GOSCHED_DEBUG", &format!("seed={seed}"));
        numbers(undisturbed(&seeded).value("order"))
    };
    let orders: Vec<_> = (1..=4).map(run).collect();
    for order in &orders {
        assert!(order[..2].contains(&257), "runnext comes first, a fairness tick aside: {order:?}");
        let batched = |i: &usize| *i < 128 || *i == 256;
        let ring: Vec<_> = order.iter().copied().filter(|i| !batched(i) && *i != 257).collect();
        assert_eq!(ring, (128..256).collect::<Vec<_>>(), "the ring keeps its order");
        let batch: Vec<_> = order.iter().copied().filter(batched).collect();
        assert_eq!(batch.len(), 129);
        assert!(!batch.is_sorted(), "129 goroutines in order are no shuffle: {batch:?}");
    }
    assert_ne!(orders[0], orders[1], "another seed, another order");
    assert_eq!(orders[0], run(1), "the same seed, the same order");
}

/// A chain on one P that never lets the ring run empty: each link creates the next one and one more
/// that kicks it from `runnext` into the ring. So each link is one pick that counts and one that
/// inherits the slice.
fn link(left: usize, end: thread::Thread) {
    note_thread();
    if left == 0 {
        return end.unpark();
    }
    gosched::go(move || link(left - 1, end));
    gosched::go(|| ());
}

/// S23, S27: while the ring is never empty, a goroutine in the global queue runs at every 61st
/// pick; picks from `runnext` don't count, so that is every 61st link of the chain, not every 30th.
#[test]
fn the_global_queue_has_its_turn_every_61_picks() {
    const TURNS: usize = 100;
    let child = common::child("the_global_queue_has_its_turn_every_61_picks", || {
        let turns = Arc::new(AtomicUsize::new(0));
        gosched::run(|| {
            let (over, counted) = (Arc::new(AtomicBool::new(false)), Arc::clone(&turns));
            let seen = Arc::clone(&over);
            let yielder = gosched::go(move || {
                while !seen.load(Ordering::Relaxed) {
                    counted.fetch_add(1, Ordering::Relaxed);
                    gosched::yield_now();
                }
            });
            note_thread();
            gosched::yield_now(); // now the yielder is the one that waits in the global queue
            let main = thread::current();
            gosched::go(move || link(61 * TURNS, main));
            thread::park();
            println!("turns: {}", turns.load(Ordering::Relaxed));
            over.store(true, Ordering::Relaxed);
            yielder.join().unwrap();
        });
        tell_threads();
    });
    let turns: usize = undisturbed(&child.procs(1)).value("turns").parse().unwrap();
    assert!((TURNS - 2..=TURNS + 5).contains(&turns), "{turns} turns in {} counted picks", 61 * TURNS);
}

/// S27: two goroutines that wake each other through `runnext` share one slice: when it ends, the
/// others have a turn.
#[test]
fn two_in_runnext_do_not_starve_the_others() {
    let child = common::child("two_in_runnext_do_not_starve_the_others", || {
        gosched::run(|| {
            let over = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&over);
            let second = gosched::go(move || {
                let first = loop {
                    thread::park();
                    if let Some(first) = FIRST.lock().unwrap().clone() {
                        break first;
                    }
                };
                while !seen.load(Ordering::Relaxed) {
                    first.unpark();
                    thread::park();
                }
                first.unpark();
            });
            let (seen, partner) = (Arc::clone(&over), second.thread().clone());
            let first = gosched::go(move || {
                *FIRST.lock().unwrap() = Some(thread::current());
                while !seen.load(Ordering::Relaxed) {
                    partner.unpark();
                    thread::park();
                }
                partner.unpark();
            });
            for _ in 0..10 {
                gosched::yield_now(); // main waits in the global queue
            }
            over.store(true, Ordering::Relaxed);
            first.join().unwrap();
            second.join().unwrap();
        });
    });
    child.procs(1).limit(Duration::from_secs(20)).run().ok();
}

static FIRST: Mutex<Option<thread::Thread>> = Mutex::new(None);

/// S28, S56: what a goroutine creates or wakes runs on the same P when nobody is idle.
#[test]
fn children_stay_with_their_parent_when_nobody_is_idle() {
    let child = common::child("children_stay_with_their_parent_when_nobody_is_idle", || {
        gosched::run(|| {
            // If the kernel does not run this thread for a while, the monitor takes a P for what
            // waits here: that is rare.
            let stayed = (0..20).filter(|_| children_stay()).count();
            assert!(stayed >= 10, "{stayed} of 20 times");
        });
    });
    child.procs(2).run().ok();
}

/// Whether all that the caller creates and wakes runs on its thread, while another one computes on
/// the other P.
fn children_stay() -> bool {
    let (started, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (said, seen) = (Arc::clone(&started), Arc::clone(&over));
    let other = gosched::go(move || {
        said.store(true, Ordering::Release);
        while !seen.load(Ordering::Acquire) {
            std::thread::yield_now(); // keeps its P: no call of ours
        }
        tid()
    });
    while !started.load(Ordering::Acquire) {
        gosched::yield_now();
    }
    let here = tid();
    let handles: Vec<_> = (0..200).map(|_| gosched::go(tid)).collect();
    let mut threads: HashSet<_> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
    let parked = gosched::go(|| {
        let before = tid();
        thread::park();
        (before, tid())
    });
    gosched::go(|| ()).join().unwrap();
    parked.thread().unpark();
    let (before, after) = parked.join().unwrap();
    threads.extend([before, after, tid()]);
    over.store(true, Ordering::Release);
    assert_ne!(other.join().unwrap(), here);
    threads == HashSet::from([here])
}

/// S26, S56: an idle P steals: of equal goroutines created by one, each of two Ps runs at least a
/// tenth.
#[test]
fn equal_goroutines_spread_over_all_ps() {
    let child = common::child("equal_goroutines_spread_over_all_ps", || {
        let threads = gosched::run(|| {
            let compute = || {
                let until = Instant::now() + Duration::from_micros(50);
                while Instant::now() < until {}
                tid()
            };
            let handles: Vec<_> = (0..6000).map(|_| gosched::go(compute)).collect();
            let mut threads = HashMap::new();
            for handle in handles {
                *threads.entry(handle.join().unwrap()).or_insert(0_usize) += 1;
            }
            threads
        });
        // A P that was taken from a thread which the kernel did not run continues on a third one.
        let mut shares: Vec<_> = threads.values().copied().collect();
        shares.sort();
        assert!(shares.len() >= 2 && shares[shares.len() - 2] >= 600, "{threads:?}");
    });
    child.procs(2).run().ok();
}
