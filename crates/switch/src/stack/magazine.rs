//! Lists of free stacks that live inside the free stacks: no memory of their own, no allocation.
//!
//! A `Magazine` is a short LIFO list; a `Rack` is a LIFO list of magazines. Both links lie in the
//! cache line just below a stack's top: it was touched by the stack's last user, and its next user
//! touches it first.
//!
//! ```text
//!   Rack -> head A --next--> B --next--> C          (a magazine of three)
//!             |below
//!             v
//!           head D --next--> E                      (the next magazine)
//! ```
//!
//! Handing over a whole magazine is O(1), so the pool's lock is held for a few instructions.
//!
//! Invariants: a stack is in at most one list, as a value; the node of a listed stack is
//! initialised (`below` only in the head of a racked magazine), and nobody else writes to the
//! stack.

use core::mem;

use super::Stack;
use crate::arch::CACHE_LINE;

/// How many stacks go between a cache and the pool at a time.
pub(crate) const MAGAZINE: u32 = 32;

/// What a free stack holds in the line below its top.
struct FreeStack {
    next: Option<Stack>,
    below: Magazine,
}

const _: () = assert!(size_of::<FreeStack>() <= CACHE_LINE);

impl Stack {
    #[inline]
    fn node(&self) -> *mut FreeStack {
        self.below_high(self.colour() + CACHE_LINE).cast()
    }
}

/// A LIFO list of free stacks.
#[derive(Debug)]
pub(crate) struct Magazine {
    head: Option<Stack>,
    len: u32,
}

impl Magazine {
    pub(crate) const fn new() -> Magazine {
        Magazine { head: None, len: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(crate) fn push(&mut self, stack: Stack) {
        let node = stack.node();
        // SAFETY: the node is a line of a stack that we own; it is aligned, since tops are
        // multiples of a line.
        unsafe { (&raw mut (*node).next).write(self.head.take()) };
        self.head = Some(stack);
        self.len += 1;
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Stack> {
        let stack = self.head.take()?;
        // SAFETY: `push` wrote `next` when it listed this stack. It is read once: the stack leaves
        // the list.
        self.head = unsafe { (&raw const (*stack.node()).next).read() };
        self.len -= 1;
        Some(stack)
    }
}

/// A LIFO list of magazines, none of them empty.
#[derive(Debug)]
pub(crate) struct Rack {
    first: Magazine,
}

impl Rack {
    pub(crate) const fn new() -> Rack {
        Rack { first: Magazine::new() }
    }

    /// Puts a magazine in; an empty one is forgotten.
    pub(crate) fn push(&mut self, magazine: Magazine) {
        let Some(head) = &magazine.head else { return };
        let node = head.node();
        let below = mem::replace(&mut self.first, Magazine::new());
        // SAFETY: the node of a listed stack that we own.
        unsafe { (&raw mut (*node).below).write(below) };
        self.first = magazine;
    }

    pub(crate) fn pop(&mut self) -> Option<Magazine> {
        let node = self.first.head.as_ref()?.node();
        // SAFETY: `push` wrote `below` when it racked this magazine. It is read once: the magazine
        // leaves the rack.
        let below = unsafe { (&raw const (*node).below).read() };
        Some(mem::replace(&mut self.first, below))
    }
}
