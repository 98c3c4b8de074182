//! Model of `runnext`: owner and thief race for what is in the slot; exactly one gets it, and sees
//! its contents.
//!
//! Seen to fail (2026-11-15):
//! - `take` as a load and a store of null instead of a CAS (a node twice);
//! - `take`'s CAS `Relaxed` (contents not visible to the thief).

#![cfg(loom)]

mod support;

use gosched_primitives::NextSlot;
use loom::sync::Arc;
use loom::thread;
use support::{Node, check};

#[test]
fn owner_and_thieves_race_for_runnext() {
    check(4, || {
        let model = Arc::new((NextSlot::new(), Node::all(2)));
        let thieves = [0, 1].map(|_| {
            let model = model.clone();
            thread::spawn(move || {
                model.0.take().map(Node::take);
            })
        });
        let (slot, nodes) = &*model;
        assert!(slot.replace(nodes[0].fill()).is_none());
        slot.replace(nodes[1].fill()).map(Node::take);
        slot.take().map(Node::take);
        thieves.into_iter().for_each(|thief| thief.join().unwrap());
        assert!(slot.is_empty());
        assert!(nodes.iter().all(|node| node.times_taken() == 1));
    });
}
