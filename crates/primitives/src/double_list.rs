//! Intrusive doubly linked lists: any node can be removed in constant time, and the list takes one
//! word, because each node carries its own links.
//!
//! Used for waiters (at a channel, for a lock, for a descriptor, under a context), whose nodes
//! mostly lie in their own frames, and for the children of a context.
//!
//! ```text
//!          .------------------------- prev --------------------------.
//!          |                                                         v
//! first -> A -- next --> B -- next --> C -- next --> ... -- next --> Z -- next --> null
//!          A <-- prev -- B <-- prev -- C <-- prev -- ... <-- prev -- Z
//! ```
//!
//! The last node's `next` is null, so that a walk ends there. The first node's `prev` is the last
//! node, so that one word leads to both ends. A pop touches only the first two nodes.
//!
//! Invariants:
//! - a node is in at most one list at a time. Its `prev` is null exactly while it is in none: so
//!   removing it twice does nothing the second time;
//! - a linked node is neither moved nor freed: its owner keeps it until it was taken out;
//! - a list belongs to one owner or lies behind a lock. So do the links of its nodes: nobody else
//!   reads or writes them. Whoever takes a node out owns its links from then on. Links are plain
//!   cells, which the lock publishes; under loom they are loom's, which report an access that
//!   nothing orders.

use core::fmt;
use core::ptr::{NonNull, from_ref, null};

use crate::sync::{Cell, const_fn};

/// The links of a node. Only the list that holds the node touches them.
pub struct Links<T> {
    prev: Cell<*const T>,
    next: Cell<*const T>,
}

// SAFETY: only a list reads or writes links, and only its owner uses the list.
unsafe impl<T> Send for Links<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Links<T> {}

impl<T> Links<T> {
    const_fn! {
        /// The links of a node that is in no list.
        pub const fn new() -> Links<T> {
            Links { prev: Cell::new(null()), next: Cell::new(null()) }
        }
    }
}

impl<T> Default for Links<T> {
    fn default() -> Links<T> {
        Links::new()
    }
}

impl<T> fmt::Debug for Links<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links").finish_non_exhaustive()
    }
}

/// A node that can be linked into a [`DoubleList`].
///
/// # Safety
///
/// `links` always returns the same field of the node.
pub unsafe trait DoublyLinked: Sized {
    /// The node's links.
    fn links(&self) -> &Links<Self>;
}

/// An intrusive doubly linked list. It is neither `Send` nor `Sync`: a type that puts it behind a
/// lock has to argue why it may be.
///
/// ```
/// use gosched_primitives::{DoubleList, DoublyLinked, Links};
///
/// struct Waiter { id: u32, links: Links<Waiter> }
/// // SAFETY: always the same field.
/// unsafe impl DoublyLinked for Waiter {
///     fn links(&self) -> &Links<Waiter> { &self.links }
/// }
///
/// let waiters = [1, 2, 3].map(|id| Waiter { id, links: Links::new() });
/// let mut list = DoubleList::new();
/// for waiter in &waiters {
///     // SAFETY: in no list yet; `waiters` stays where it is and outlives the list.
///     unsafe { list.push_back(waiter) };
/// }
/// // SAFETY: it is in this list, and then in none.
/// let left = unsafe { (list.remove(&waiters[1]), list.remove(&waiters[1])) };
/// assert_eq!(left, (true, false));
/// assert_eq!(list.iter().map(|waiter| waiter.id).collect::<Vec<_>>(), [1, 3]);
/// ```
// Packed, so that two 32-bit words and a list have no holes: a mutex takes 16 bytes.
#[repr(C, packed(4))]
pub struct DoubleList<T> {
    first: *const T,
}

impl<T: DoublyLinked> DoubleList<T> {
    /// The empty list.
    pub const fn new() -> DoubleList<T> {
        DoubleList { first: null() }
    }

    /// Whether there is no node.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// The first node.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        // SAFETY: linked nodes are alive, and nobody takes this one out while the list is borrowed.
        unsafe { self.first.as_ref() }
    }

    /// All nodes, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        // SAFETY: as in `first`.
        core::iter::successors(self.first(), |node| unsafe { node.links().next.get().as_ref() })
    }

    /// Appends a node.
    ///
    /// # Safety
    ///
    /// The node is in no list, and is neither moved nor freed while it is in this one.
    #[inline]
    pub unsafe fn push_back(&mut self, node: &T) {
        let links = node.links();
        debug_assert!(links.prev.get().is_null(), "in a list already");
        links.next.set(null());
        // SAFETY: linked nodes are alive.
        match unsafe { self.first.as_ref() } {
            None => {
                links.prev.set(node);
                self.first = node;
            }
            Some(first) => {
                let last = first.links().prev.replace(node);
                links.prev.set(last);
                // SAFETY: as above.
                unsafe { &*last }.links().next.set(node);
            }
        }
    }

    /// Puts a node before all others.
    ///
    /// # Safety
    ///
    /// As for [`push_back`](DoubleList::push_back).
    #[inline]
    pub unsafe fn push_front(&mut self, node: &T) {
        let links = node.links();
        debug_assert!(links.prev.get().is_null(), "in a list already");
        // SAFETY: linked nodes are alive.
        let last = match unsafe { self.first.as_ref() } {
            None => from_ref(node),
            Some(first) => first.links().prev.replace(node),
        };
        links.prev.set(last);
        links.next.set(self.first);
        self.first = node;
    }

    /// Takes out the first node. Its owner may free it from now on, unless owner and caller have
    /// agreed otherwise.
    #[inline]
    pub fn pop_front(&mut self) -> Option<NonNull<T>> {
        let node = NonNull::new(self.first.cast_mut())?;
        // SAFETY: linked nodes are alive.
        let links = unsafe { node.as_ref() }.links();
        let last = links.prev.replace(null());
        self.first = links.next.get();
        // SAFETY: as above.
        if let Some(first) = unsafe { self.first.as_ref() } {
            first.links().prev.set(last);
        }
        Some(node)
    }

    /// Takes a node out, if it is in. Returns whether it was.
    ///
    /// # Safety
    ///
    /// The node is in this list or in none.
    #[inline]
    pub unsafe fn remove(&mut self, node: &T) -> bool {
        let links = node.links();
        let prev = links.prev.replace(null());
        if prev.is_null() {
            return false;
        }
        let next = links.next.get();
        if self.first == from_ref(node) {
            self.first = next;
        } else {
            // SAFETY: linked nodes are alive; one that is not the first comes after its `prev`.
            unsafe { &*prev }.links().next.set(next);
        }
        // The node whose `prev` was this one: the next, or the first if this was the last.
        let behind = if next.is_null() { self.first } else { next };
        // SAFETY: as above.
        if let Some(behind) = unsafe { behind.as_ref() } {
            behind.links().prev.set(prev);
        }
        true
    }

    /// Whether a node is in this list.
    ///
    /// # Safety
    ///
    /// As for [`remove`](DoubleList::remove).
    #[inline]
    pub unsafe fn has(&self, node: &T) -> bool {
        !node.links().prev.get().is_null()
    }
}

impl<T: DoublyLinked> Default for DoubleList<T> {
    fn default() -> DoubleList<T> {
        DoubleList::new()
    }
}

impl<T> fmt::Debug for DoubleList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DoubleList").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    struct Node {
        id: usize,
        links: Links<Node>,
    }

    // SAFETY: always the same field.
    unsafe impl DoublyLinked for Node {
        fn links(&self) -> &Links<Node> {
            &self.links
        }
    }

    fn nodes(n: usize) -> Vec<Node> {
        (0..n).map(|id| Node { id, links: Links::new() }).collect()
    }

    /// Compares a list with what it should hold, also by its links.
    fn check(list: &DoubleList<Node>, expected: &VecDeque<usize>, nodes: &[Node]) {
        let linked: Vec<&Node> = list.iter().collect();
        assert_eq!(linked.iter().map(|node| node.id).collect::<VecDeque<_>>(), *expected);
        assert_eq!(list.is_empty(), expected.is_empty());
        assert_eq!(list.first().map(|node| node.id), expected.front().copied());
        for (at, node) in linked.iter().enumerate() {
            let before = linked[(at + linked.len() - 1) % linked.len()];
            assert!(core::ptr::eq(node.links.prev.get(), before));
        }
        for node in nodes {
            // SAFETY: there is no other list.
            assert_eq!(unsafe { list.has(node) }, expected.contains(&node.id));
        }
    }

    /// All sequences of five steps, each of which pushes or removes one of three nodes, or takes
    /// the first.
    #[test]
    fn does_what_a_deque_does() {
        const STEPS: usize = 7;
        for sequence in 0..STEPS.pow(5) {
            let nodes = nodes(3);
            let mut list: DoubleList<Node> = DoubleList::new();
            let mut expected = VecDeque::new();
            for step in (0..5).map(|at| sequence / STEPS.pow(at) % STEPS) {
                let node = &nodes[step % 3];
                let linked = expected.contains(&node.id);
                match step {
                    6 => {
                        // SAFETY: the nodes outlive the list.
                        let first = list.pop_front().map(|node| unsafe { node.as_ref() }.id);
                        assert_eq!(first, expected.pop_front());
                    }
                    0..3 if !linked => {
                        // SAFETY: in no list; the nodes outlive the list.
                        unsafe { list.push_back(node) };
                        expected.push_back(node.id);
                    }
                    3.. if !linked => {
                        // SAFETY: as above.
                        unsafe { list.push_front(node) };
                        expected.push_front(node.id);
                    }
                    _ => {
                        // SAFETY: there is no other list.
                        assert!(unsafe { list.remove(node) });
                        // SAFETY: as above.
                        assert!(!unsafe { list.remove(node) });
                        expected.retain(|id| *id != node.id);
                    }
                }
                check(&list, &expected, &nodes);
            }
        }
    }

    #[test]
    fn a_list_is_one_word() {
        assert_eq!((size_of::<DoubleList<Node>>(), align_of::<DoubleList<Node>>()), (8, 4));
    }
}
