//! Who waits for a descriptor to become readable or writable (S47), where the operating system reports *edges*: that
//! something has become ready, once, and not that it still is.
//!
//! Each direction counts its edges. Whoever wants to read notes the count, tries, and if nothing is there waits *unless the
//! count has changed* since it was noted. The argument why no edge is missed: one that is reported before the count was
//! noted belongs to data that the try has found. One that is reported later changes the count, under the lock: before the
//! waiter has queued, and then it does not wait; or after, and then it is in the queue and is woken. An edge wakes everybody
//! who waits for its direction, since it does not say for how many there is enough.
//!
//! A readiness outlives its descriptor and serves the next one. Each use is a *generation*: a report that was on its way
//! when the descriptor was closed names an old one, and changes nothing.
//!
//! Invariants:
//! - `generation`, the counts and the queues change under the lock only;
//! - a [`WaitNode`] is in at most one queue, whose links are under that lock; its owner takes it out
//!   ([`Readiness::forget`]) before the node goes away, unless a report has;
//! - reports and closes do not touch a node any more after they have claimed it: its owner may be on its way already;
//! - nothing is allocated or freed under the lock: an async task, which has no frame to wait in, brings a [`TaskNode`], and
//!   whoever ends its wait gets it, and may leave it here for the next.

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
    /// There is room for bytes, or the connection stands.
    Write = 1,
}

/// The directions that a report tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directions {
    /// Something has come.
    pub read: bool,
    /// There is room.
    pub write: bool,
    /// With this, the end of the stream, an error or urgent data was reported: see [`Edges::are_plain`].
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
    /// Whether all of them told of bytes only. Then somebody who has read less than there was room for has read all that
    /// these edges told of. (If not, a last byte, the end or an error may still be there, and nothing will tell of it again.)
    #[must_use]
    pub fn are_plain(self) -> bool {
        self.0 & SPECIAL == 0
    }

    /// As a number: the same one for the same edges.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0
    }
}

/// Somebody who waits for a direction, in its own frame.
pub struct WaitNode<W> {
    /// Its wait. A report claims it; so may others.
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

/// Nodes of tasks, in the order in which they came. Emptied before it is dropped, or they are leaked.
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

    /// Whether one of them is the `same`. Allocates nothing.
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

/// Somebody whose wait has ended.
pub enum Woken<W> {
    /// To be woken.
    Waiter(W),
    /// To be notified; its node is not to be freed here.
    Task(Box<TaskNode<W>>),
    /// Nobody: a node that was kept, and is not needed any more. Not to be freed here either.
    Spent(Box<TaskNode<W>>),
}

/// Those who wait for one direction.
struct DirectionQueue<W> {
    waiting: DoubleList<WaitNode<W>>,
    tasks: Tasks<W>,
    /// For the tasks that wait next: never more than waited here at once.
    spent: Tasks<W>,
}

impl<W> DirectionQueue<W> {
    const fn new() -> DirectionQueue<W> {
        DirectionQueue { waiting: DoubleList::new(), tasks: Tasks::new(), spent: Tasks::new() }
    }

    /// Empties the queue; gives those whose wait this ends to `sink`, and keeps what comes back. Returns how many left it.
    fn wake_all(&mut self, outcome: Outcome, sink: &mut impl Sink<W>) -> usize {
        let mut left = 0;
        while let Some(node) = self.waiting.pop_front() {
            left += 1;
            // SAFETY: its owner takes the lock before it lets it go, unless its claim is won here;
            // after that it is not touched.
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

/// Gets whoever is woken. A task's node that it gives back is kept for the next task that waits there.
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

/// The lock of a readiness whose count has not changed: the right to queue.
#[must_use = "nothing waits yet"]
pub struct MayQueue<'r, W> {
    queues: LockGuard<'r, [DirectionQueue<W>; 2]>,
    direction: Direction,
}

impl<W> Readiness<W> {
    crate::sync::const_fn! {
        /// Of generation 0, nobody waiting.
        pub const fn new() -> Readiness<W> {
            Readiness {
                generation: AtomicU32::new(0),
                edges: [AtomicU64::new(0), AtomicU64::new(0)],
                queues: Lock::new([DirectionQueue::new(), DirectionQueue::new()]),
            }
        }
    }

    /// The present use. Under the lock, or by whoever has got this state from the last user: it
    /// changes under the lock.
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    /// How many edges there were in `direction`. To be noted *before* something is tried.
    #[inline]
    pub fn edges(&self, direction: Direction) -> Edges {
        // ORDERING: Acquire pairs with the Release in `count_edge`: an edge that is counted here was reported before what is
        // tried next.
        Edges(self.edges[direction as usize].load(Ordering::Acquire))
    }

    /// Under the lock.
    fn count_edge(&self, direction: Direction, special: bool) {
        let edges = &self.edges[direction as usize];
        let counted = edges.load(Ordering::Relaxed).wrapping_add(ONE_EDGE);
        // ORDERING: Release pairs with `edges`.
        edges.store(counted | if special { SPECIAL } else { 0 }, Ordering::Release);
    }

    /// The right to wait for the next edge; `None` if there was one since `seen`, or if the descriptor was closed.
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

    /// The operating system reports: ends the waits for `directions` with `outcome`. Whoever is to be woken goes to `sink`,
    /// under the lock. Returns how many left the queues: more, if others have ended their waits.
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

    /// The descriptor is closed, or was never opened: ends all waits with `outcome`, as [`report`](Readiness::report) does,
    /// and begins the next generation. What was kept for tasks goes too.
    pub fn renew(&self, outcome: Outcome, mut sink: impl Sink<W>) -> usize {
        let mut queues = self.queues.lock();
        self.generation.store(self.generation().wrapping_add(1), Ordering::Relaxed);
        for edges in &self.edges {
            // Relaxed: the edges that are counted next are what others see.
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

    /// Takes a node out whose wait has ended; `true` if it was still queued. By its owner, which may let it go then.
    pub fn forget(&self, direction: Direction, node: &WaitNode<W>) -> bool {
        // SAFETY: its owner queued it here and nowhere else.
        unsafe { self.queues.lock()[direction as usize].waiting.remove(node) }
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
    /// The node is in no queue. It neither moves nor dies before a report has taken it out or
    /// [`Readiness::forget`] has, of this readiness and direction: meanwhile no other is told to
    /// forget it.
    pub unsafe fn enqueue(mut self, node: &WaitNode<W>) {
        // SAFETY: by contract.
        unsafe { self.queues[self.direction as usize].waiting.push_back(node) };
    }

    /// Whether a task waits here that is the `same`.
    pub fn has_task(&mut self, mut same: impl FnMut(&W) -> bool) -> bool {
        self.queues[self.direction as usize].tasks.has(&mut same)
    }

    /// A node that was kept, for a task that is to wait here.
    pub fn take_spent(&mut self) -> Option<Box<TaskNode<W>>> {
        self.queues[self.direction as usize].spent.pop()
    }

    /// Queues an async task, in the place of one that is the `same`, if there is one: that one comes back. Releases the lock.
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
