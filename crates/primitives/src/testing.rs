//! A node for unit tests: an id and a link.

use crate::list::Linked;
use crate::sync::AtomicPtr;
use std::ptr::null_mut;

pub(crate) struct Node {
    pub(crate) id: usize,
    link: AtomicPtr<Node>,
}

// SAFETY: always the same field, which only lists write to.
unsafe impl Linked for Node {
    fn link(&self) -> &AtomicPtr<Node> {
        &self.link
    }
}

/// Nodes with the ids `0..n`.
pub(crate) fn nodes(n: usize) -> Vec<Node> {
    (0..n).map(|id| Node { id, link: AtomicPtr::new(null_mut()) }).collect()
}
