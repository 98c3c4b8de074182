//! Models of the note (S29) and the lock, over a futex that compares and sleeps in one step.
//!
//! Seen to fail (2026-11-15):
//! - `Note::wake` does not wake the sleeper: `a_wake_up_is_never_lost` (deadlock);
//! - `Note::wake`'s swap `Relaxed`: the same test (what was written before is not visible);
//! - `Note::begin_sleep` sleeps though the note is SET: `a_time_out_races_with_the_wake_up`
//!   (deadlock);
//! - `Note::end_sleep` stores CLEAR instead of its CAS: the same test (deadlock);
//! - `Lock::lock_slow` acquires as HELD after it slept: `three_threads_share_a_lock` (deadlock);
//! - `RawLock::unlock` `Relaxed`: the same test (a race on the value).

#![cfg(loom)]

mod support;

use gosched_primitives::{Lock, Note, Wake};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::time::Duration;
use support::check;

struct Model {
    note: Note,
    message: UnsafeCell<u32>,
}

// SAFETY: the message is written before the wake-up and read after it, which is what is checked.
unsafe impl Sync for Model {}
// SAFETY: as above.
unsafe impl Send for Model {}

impl Model {
    fn with_waker() -> (Arc<Model>, thread::JoinHandle<()>) {
        let model = Arc::new(Model { note: Note::new(), message: UnsafeCell::new(0) });
        let waker = model.clone();
        let waker = thread::spawn(move || {
            // SAFETY: loom checks that this is exclusive.
            waker.message.with_mut(|message| unsafe { *message = 1 });
            waker.note.wake();
        });
        (model, waker)
    }

    fn assert_message(&self) {
        // SAFETY: loom checks that nobody writes meanwhile.
        self.message.with(|message| assert_eq!(unsafe { *message }, 1));
    }
}

#[test]
fn a_wake_up_is_never_lost() {
    check(8, || {
        let (model, waker) = Model::with_waker();
        model.note.sleep();
        model.assert_message();
        waker.join().unwrap();
        assert!(model.note.is_set());
    });
}

#[test]
fn a_time_out_races_with_the_wake_up() {
    check(8, || {
        let (model, waker) = Model::with_waker();
        if model.note.sleep_timeout(Duration::from_secs(1)) == Wake::TimedOut {
            model.note.sleep();
        }
        model.assert_message();
        waker.join().unwrap();
    });
}

#[test]
fn three_threads_share_a_lock() {
    check(3, || {
        let lock = Arc::new((Lock::new(()), UnsafeCell::new(0)));
        let add = |lock: &(Lock<()>, UnsafeCell<u32>)| {
            let guard = lock.0.lock();
            // SAFETY: loom checks that this is exclusive.
            lock.1.with_mut(|value| unsafe { *value += 1 });
            drop(guard);
        };
        let threads = [0, 1].map(|_| {
            let lock = SendCell(lock.clone());
            thread::spawn(move || add(&lock.get()))
        });
        add(&lock);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        // SAFETY: loom checks that nobody writes meanwhile.
        lock.1.with(|value| assert_eq!(unsafe { *value }, 3));
    });
}

/// Carries loom's cell, which is not `Sync`, to the threads that the lock keeps apart.
struct SendCell(Arc<(Lock<()>, UnsafeCell<u32>)>);

// SAFETY: the lock keeps the threads apart, which is what is checked.
unsafe impl Send for SendCell {}

impl SendCell {
    fn get(&self) -> Arc<(Lock<()>, UnsafeCell<u32>)> {
        self.0.clone()
    }
}
