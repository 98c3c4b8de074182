//! Model of a gate (`Conditions` and `Owner` together): a worker without a P never uses what
//! whoever has closed the gate changes at the same time, and sees the change when it finds the gate
//! open again. The fence mode of the barrier, as in `loom_owner.rs`.
//!
//! What is changed is a cell: loom reports any two uses that are not ordered.
//!
//! Seen to fail (2026-11-18):
//! - `Owner::in_runtime` `Relaxed`, or `Owner::exit` `Relaxed`: what the worker did inside is not
//!   over for the closer;
//! - `Conditions::has` `Relaxed`: the worker does not see the change;
//! - the closer looks who is inside before it sets the condition.

#![cfg(loom)]

mod support;

use gosched_primitives::{Conditions, Entered, Owner, barrier};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use support::check;

const STOP: u32 = 1;

struct Gate {
    conditions: Conditions,
    owner: Owner,
    changed: UnsafeCell<u32>,
}

// SAFETY: the gate keeps the threads apart, which is what is checked.
unsafe impl Sync for Gate {}
// SAFETY: as above.
unsafe impl Send for Gate {}

impl Gate {
    /// One call of the worker's; what it saw, unless the gate was closed.
    fn call(&self) -> Option<u32> {
        assert_eq!(self.owner.enter(), Entered::Fast);
        // SAFETY: loom checks that nobody writes meanwhile.
        let seen = (!self.conditions.has(STOP)).then(|| self.changed.with(|value| unsafe { *value }));
        self.owner.exit();
        seen
    }

    /// Closes the gate, waits until nobody is inside, makes a change, and opens the gate.
    fn change(&self) {
        self.conditions.set(STOP, true);
        barrier::heavy().unwrap();
        while self.owner.in_runtime() {
            thread::yield_now();
            barrier::heavy().unwrap();
        }
        // SAFETY: loom checks that this is exclusive.
        self.changed.with_mut(|value| unsafe { *value += 1 });
        self.conditions.set(STOP, false);
    }
}

#[test]
fn a_change_behind_the_gate_is_seen_by_who_finds_it_open() {
    check(6, || {
        let gate = Gate { conditions: Conditions::none(), owner: Owner::new(), changed: UnsafeCell::new(0) };
        gate.owner.exit();
        let gate = Arc::new(gate);
        let worker = {
            let gate = gate.clone();
            thread::spawn(move || {
                let seen = [gate.call(), gate.call()];
                assert_ne!(seen, [Some(1), Some(0)]);
            })
        };
        gate.change();
        worker.join().unwrap();
        assert_eq!(gate.call(), Some(1));
    });
}
