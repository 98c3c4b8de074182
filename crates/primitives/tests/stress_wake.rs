//! The wake-up protocol end to end (S30, S31): a small scheduler of real threads over the queues,
//! words and notes of this crate. Work comes from outside, in single roots that grow into trees, so
//! that the workers fall asleep again and again; after a lost wake-up a root is not run, and the
//! test hangs.
//!
//! Seen to fail (2026-11-15): a worker that goes idle does not look once more; `inject` does not
//! wake (both hang). The missing `publish_fence` was *not* seen here (the store buffer is too
//! quick): loom finds it.

#![cfg(not(loom))]

mod support;

use gosched_primitives::{Full, IdleWord, LastSpinner, List, Lock, NextSlot, Note, Ring, Spinning, sync};
use gosched_rules::batch::grab_count;
use gosched_rules::steal::StealOrder;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::{Node, Random, Watchdog};

const WORKERS: usize = 3;
const CAP: usize = 8;
/// Every root grows into a binary tree of this many nodes.
const TREE: usize = 31;

/// An M and its P.
struct Worker {
    next: NextSlot<Node>,
    ring: Ring<Node, CAP>,
    note: Note,
}

struct Sched {
    workers: Vec<Worker>,
    idle: IdleWord,
    idle_list: Lock<Vec<usize>>,
    global: Lock<List<Node>>,
    order: StealOrder,
    done: AtomicUsize,
    sleeps: AtomicUsize,
    over: AtomicBool,
    nodes: Vec<Node>,
}

impl Sched {
    fn new(trees: usize) -> Sched {
        let worker = |_| Worker { next: NextSlot::new(), ring: Ring::new(), note: Note::new() };
        Sched {
            workers: (0..WORKERS).map(worker).collect(),
            idle: IdleWord::new(0),
            idle_list: Lock::new(Vec::new()),
            global: Lock::new(List::new()),
            order: StealOrder::new(WORKERS as u32),
            done: AtomicUsize::new(0),
            sleeps: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            nodes: Node::all(trees * TREE),
        }
    }

    fn wake_p(&self) {
        let Some(spinning) = self.idle.try_claim_spinner() else { return };
        let mut list = self.idle_list.lock();
        let Some(worker) = list.pop() else {
            drop(list);
            let _ = self.idle.stop_spinning(spinning);
            return;
        };
        self.idle.p_busy();
        drop(list);
        spinning.into_flag();
        self.workers[worker].note.wake();
    }

    fn inject(&self, node: &Node) {
        let node = node.fill();
        // SAFETY: the node is in no other queue and outlives this one.
        unsafe { self.global.lock().push_back(node) };
        sync::publish_fence();
        self.wake_p();
    }

    fn ready(&self, me: &Worker, node: &Node, random: &mut Random) {
        if let Some(mut kicked) = me.next.replace(node.fill()) {
            // SAFETY: called by the worker itself; the nodes outlive the ring.
            let owner = unsafe { me.ring.owner() };
            while let Err(Full(back)) = owner.push(kicked) {
                if let Some(batch) = owner.overflow(back, |bound| random.below(bound)) {
                    self.global.lock().append(batch);
                    break;
                }
                kicked = back;
            }
            sync::publish_fence();
        }
        self.wake_p();
    }

    fn local(&self, me: &Worker) -> Option<NonNull<Node>> {
        // SAFETY: called by the worker itself; the nodes outlive the ring.
        let owner = unsafe { me.ring.owner() };
        me.next.take().or_else(|| owner.pop()).or_else(|| {
            let mut global = self.global.lock();
            let share = grab_count(global.len(), WORKERS, CAP, None);
            let mut batch = global.split_front(share);
            drop(global);
            let first = batch.pop_front();
            while let Some(node) = batch.pop_front() {
                owner.push(node).unwrap();
            }
            first
        })
    }

    fn steal(&self, me: &Worker, random: &mut Random) -> Option<NonNull<Node>> {
        // SAFETY: called by the worker itself; the nodes outlive the ring.
        let owner = unsafe { me.ring.owner() };
        for round in 0..4 {
            for victim in self.order.iter(random.next()) {
                let victim = &self.workers[victim as usize];
                if std::ptr::eq(victim, me) {
                    continue;
                }
                let stolen = owner.steal_from(&victim.ring);
                if let Some(node) = stolen.or_else(|| if round == 3 { victim.next.take() } else { None }) {
                    return Some(node);
                }
            }
        }
        None
    }

    fn work_anywhere(&self) -> bool {
        self.workers.iter().any(|worker| !worker.next.is_empty() || worker.ring.has_work())
            || !self.global.lock().is_empty()
    }

    /// Runs a node: readies its children, if the tree has any there.
    fn run(&self, me: &Worker, node: NonNull<Node>, random: &mut Random) {
        let id = Node::take(node);
        let (tree, place) = (id / TREE, id % TREE);
        for child in [2 * place + 1, 2 * place + 2] {
            if child < TREE {
                self.ready(me, &self.nodes[tree * TREE + child], random);
            }
        }
        random.pause();
        self.done.fetch_add(1, Ordering::Release);
    }

    fn work(&self, index: usize) {
        let me = &self.workers[index];
        let mut random = Random::new(index + 1);
        let mut spinning = None;
        while !self.over.load(Ordering::Acquire) {
            let found = self.local(me).or_else(|| {
                if spinning.is_none() {
                    spinning = self.idle.try_start_spinning(WORKERS as u32);
                }
                spinning.as_ref().and_then(|_| self.steal(me, &mut random))
            });
            if let Some(node) = found {
                if let Some(spinning) = spinning.take()
                    && self.idle.stop_spinning(spinning) == LastSpinner::Yes
                {
                    self.wake_p();
                }
                self.run(me, node, &mut random);
            } else {
                spinning = self.go_idle(index, spinning.take());
            }
        }
        if let Some(spinning) = spinning {
            let _ = self.idle.stop_spinning(spinning);
        }
    }

    /// Announces that it goes idle, looks once more, sleeps. Returns as a spinner if it was woken.
    fn go_idle(&self, index: usize, spinning: Option<Spinning>) -> Option<Spinning> {
        let mut list = self.idle_list.lock();
        list.push(index);
        self.idle.p_idle();
        drop(list);
        if let Some(spinning) = spinning {
            let _ = self.idle.stop_spinning(spinning);
        }
        if self.work_anywhere() || self.over.load(Ordering::Acquire) {
            let mut list = self.idle_list.lock();
            if let Some(place) = list.iter().position(|&idle| idle == index) {
                list.remove(place);
                self.idle.p_busy();
                return None;
            }
        }
        self.sleeps.fetch_add(1, Ordering::Relaxed);
        let me = &self.workers[index];
        me.note.sleep();
        me.note.clear();
        // SAFETY: whoever wakes a worker makes its token a flag, for it.
        Some(unsafe { Spinning::assume() })
    }

    fn shut_down(&self) {
        self.over.store(true, Ordering::Release);
        sync::publish_fence();
        while self.idle.snapshot().idle_ps > 0 {
            self.wake_p();
            std::thread::yield_now();
        }
    }
}

#[test]
fn no_wake_up_is_lost() {
    let _watchdog = Watchdog::new("no_wake_up_is_lost");
    let sched = Sched::new(30_000);
    let trees = std::thread::scope(|scope| {
        for index in 0..WORKERS {
            let sched = &sched;
            scope.spawn(move || sched.work(index));
        }
        let start = Instant::now();
        let mut random = Random::new(77);
        let mut trees = 0;
        for tree in sched.nodes.chunks(TREE) {
            if start.elapsed() > Duration::from_millis(1_200) {
                break;
            }
            sched.inject(&tree[0]);
            trees += 1;
            // Mostly one tree at a time: the workers fall asleep after it, or are just about to.
            let alone = random.below(8) != 0;
            while alone && sched.done.load(Ordering::Acquire) < trees * TREE {
                std::hint::spin_loop();
            }
            (0..random.below(200)).for_each(|_| std::hint::spin_loop());
        }
        while sched.done.load(Ordering::Acquire) < trees * TREE {
            std::thread::yield_now();
        }
        sched.shut_down();
        trees
    });
    let idle = sched.idle.snapshot();
    assert_eq!((idle.idle_ps, idle.spinning), (0, 0));
    assert!(sched.nodes[..trees * TREE].iter().all(|node| node.times_taken() == 1));
    println!("{trees} trees, {} sleeps", sched.sleeps.into_inner());
}
