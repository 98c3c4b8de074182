//! The condition variable's line.
//!
//! A wait has two steps, because the mutex is released in between. First the node *joins* the line,
//! without a waiter. Then, with the mutex released, it either finds that it was notified meanwhile,
//! or it *settles*: its ticket gets the waiter, and the waiter sleeps. So a notification that comes
//! after the mutex was released finds the node, and none is lost.
//!
//! Invariants:
//! - nodes are taken out and claimed under the line's lock;
//! - a node that is taken out before it settles is thereby notified: nobody will touch it again;
//! - a waiter whose time ran out takes its node out itself, under the lock, unless a notifier has
//!   taken it out; the notifier then finds the ticket claimed and continues with the next node. So
//!   a notification is never spent on a waiter that timed out.

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

/// A node in line that has not settled yet. The line's lock is held as long as this lives.
#[must_use = "the waiter is there to settle"]
pub struct Joined<'l, W> {
    line: LockGuard<'l, Numbered<W>>,
    node: &'l Node<W>,
}

/// What a notification came to.
#[must_use]
pub enum Notified<W> {
    /// This waiter has to be woken.
    Wake(W),
    /// It went to a node that has not settled yet: nobody has to be woken.
    Early,
    /// There is nobody in line to notify.
    Nobody,
}

impl<W> Condvar<W> {
    const_fn! {
        /// A condition variable that nobody waits for.
        pub const fn new() -> Condvar<W> {
            Condvar { waiting: AtomicU32::new(0), line: Lock::new(Numbered::new()) }
        }
    }

    /// Whether nobody waits: then there is nobody to notify. A thread that has held the mutex sees
    /// every waiter that joined the line before and then released the mutex.
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

    /// Second step, with the mutex released: `None` if the node was notified meanwhile.
    pub fn settle<'l>(&'l self, node: &'l Node<W>) -> Option<Joined<'l, W>> {
        let line = self.line.lock();
        line.line.has(node).then_some(Joined { line, node })
    }

    /// Takes the node out of the line, if it is still there. Called after a wait that something
    /// else than a notification has ended.
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

    /// The number that the next node in line will get.
    pub fn next_number(&self) -> u64 {
        self.line.lock().next
    }

    /// Notifies the first in line, if its number is below `bound`. Repeated until it returns
    /// [`Notified::Nobody`], with the [`next_number`](Condvar::next_number) of now as bound, this
    /// notifies all that are in line now and none that come later.
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
    /// Says that the waiter is in the node's ticket: from here on it may be woken. Releases the
    /// line's lock.
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
