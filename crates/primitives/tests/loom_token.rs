//! Models of the park token: an `unpark` before, during or after `park` lets the owner run on
//! exactly once, and the owner sees what was written before; one for a former incarnation does
//! nothing.
//!
//! Seen to fail (2026-11-15):
//! - `unpark` does not report a parked owner, or writes by a store instead of its CAS: both tests
//!   (deadlock);
//! - `unpark` `Relaxed`: `an_unpark_is_never_lost` (what was written before is not visible);
//! - `unpark` ignores the id: the same test (a stranger's unpark wakes the owner).

#![cfg(loom)]

mod support;

use gosched_primitives::{Note, Token, TokenWord, Unpark};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use support::check;

const ID: u64 = 7;

struct Model {
    token: TokenWord,
    note: Note,
    message: UnsafeCell<u32>,
}

// SAFETY: the message is written before the `unpark` and read after the `park`, which is what is
// checked.
unsafe impl Sync for Model {}
// SAFETY: as above.
unsafe impl Send for Model {}

impl Model {
    fn new() -> Arc<Model> {
        Arc::new(Model { token: TokenWord::new(ID), note: Note::new(), message: UnsafeCell::new(0) })
    }

    fn unpark(&self, id: u64) {
        if self.token.unpark(id) == Unpark::Wake {
            self.note.wake();
        }
    }

    fn park(&self) {
        if self.token.park(ID) == Token::Absent {
            self.note.sleep();
        }
        // SAFETY: loom checks that nobody writes meanwhile.
        self.message.with(|message| assert_eq!(unsafe { *message }, 1));
    }
}

#[test]
fn an_unpark_is_never_lost() {
    check(3, || {
        let model = Model::new();
        let (friend, stranger) = (model.clone(), model.clone());
        let friend = thread::spawn(move || {
            // SAFETY: loom checks that this is exclusive.
            friend.message.with_mut(|message| unsafe { *message = 1 });
            friend.unpark(ID);
        });
        let stranger = thread::spawn(move || stranger.unpark(ID - 1));
        model.park();
        friend.join().unwrap();
        stranger.join().unwrap();
        assert_eq!(model.token.consume(ID), Token::Absent, "one unpark, one park");
    });
}

/// Two unparks are one token, and wake at most once (`Note::wake` would panic the second time).
#[test]
fn two_unparks_wake_at_most_once() {
    check(3, || {
        let model = Model::new();
        // SAFETY: nobody else is about yet.
        model.message.with_mut(|message| unsafe { *message = 1 });
        let friends = [0, 1].map(|_| {
            let friend = model.clone();
            thread::spawn(move || friend.unpark(ID))
        });
        model.park();
        friends.into_iter().for_each(|friend| friend.join().unwrap());
    });
}
