//! Models of the wake-up protocol (S31): a publisher looks for idle Ps after it queued work, an M
//! looks for work after it announced that it goes idle. In whatever order, someone runs the work: a
//! lost wake-up is a deadlock here.
//!
//! The idle list is behind a lock, as in the scheduler: the thread that takes the P out of it gives
//! it to the M.
//!
//! Seen to fail (2026-11-15):
//! - `NextSlot::replace` not `SeqCst` (its `dekker_fence` removed): `new_work_finds_…` and
//!   `a_claim_that_is_given_back_…`;
//! - `IdleWord`'s `stop_spinning` and `p_idle` not `SeqCst` (their `dekker_fence` removed): all
//!   tests;
//! - the M does not look again, or looks before it announces that it goes idle: all tests;
//! - only an M that was spinning looks again: `a_claim_that_is_given_back_…` and
//!   `work_kicked_into_the_ring_…`;
//! - no `publish_fence` after a push to the ring: `work_kicked_into_the_ring_finds_it_too`.

#![cfg(loom)]

mod support;

use gosched_primitives::{IdleWord, NextSlot, Note, Ring, Spinning, sync};
use loom::sync::{Arc, Mutex};
use loom::thread;
use support::{Node, check};

/// The idle list, with the lock around it.
#[derive(Default)]
struct IdleList {
    /// Whether the worker and its P are in it.
    worker: bool,
    /// Whether a P is in it that belongs to no M of this model.
    spare: bool,
    /// The worker need not sleep any more.
    over: bool,
}

struct Model {
    next: NextSlot<Node>,
    ring: Ring<Node, 2>,
    idle: IdleWord,
    list: Mutex<IdleList>,
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
            list: Mutex::new(IdleList::default()),
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
        if std::mem::take(&mut list.worker) {
            self.idle.p_busy();
            drop(list);
            spinning.into_flag();
            self.note.wake();
        } else if std::mem::take(&mut list.spare) {
            self.idle.p_busy();
            drop(list);
            self.run_on_a_new_m(spinning);
        } else {
            drop(list);
            let _ = self.idle.stop_spinning(spinning);
        }
    }

    /// The spare P got an M of its own, which runs what the worker has left. The worker has nothing
    /// to wait for then.
    fn run_on_a_new_m(&self, spinning: Spinning) {
        self.take_one(&Ring::new());
        let _ = self.idle.stop_spinning(spinning);
        let mut list = self.list.lock().unwrap();
        list.over = true;
        if std::mem::take(&mut list.worker) {
            self.idle.p_busy();
            drop(list);
            self.idle.start_spinning().into_flag();
            self.note.wake();
        }
    }

    /// Someone comes back from a blocking call and takes the spare P.
    fn take_spare_p(&self) {
        if std::mem::take(&mut self.list.lock().unwrap().spare) {
            self.idle.p_busy();
        }
    }

    fn take_one(&self, own: &Ring<Node, 2>) -> bool {
        // SAFETY: the worker's own ring.
        let node = self.next.take().or_else(|| unsafe { own.owner() }.steal_from(&self.ring));
        node.map(Node::take).is_some()
    }

    /// The M's half: announces that it goes idle, then looks once more, then sleeps, until `wanted`
    /// is true.
    fn work(&self, mut spinning: Option<Spinning>, wanted: impl Fn() -> bool) {
        let own = Ring::new();
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
            if list.over {
                break;
            }
            list.worker = true;
            self.idle.p_idle();
            drop(list);
            if let Some(spinning) = spinning.take() {
                let _ = self.idle.stop_spinning(spinning);
            }
            if !self.next.is_empty() || self.ring.has_work() {
                let mut list = self.list.lock().unwrap();
                if std::mem::take(&mut list.worker) {
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
        model.work(Some(spinning), || model.nodes[0].times_taken() == 1);
        publisher.join().unwrap();
    });
}

/// The publisher kicks node 0 into its ring, while a thief takes node 1 from the slot: so the slot
/// says nothing to the M, which must see the ring's tail.
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
        model.work(Some(spinning), || model.nodes[0].times_taken() == 1);
        thief.join().unwrap();
        publisher.join().unwrap();
    });
}

/// The publisher claims the spinner because a P is idle, but someone takes that P first, so it
/// gives the claim back and wakes nobody. The worker, which does *not* spin, goes idle meanwhile:
/// it must look once more, too.
#[test]
fn a_claim_that_is_given_back_leaves_no_work_behind() {
    check(4, || {
        let (model, spinning) = Model::new(1);
        let _ = model.idle.stop_spinning(spinning);
        model.list.lock().unwrap().spare = true;
        model.idle.p_idle();
        let back_from_a_call = model.clone();
        let back_from_a_call = thread::spawn(move || back_from_a_call.take_spare_p());
        let publisher = model.clone();
        let publisher = thread::spawn(move || publisher.publish(&publisher.nodes[0]));
        model.work(None, || model.nodes[0].times_taken() == 1);
        publisher.join().unwrap();
        back_from_a_call.join().unwrap();
    });
}
