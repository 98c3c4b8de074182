//! Models of the mutex: one at a time, each sees what the one before did, and nobody is forgotten in the line (loom reports
//! threads that sleep for ever).
//!
//! Seen to fail (2026-11-15), each by the tests named, or by all:
//! - `unlock`, `try_lock_fast`, `take_if_free` or `acquire` `Relaxed`: the next holder does not see what the one before did;
//! - joining the line without setting `QUEUED`, or without giving back `WOKEN`; taking the lock without giving back `WOKEN`;
//!   `wake_next` that clears `QUEUED` while others are in line: one is forgotten there (`normal_mode`, `hand_over`);
//! - `hand_over` without setting `LOCKED`, or an unlock that wakes instead of handing over (`hand_over`);
//! - `take_if_free` or `acquire` that take the lock while it is `STARVING`: two holders
//!   (`a_lock_that_is_being_handed_over_is_not_taken`);
//! - `wake_next` that does not mind `STARVING`: nobody is left to hand over to (`a_late_wake_up_does_not_disturb_a_hand_over`).

#![cfg(loom)]

mod support;

use gosched_locks::{Acquire, Attempt, GRANTED, Mutex, Node, STARVING_AFTER, Unlocked};
use gosched_queue::Note;
use loom::sync::Arc;
use loom::thread;
use support::{Guarded, Waiter, check, lock, unlock, wake};

const LONG: u64 = STARVING_AFTER + 1;

struct Model {
    mutex: Mutex<Waiter>,
    guarded: Guarded,
}

impl Model {
    fn new() -> Arc<Model> {
        Arc::new(Model { mutex: Mutex::new(), guarded: Guarded::new() })
    }

    fn turn(&self, waits: u64) {
        lock(&self.mutex, waits);
        self.guarded.add_one();
        unlock(&self.mutex, waits);
    }
}

fn turns(preemptions: usize, threads: usize, each: usize, waits: u64) {
    check(preemptions, move || {
        let model = Model::new();
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let model = model.clone();
                thread::spawn(move || (0..each).for_each(|_| model.turn(waits)))
            })
            .collect();
        (0..each).for_each(|_| model.turn(waits));
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(model.mutex.try_lock(), "free in the end, whatever bits are left");
        assert_eq!(model.guarded.get(), threads * each);
    });
}

/// Whoever is woken competes, and goes back to the line if it loses.
#[test]
fn normal_mode() {
    turns(4, 2, 2, 0);
    turns(3, 3, 1, 0);
    turns(2, 3, 2, 0);
}

/// Whoever is woken and loses has the lock handed over; and the next, which has waited too.
#[test]
fn hand_over() {
    turns(4, 2, 2, LONG);
    turns(3, 3, 1, LONG);
    turns(2, 3, 2, LONG);
}

/// The main thread holds the lock, and also plays one who has been woken, has lost, and stands in line again, starving.
fn starving() -> (Arc<Model>, Box<Node<Waiter>>) {
    let model = Model::new();
    let mutex = &model.mutex;
    assert!(mutex.try_lock_fast());
    let mut attempt = Attempt::new();
    let [first, second] = [Box::new(Node::new(0)), Box::new(Node::new(0))];
    for (node, unlocks) in [(&first, true), (&second, false)] {
        let Acquire::Wait(place) = mutex.acquire(&mut attempt) else { panic!("it is held") };
        // SAFETY: the first is claimed right below, the second is kept by the caller until it is.
        unsafe { place.take(node, Arc::new(Note::new())) };
        if unlocks {
            assert_eq!(mutex.unlock(), Unlocked::WakeNext);
            assert!(mutex.wake_next().is_some());
            assert!(mutex.try_lock(), "barging");
            assert!(!attempt.woken(node, || LONG));
        }
    }
    (model, second)
}

/// Gives the lock to the one in line, and plays that one.
fn hand_over_to(model: &Model, node: &Node<Waiter>) {
    model.guarded.add_one();
    assert_eq!(model.mutex.unlock(), Unlocked::HandOver);
    assert!(model.mutex.hand_over(LONG).is_some());
    assert_eq!(node.outcome(), Some(GRANTED));
    model.guarded.add_one();
    unlock(&model.mutex, LONG);
}

/// While the lock is being handed over it can't be taken, by whatever way.
#[test]
fn a_lock_that_is_being_handed_over_is_not_taken() {
    check(3, || {
        let (model, node) = starving();
        let others = [false, true].map(|tries| {
            let model = model.clone();
            thread::spawn(move || {
                if !tries {
                    model.turn(0);
                } else if model.mutex.try_lock() {
                    model.guarded.add_one();
                    unlock(&model.mutex, LONG);
                }
            })
        });
        hand_over_to(&model, &node);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(model.mutex.try_lock() && model.guarded.get() >= 3);
    });
}

/// An unlocker of normal mode that comes late to the line leaves it alone when the lock is being handed over.
#[test]
fn a_late_wake_up_does_not_disturb_a_hand_over() {
    check(3, || {
        let (model, node) = starving();
        let late = {
            let model = model.clone();
            thread::spawn(move || wake(model.mutex.wake_next()))
        };
        hand_over_to(&model, &node);
        late.join().unwrap();
    });
}
