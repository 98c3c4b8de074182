//! The condition variable's line.
//!
//! A wait has two steps, because the mutex is released in between: first the node *joins* the line, without a
//! waiter; then, the mutex released, the waiter either finds that it was notified meanwhile, or *settles*: its ticket gets the
//! waiter, and it waits. So a notification that comes after the mutex was released finds the node, and none is lost.
//!
//! Invariants:
//! - nodes are taken out and claimed under the line's lock;
//! - a node that was taken out before it settled is notified by just that: nobody will touch it again;
//! - a waiter whose time ran out takes its node out itself, under the lock, unless a notifier has; that one
//!   then finds the ticket claimed and goes on to the next node. So a notification is never spent on one that timed out.

use gosched_primitives::sync::{AtomicU32, Ordering};
use gosched_primitives::{Lock, LockGuard};

use crate::const_fn;
use crate::line::{GRANTED, LineEnd, Node, Numbered};

/// The tag of a node that has settled is its number in line; before that it also has this bit.
const UNSETTLED: u64 = 1 << 63;

/// The core of a condition variable. `W` is how to wake a waiter.
///
/// ```
/// use gosched_locks::{Condvar, Node, Notified};
///
/// let condvar: Condvar<std::thread::Thread> = Condvar::new();
/// let node = Node::new(0);
/// // SAFETY: the node stays here until it was notified.
/// unsafe { condvar.join(&node) };
/// assert!(matches!(condvar.notify_one(), Notified::Early));
/// assert!(condvar.settle(&node).is_none(), "it was notified before it settled");
/// assert!(matches!(condvar.notify_one(), Notified::Nobody));
/// ```
pub struct Condvar<W> {
    /// Whether somebody may be in line. Written under the lock.
    waiting: AtomicU32,
    line: Lock<Numbered<W>>,
}

/// A node in line whose waiter has not settled yet. The line's lock is held as long as this lives.
#[must_use = "the waiter is there to settle"]
pub struct Joined<'l, W> {
    line: LockGuard<'l, Numbered<W>>,
    node: &'l Node<W>,
}

/// What a notification came to.
#[must_use]
pub enum Notified<W> {
    /// This one is to be woken.
    Wake(W),
    /// It has gone to one that has not begun to wait yet.
    Early,
    /// Nobody is in line.
    Nobody,
}

impl<W> Condvar<W> {
    const_fn! {
        /// A condition variable that nobody waits for.
        pub const fn new() -> Condvar<W> {
            Condvar { waiting: AtomicU32::new(0), line: Lock::new(Numbered::new()) }
        }
    }

    /// Whether nobody waits: then there is nobody to notify. Who joined the line before it released the mutex is seen by
    /// whoever had the mutex afterwards.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) == 0
    }

    /// First step: joins the line. The caller still holds the mutex.
    ///
    /// # Safety
    /// The node is in no line, and stays where it is until [`settle`](Condvar::settle) returned
    /// `None`, or its ticket's outcome is known and, if that is not [`GRANTED`],
    /// [`leave`](Condvar::leave) was called. Meanwhile no other condition variable's `settle` or
    /// `leave` is called with it.
    pub unsafe fn join(&self, node: &Node<W>) {
        let mut line = self.line.lock();
        node.set_tag(line.next | UNSETTLED);
        line.next += 1;
        // SAFETY: by contract.
        unsafe { line.line.push(node, LineEnd::Back) };
        self.waiting.store(1, Ordering::Relaxed);
    }

    /// Second step, the mutex released: `None` if the node was notified meanwhile.
    pub fn settle<'l>(&'l self, node: &'l Node<W>) -> Option<Joined<'l, W>> {
        let line = self.line.lock();
        line.line.has(node).then_some(Joined { line, node })
    }

    /// After a wait that was ended by something else than a notification.
    pub fn leave(&self, node: &Node<W>) {
        let mut line = self.line.lock();
        if line.line.remove(node) {
            self.note_length(&line);
        }
    }

    /// Notifies the first in line.
    pub fn notify_one(&self) -> Notified<W> {
        self.notify_before(u64::MAX)
    }

    /// The number that the next to join the line will get.
    pub fn next_number(&self) -> u64 {
        self.line.lock().next
    }

    /// Notifies the first in line, if its number is below `bound`: so all who are in line now, and nobody who comes later,
    /// are notified by repeating this until there is nobody.
    pub fn notify_before(&self, bound: u64) -> Notified<W> {
        let mut line = self.line.lock();
        while line.line.first_tag().is_some_and(|tag| tag & !UNSETTLED < bound) {
            let Some(node) = line.line.pop() else { break };
            self.note_length(&line);
            if node.node().tag() & UNSETTLED != 0 {
                return Notified::Early;
            }
            if let Some(waiter) = node.claim(GRANTED) {
                return Notified::Wake(waiter);
            }
        }
        Notified::Nobody
    }

    fn note_length(&self, line: &Numbered<W>) {
        if line.line.is_empty() {
            self.waiting.store(0, Ordering::Relaxed);
        }
    }
}

impl<W> Joined<'_, W> {
    /// The waiter is in the node's ticket: from here on it may be woken. Releases the line's lock.
    pub fn settled(self) {
        self.node.set_tag(self.node.tag() & !UNSETTLED);
        drop(self.line);
    }
}

impl<W> Default for Condvar<W> {
    fn default() -> Condvar<W> {
        Condvar::new()
    }
}
