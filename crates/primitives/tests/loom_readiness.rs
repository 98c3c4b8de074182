//! Models of a descriptor's readiness.
//!
//! Seen to fail (2026-11-16):
//! - `wait_unless_changed` does not compare the counts: `an_edge_is_not_missed` (deadlock);
//! - `report` wakes the queue but counts no edge: the same test (deadlock);
//! - `report` does not look at the generation: `a_late_report_wakes_nobody` (woken wrongly);
//! - `forget` does not unlink a node that is still queued: `a_time_out_and_a_report_meet` (still
//!   queued at the end);
//! - `forget_task` loses the tasks behind the one it takes (2026-11-19):
//!   `a_task_that_leaves_meets_a_report` (one left the queue, not two).

#![cfg(loom)]

mod support;

use gosched_primitives::{Direction, Directions, Note, Outcome, Readiness, TaskNode, WaitNode, Woken};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use support::check;

const READY: Outcome = Outcome::MIN.saturating_add(7);
const TIMED_OUT: Outcome = Outcome::MIN;
const INPUT: Directions = Directions { read: true, write: false, special: false };

type Waiter = Arc<Note>;

fn wake(woken: Woken<Waiter>) -> Option<Box<TaskNode<Waiter>>> {
    match woken {
        Woken::Waiter(waiter) => waiter.wake(),
        Woken::Task(node) => node.task.wake(),
        Woken::Spent(_) => {}
    }
    None
}

/// Takes one item from `data`, as a goroutine reads from a socket.
fn read(readiness: &Readiness<Waiter>, data: &AtomicUsize) {
    loop {
        let seen = readiness.edges(Direction::Read);
        // The system call: the kernel orders it with the arrival of data.
        if data.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| n.checked_sub(1)).is_ok() {
            return;
        }
        let Some(room) = readiness.wait_unless_changed(0, Direction::Read, seen) else { continue };
        let node = WaitNode::new();
        let note = Arc::new(Note::new());
        node.claim.put(note.clone());
        // SAFETY: the node stays here until the report that wakes us has taken it out.
        unsafe { room.enqueue(&node) };
        note.sleep();
        assert_eq!(node.claim.outcome(), Some(READY));
        assert!(!readiness.forget(Direction::Read, &node));
    }
}

/// Data arrives, then the poller reports it: the reader gets it, whatever it was doing.
#[test]
fn an_edge_is_not_missed() {
    check(4, || {
        let readiness = Arc::new(Readiness::new());
        let data = Arc::new(AtomicUsize::new(0));
        let reader = {
            let (readiness, data) = (readiness.clone(), data.clone());
            thread::spawn(move || read(&readiness, &data))
        };
        data.fetch_add(1, Ordering::AcqRel);
        readiness.report(0, INPUT, READY, wake);
        reader.join().unwrap();
    });
}

/// Two readers of one descriptor, and one report of data for both.
#[test]
fn an_edge_wakes_all() {
    check(3, || {
        let readiness = Arc::new(Readiness::new());
        let data = Arc::new(AtomicUsize::new(0));
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let (readiness, data) = (readiness.clone(), data.clone());
                thread::spawn(move || read(&readiness, &data))
            })
            .collect();
        data.fetch_add(2, Ordering::AcqRel);
        readiness.report(0, INPUT, READY, wake);
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

/// A time-out and a report want the same wait: one of them ends it, the node leaves the queue once,
/// and nobody is left behind in it.
#[test]
fn a_time_out_and_a_report_meet() {
    check(4, || {
        let readiness = Arc::new(Readiness::<Waiter>::new());
        let node = Arc::new(WaitNode::new());
        let note = Arc::new(Note::new());
        let seen = readiness.edges(Direction::Read);
        node.claim.put(note.clone());
        let room = readiness.wait_unless_changed(0, Direction::Read, seen).unwrap();
        // SAFETY: the node is in an Arc that outlives this test's use of it.
        unsafe { room.enqueue(&node) };
        let reporter = {
            let readiness = readiness.clone();
            thread::spawn(move || readiness.report(0, INPUT, READY, wake))
        };
        if let Some(waiter) = node.claim.claim(TIMED_OUT) {
            waiter.wake();
        }
        note.sleep();
        let mine = readiness.forget(Direction::Read, &node);
        let reported = reporter.join().unwrap();
        assert_eq!(usize::from(mine) + reported, 1, "left the queue once");
        assert_eq!(readiness.report(0, INPUT, READY, |_| panic!("nobody waits")), 0);
    });
}

/// The descriptor is closed and its readiness used again while a report for the old one is under
/// way: that wakes no waiter for the new one.
#[test]
fn a_late_report_wakes_nobody() {
    check(4, || {
        let readiness = Arc::new(Readiness::<Waiter>::new());
        let late = {
            let readiness = readiness.clone();
            thread::spawn(move || readiness.report(0, INPUT, READY, |_| panic!("woken by a late report")))
        };
        readiness.renew(READY, |_| panic!("nobody waits"));
        let seen = readiness.edges(Direction::Read);
        let node = WaitNode::new();
        node.claim.put(Arc::new(Note::new()));
        let room =
            readiness.wait_unless_changed(1, Direction::Read, seen).expect("no edge in this generation");
        // SAFETY: taken out below.
        unsafe { room.enqueue(&node) };
        assert_eq!(late.join().unwrap(), 0);
        assert_eq!(node.claim.outcome(), None);
        assert!(readiness.forget(Direction::Read, &node));
    });
}

/// An async task registers while something is reported: it is told to try again, or notified; it is
/// never forgotten. A second registration takes the place of the first.
#[test]
fn a_task_is_not_forgotten() {
    check(4, || {
        let readiness = Arc::new(Readiness::<Waiter>::new());
        let data = Arc::new(AtomicUsize::new(0));
        let task = {
            let (readiness, data) = (readiness.clone(), data.clone());
            thread::spawn(move || {
                loop {
                    let note = Arc::new(Note::new());
                    let seen = readiness.edges(Direction::Read);
                    if data.load(Ordering::Acquire) > 0 {
                        return;
                    }
                    let enqueue = |note: &Waiter| {
                        let room = readiness.wait_unless_changed(0, Direction::Read, seen)?;
                        Some(room.enqueue_task(TaskNode::new(note.clone()), |a, b| Arc::ptr_eq(a, b)))
                    };
                    let Some(first) = enqueue(&note) else { continue };
                    assert!(first.is_none());
                    if let Some(second) = enqueue(&note) {
                        assert!(second.is_some(), "the same task is queued once");
                    }
                    note.sleep();
                }
            })
        };
        data.fetch_add(1, Ordering::AcqRel);
        readiness.report(0, INPUT, READY, wake);
        task.join().unwrap();
    });
}

/// A node that a report gives back serves the task's next wait, while another report comes; closing
/// gives it out.
#[test]
fn a_spent_node_serves_again() {
    check(4, || {
        let readiness = Arc::new(Readiness::<Waiter>::new());
        let data = Arc::new(AtomicUsize::new(0));
        let keep = |woken: Woken<Waiter>| match woken {
            Woken::Task(node) => {
                node.task.wake();
                Some(node)
            }
            _ => panic!("only a task waits"),
        };
        let task = {
            let (readiness, data) = (readiness.clone(), data.clone());
            thread::spawn(move || {
                let mut seen_items = 0;
                while seen_items < 2 {
                    let seen = readiness.edges(Direction::Read);
                    if data.load(Ordering::Acquire) > seen_items {
                        seen_items += 1;
                        continue;
                    }
                    let note = Arc::new(Note::new());
                    let Some(mut room) = readiness.wait_unless_changed(0, Direction::Read, seen) else {
                        continue;
                    };
                    let node = match room.take_spent() {
                        Some(mut node) => {
                            node.task = note.clone();
                            node
                        }
                        None => TaskNode::new(note.clone()),
                    };
                    assert!(room.enqueue_task(node, |_, _| false).is_none());
                    note.sleep();
                }
            })
        };
        for _ in 0..2 {
            data.fetch_add(1, Ordering::AcqRel);
            readiness.report(0, INPUT, READY, keep);
        }
        task.join().unwrap();
        let mut spent = 0;
        readiness.renew(READY, |woken| {
            match woken {
                Woken::Spent(node) => drop(node),
                _ => panic!("nobody waits"),
            }
            spent += 1;
            None
        });
        assert!(spent <= 1, "{spent} nodes for one task");
    });
}

/// A task leaves while a report comes: it leaves the queue once, either way, and another task that
/// waits there is notified.
#[test]
fn a_task_that_leaves_meets_a_report() {
    check(4, || {
        let readiness = Arc::new(Readiness::<Waiter>::new());
        let notes = [Arc::new(Note::new()), Arc::new(Note::new())];
        let seen = readiness.edges(Direction::Read);
        for note in &notes {
            let room = readiness.wait_unless_changed(0, Direction::Read, seen).unwrap();
            assert!(room.enqueue_task(TaskNode::new(note.clone()), |_, _| false).is_none());
        }
        let reporter = {
            let readiness = readiness.clone();
            thread::spawn(move || readiness.report(0, INPUT, READY, wake))
        };
        let mine = readiness.forget_task(Direction::Read, |note| Arc::ptr_eq(note, &notes[0]));
        let reported = reporter.join().unwrap();
        assert_eq!(usize::from(mine.is_some()) + reported, 2, "each left the queue once");
        notes[1].sleep();
        assert_eq!(readiness.report(0, INPUT, READY, |_| panic!("nobody waits")), 0);
    });
}
