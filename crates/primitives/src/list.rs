//! Intrusive FIFO lists: a list of nodes that needs no memory of its own, because each node carries
//! its link.
//!
//! Used for batches on their way to the global run queue, for free headers, and for idle Ms.
//!
//! Invariants:
//! - a node is in at most one list (or ring, or slot) at a time; whoever holds the list owns the
//!   links in it;
//! - a list is not atomic: it belongs to one owner or lies behind a lock, which also publishes the
//!   links, so links are read and written `Relaxed`. They are atomics only so that a stale *reader*
//!   (a dump) is not a data race;
//! - `head` and `tail` are null exactly if `len` is 0; the tail's link is null.

use crate::sync::{AtomicPtr, Ordering};
use std::ptr::{NonNull, null_mut};

/// A node that can be linked into a [`List`].
///
/// # Safety
///
/// `link` always returns the same field of the node, and nobody but the list that holds the node
/// writes to it. It may be called on any thread.
pub unsafe trait Linked {
    /// The link to the next node.
    fn link(&self) -> &AtomicPtr<Self>
    where
        Self: Sized;
}

/// An intrusive FIFO list.
///
/// ```
/// use gosched_primitives::{Linked, List, sync::AtomicPtr};
/// use std::ptr::{NonNull, null_mut};
///
/// struct Job { id: u32, link: AtomicPtr<Job> }
/// // SAFETY: always the same field, which only lists write to.
/// unsafe impl Linked for Job {
///     fn link(&self) -> &AtomicPtr<Job> { &self.link }
/// }
///
/// let jobs = [1, 2, 3].map(|id| Job { id, link: AtomicPtr::new(null_mut()) });
/// let mut list = List::new();
/// for job in &jobs {
///     // SAFETY: `jobs` outlives the list, and each job is pushed once.
///     unsafe { list.push_back(NonNull::from(job)) };
/// }
/// let mut front = list.split_front(2);
/// assert_eq!((front.len(), list.len()), (2, 1));
/// // SAFETY: the node lives in `jobs`.
/// assert_eq!(unsafe { front.pop_front().unwrap().as_ref() }.id, 1);
/// # front.pop_front(); list.pop_front();
/// ```
#[must_use = "the nodes of a dropped list are lost"]
pub struct List<T: Linked> {
    head: *mut T,
    tail: *mut T,
    len: usize,
}

// SAFETY: a list hands out raw pointers only, and itself touches nothing of a node but its link,
// which `Linked` promises to be reachable from any thread.
unsafe impl<T: Linked> Send for List<T> {}
// SAFETY: only `len` and `is_empty` take `&List`, and they read plain fields.
unsafe impl<T: Linked> Sync for List<T> {}

impl<T: Linked> List<T> {
    /// The empty list.
    pub const fn new() -> List<T> {
        List { head: null_mut(), tail: null_mut(), len: 0 }
    }

    /// The number of nodes.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no node.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a node.
    ///
    /// # Safety
    ///
    /// `node` is valid and stays so while it is linked; it is in no other list; the caller owns it.
    pub unsafe fn push_back(&mut self, node: NonNull<T>) {
        set_link(node, null_mut());
        match NonNull::new(self.tail) {
            Some(tail) => set_link(tail, node.as_ptr()),
            None => self.head = node.as_ptr(),
        }
        self.tail = node.as_ptr();
        self.len += 1;
    }

    /// Puts a node before all others.
    ///
    /// # Safety
    ///
    /// As for [`push_back`](List::push_back).
    pub unsafe fn push_front(&mut self, node: NonNull<T>) {
        set_link(node, self.head);
        if self.tail.is_null() {
            self.tail = node.as_ptr();
        }
        self.head = node.as_ptr();
        self.len += 1;
    }

    /// Takes the first node.
    pub fn pop_front(&mut self) -> Option<NonNull<T>> {
        let node = NonNull::new(self.head)?;
        self.head = link(node);
        if self.head.is_null() {
            self.tail = null_mut();
        }
        self.len -= 1;
        set_link(node, null_mut());
        Some(node)
    }

    /// Moves all nodes of `other` to the end of this list, in constant time.
    pub fn append(&mut self, other: List<T>) {
        match (NonNull::new(self.tail), NonNull::new(other.head)) {
            (_, None) => {}
            (None, Some(_)) => *self = other,
            (Some(tail), Some(head)) => {
                set_link(tail, head.as_ptr());
                self.tail = other.tail;
                self.len += other.len;
            }
        }
    }

    /// Cuts off the first `n` nodes (all, if there are fewer) and returns them as another list.
    /// Takes time linear in `n`.
    pub fn split_front(&mut self, n: usize) -> List<T> {
        if n >= self.len {
            return std::mem::take(self);
        }
        if n == 0 {
            return List::new();
        }
        let head = self.head;
        let mut last = NonNull::new(head).expect("0 < n < len");
        for _ in 1..n {
            last = NonNull::new(link(last)).expect("n < len");
        }
        self.head = link(last);
        self.len -= n;
        set_link(last, null_mut());
        List { head, tail: last.as_ptr(), len: n }
    }
}

impl<T: Linked> Default for List<T> {
    fn default() -> List<T> {
        List::new()
    }
}

/// The link of a node that the calling list holds.
fn link<T: Linked>(node: NonNull<T>) -> *mut T {
    // SAFETY: nodes in a list, or being pushed to one, are valid by the contract of `push_back`.
    unsafe { node.as_ref() }.link().load(Ordering::Relaxed)
}

/// Sets the link of a node that the calling list holds.
fn set_link<T: Linked>(node: NonNull<T>, next: *mut T) {
    // SAFETY: as in `link`.
    unsafe { node.as_ref() }.link().store(next, Ordering::Relaxed);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::testing::{Node, nodes};

    fn list_of(nodes: &[Node]) -> List<Node> {
        let mut list = List::new();
        for node in nodes {
            // SAFETY: each node is pushed once and outlives the list.
            unsafe { list.push_back(NonNull::from(node)) };
        }
        list
    }

    fn drain(list: &mut List<Node>) -> Vec<usize> {
        // SAFETY: the nodes outlive the list.
        std::iter::from_fn(|| list.pop_front()).map(|node| unsafe { node.as_ref() }.id).collect()
    }

    #[test]
    fn first_in_first_out() {
        let nodes = nodes(5);
        let mut list = list_of(&nodes[..4]);
        // SAFETY: a node of its own.
        unsafe { list.push_front(NonNull::from(&nodes[4])) };
        assert_eq!(list.len(), 5);
        assert_eq!(drain(&mut list), [4, 0, 1, 2, 3]);
        assert!(list.is_empty());
        assert_eq!(list.pop_front(), None);
    }

    #[test]
    fn splitting_and_appending_keeps_every_node() {
        for len in 0..6 {
            for at in 0..8 {
                let nodes = nodes(len);
                let mut rest = list_of(&nodes);
                let mut front = rest.split_front(at);
                assert_eq!((front.len(), rest.len()), (at.min(len), len - at.min(len)));
                front.append(rest);
                assert_eq!(drain(&mut front), (0..len).collect::<Vec<_>>());
            }
        }
    }
}
