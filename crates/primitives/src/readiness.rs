//! The waiters for a descriptor to become readable or writable (S47), where the operating system
//! reports *edges*: that something has become ready, once, and not that it still is.
//!
//! Each direction counts its edges. A reader notes the count, tries to read, and if nothing is
//! there waits *unless the count has changed* since it was noted. The argument why no edge is
//! missed: an edge that is reported before the count was noted belongs to data that the attempt has
//! found. One that is reported later changes the count, under the lock: before the waiter has
//! queued, and then it does not wait; or after that, and then it is in the queue and is woken. An
//! edge wakes all waiters for its direction, since it does not say for how many there is enough.
//!
//! A readiness outlives its descriptor and serves the next one. Each use is a *generation*: a
//! report that comes after the descriptor was closed names an old generation, and changes nothing.
//!
//! Invariants:
//! - `generation`, the counts and the queues change under the lock only;
//! - a [`WaitNode`] is in at most one queue, whose links are under that lock; its owner takes it
//!   out ([`Readiness::forget`]) before the node goes away, unless a report has;
//! - reports and closes do not touch a node after they have claimed it: its owner may be running
//!   already;
//! - nothing is allocated or freed under the lock: an async task, which has no frame to wait in,
//!   brings a [`TaskNode`]. The thread that ends its wait gets the node, and may leave it here for
//!   the next task.

use core::ptr::{NonNull, null_mut};

use crate::claim::{Claim, Outcome};
use crate::double_list::{DoubleList, DoublyLinked, Links};
use crate::list::{Linked, List};
use crate::lock::{Lock, LockGuard};
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// What a descriptor can be ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Bytes, a connection or the end of the stream have come.
    Read = 0,
    /// There is room for bytes, or the connection is established.
    Write = 1,
}

/// The directions that a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directions {
    /// Something has come.
    pub read: bool,
    /// There is room.
    pub write: bool,
    /// The report also says that the stream has ended, or that there is an error or urgent data:
    /// see [`Edges::are_plain`].
    pub special: bool,
}

impl Directions {
    /// Both.
    pub const BOTH: Directions = Directions { read: true, write: true, special: false };

    fn has(self, direction: Direction) -> bool {
        match direction {
            Direction::Read => self.read,
            Direction::Write => self.write,
        }
    }
}

/// How many edges a direction had seen, and in the lowest bit whether one of them was special.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edges(u64);

const SPECIAL: u64 = 1;
const ONE_EDGE: u64 = 2;

impl Edges {
    /// Whether no edge was special. Then a reader that got fewer bytes than it had room for has
    /// read everything that these edges reported. (Otherwise a last byte, the end or an error may
    /// still be there, and will not be reported again.)
    #[must_use]
    pub fn are_plain(self) -> bool {
        self.0 & SPECIAL == 0
    }

    /// The edges as a number: equal numbers for equal edges.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0
    }
}

/// A waiter for a direction, in its own frame.
pub struct WaitNode<W> {
    /// Its wait. A report claims it, unless somebody else has.
    pub claim: Claim<W>,
    links: Links<WaitNode<W>>,
}

impl<W> WaitNode<W> {
    crate::sync::const_fn! {
        /// A node that is in no queue.
        pub const fn new() -> WaitNode<W> {
            WaitNode { claim: Claim::new(), links: Links::new() }
        }
    }
}

impl<W> Default for WaitNode<W> {
    fn default() -> WaitNode<W> {
        WaitNode::new()
    }
}

// SAFETY: always the same field.
unsafe impl<W> DoublyLinked for WaitNode<W> {
    fn links(&self) -> &Links<WaitNode<W>> {
        &self.links
    }
}

/// An async task that waits for a direction, on the heap.
pub struct TaskNode<W> {
    /// Whom to notify.
    pub task: W,
    link: AtomicPtr<TaskNode<W>>,
}

impl<W> TaskNode<W> {
    /// A node that is in no queue.
    pub fn new(task: W) -> Box<TaskNode<W>> {
        Box::new(TaskNode { task, link: AtomicPtr::new(null_mut()) })
    }
}

// SAFETY: always the same field, which only lists write to.
unsafe impl<W> Linked for TaskNode<W> {
    fn link(&self) -> &AtomicPtr<TaskNode<W>> {
        &self.link
    }
}

/// Nodes of tasks, in the order in which they came. Empty it before it is dropped, or the nodes are
/// leaked.
#[must_use = "the nodes of a dropped list are lost"]
pub struct Tasks<W>(List<TaskNode<W>>);

impl<W> Tasks<W> {
    /// None.
    pub const fn new() -> Tasks<W> {
        Tasks(List::new())
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends one. Allocates nothing.
    pub fn push(&mut self, node: Box<TaskNode<W>>) {
        // SAFETY: a node in a box is in no list; as long as it is in this one nobody else has it.
        unsafe { self.0.push_back(NonNull::from(Box::leak(node))) };
    }

    /// Takes the first. Frees nothing.
    pub fn pop(&mut self) -> Option<Box<TaskNode<W>>> {
        // SAFETY: `push` took it out of a box.
        self.0.pop_front().map(|node| unsafe { Box::from_raw(node.as_ptr()) })
    }

    /// Takes the first of which `same` is true; the others keep their order. Allocates and frees
    /// nothing.
    fn take(&mut self, same: &mut impl FnMut(&W) -> bool) -> Option<Box<TaskNode<W>>> {
        let mut found = None;
        for _ in 0..self.0.len() {
            let Some(node) = self.pop() else { break };
            if found.is_none() && same(&node.task) {
                found = Some(node);
            } else {
                self.push(node);
            }
        }
        found
    }

    /// Whether `same` is true of one of them. Allocates nothing.
    fn has(&mut self, same: &mut impl FnMut(&W) -> bool) -> bool {
        let mut found = false;
        for _ in 0..self.0.len() {
            let Some(node) = self.pop() else { break };
            found = found || same(&node.task);
            self.push(node);
        }
        found
    }
}

impl<W> Default for Tasks<W> {
    fn default() -> Tasks<W> {
        Tasks::new()
    }
}

/// What a [`Sink`] gets.
pub enum Woken<W> {
    /// A waiter, to be woken.
    Waiter(W),
    /// A task, to be notified. Its node must not be freed in the sink.
    Task(Box<TaskNode<W>>),
    /// A node that was kept, and is not needed any more. It must not be freed in the sink either.
    Spent(Box<TaskNode<W>>),
}

/// The waiters for one direction.
struct DirectionQueue<W> {
    waiting: DoubleList<WaitNode<W>>,
    tasks: Tasks<W>,
    /// Nodes for the tasks that wait next: as many as reports have given back and no task has taken
    /// yet.
    spent: Tasks<W>,
}

impl<W> DirectionQueue<W> {
    const fn new() -> DirectionQueue<W> {
        DirectionQueue { waiting: DoubleList::new(), tasks: Tasks::new(), spent: Tasks::new() }
    }

    /// Empties the queue. Gives the waiters whose wait this ends to `sink`, and keeps the nodes
    /// that come back. Returns how many left the queue.
    fn wake_all(&mut self, outcome: Outcome, sink: &mut impl Sink<W>) -> usize {
        let mut left = 0;
        while let Some(node) = self.waiting.pop_front() {
            left += 1;
            // SAFETY: its owner takes the lock before it frees the node, unless its claim is won
            // here; after that the node is not touched.
            if let Some(waiter) = unsafe { node.as_ref() }.claim.claim(outcome) {
                let none = sink(Woken::Waiter(waiter));
                debug_assert!(none.is_none());
            }
        }
        while let Some(task) = self.tasks.pop() {
            left += 1;
            if let Some(spent) = sink(Woken::Task(task)) {
                self.spent.push(spent);
            }
        }
        left
    }
}

/// Gets each waiter that is to be woken. A task's node that it returns is kept for the next task
/// that waits there.
pub trait Sink<W>: FnMut(Woken<W>) -> Option<Box<TaskNode<W>>> {}

impl<W, F: FnMut(Woken<W>) -> Option<Box<TaskNode<W>>>> Sink<W> for F {}

/// The state of one descriptor. `W` is a waiter.
///
/// ```
/// use gosched_primitives::{Direction, Directions, Outcome, Readiness, WaitNode, Woken};
///
/// let readiness = Readiness::new();
/// let ready = Outcome::new(8).unwrap();
/// let seen = readiness.edges(Direction::Read);
/// // ... a read would block ...
/// let node = WaitNode::new();
/// let room = readiness.wait_unless_changed(0, Direction::Read, seen).expect("nothing has changed");
/// node.claim.put("the reader");
/// // SAFETY: the node stays where it is until the report has taken it out.
/// unsafe { room.enqueue(&node) };
/// let mut woken = Vec::new();
/// let left = readiness.report(0, Directions { read: true, write: false, special: false }, ready, |who| {
///     if let Woken::Waiter(waiter) = who {
///         woken.push(waiter);
///     }
///     None
/// });
/// assert_eq!((left, woken), (1, vec!["the reader"]));
/// assert!(readiness.wait_unless_changed(0, Direction::Read, seen).is_none());
/// ```
pub struct Readiness<W> {
    generation: AtomicU32,
    edges: [AtomicU64; 2],
    queues: Lock<[DirectionQueue<W>; 2]>,
}

// SAFETY: nodes are reached under the lock only, their waiters by the winner of their claims.
unsafe impl<W: Send> Sync for Readiness<W> {}
// SAFETY: as above.
unsafe impl<W: Send> Send for Readiness<W> {}

/// The held lock of a readiness whose count has not changed: the right to queue.
#[must_use = "nothing waits yet"]
pub struct MayQueue<'r, W> {
    queues: LockGuard<'r, [DirectionQueue<W>; 2]>,
    direction: Direction,
}

impl<W> Readiness<W> {
    crate::sync::const_fn! {
        /// A readiness of generation 0 with no waiters.
        pub const fn new() -> Readiness<W> {
            Readiness {
                generation: AtomicU32::new(0),
                edges: [AtomicU64::new(0), AtomicU64::new(0)],
                queues: Lock::new([DirectionQueue::new(), DirectionQueue::new()]),
            }
        }
    }

    /// The generation of the present use. Read under the lock, or by whoever has got this state
    /// from the last user: it changes under the lock.
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    /// How many edges there were in `direction`. To be called *before* an attempt to read or write.
    #[inline]
    pub fn edges(&self, direction: Direction) -> Edges {
        // ORDERING: Acquire pairs with the Release in `count_edge`: an edge that is counted here
        // was reported before the attempt that follows.
        Edges(self.edges[direction as usize].load(Ordering::Acquire))
    }

    /// Counts an edge. Called under the lock.
    fn count_edge(&self, direction: Direction, special: bool) {
        let edges = &self.edges[direction as usize];
        let counted = edges.load(Ordering::Relaxed).wrapping_add(ONE_EDGE);
        // ORDERING: Release pairs with `edges`.
        edges.store(counted | if special { SPECIAL } else { 0 }, Ordering::Release);
    }

    /// Returns the right to wait for the next edge; `None` if there was one since `seen`, or if the
    /// descriptor was closed.
    pub fn wait_unless_changed(
        &self,
        generation: u32,
        direction: Direction,
        seen: Edges,
    ) -> Option<MayQueue<'_, W>> {
        let queues = self.queues.lock();
        let same = self.generation() == generation && self.edges(direction) == seen;
        same.then(|| MayQueue { queues, direction })
    }

    /// Takes a report of the operating system: ends the waits for `directions` with `outcome`, and
    /// gives the waiters to `sink`, under the lock. Returns how many left the queues; that includes
    /// nodes whose wait somebody else has ended.
    pub fn report(
        &self,
        generation: u32,
        directions: Directions,
        outcome: Outcome,
        mut sink: impl Sink<W>,
    ) -> usize {
        let mut queues = self.queues.lock();
        if self.generation() != generation {
            return 0;
        }
        self.wake(&mut queues, directions, outcome, &mut sink)
    }

    /// Begins the next generation, because the descriptor is closed or was never opened: ends all
    /// waits with `outcome`, as [`report`](Readiness::report) does. The nodes kept for tasks go to
    /// `sink`, too.
    pub fn renew(&self, outcome: Outcome, mut sink: impl Sink<W>) -> usize {
        let mut queues = self.queues.lock();
        self.generation.store(self.generation().wrapping_add(1), Ordering::Relaxed);
        for edges in &self.edges {
            // Relaxed: `wake` below counts an edge with Release.
            edges.store(edges.load(Ordering::Relaxed) & !SPECIAL, Ordering::Relaxed);
        }
        let left = self.wake(&mut queues, Directions::BOTH, outcome, &mut sink);
        for queue in queues.iter_mut() {
            while let Some(node) = queue.spent.pop() {
                let none = sink(Woken::Spent(node));
                debug_assert!(none.is_none());
            }
        }
        left
    }

    fn wake(
        &self,
        queues: &mut [DirectionQueue<W>; 2],
        directions: Directions,
        outcome: Outcome,
        sink: &mut impl Sink<W>,
    ) -> usize {
        let mut left = 0;
        for direction in [Direction::Read, Direction::Write] {
            if directions.has(direction) {
                self.count_edge(direction, directions.special);
                left += queues[direction as usize].wake_all(outcome, sink);
            }
        }
        left
    }

    /// Takes out a node whose wait has ended; `true` if it was still queued. Called by its owner,
    /// which may free the node afterwards.
    pub fn forget(&self, direction: Direction, node: &WaitNode<W>) -> bool {
        // SAFETY: its owner queued it here and nowhere else.
        unsafe { self.queues.lock()[direction as usize].waiting.remove(node) }
    }

    /// Takes out a task of which `same` is true, and that does not wait any more. `None`: it is not
    /// there, since its wait has ended, or was given to a sink.
    pub fn forget_task(
        &self,
        direction: Direction,
        mut same: impl FnMut(&W) -> bool,
    ) -> Option<Box<TaskNode<W>>> {
        self.queues.lock()[direction as usize].tasks.take(&mut same)
    }
}

impl<W> Default for Readiness<W> {
    fn default() -> Readiness<W> {
        Readiness::new()
    }
}

impl<W> MayQueue<'_, W> {
    /// Queues the node, and releases the lock. From now on the wait may end at any moment.
    ///
    /// # Safety
    ///
    /// The node is in no queue. It is neither moved nor freed before a report or
    /// [`Readiness::forget`], of this readiness and direction, has taken it out. Meanwhile `forget`
    /// is not called with it on another readiness or direction.
    pub unsafe fn enqueue(mut self, node: &WaitNode<W>) {
        // SAFETY: by contract.
        unsafe { self.queues[self.direction as usize].waiting.push_back(node) };
    }

    /// Whether a task waits here of which `same` is true.
    pub fn has_task(&mut self, mut same: impl FnMut(&W) -> bool) -> bool {
        self.queues[self.direction as usize].tasks.has(&mut same)
    }

    /// A node that was kept, for a task that is to wait here.
    pub fn take_spent(&mut self) -> Option<Box<TaskNode<W>>> {
        self.queues[self.direction as usize].spent.pop()
    }

    /// Queues an async task and releases the lock. If there is one that is the `same`, the new task
    /// takes its place, and a node with the old task is returned.
    pub fn enqueue_task(
        mut self,
        mut node: Box<TaskNode<W>>,
        mut same: impl FnMut(&W, &W) -> bool,
    ) -> Option<Box<TaskNode<W>>> {
        let tasks = &mut self.queues[self.direction as usize].tasks;
        let mut found = false;
        for _ in 0..tasks.0.len() {
            let Some(mut other) = tasks.pop() else { break };
            if !found && same(&other.task, &node.task) {
                found = true;
                core::mem::swap(&mut other.task, &mut node.task);
            }
            tasks.push(other);
        }
        if found {
            return Some(node);
        }
        tasks.push(node);
        None
    }
}
