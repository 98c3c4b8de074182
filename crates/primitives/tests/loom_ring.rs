//! Model of the run queue (S55): whatever thieves do, each node is taken exactly once, and its
//! taker sees its contents.
//!
//! Seen to fail, one change at a time (2026-11-15):
//! - `RingOwner::publish` `Relaxed`: `pushing_and_popping_against_two_thieves` (an old slot is
//!   read, a node lost);
//! - `grab`'s load of tail `Relaxed`: the same test;
//! - `advance_head` as a check and a store instead of a CAS: all three tests (a node twice);
//! - `overflow` moves the head by a store instead of a CAS: `overflowing_against_a_thief`;
//! - `push` does not look whether there is room: `a_slot_is_used_again_while_a_thief_reads_it`;
//! - `grab` uses a torn reading: the same test (the thief's own node is overwritten).
//!
//! Not seen here: `advance_head` without its release. loom executes loads in program order, so it
//! cannot read a slot's *later* value, which is what that release forbids.

#![cfg(loom)]

mod support;

use gosched_primitives::{Full, Ring, RingOwner, keep_order};
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;
use support::{Node, check};

struct Model<const CAP: usize> {
    ring: Ring<Node, CAP>,
    nodes: Vec<Node>,
}

impl<const CAP: usize> Model<CAP> {
    fn new(nodes: usize) -> Arc<Model<CAP>> {
        Arc::new(Model { ring: Ring::new(), nodes: Node::all(nodes) })
    }

    fn assert_each_taken_once(&self) {
        for node in &self.nodes {
            assert_eq!(node.times_taken(), 1, "node {}", node.id);
        }
    }

    /// A thread that steals once and runs all it has; it may have one node of its own.
    fn thief(model: &Arc<Self>, own_node: Option<usize>) -> thread::JoinHandle<()> {
        let model = model.clone();
        thread::spawn(move || {
            let own = Ring::<Node, CAP>::new();
            // SAFETY: a ring of this thread alone; the model keeps the nodes.
            let owner = unsafe { own.owner() };
            if let Some(index) = own_node {
                owner.push(model.nodes[index].fill()).unwrap();
            }
            owner.steal_from(&model.ring).map(Node::take);
            drain(&owner);
        })
    }
}

fn drain<const CAP: usize>(owner: &RingOwner<'_, Node, CAP>) {
    while let Some(node) = owner.pop() {
        Node::take(node);
    }
}

#[test]
fn pushing_and_popping_against_two_thieves() {
    check(3, || {
        let model = Model::<4>::new(3);
        let thieves = [Model::thief(&model, None), Model::thief(&model, None)];
        // SAFETY: the one owner; the model keeps the nodes.
        let owner = unsafe { model.ring.owner() };
        for node in &model.nodes {
            owner.push(node.fill()).unwrap();
        }
        owner.pop().map(Node::take);
        thieves.into_iter().for_each(|thief| thief.join().unwrap());
        drain(&owner);
        model.assert_each_taken_once();
    });
}

/// A ring of two: the third push writes to the slot that the thief may be reading, and a thief that
/// reads the head before and the tail after it counts three. Its own ring holds a node that must
/// survive that.
#[test]
fn a_slot_is_used_again_while_a_thief_reads_it() {
    check(5, || {
        let model = Model::<2>::new(5);
        // SAFETY: the one owner; the model keeps the nodes.
        let owner = unsafe { model.ring.owner() };
        owner.push(model.nodes[0].fill()).unwrap();
        owner.push(model.nodes[1].fill()).unwrap();
        let thief = Model::thief(&model, Some(4));
        for node in &model.nodes[2..4] {
            let mut node: NonNull<Node> = node.fill();
            while let Err(Full(back)) = owner.push(node) {
                owner.pop().map(Node::take);
                node = back;
            }
        }
        thief.join().unwrap();
        drain(&owner);
        model.assert_each_taken_once();
    });
}

#[test]
fn overflowing_against_a_thief() {
    check(6, || {
        let model = Model::<4>::new(5);
        // SAFETY: the one owner; the model keeps the nodes.
        let owner = unsafe { model.ring.owner() };
        for node in &model.nodes[..4] {
            owner.push(node.fill()).unwrap();
        }
        let thief = Model::thief(&model, None);
        let extra = model.nodes[4].fill();
        match owner.overflow(extra, keep_order) {
            Some(mut batch) => {
                assert_eq!(batch.len(), 3);
                while let Some(node) = batch.pop_front() {
                    Node::take(node);
                }
            }
            None => owner.push(extra).expect("a thief made room"),
        }
        thief.join().unwrap();
        drain(&owner);
        model.assert_each_taken_once();
    });
}
