//! Model of the join word: the end of a task against its handle, which waits, comes late or goes
//! away. The result is seen and taken once, the waiter is woken, and exactly one side frees the
//! header, after the other is through with it.
//!
//! Seen to fail (2026-11-15):
//! - `finish` `Relaxed`: all tests (the result is not visible);
//! - a boxed waiter without FINISHING, `finish_waking` `Relaxed`, or a `release` that always claims
//!   the header: `a_boxed_waiter_joins` and `the_handle_waits_…` (the header freed under the task);
//! - `detach` by a store instead of its CAS: `the_handle_goes_away` and `the_handle_waits_…` (never
//!   freed).
//!
//! Seen to fail (2026-11-18): `abandon` by a store, or `finish` that takes an orphan for a waiter:
//! `the_handle_goes_away_and_somebody_is_told_…`.

#![cfg(loom)]

mod support;

use gosched_primitives::{Detach, Finish, Header, JoinWaiter, JoinWord, Note, Registered};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;
use support::check;

/// A waiter of either kind: something aligned that can be woken.
#[repr(align(16))]
struct Waiter(Note);

struct Model {
    word: JoinWord<Waiter, Waiter>,
    waiter: Waiter,
    /// How often the result was put there and taken.
    result: UnsafeCell<u32>,
    /// How often the header was freed; each side reads it as long as it relies on it.
    header: UnsafeCell<u32>,
}

// SAFETY: the join word keeps the threads apart, which is what is checked.
unsafe impl Sync for Model {}
// SAFETY: as above.
unsafe impl Send for Model {}

impl Model {
    fn with_task() -> (Arc<Model>, thread::JoinHandle<()>) {
        let model = Arc::new(Model {
            word: JoinWord::new(),
            waiter: Waiter(Note::new()),
            result: UnsafeCell::new(0),
            header: UnsafeCell::new(0),
        });
        let task = model.clone();
        (model, thread::spawn(move || task.end()))
    }

    /// Called by the result's owner: puts it there, or takes it.
    fn use_result(&self) {
        // SAFETY: loom checks that this is exclusive.
        self.result.with_mut(|uses| unsafe { *uses += 1 });
    }

    fn rely_on_header(&self) {
        // SAFETY: loom checks that nobody frees it meanwhile.
        self.header.with(|freed| assert_eq!(unsafe { *freed }, 0, "used after it was freed"));
    }

    fn free_header(&self, whose: Header) {
        if whose == Header::Yours {
            // SAFETY: loom checks that this is exclusive.
            self.header.with_mut(|freed| unsafe { *freed += 1 });
        }
    }

    /// The task's last steps.
    fn end(&self) {
        self.use_result();
        self.rely_on_header();
        match self.word.finish() {
            Finish::Done => {}
            // SAFETY: the waiter lives in the model.
            Finish::WakePeer(peer) => unsafe { peer.as_ref() }.0.wake(),
            Finish::WakeBoxed(boxed) => {
                // SAFETY: as above.
                unsafe { boxed.as_ref() }.0.wake();
                self.rely_on_header();
                self.free_header(self.word.finish_waking());
            }
            Finish::Detached => {
                self.use_result();
                if let Some(orphan) = self.word.orphan() {
                    // SAFETY: as above.
                    unsafe { orphan.as_ref() }.0.wake();
                }
                self.free_header(Header::Yours);
            }
        }
    }

    fn join(&self, waiter: &JoinWaiter<Waiter, Waiter>) {
        match self.word.register(waiter) {
            Registered::Waiting(earlier) => {
                assert!(earlier.is_none());
                self.waiter.0.sleep();
                assert!(self.word.is_finished());
            }
            Registered::Finished => {}
        }
        self.collect();
    }

    fn collect(&self) {
        self.rely_on_header();
        self.use_result();
        self.free_header(self.word.release());
    }

    fn detach(&self) {
        match self.word.detach() {
            Detach::Left(_) => {}
            Detach::Collect => self.collect(),
        }
    }

    fn assert_cleaned_up(&self) {
        // SAFETY: both sides are through.
        self.header.with(|freed| assert_eq!(unsafe { *freed }, 1, "frees of the header"));
        // SAFETY: as above.
        self.result.with(|uses| assert_eq!(unsafe { *uses }, 2, "put there once, taken once"));
    }
}

fn model(handle: impl Fn(&Model) + Sync + Send + 'static) {
    check(8, move || {
        let (model, task) = Model::with_task();
        handle(&model);
        task.join().unwrap();
        model.assert_cleaned_up();
    });
}

#[test]
fn a_peer_joins() {
    model(|model| model.join(&JoinWaiter::Peer(NonNull::from(&model.waiter))));
}

#[test]
fn a_boxed_waiter_joins() {
    model(|model| model.join(&JoinWaiter::Boxed(NonNull::from(&model.waiter))));
}

#[test]
fn the_handle_goes_away() {
    model(Model::detach);
}

#[test]
fn the_handle_waits_and_then_goes_away() {
    model(|model| match model.word.register(&JoinWaiter::Boxed(NonNull::from(&model.waiter))) {
        Registered::Waiting(_) => model.detach(),
        Registered::Finished => model.collect(),
    });
}

/// The handle's waiter is woken at the end all the same, and not before the result is there.
#[test]
fn the_handle_goes_away_and_somebody_is_told_all_the_same() {
    model(|model| {
        match model.word.register(&JoinWaiter::Boxed(NonNull::from(&model.waiter))) {
            Registered::Waiting(_) => {}
            Registered::Finished => return model.collect(),
        }
        match model.word.abandon() {
            Detach::Left(waiter) => assert!(waiter.is_none(), "it stays"),
            Detach::Collect => model.collect(),
        }
        model.waiter.0.sleep();
    });
}
