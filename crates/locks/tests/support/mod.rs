//! What the models share: loom threads as waiters, each sleeping on a note, and the two halves of
//! every wait.

#![allow(dead_code, reason = "every test file uses a part of it")]

use gosched_locks::{Acquire, Attempt, GRANTED, Line, LinePlace, Mutex, Node, RETRY, Unlocked};
use gosched_primitives::{Note, Outcome};
use loom::cell::UnsafeCell;
use loom::sync::Arc;

/// How to wake a loom thread.
pub type Waiter = Arc<Note>;

/// Checks all interleavings with at most `preemptions` forced switches.
pub fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(model);
}

/// A value that the lock's holder may touch: loom checks that nobody else does meanwhile, and that
/// the holder sees what the last one did.
pub struct Guarded(UnsafeCell<usize>);

// SAFETY: the lock keeps the threads apart, which is what is checked.
unsafe impl Sync for Guarded {}
// SAFETY: as above.
unsafe impl Send for Guarded {}

impl Guarded {
    pub fn new() -> Guarded {
        Guarded(UnsafeCell::new(0))
    }

    pub fn add_one(&self) {
        // SAFETY: loom checks that this is exclusive.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }

    pub fn get(&self) -> usize {
        // SAFETY: loom checks that nobody writes meanwhile.
        self.0.with(|value| unsafe { *value })
    }
}

/// Takes the place and sleeps until woken.
pub fn wait_at<S>(place: LinePlace<'_, Waiter, S>, node: &Node<Waiter>) {
    let note = Arc::new(Note::new());
    // SAFETY: the node stays in the caller's frame until the note is set, which happens after it
    // was claimed.
    unsafe { place.take(node, note.clone()) };
    note.sleep();
}

/// How a wait ends by itself.
pub const GAVE_UP: Outcome = Outcome::MIN;

/// Takes the place, and gives up unless somebody has ended the wait by then. Returns whether
/// somebody has.
#[must_use]
pub fn wait_or_give_up<S>(place: LinePlace<'_, Waiter, S>, node: &Node<Waiter>) -> bool {
    let note = Arc::new(Note::new());
    node.ticket().put(note.clone());
    // SAFETY: the node stays in the caller's frame until the note is set, or it has left the line.
    unsafe { place.join(node) };
    if node.ticket().claim(GAVE_UP).is_some() {
        return false;
    }
    note.sleep();
    assert!(matches!(node.outcome(), Some(GRANTED | RETRY)));
    true
}

/// Gets what is asked for, or waits for it once.
pub fn obtain<S>(tag: u64, acquire: Acquire<'_, Waiter, S>) {
    if let Acquire::Wait(place) = acquire {
        wait_at(place, &Node::new(tag));
    }
}

pub fn wake(waiter: Option<Waiter>) {
    if let Some(note) = waiter {
        note.wake();
    }
}

pub fn wake_line(line: Line<Waiter>) {
    line.for_each(|note| note.wake());
}

/// Locks a mutex; `waits` is how long every wait lasts.
pub fn lock(mutex: &Mutex<Waiter>, waits: u64) {
    if mutex.try_lock_fast() {
        return;
    }
    let mut attempt = Attempt::new();
    if mutex.spin(&mut attempt) {
        return;
    }
    attempt.begin_to_wait(0);
    loop {
        match mutex.acquire(&mut attempt) {
            Acquire::Acquired => return,
            Acquire::Wait(place) => {
                let node = Node::new(attempt.since());
                wait_at(place, &node);
                if attempt.woken(&node, || waits) || mutex.spin(&mut attempt) {
                    return;
                }
            }
        }
    }
}

/// As [`lock`], but gives up instead of waiting, unless it has been woken by then. Returns whether
/// it has the lock.
#[must_use]
pub fn lock_or_give_up(mutex: &Mutex<Waiter>, waits: u64) -> bool {
    let mut attempt = Attempt::new();
    if mutex.spin(&mut attempt) {
        return true;
    }
    attempt.begin_to_wait(0);
    loop {
        match mutex.acquire(&mut attempt) {
            Acquire::Acquired => return true,
            Acquire::Wait(place) => {
                let node = Node::new(attempt.since());
                if !wait_or_give_up(place, &node) {
                    mutex.leave(&node);
                    return false;
                }
                if attempt.woken(&node, || waits) || mutex.spin(&mut attempt) {
                    return true;
                }
            }
        }
    }
}

/// Unlocks a mutex; `waits` is how long every wait lasts.
pub fn unlock(mutex: &Mutex<Waiter>, waits: u64) {
    match mutex.unlock() {
        Unlocked::Free => {}
        Unlocked::WakeNext => wake(mutex.wake_next()),
        Unlocked::HandOver => wake(mutex.hand_over(waits)),
    }
}
