//! The waiters for a lock: an intrusive FIFO whose nodes lie on the waiters' stacks. It allocates
//! nothing, and takes one word of the lock.
//!
//! Invariants:
//! - a line lies behind its lock's `gosched_primitives::Lock`; links and tags of the nodes in it
//!   are read and written under that lock only, which publishes them (a tag is an atomic,
//!   `Relaxed`, so that it needs no `unsafe`). A whole line that was taken out from behind the lock
//!   belongs to its holder;
//! - whoever takes a node out owns it until it has claimed the node's ticket and woken the waiter;
//!   after that it does not touch the node;
//! - a waiter does not free its node before it was taken out, and calls `leave` only of the lock in
//!   whose line it is;
//! - where a waiter may give up, because time or a context has claimed its ticket, it takes its
//!   node out itself, under the lock, unless that was done; and whoever else takes a node out
//!   claims it before releasing the lock. So a node that may be gone is not touched, and nothing is
//!   granted to a waiter that has given up.

use core::ptr::NonNull;

use gosched_primitives::sync::{AtomicU64, Ordering};
use gosched_primitives::{Claim, DoubleList, DoublyLinked, Links, LockGuard, Outcome};

use crate::const_fn;

/// A ticket's outcome: the waiter was woken to try again.
pub const RETRY: Outcome = Outcome::new(8).unwrap();
/// A ticket's outcome: the waiter has been given what it waited for.
pub const GRANTED: Outcome = Outcome::new(9).unwrap();

/// A waiter's node. `W` is how to wake it.
pub struct Node<W> {
    links: Links<Node<W>>,
    tag: AtomicU64,
    ticket: Claim<W>,
}

impl<W> Node<W> {
    const_fn! {
        /// A node in no line. `tag` is what the lock needs to know of the waiter: how much it
        /// wants, or since when it waits.
        pub const fn new(tag: u64) -> Node<W> {
            Node { links: Links::new(), tag: AtomicU64::new(tag), ticket: Claim::new() }
        }
    }

    /// How the wait ended; `None` while it lasts.
    #[inline]
    pub fn outcome(&self) -> Option<Outcome> {
        self.ticket.outcome()
    }

    /// The ticket, for a wait that time may end too.
    pub fn ticket(&self) -> &Claim<W> {
        &self.ticket
    }

    #[inline]
    pub(crate) fn tag(&self) -> u64 {
        self.tag.load(Ordering::Relaxed)
    }

    pub(crate) fn set_tag(&self, tag: u64) {
        self.tag.store(tag, Ordering::Relaxed);
    }
}

// SAFETY: always the same field.
unsafe impl<W> DoublyLinked for Node<W> {
    #[inline]
    fn links(&self) -> &Links<Node<W>> {
        &self.links
    }
}

/// Waiters in the order they came. A line that was taken out from behind its lock as a whole
/// iterates over `W`, how to wake each waiter.
#[must_use = "those in it wait to be woken"]
pub struct Line<W>(DoubleList<Node<W>>);

// SAFETY: the links and tags of the nodes belong to the line's owner; their tickets are `Sync` for
// a waiter that is `Send`.
unsafe impl<W: Send> Send for Line<W> {}

impl<W> Line<W> {
    /// The empty line.
    pub const fn new() -> Line<W> {
        Line(DoubleList::new())
    }

    /// Whether nobody is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether exactly one node is in it.
    pub(crate) fn has_one(&self) -> bool {
        let mut nodes = self.0.iter();
        nodes.next().is_some() && nodes.next().is_none()
    }

    /// How many are in it, in linear time.
    pub(crate) fn len(&self) -> u32 {
        self.0.iter().map(|_| 1).sum()
    }

    /// The first one's tag.
    #[inline]
    pub(crate) fn first_tag(&self) -> Option<u64> {
        self.0.first().map(Node::tag)
    }

    /// # Safety
    /// The node is in no line, and stays valid until it was taken out and its ticket claimed. As
    /// long as it is in this line, no other line's `remove` or `has` is called with it.
    pub(crate) unsafe fn push(&mut self, node: &Node<W>, end: LineEnd) {
        // SAFETY: by contract.
        unsafe {
            match end {
                LineEnd::Front => self.0.push_front(node),
                LineEnd::Back => self.0.push_back(node),
            }
        }
    }

    /// Takes a node out of this line, if it is in. Returns whether it was.
    pub(crate) fn remove(&mut self, node: &Node<W>) -> bool {
        // SAFETY: in this line or in none, by the contract of `push`.
        unsafe { self.0.remove(node) }
    }

    /// Whether a node is in this line.
    pub(crate) fn has(&self, node: &Node<W>) -> bool {
        // SAFETY: as in `remove`.
        unsafe { self.0.has(node) }
    }

    /// Takes out the first node whose waiter has not given up, and ends its wait. Also returns
    /// whether others were passed over.
    pub(crate) fn claim_next(&mut self, outcome: Outcome) -> (Option<W>, bool) {
        let mut passed_over = false;
        while let Some(node) = self.pop() {
            match node.claim(outcome) {
                Some(waiter) => return (Some(waiter), passed_over),
                None => passed_over = true,
            }
        }
        (None, passed_over)
    }

    /// Takes the first one out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<TakenOut<W>> {
        self.0.pop_front().map(TakenOut)
    }
}

impl<W> Default for Line<W> {
    fn default() -> Line<W> {
        Line::new()
    }
}

/// A line whose waiters are numbered in the order they came.
pub struct Numbered<W> {
    pub(crate) line: Line<W>,
    /// The number of the next one.
    pub(crate) next: u64,
}

impl<W> Numbered<W> {
    pub(crate) const fn new() -> Numbered<W> {
        Numbered { line: Line::new(), next: 0 }
    }
}

/// For a line that was taken out as a whole: each waiter is granted what it waited for, and has to
/// be woken.
impl<W> Iterator for Line<W> {
    type Item = W;

    fn next(&mut self) -> Option<W> {
        while let Some(node) = self.pop() {
            if let Some(waiter) = node.claim(GRANTED) {
                return Some(waiter);
            }
        }
        None
    }
}

/// At which end a node joins a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnd {
    Front,
    Back,
}

/// A node that was taken out of its line. Its waiter waits until this is claimed, unless somebody
/// else has claimed it.
#[must_use = "its waiter waits to be woken"]
pub(crate) struct TakenOut<W>(NonNull<Node<W>>);

impl<W> TakenOut<W> {
    /// Ends the wait; `None` if somebody else has. The node must not be touched afterwards, since
    /// it may be freed.
    pub(crate) fn claim(self, outcome: Outcome) -> Option<W> {
        // SAFETY: the node is valid until claimed. If somebody else may claim it (time, or a
        // context), its waiter takes the line's lock before it frees the node, and this is called
        // under that lock.
        unsafe { self.0.as_ref() }.ticket.claim(outcome)
    }

    pub(crate) fn node(&self) -> &Node<W> {
        // SAFETY: not claimed yet, so it is valid.
        unsafe { self.0.as_ref() }
    }
}

/// The result of an attempt to get something.
#[must_use]
pub enum Acquire<'l, W, S> {
    /// The caller has it.
    Acquired,
    /// The caller has to wait. The line's lock is held until it has taken its place.
    Wait(LinePlace<'l, W, S>),
}

/// A place in a line, not yet taken. The line's lock is held as long as this lives.
#[must_use = "the place is there to be taken"]
pub struct LinePlace<'l, W, S> {
    state: LockGuard<'l, S>,
    line: fn(&mut S) -> &mut Line<W>,
    end: LineEnd,
    /// The tag that the core gives the node, in place of the waiter's.
    tag: Option<u64>,
}

impl<'l, W, S> LinePlace<'l, W, S> {
    pub(crate) fn new(state: LockGuard<'l, S>, line: fn(&mut S) -> &mut Line<W>, end: LineEnd) -> Self {
        LinePlace { state, line, end, tag: None }
    }

    pub(crate) fn tagged(self, tag: u64) -> Self {
        LinePlace { tag: Some(tag), ..self }
    }

    /// Puts the node in the line with its waiter, and releases the line's lock. From here on the
    /// waiter may be woken.
    ///
    /// # Safety
    /// The node is in no line, and stays where it is until its [`outcome`](Node::outcome) is known.
    /// Meanwhile no other lock's `leave` is called with it.
    pub unsafe fn take(self, node: &Node<W>, waiter: W) {
        node.ticket.put(waiter);
        // SAFETY: by contract.
        unsafe { self.join(node) };
    }

    /// As [`take`](LinePlace::take), for a node whose [ticket](Node::ticket) already has its
    /// waiter, and may be claimed by others than the core.
    ///
    /// # Safety
    /// The node is in no line, and stays where it is until its [`outcome`](Node::outcome) is known
    /// and, if that is neither [`GRANTED`] nor [`RETRY`], it has left the line by the core's
    /// `leave`. Meanwhile no other lock's `leave` is called with it.
    pub unsafe fn join(mut self, node: &Node<W>) {
        if let Some(tag) = self.tag {
            node.set_tag(tag);
        }
        // SAFETY: by contract.
        unsafe { (self.line)(&mut self.state).push(node, self.end) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn push(line: &mut Line<usize>, node: &Node<usize>, waiter: usize, end: LineEnd) {
        node.ticket.put(waiter);
        // SAFETY: the tests' nodes outlive their lines.
        unsafe { line.push(node, end) };
    }

    #[test]
    fn first_come_first_and_the_front_before_all() {
        let nodes: Vec<Node<usize>> = (0..5).map(Node::new).collect();
        let mut line = Line::new();
        for (i, node) in nodes[..4].iter().enumerate() {
            push(&mut line, node, i, LineEnd::Back);
        }
        push(&mut line, &nodes[4], 4, LineEnd::Front);
        assert_eq!(line.first_tag(), Some(4));
        assert_eq!(line.by_ref().collect::<Vec<_>>(), [4, 0, 1, 2, 3]);
        assert!(line.is_empty() && nodes.iter().all(|node| !line.has(node)));
    }

    #[test]
    fn anybody_can_be_taken_out() {
        for out in 0..4 {
            let nodes: Vec<Node<usize>> = (0..4).map(Node::new).collect();
            let mut line = Line::new();
            for (i, node) in nodes.iter().enumerate() {
                push(&mut line, node, i, LineEnd::Back);
            }
            assert!(line.remove(&nodes[out]));
            assert!(!line.has(&nodes[out]));
            assert_eq!(line.collect::<Vec<_>>(), (0..4).filter(|i| *i != out).collect::<Vec<_>>());
        }
    }
}
