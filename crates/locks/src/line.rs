//! Those who wait for a lock: an intrusive FIFO whose nodes lie on the waiters' stacks. It costs no memory, and a lock has
//! one word for it.
//!
//! The nodes form a ring: the first one's `prev` is the last one.
//!
//! Invariants:
//! - a line lies behind its lock's `gosched_primitives::Lock`; links and tags of the nodes in it are read and written under that
//!   lock only, which publishes them (they are atomics so that this file needs little `unsafe`, all `Relaxed`);
//! - `next` is null exactly while the node is in no line;
//! - whoever takes a node out owns it until it has claimed its ticket and woken the waiter; after that it does not touch it;
//! - a waiter does not let its node go before it was taken out;
//! - where a waiter may give up, because time or a context has claimed its ticket, it takes its node out itself, under the
//!   lock, unless that was done; and whoever else takes one out claims it before it releases the lock. So it does not touch a
//!   node that may be gone, and what it has to give goes to somebody who takes it.

use core::ptr::{NonNull, null_mut};

use gosched_primitives::sync::{AtomicPtr, AtomicU64, Ordering};
use gosched_primitives::{Claim, LockGuard, Outcome};

use crate::const_fn;

/// A ticket's outcome: woken, to try again.
pub const RETRY: Outcome = Outcome::new(8).unwrap();
/// A ticket's outcome: the waiter has been given what it waited for.
pub const GRANTED: Outcome = Outcome::new(9).unwrap();

/// One who waits. `W` is how to wake it.
pub struct Node<W> {
    next: AtomicPtr<Node<W>>,
    prev: AtomicPtr<Node<W>>,
    tag: AtomicU64,
    ticket: Claim<W>,
}

impl<W> Node<W> {
    const_fn! {
        /// A node in no line. `tag` is what the lock wants to know of the waiter: how much it wants, or since when it waits.
        pub const fn new(tag: u64) -> Node<W> {
            Node {
                next: AtomicPtr::new(null_mut()),
                prev: AtomicPtr::new(null_mut()),
                tag: AtomicU64::new(tag),
                ticket: Claim::new(),
            }
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

    /// Whether it is in a line. Under the line's lock.
    pub(crate) fn is_linked(&self) -> bool {
        !self.next.load(Ordering::Relaxed).is_null()
    }
}

/// Waiters in the order they came. Also a handful of those who were taken out and are to be woken: an iterator over how.
///
/// Packed, so that a mutex (its word, the line's lock, the line) has no holes and takes 16 bytes.
#[must_use = "those in it wait to be woken"]
#[repr(C, packed(4))]
pub struct Line<W> {
    first: *mut Node<W>,
}

// SAFETY: the nodes are shared by pointer, and are atomics and a claim, which is `Sync` for a waiter that is `Send`.
unsafe impl<W: Send> Send for Line<W> {}

impl<W> Line<W> {
    /// The empty line.
    pub const fn new() -> Line<W> {
        Line { first: null_mut() }
    }

    /// Whether nobody is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// Whether one is in it, and no more.
    pub(crate) fn has_one(&self) -> bool {
        let first = self.first;
        // SAFETY: a node in a line is valid (contract of `push`), and the caller has the line.
        unsafe { first.as_ref() }.is_some_and(|node| node.next.load(Ordering::Relaxed) == first)
    }

    /// How many are in it; walks along it.
    pub(crate) fn len(&self) -> u32 {
        let (mut len, mut node) = (0, self.first);
        while !node.is_null() {
            len += 1;
            // SAFETY: as in `has_one`.
            node = unsafe { &*node }.next.load(Ordering::Relaxed);
            if node == self.first {
                break;
            }
        }
        len
    }

    /// The first one's tag.
    #[inline]
    pub(crate) fn first_tag(&self) -> Option<u64> {
        // SAFETY: a node in a line is valid (contract of `push`), and the caller has the line.
        unsafe { self.first.as_ref() }.map(Node::tag)
    }

    /// # Safety
    /// The node is in no line, and stays valid until it was taken out and its ticket claimed.
    pub(crate) unsafe fn push(&mut self, node: &Node<W>, end: End) {
        let node_ptr = core::ptr::from_ref(node).cast_mut();
        // SAFETY: nodes in a line are valid.
        match unsafe { self.first.as_ref() } {
            None => {
                node.next.store(node_ptr, Ordering::Relaxed);
                node.prev.store(node_ptr, Ordering::Relaxed);
                self.first = node_ptr;
            }
            Some(first) => {
                let last = first.prev.load(Ordering::Relaxed);
                node.next.store(self.first, Ordering::Relaxed);
                node.prev.store(last, Ordering::Relaxed);
                first.prev.store(node_ptr, Ordering::Relaxed);
                // SAFETY: as above.
                unsafe { &*last }.next.store(node_ptr, Ordering::Relaxed);
                if end == End::Front {
                    self.first = node_ptr;
                }
            }
        }
    }

    /// Takes a node out of this line.
    ///
    /// # Safety
    /// It is in this line.
    pub(crate) unsafe fn remove(&mut self, node: &Node<W>) {
        let (next, prev) = (node.next.load(Ordering::Relaxed), node.prev.load(Ordering::Relaxed));
        let node_ptr = core::ptr::from_ref(node).cast_mut();
        node.next.store(null_mut(), Ordering::Relaxed);
        if next == node_ptr {
            self.first = null_mut();
            return;
        }
        // SAFETY: nodes in a line are valid.
        unsafe {
            (*next).prev.store(prev, Ordering::Relaxed);
            (*prev).next.store(next, Ordering::Relaxed);
        }
        if self.first == node_ptr {
            self.first = next;
        }
    }

    /// Takes the first one out that has not given up, and ends its wait. Whether others were passed over.
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
        let first = NonNull::new(self.first)?;
        // SAFETY: nodes in a line are valid, and it is in this one.
        unsafe { self.remove(first.as_ref()) };
        Some(TakenOut(first))
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

/// For a line that was taken out as a whole: each has been given what it waited for, and is to be woken.
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

/// Where to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Front,
    Back,
}

/// A node that was taken out of its line: its waiter waits until this is claimed, or has been by another.
#[must_use = "its waiter waits to be woken"]
pub(crate) struct TakenOut<W>(NonNull<Node<W>>);

impl<W> TakenOut<W> {
    /// Ends the wait; `None` if somebody else has. Not to be touched afterwards, since the node may go away.
    pub(crate) fn claim(self, outcome: Outcome) -> Option<W> {
        // SAFETY: it is valid until claimed. If somebody else may claim it (time, or a context), its waiter takes the
        // line's lock before it lets the node go, and this is called under that lock.
        unsafe { self.0.as_ref() }.ticket.claim(outcome)
    }

    pub(crate) fn node(&self) -> &Node<W> {
        // SAFETY: not claimed yet, so it is valid.
        unsafe { self.0.as_ref() }
    }
}

/// What an attempt to get something came to.
#[must_use]
pub enum Acquire<'l, W, S> {
    /// The caller has it.
    Acquired,
    /// The caller has to wait; the lock of the line is held until it has taken its place.
    Wait(Place<'l, W, S>),
}

/// A place in a line, not yet taken. The line's lock is held as long as this lives.
#[must_use = "the place is there to be taken"]
pub struct Place<'l, W, S> {
    state: LockGuard<'l, S>,
    line: fn(&mut S) -> &mut Line<W>,
    end: End,
    /// What the core has to say about the node, instead of the waiter.
    tag: Option<u64>,
}

impl<'l, W, S> Place<'l, W, S> {
    pub(crate) fn new(state: LockGuard<'l, S>, line: fn(&mut S) -> &mut Line<W>, end: End) -> Self {
        Place { state, line, end, tag: None }
    }

    pub(crate) fn tagged(self, tag: u64) -> Self {
        Place { tag: Some(tag), ..self }
    }

    /// Puts the node in the line with its waiter, and releases the line's lock. From here on the waiter may be woken.
    ///
    /// # Safety
    /// The node is in no line, and stays where it is until its [`outcome`](Node::outcome) is known.
    pub unsafe fn take(self, node: &Node<W>, waiter: W) {
        node.ticket.put(waiter);
        // SAFETY: by contract.
        unsafe { self.join(node) };
    }

    /// As [`take`](Place::take), for a node whose [ticket](Node::ticket) has its waiter, and may be claimed by others than
    /// the core.
    ///
    /// # Safety
    /// The node is in no line, and stays where it is until its [`outcome`](Node::outcome) is known and, if that is neither
    /// [`GRANTED`] nor [`RETRY`], it has left the line by the core's `leave`.
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

    fn push(line: &mut Line<usize>, node: &Node<usize>, waiter: usize, end: End) {
        node.ticket.put(waiter);
        // SAFETY: the tests' nodes outlive their lines.
        unsafe { line.push(node, end) };
    }

    #[test]
    fn first_come_first_and_the_front_before_all() {
        let nodes: Vec<Node<usize>> = (0..5).map(Node::new).collect();
        let mut line = Line::new();
        for (i, node) in nodes[..4].iter().enumerate() {
            push(&mut line, node, i, End::Back);
        }
        push(&mut line, &nodes[4], 4, End::Front);
        assert_eq!(line.first_tag(), Some(4));
        assert_eq!(line.by_ref().collect::<Vec<_>>(), [4, 0, 1, 2, 3]);
        assert!(line.is_empty() && nodes.iter().all(|node| !node.is_linked()));
    }

    #[test]
    fn anybody_can_be_taken_out() {
        for out in 0..4 {
            let nodes: Vec<Node<usize>> = (0..4).map(Node::new).collect();
            let mut line = Line::new();
            for (i, node) in nodes.iter().enumerate() {
                push(&mut line, node, i, End::Back);
            }
            // SAFETY: it is in this line.
            unsafe { line.remove(&nodes[out]) };
            assert!(!nodes[out].is_linked());
            assert_eq!(line.collect::<Vec<_>>(), (0..4).filter(|i| *i != out).collect::<Vec<_>>());
        }
    }
}
