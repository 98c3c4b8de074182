//! Very many goroutines: each runs exactly once, whoever creates it and however it is waited for
//! (S1, S8, S9, S55).

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use gosched::thread::{self, Thread};

/// Without optimisation a million takes its time.
const MANY: usize = if cfg!(debug_assertions) { 200_000 } else { 1_000_000 };

/// Counts how often each goroutine ran, and wakes `end` after the last one.
struct Tally {
    ran: Vec<AtomicU8>,
    left: AtomicUsize,
    end: Thread,
}

impl Tally {
    fn new(n: usize) -> Arc<Tally> {
        let ran = (0..n).map(|_| AtomicU8::new(0)).collect();
        Arc::new(Tally { ran, left: AtomicUsize::new(n), end: thread::current() })
    }

    fn count(&self, i: usize) {
        self.ran[i].fetch_add(1, Ordering::Relaxed);
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.end.unpark();
        }
    }

    fn each_ran_once(&self) {
        thread::park();
        assert_eq!(self.left.load(Ordering::Acquire), 0);
        assert!(self.ran.iter().all(|ran| ran.load(Ordering::Relaxed) == 1));
    }
}

/// S8, S21, S55: a million goroutines created by one and never joined run exactly once each.
#[gosched::test(timeout = "120s")]
fn created_by_one_and_detached() {
    let tally = Tally::new(MANY);
    for i in 0..MANY {
        let tally = Arc::clone(&tally);
        gosched::go(move || tally.count(i));
    }
    tally.each_ran_once();
}

/// S8, S9: a million goroutines, all alive at once and joined in order, give each its own result.
#[gosched::test(timeout = "120s")]
fn created_by_one_and_joined() {
    let handles: Vec<_> = (0..MANY).map(|i| gosched::go(move || i * 3)).collect();
    for (i, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), i * 3);
    }
}

/// S9: a million goroutines, a thousand at a time: headers and stacks are reused.
#[gosched::test(timeout = "120s")]
fn in_batches_of_a_thousand() {
    for batch in 0..MANY / 1000 {
        let handles: Vec<_> = (0..1000).map(|i| gosched::go(move || batch ^ i)).collect();
        let results = handles.into_iter().map(|handle| handle.join().unwrap());
        assert!(results.enumerate().all(|(i, result)| result == batch ^ i));
    }
}

/// S8: a chain in which each goroutine creates the next and ends.
#[gosched::test(timeout = "120s")]
fn each_creates_the_next() {
    fn link(left: usize, tally: Arc<Tally>) {
        tally.count(left - 1);
        if left > 1 {
            gosched::go(move || link(left - 1, tally));
        }
    }
    let tally = Tally::new(MANY);
    let first = Arc::clone(&tally);
    gosched::go(move || link(MANY, first));
    tally.each_ran_once();
}

/// S8, S26: a tree with a hundred thousand leaves, in which each inner node joins its ten children.
#[gosched::test(timeout = "120s")]
fn a_tree_of_joins() {
    fn node(number: usize, size: usize) -> usize {
        if size == 1 {
            return number;
        }
        let part = size / 10;
        let children: Vec<_> = (0..10).map(|i| gosched::go(move || node(number + i * part, part))).collect();
        children.into_iter().map(|child| child.join().unwrap()).sum()
    }
    let leaves = 100_000;
    assert_eq!(node(0, leaves), leaves * (leaves - 1) / 2);
}

/// S54: several foreign threads create goroutines at once, through the global queue.
#[gosched::test(timeout = "120s")]
fn created_by_foreign_threads() {
    let (threads, each) = (4, MANY / 20);
    let tally = Tally::new(threads * each);
    for t in 0..threads {
        let tally = Arc::clone(&tally);
        std::thread::spawn(move || {
            for i in 0..each {
                let tally = Arc::clone(&tally);
                gosched::go(move || tally.count(t * each + i));
            }
        });
    }
    tally.each_ran_once();
}

/// S17: a thousand goroutines that yield a hundred times each all end.
#[gosched::test(timeout = "120s")]
fn all_of_those_that_yield_get_through() {
    let tally = Tally::new(1000);
    for i in 0..1000 {
        let tally = Arc::clone(&tally);
        gosched::go(move || {
            (0..100).for_each(|_| gosched::yield_now());
            tally.count(i);
        });
    }
    tally.each_ran_once();
}
