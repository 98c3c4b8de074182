//! The run queue under real threads (S55): an owner that pushes, pops and overflows, and four
//! thieves. Each node is taken exactly once and its contents are seen.

#![cfg(not(loom))]

mod support;

use gosched_primitives::{Full, List, Lock, NextSlot, Ring, RingOwner};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::{Node, Random, Watchdog};

const THIEVES: usize = 4;

struct Shared<const CAP: usize> {
    ring: Ring<Node, CAP>,
    next: NextSlot<Node>,
    global: Lock<List<Node>>,
    over: AtomicBool,
}

fn drain<const CAP: usize>(owner: &RingOwner<'_, Node, CAP>, most: usize) {
    for _ in 0..most {
        let Some(node) = owner.pop() else { break };
        Node::take(node);
    }
}

/// Puts a node where `ready` does: `runnext`, else the ring, else the global queue.
fn put<const CAP: usize>(shared: &Shared<CAP>, node: &Node, random: &mut Random) {
    let Some(mut kicked) = shared.next.replace(node.fill()) else { return };
    // SAFETY: only the owner's thread calls this; the nodes outlive the ring.
    let owner = unsafe { shared.ring.owner() };
    while let Err(Full(back)) = owner.push(kicked) {
        if let Some(batch) = owner.overflow(back, |bound| random.below(bound)) {
            assert_eq!(batch.len(), CAP / 2 + 1);
            return shared.global.lock().append(batch);
        }
        kicked = back;
    }
}

fn steal_until_over<const CAP: usize>(shared: &Shared<CAP>, seed: usize) -> usize {
    let own = Ring::<Node, CAP>::new();
    // SAFETY: a ring of this thread alone; the nodes outlive it.
    let owner = unsafe { own.owner() };
    let mut random = Random::new(seed);
    let mut stolen = 0;
    loop {
        let over = shared.over.load(Ordering::Acquire);
        let node = match random.below(8) {
            0 => shared.next.take(),
            1 => {
                let mut batch = shared.global.lock().split_front(CAP / 2);
                while let Some(node) = batch.pop_front() {
                    owner.push(node).unwrap();
                }
                owner.pop()
            }
            _ => owner.steal_from(&shared.ring),
        };
        match node {
            Some(node) => Node::take(node),
            None if over => return stolen,
            None => continue,
        };
        stolen += 1 + own.len();
        random.pause();
        drain(&owner, CAP);
    }
}

fn exactly_once<const CAP: usize>(test: &'static str, rounds: usize) {
    let _watchdog = Watchdog::new(test);
    let nodes = Node::all(rounds);
    let shared = Shared::<CAP> {
        ring: Ring::new(),
        next: NextSlot::new(),
        global: Lock::new(List::new()),
        over: AtomicBool::new(false),
    };
    let start = Instant::now();
    let mut pushed = 0;
    let stolen: usize = std::thread::scope(|scope| {
        let shared = &shared;
        let thieves: Vec<_> =
            (1..=THIEVES).map(|seed| scope.spawn(move || steal_until_over(shared, seed))).collect();
        let mut random = Random::new(99);
        // SAFETY: the one owner; the nodes outlive the ring.
        let owner = unsafe { shared.ring.owner() };
        for node in &nodes {
            if start.elapsed() > Duration::from_millis(1_200) {
                break;
            }
            put(shared, node, &mut random);
            pushed += 1;
            random.pause();
            match random.below(8) {
                0 => shared.next.take().into_iter().for_each(|node| assert!(Node::take(node) < rounds)),
                1 => drain(&owner, random.below(CAP)),
                _ => {}
            }
        }
        shared.next.take().map(Node::take);
        drain(&owner, usize::MAX);
        shared.over.store(true, Ordering::Release);
        thieves.into_iter().map(|thief| thief.join().unwrap()).sum()
    });
    let mut global = shared.global.lock();
    while let Some(node) = global.pop_front() {
        Node::take(node);
    }
    assert!(stolen > 0, "nobody stole anything");
    for node in &nodes {
        assert_eq!(node.times_taken(), usize::from(node.id < pushed), "node {}", node.id);
    }
    println!("{test}: {stolen} of {pushed} stolen");
}

#[test]
fn each_node_is_taken_exactly_once() {
    exactly_once::<256>("each_node_is_taken_exactly_once", 500_000);
}

/// A small ring, which overflows and wraps all the time.
#[test]
fn each_node_of_a_small_ring_is_taken_exactly_once() {
    exactly_once::<4>("each_node_of_a_small_ring_is_taken_exactly_once", 500_000);
}
