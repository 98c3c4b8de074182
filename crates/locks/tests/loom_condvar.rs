//! Models of the condition variable with a mutex: no notification that comes after the mutex was
//! released is lost, and none is spent on one whose time has run out.
//!
//! Seen to fail (2026-11-15):
//! - `join` that does not note that somebody waits, or `settle` that does not check whether the
//!   node was notified: a lost notification;
//! - a notifier that stops at a node whose ticket is claimed already
//!   (`a_time_out_costs_no_notification`);
//! - one that does not stop at a node that has not settled (`one_notification_ends_one_wait`);
//! - `leave` that leaves the node in line: it is used after it is gone.

#![cfg(loom)]

mod support;

use gosched_locks::{Condvar, GRANTED, Mutex, Node, Notified};
use gosched_primitives::{Note, Outcome};
use loom::cell::Cell;
use loom::sync::Arc;
use loom::thread;
use support::{Waiter, check, lock, unlock};

const TIMED_OUT: Outcome = Outcome::MIN;

struct Model {
    mutex: Mutex<Waiter>,
    condvar: Condvar<Waiter>,
    /// Behind the mutex.
    tokens: Cell<usize>,
}

// SAFETY: the cell lies behind the mutex.
unsafe impl Sync for Model {}
// SAFETY: as above.
unsafe impl Send for Model {}

/// Whether a wait may end by itself.
#[derive(Clone, Copy, PartialEq)]
enum Patience {
    Endless,
    RunsOut,
}

impl Model {
    fn new() -> Arc<Model> {
        Arc::new(Model { mutex: Mutex::new(), condvar: Condvar::new(), tokens: Cell::new(0) })
    }

    /// Waits, with the mutex released meanwhile. Whether it was notified.
    fn wait(&self, patience: Patience) -> bool {
        let node = Node::new(0);
        // SAFETY: the node stays in this frame until it was notified or has left.
        unsafe { self.condvar.join(&node) };
        unlock(&self.mutex, 0);
        let notified = self.wait_in_line(&node, patience);
        lock(&self.mutex, 0);
        notified
    }

    fn wait_in_line(&self, node: &Node<Waiter>, patience: Patience) -> bool {
        let Some(joined) = self.condvar.settle(node) else { return true };
        let note = Arc::new(Note::new());
        node.ticket().put(note.clone());
        joined.settled();
        if patience == Patience::RunsOut && node.ticket().claim(TIMED_OUT).is_some() {
            self.condvar.leave(node);
            return false;
        }
        note.sleep();
        assert_eq!(node.outcome(), Some(GRANTED));
        true
    }

    /// Takes a token, waiting for one if need be; gives up without a second look when its time runs
    /// out. Returns whether it got one.
    fn take(&self, patience: Patience) -> bool {
        lock(&self.mutex, 0);
        while self.tokens.get() == 0 {
            if !self.wait(patience) {
                unlock(&self.mutex, 0);
                return false;
            }
        }
        self.tokens.set(self.tokens.get() - 1);
        unlock(&self.mutex, 0);
        true
    }

    fn put(&self, tokens: usize) {
        lock(&self.mutex, 0);
        self.tokens.set(self.tokens.get() + tokens);
        unlock(&self.mutex, 0);
    }

    fn notify_one(&self) {
        if self.condvar.is_idle() {
            return;
        }
        if let Notified::Wake(note) = self.condvar.notify_one() {
            note.wake();
        }
    }

    fn notify_all(&self) {
        if self.condvar.is_idle() {
            return;
        }
        let bound = self.condvar.next_number();
        loop {
            match self.condvar.notify_before(bound) {
                Notified::Wake(note) => note.wake(),
                Notified::Early => {}
                Notified::Nobody => return,
            }
        }
    }
}

fn spawn<T: 'static>(model: &Arc<Model>, f: impl FnOnce(&Model) -> T + 'static) -> thread::JoinHandle<T> {
    let model = model.clone();
    thread::spawn(move || f(&model))
}

#[test]
fn one_notification_for_each_token() {
    check(2, || {
        let model = Model::new();
        let takers = [0, 1].map(|_| spawn(&model, |model| model.take(Patience::Endless)));
        for _ in 0..2 {
            model.put(1);
            model.notify_one();
        }
        assert!(takers.into_iter().all(|taker| taker.join().unwrap()));
    });
}

#[test]
fn all_at_once() {
    check(2, || {
        let model = Model::new();
        let takers = [0, 1].map(|_| spawn(&model, |model| model.take(Patience::Endless)));
        model.put(2);
        model.notify_all();
        assert!(takers.into_iter().all(|taker| taker.join().unwrap()));
    });
}

/// One waits for ever, the other's time runs out: the one notification, with its token, finds a
/// taker.
#[test]
fn a_time_out_costs_no_notification() {
    check(2, || {
        let model = Model::new();
        let patient = spawn(&model, |model| model.take(Patience::Endless));
        let hasty = spawn(&model, |model| model.take(Patience::RunsOut));
        model.put(1);
        model.notify_one();
        if hasty.join().unwrap() {
            model.put(1);
            model.notify_one();
        }
        assert!(patient.join().unwrap());
    });
}

/// One notification ends one wait, also if it comes before that one has begun to wait.
#[test]
fn one_notification_ends_one_wait() {
    check(3, || {
        let model = Model::new();
        let waiters = [0, 1].map(|_| {
            spawn(&model, |model| {
                lock(&model.mutex, 0);
                let notified = model.wait(Patience::RunsOut);
                unlock(&model.mutex, 0);
                notified
            })
        });
        model.notify_one();
        let notified = waiters.into_iter().map(|waiter| waiter.join().unwrap()).filter(|notified| *notified);
        assert!(notified.count() <= 1);
    });
}
