//! What the tests share: a node whose contents and whose taking are checked, and a watchdog.

#![allow(dead_code, reason = "every test file uses a part of it")]

use gosched_primitives::{Linked, sync::AtomicPtr};
use std::ptr::{NonNull, null_mut};

#[cfg(loom)]
use loom::cell::UnsafeCell;

/// A node with contents that are written before it is queued and that its taker must see.
pub struct Node {
    pub id: usize,
    link: AtomicPtr<Node>,
    #[cfg(loom)]
    contents: UnsafeCell<usize>,
    #[cfg(not(loom))]
    contents: std::cell::UnsafeCell<usize>,
    /// How often it was taken; of no influence on the model.
    taken: std::sync::atomic::AtomicUsize,
}

// SAFETY: always the same field, which only lists write to.
unsafe impl Linked for Node {
    fn link(&self) -> &AtomicPtr<Node> {
        &self.link
    }
}

// SAFETY: the contents belong to whoever holds the node, which is what the tests check.
unsafe impl Sync for Node {}

impl Node {
    pub fn new(id: usize) -> Node {
        Node { id, link: AtomicPtr::new(null_mut()), contents: 0.into_cell(), taken: 0.into() }
    }

    pub fn all(n: usize) -> Vec<Node> {
        (0..n).map(Node::new).collect()
    }

    /// What the producer does last before it queues the node.
    pub fn fill(&self) -> NonNull<Node> {
        self.write(self.id + 1);
        NonNull::from(self)
    }

    /// What a taker does: reads the contents (a race, if they are not visible to it) and writes
    /// them (a race, if someone else took the node too).
    pub fn take(node: NonNull<Node>) -> usize {
        // SAFETY: all nodes outlive their test.
        let node = unsafe { node.as_ref() };
        assert_eq!(node.read(), node.id + 1, "the contents of node {} are not visible", node.id);
        node.write(0);
        let taken = node.taken.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(taken, 0, "node {} was taken twice", node.id);
        node.id
    }

    /// Whether the contents are those that `fill` wrote (a race, if they are not visible).
    pub fn is_whole(&self) -> bool {
        self.read() == self.id + 1
    }

    pub fn times_taken(&self) -> usize {
        self.taken.load(std::sync::atomic::Ordering::Relaxed)
    }

    #[cfg(loom)]
    fn write(&self, value: usize) {
        // SAFETY: loom checks that this is exclusive.
        self.contents.with_mut(|contents| unsafe { *contents = value });
    }

    #[cfg(loom)]
    fn read(&self) -> usize {
        // SAFETY: loom checks that nobody writes meanwhile.
        self.contents.with(|contents| unsafe { *contents })
    }

    #[cfg(not(loom))]
    fn write(&self, value: usize) {
        // SAFETY: the caller holds the node.
        unsafe { *self.contents.get() = value };
    }

    #[cfg(not(loom))]
    fn read(&self) -> usize {
        // SAFETY: the caller holds the node.
        unsafe { *self.contents.get() }
    }
}

trait IntoCell<C> {
    fn into_cell(self) -> C;
}

#[cfg(loom)]
impl IntoCell<UnsafeCell<usize>> for usize {
    fn into_cell(self) -> UnsafeCell<usize> {
        UnsafeCell::new(self)
    }
}

#[cfg(not(loom))]
impl IntoCell<std::cell::UnsafeCell<usize>> for usize {
    fn into_cell(self) -> std::cell::UnsafeCell<usize> {
        std::cell::UnsafeCell::new(self)
    }
}

/// Checks all interleavings with at most `preemptions` forced switches.
#[cfg(loom)]
pub fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(model);
}

/// Ends the process, with the test's name, if the test is not over in time: a hang is a failure.
#[cfg(not(loom))]
pub struct Watchdog(std::sync::mpsc::Sender<()>);

#[cfg(not(loom))]
impl Watchdog {
    pub fn new(test: &'static str) -> Watchdog {
        let (over, wait) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            if wait.recv_timeout(std::time::Duration::from_secs(15))
                == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
            {
                eprintln!("{test}: hangs");
                std::process::abort();
            }
        });
        Watchdog(over)
    }
}

/// A small random generator (xorshift), and pauses of random length.
#[cfg(not(loom))]
pub struct Random(u32);

#[cfg(not(loom))]
impl Random {
    pub fn new(seed: usize) -> Random {
        Random((seed as u32).wrapping_mul(0x9e37_79b9) | 1)
    }

    pub fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.next() as usize % bound
    }

    /// Mostly nothing, sometimes some spins, seldom a yield: so that threads meet in all windows.
    pub fn pause(&mut self) {
        match self.next() % 64 {
            0 => std::thread::yield_now(),
            1..8 => (0..self.below(64)).for_each(|_| std::hint::spin_loop()),
            _ => {}
        }
    }
}
