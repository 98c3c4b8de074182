//! Models of the reader-writer lock: a writer is alone, readers see what the last writer did,
//! nobody is forgotten.
//!
//! Seen to fail (2026-11-15):
//! - any of `try_read`, `end_read`, `begin_write`, `readers_have_left`, `end_write`, the load in
//!   `wake_writer` or the store in `let_readers_in` `Relaxed`: a race on what is guarded;
//! - `wake_writer` without looking whether readers are in: a late reader lets a writer in beside
//!   others (`a_late_reader_wakes_nobody_too_early`);
//! - readers that join the line without setting `QUEUED`, or without looking again; a writer that
//!   waits for readers without looking again; a last reader that does not wake the writer if others
//!   are in line: somebody waits for ever;
//! - a downgrade that leaves the lock free.

#![cfg(loom)]

mod support;

use gosched_locks::{Acquire, RwLock};
use loom::sync::Arc;
use loom::thread;
use support::{Guarded, Waiter, check, lock, obtain, unlock, wake, wake_line};

struct Model {
    lock: RwLock<Waiter>,
    guarded: Guarded,
}

impl Model {
    fn new() -> Arc<Model> {
        Arc::new(Model { lock: RwLock::new(), guarded: Guarded::new() })
    }

    fn read(&self) -> usize {
        if self.lock.try_read() != Ok(true) {
            obtain(0, self.lock.read().unwrap());
        }
        let value = self.guarded.get();
        self.end_read();
        value
    }

    fn read_once(&self) {
        self.read();
    }

    fn end_read(&self) {
        if self.lock.end_read() {
            wake(self.lock.wake_writer());
        }
    }

    fn begin_write(&self) {
        lock(self.lock.writers(), 0);
        if !self.lock.begin_write() {
            obtain(0, self.lock.await_readers());
        }
    }

    fn write(&self) {
        self.begin_write();
        self.guarded.add_one();
        wake_line(self.lock.end_write());
        unlock(self.lock.writers(), 0);
    }

    fn free_in_the_end(&self) {
        assert!(self.lock.writers().try_lock() && self.lock.try_begin_write());
    }
}

fn spawn(model: &Arc<Model>, f: impl FnOnce(&Model) + 'static) -> thread::JoinHandle<()> {
    let model = model.clone();
    thread::spawn(move || f(&model))
}

#[test]
fn a_writer_and_two_readers() {
    check(3, || {
        let model = Model::new();
        let readers = [0, 1].map(|_| spawn(&model, |model| model.read_once()));
        model.write();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        model.free_in_the_end();
    });
}

#[test]
fn two_writers_and_a_reader() {
    check(2, || {
        let model = Model::new();
        let others = [spawn(&model, |model| model.read_once()), spawn(&model, |model| model.write())];
        model.write();
        assert!(model.read() >= 1, "a writer sees its own");
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(model.guarded.get(), 2);
        model.free_in_the_end();
    });
}

/// A writer that becomes a reader lets the other readers in, and no writer in between.
#[test]
fn downgrading() {
    check(2, || {
        let model = Model::new();
        let others = [spawn(&model, |model| model.read_once()), spawn(&model, |model| model.write())];
        model.begin_write();
        model.guarded.add_one();
        let seen = model.guarded.get();
        wake_line(model.lock.downgrade());
        unlock(model.lock.writers(), 0);
        assert_eq!(model.guarded.get(), seen);
        model.end_read();
        others.into_iter().for_each(|other| other.join().unwrap());
        model.free_in_the_end();
    });
}

/// A reader that was the last to leave, but comes late to wake the writer, does not wake one that
/// waits for other readers.
#[test]
fn a_late_reader_wakes_nobody_too_early() {
    check(3, || {
        let model = Model::new();
        assert_eq!(model.lock.try_read(), Ok(true));
        let late = spawn(&model, |model| wake(model.lock.wake_writer()));
        let writer = spawn(&model, |model| model.write());
        let _ = model.guarded.get();
        model.end_read();
        late.join().unwrap();
        writer.join().unwrap();
        assert!(matches!(model.lock.await_readers(), Acquire::Acquired));
    });
}
