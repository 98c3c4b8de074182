//! Models of the semaphore, the wait group, the once and the barrier: a wait ends only when what it
//! waits for has come, and then all that was done before is visible; and nobody is forgotten.
//!
//! Seen to fail (2026-11-15):
//! - `Semaphore::release` that serves without counting (the order of serving is tested in
//!   `semaphore.rs`);
//! - `Group`: `add` or `is_zero` `Relaxed`; `wait` that does not set `QUEUED`; a step to 0 that
//!   leaves it set;
//! - `Once`: `finish` or `is_complete` `Relaxed`; `start` that drops `QUEUED`, `wait` that does not
//!   set it;
//! - `Barrier`: a count that does not begin again at 0.
//!
//! Seen to fail (2026-11-18): `Group::next_before` that stops at one that has given up; a
//! semaphore's `serve` that counts before it claims; `leave` of either that leaves the node in
//! line; the semaphore's, if nobody serves those behind after it.

#![cfg(loom)]

mod support;

use gosched_locks::{
    Acquire, Add, Arrival, Barrier, Group, Node, Once, OnceStage, Poison, Semaphore, Served, Start, Until,
};
use loom::sync::Arc;
use loom::thread;
use support::{Guarded, Waiter, check, obtain, wait_at, wait_or_give_up, wake_line};

struct Model<C> {
    core: C,
    guarded: Guarded,
}

impl<C: 'static> Model<C> {
    fn new(core: C) -> Arc<Model<C>> {
        Arc::new(Model { core, guarded: Guarded::new() })
    }
}

fn spawn<C, T: 'static>(
    model: &Arc<Model<C>>,
    f: impl FnOnce(&Model<C>) -> T + 'static,
) -> thread::JoinHandle<T>
where
    C: 'static,
{
    let model = model.clone();
    thread::spawn(move || f(&model))
}

fn serve(semaphore: &Semaphore<Waiter>, served: Served) {
    if served == Served::NotYet {
        core::iter::from_fn(|| semaphore.serve()).for_each(|note| note.wake());
    }
}

/// One permit: a mutex. Beside it one that wants two, when a second one is added.
#[test]
fn semaphore() {
    fn turn(model: &Model<Semaphore<Waiter>>, n: usize) {
        obtain(n as u64, model.core.acquire(n));
        if n == 2 {
            model.guarded.add_one();
        }
        serve(&model.core, model.core.release(n).unwrap());
    }
    check(3, || {
        let model = Model::new(Semaphore::new(1));
        let others = [spawn(&model, |model| turn(model, 1)), spawn(&model, |model| turn(model, 2))];
        serve(&model.core, model.core.release(1).unwrap());
        turn(&model, 2);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!((model.core.available(), model.guarded.get()), (2, 2));
    });
}

/// One that may give up, beside one that wants less and does not: no permit is lost or doubled, and
/// nobody waits for ever. There is one permit, and `added` more come.
fn giving_up(added: usize) {
    check(3, move || {
        let model = Model::new(Semaphore::new(1));
        let patient = spawn(&model, |model| {
            obtain(1, model.core.acquire(1));
            serve(&model.core, model.core.release(1).unwrap());
        });
        let hasty = spawn(&model, |model| {
            let got = match model.core.acquire(2) {
                Acquire::Acquired => true,
                Acquire::Wait(place) => {
                    let node = Node::new(2);
                    let got = wait_or_give_up(place, &node);
                    if !got {
                        serve(&model.core, model.core.leave(&node));
                    }
                    got
                }
            };
            if got {
                serve(&model.core, model.core.release(2).unwrap());
            }
        });
        serve(&model.core, model.core.release(added).unwrap());
        patient.join().unwrap();
        hasty.join().unwrap();
        assert_eq!(model.core.available(), 1 + added);
        assert!(model.core.try_acquire(1 + added), "nobody is in line");
    });
}

#[test]
fn a_semaphore_passes_over_who_gives_up() {
    giving_up(0);
    giving_up(1);
}

fn add(group: &Group<Waiter>, n: isize) {
    match group.add(n) {
        Add::Counted => {}
        Add::Last => match group.add_last(n) {
            Add::Zero(bound) => core::iter::from_fn(|| group.next_before(bound)).for_each(|note| note.wake()),
            Add::Counted => {}
            _ => panic!("out of range"),
        },
        _ => panic!("out of range"),
    }
}

/// Two waiters see what the last thread to finish did, and the group can be used again at once.
#[test]
fn wait_group() {
    check(3, || {
        let model = Model::new(Group::new());
        add(&model.core, 1);
        let done = spawn(&model, |model| {
            model.guarded.add_one();
            add(&model.core, -1);
        });
        let other = spawn(&model, |model| {
            obtain(0, model.core.wait());
            assert_eq!(model.guarded.get(), 1);
        });
        if !model.core.is_zero() {
            obtain(0, model.core.wait());
        }
        assert_eq!(model.guarded.get(), 1);
        done.join().unwrap();
        add(&model.core, 1);
        assert!(matches!(model.core.wait(), Acquire::Wait(_)), "a new round");
        add(&model.core, -1);
        other.join().unwrap();
    });
}

/// The step to zero bounds whom it wakes: a waiter for the next round is not released by the last
/// one.
#[test]
fn wait_group_rounds() {
    check(3, || {
        let model = Model::new(Group::new());
        add(&model.core, 1);
        let first = spawn(&model, |model| obtain(0, model.core.wait()));
        let done = spawn(&model, |model| add(&model.core, -1));
        // A round of its own, or a part of the other's.
        add(&model.core, 1);
        model.guarded.add_one();
        add(&model.core, -1);
        first.join().unwrap();
        done.join().unwrap();
        obtain(0, model.core.wait());
        assert_eq!((model.core.count(), model.guarded.get()), (0, 1));
    });
}

/// A waiter that gives up does not keep the other from being woken, and its node is not touched
/// afterwards.
#[test]
fn a_wait_group_whose_waiter_gives_up() {
    check(3, || {
        let model = Model::new(Group::new());
        add(&model.core, 1);
        let patient = spawn(&model, |model| {
            obtain(0, model.core.wait());
            assert_eq!(model.guarded.get(), 1);
        });
        let hasty = spawn(&model, |model| {
            if let Acquire::Wait(place) = model.core.wait() {
                let node = Node::new(0);
                if !wait_or_give_up(place, &node) {
                    return model.core.leave(&node);
                }
            }
            assert_eq!(model.guarded.get(), 1);
        });
        model.guarded.add_one();
        add(&model.core, -1);
        patient.join().unwrap();
        hasty.join().unwrap();
        assert_eq!(model.core.count(), 0);
    });
}

/// One of two runs, and the other only if that one fails; all see what was done.
#[test]
fn once() {
    fn call(model: &Model<Once<Waiter>>, fails: bool) {
        loop {
            match model.core.start(Poison::Ignored) {
                Start::Complete => return,
                Start::Running => obtain(0, model.core.wait(Until::Finished)),
                Start::Poisoned => panic!("it is ignored"),
                Start::Run(_) => {
                    if !fails {
                        model.guarded.add_one();
                    }
                    if model.core.finish(if fails { OnceStage::Poisoned } else { OnceStage::Complete }) {
                        wake_line(model.core.line());
                    }
                    return;
                }
            }
        }
    }
    for fails in [false, true] {
        check(3, move || {
            let model = Model::new(Once::new());
            let other = spawn(&model, move |model| call(model, fails));
            let waiter = spawn(&model, |model| {
                while !model.core.is_complete() {
                    obtain(0, model.core.wait(Until::Complete(Poison::Ignored)));
                }
                assert_eq!(model.guarded.get(), 1);
            });
            call(&model, false);
            assert_eq!(model.guarded.get(), 1);
            other.join().unwrap();
            waiter.join().unwrap();
        });
    }
}

/// Two rounds of two: nobody begins the second before both have ended the first.
#[test]
fn barrier() {
    fn arrive(barrier: &Barrier<Waiter>) -> bool {
        match barrier.arrive(2) {
            Arrival::Last(others) => {
                wake_line(others);
                true
            }
            Arrival::Wait(place) => {
                wait_at(place, &Node::new(0));
                false
            }
        }
    }
    check(4, || {
        let model = Model::new(Barrier::new());
        let other = spawn(&model, |model| {
            model.guarded.add_one();
            (arrive(&model.core), arrive(&model.core))
        });
        let first = arrive(&model.core);
        assert_eq!(model.guarded.get(), 1);
        let second = arrive(&model.core);
        assert_eq!(other.join().unwrap(), (!first, !second), "one leads each round");
    });
}
