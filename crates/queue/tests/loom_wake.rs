//! Model of the wake-up protocol (S31): a publisher looks for idle Ps after it queued work, an M looks for work
//! after it said that it goes idle. Whatever the order, someone runs the work: a lost wake-up is a deadlock here.
//!
//! The idle list is modelled by a lock, as in the scheduler: whoever takes the P from it gives the M its P.
//!
//! Seen to fail (2026-11-15):
//! - `NextSlot::replace` not `SeqCst` (its `dekker_fence` removed): `new_work_finds_the_m_that_gives_up`;
//! - `IdleWord`'s `stop_spinning` and `p_idle` not `SeqCst` (their `dekker_fence` removed): both tests;
//! - the M does not look again, or looks before it says that it goes idle: both tests;
//! - no `publish_fence` after a push to the ring: `work_kicked_into_the_ring_finds_it_too`.

#![cfg(loom)]

mod support;

use gosched_queue::{IdleWord, NextSlot, Note, Ring, Spinning, sync};
use loom::sync::{Arc, Mutex};
use loom::thread;
use support::{Node, check};

struct Model {
    next: NextSlot<Node>,
    ring: Ring<Node, 2>,
    idle: IdleWord,
    /// Whether the worker and its P are in the idle list.
    list: Mutex<bool>,
    note: Note,
    nodes: Vec<Node>,
}

impl Model {
    /// The worker holds a P and spins.
    fn new(nodes: usize) -> (Arc<Model>, Spinning) {
        let model = Model {
            next: NextSlot::new(),
            ring: Ring::new(),
            idle: IdleWord::new(1),
            list: Mutex::new(false),
            note: Note::new(),
            nodes: Node::all(nodes),
        };
        let spinning = model.idle.try_claim_spinner().expect("one P idle, nobody spins");
        model.idle.p_busy();
        (Arc::new(model), spinning)
    }

    /// The publisher's half: queue, then look.
    fn publish(&self, node: &Node) {
        if let Some(kicked) = self.next.replace(node.fill()) {
            // SAFETY: the publisher is the queue's owner.
            unsafe { self.ring.owner() }.push(kicked).unwrap();
            sync::publish_fence();
        }
        self.wake_p();
    }

    fn wake_p(&self) {
        let Some(spinning) = self.idle.try_claim_spinner() else { return };
        let mut list = self.list.lock().unwrap();
        if !std::mem::replace(&mut *list, false) {
            drop(list);
            let _ = self.idle.stop_spinning(spinning);
            return;
        }
        self.idle.p_busy();
        drop(list);
        spinning.into_flag();
        self.note.wake();
    }

    fn take_one(&self, own: &Ring<Node, 2>) -> bool {
        // SAFETY: the worker's own ring.
        let node = self.next.take().or_else(|| unsafe { own.owner() }.steal_from(&self.ring));
        node.map(Node::take).is_some()
    }

    /// The M's half: say that you go idle, then look once more, then sleep. Until it has run `wanted` nodes.
    fn work(&self, spinning: Spinning, wanted: impl Fn() -> bool) {
        let own = Ring::new();
        let mut spinning = Some(spinning);
        loop {
            let found = self.take_one(&own);
            if found && wanted() {
                break;
            }
            if found {
                continue;
            }
            self.note.clear();
            let mut list = self.list.lock().unwrap();
            *list = true;
            self.idle.p_idle();
            drop(list);
            if let Some(spinning) = spinning.take() {
                let _ = self.idle.stop_spinning(spinning);
            }
            if !self.next.is_empty() || self.ring.has_work() {
                let mut list = self.list.lock().unwrap();
                if std::mem::replace(&mut *list, false) {
                    self.idle.p_busy();
                    continue;
                }
            }
            self.note.sleep();
            // SAFETY: made into a flag by `wake_p`, for us.
            spinning = Some(unsafe { Spinning::assume() });
        }
        if let Some(spinning) = spinning {
            let _ = self.idle.stop_spinning(spinning);
        }
    }
}

#[test]
fn new_work_finds_the_m_that_gives_up() {
    check(6, || {
        let (model, spinning) = Model::new(1);
        let publisher = model.clone();
        let publisher = thread::spawn(move || publisher.publish(&publisher.nodes[0]));
        model.work(spinning, || model.nodes[0].times_taken() == 1);
        publisher.join().unwrap();
    });
}

/// The publisher kicks node 0 into its ring, while a thief takes node 1 from the slot: so the slot tells the M
/// nothing, and it must see the ring's tail.
#[test]
fn work_kicked_into_the_ring_finds_it_too() {
    check(4, || {
        let (model, spinning) = Model::new(2);
        model.next.replace(model.nodes[0].fill());
        let publisher = model.clone();
        let publisher = thread::spawn(move || publisher.publish(&publisher.nodes[1]));
        let thief = model.clone();
        let thief = thread::spawn(move || {
            thief.next.take().map(Node::take);
        });
        model.work(spinning, || model.nodes[0].times_taken() == 1);
        thief.join().unwrap();
        publisher.join().unwrap();
    });
}
