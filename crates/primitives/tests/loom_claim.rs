//! Model of a claim: of several parties that end a wait exactly one wins, wakes the waiter once,
//! and hands over what it wrote before.
//!
//! Seen to fail (2026-11-15):
//! - `claim` by a load and a store instead of a compare-and-swap: the waiter is woken twice
//!   (`Note::wake` panics), or the outcome is not the winner's;
//! - `claim` `Relaxed` (and `outcome` too): the owner that polls does not see what the winner
//!   wrote.

#![cfg(loom)]

mod support;

use gosched_primitives::{Claim, Note, Outcome};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use support::check;

struct Model {
    claim: Claim<Arc<Note>>,
    slots: [UnsafeCell<usize>; 3],
}

// SAFETY: a slot is written by its party before it claims, and read by the owner if that party won:
// what is checked.
unsafe impl Sync for Model {}
// SAFETY: as above.
unsafe impl Send for Model {}

impl Model {
    fn end(&self, party: usize) -> bool {
        // SAFETY: loom checks that this is exclusive.
        self.slots[party].with_mut(|slot| unsafe { *slot = party + 10 });
        let Some(note) = self.claim.claim(Outcome::new(party + 1).unwrap()) else { return false };
        note.wake();
        true
    }

    fn read(&self) -> usize {
        let party = self.claim.outcome().unwrap().get() - 1;
        // SAFETY: loom checks that nobody writes meanwhile.
        self.slots[party].with(|slot| assert_eq!(unsafe { *slot }, party + 10));
        party
    }
}

fn model() -> (Arc<Model>, Arc<Note>) {
    let note = Arc::new(Note::new());
    let model = Model { claim: Claim::new(), slots: [0, 1, 2].map(|_| UnsafeCell::new(0)) };
    model.claim.put(note.clone());
    (Arc::new(model), note)
}

/// Two parties and the waiter itself, whose time runs out.
#[test]
fn one_of_three_wins() {
    check(3, || {
        let (model, note) = model();
        let parties = [0, 1].map(|party| {
            let model = model.clone();
            thread::spawn(move || model.end(party))
        });
        let timed_out = model.claim.claim(Outcome::new(3).unwrap()).is_some();
        if !timed_out {
            note.sleep();
            assert!(model.read() < 2);
        }
        let won = parties.into_iter().map(|party| party.join().unwrap()).filter(|won| *won).count();
        assert_eq!(won + usize::from(timed_out), 1);
    });
}

/// A thread that sees the outcome, without having been woken, sees what the winner wrote.
#[test]
fn the_outcome_brings_the_contents() {
    check(3, || {
        let (model, note) = model();
        let party = {
            let model = model.clone();
            thread::spawn(move || model.end(0))
        };
        if model.claim.outcome().is_some() {
            model.read();
        }
        note.sleep();
        party.join().unwrap();
    });
}
