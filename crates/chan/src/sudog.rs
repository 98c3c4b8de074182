//! Waiters at a channel, and the queues they wait in (Go's `sudog` and `waitq`).
//!
//! A [`Sudog`] lies in its owner's frame (a goroutine's or thread's stack) or, for an async task,
//! in a box. It is guarded by the lock of the channel in whose queue it is:
//!
//! - links, slot and verdict are read and written under that lock, or by the owner before the node
//!   is queued and after its wait is over;
//! - to end the wait, a peer takes the node out of the queue and *claims* the owner's ticket, under
//!   the lock. If the claim fails, somebody else has ended the wait (time, a cancelled context,
//!   another case of the same `select`), and the peer does not touch the node any more;
//! - the owner frees the node only when it is out of the queue: either a peer took it out, or the
//!   owner takes it out itself, under the lock;
//! - after it has won the claim and until it wakes the owner, the winner may use the node and the
//!   slot: their owner waits.

use core::cell::Cell;
use core::ptr::NonNull;

use gosched_primitives::{Claim, DoubleList, DoublyLinked, Links, Outcome};

/// What became of a waiter. Written by the peer that ended its wait.
#[derive(Debug)]
pub enum Verdict<W> {
    /// Nothing yet.
    Pending,
    /// The value has been moved: into the receiver's slot, or out of the sender's.
    Done,
    /// The channel is closed.
    Closed,
    /// The peer will deliver no value after all: look again.
    Again,
    /// For a sender without a value: a place in the buffer is reserved for it.
    Place,
    /// For a sender without a value: it must deliver the value to this receiver, which waits for
    /// it.
    Peer(NonNull<Sudog<W>>),
}

impl<W> Clone for Verdict<W> {
    fn clone(&self) -> Verdict<W> {
        *self
    }
}

impl<W> Copy for Verdict<W> {}

/// A waiter at one channel. A `select` has one for each of its cases, all with the same ticket.
#[derive(Debug)]
pub struct Sudog<W> {
    links: Links<Sudog<W>>,
    /// The owner, an async task, is gone: no value can be delivered to it.
    orphan: Cell<bool>,
    ticket: NonNull<Claim<W>>,
    outcome: Outcome,
    slot: *mut (),
    ticket_use: TicketUse,
    verdict: Cell<Verdict<W>>,
}

// SAFETY: always the same field.
unsafe impl<W> DoublyLinked for Sudog<W> {
    #[inline]
    fn links(&self) -> &Links<Sudog<W>> {
        &self.links
    }
}

/// Who may claim a node's ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TicketUse {
    /// Holders of the channel's lock, and others: time, a context, other channels.
    Shared,
    /// Only holders of the channel's lock.
    Alone,
}

impl<W> Sudog<W> {
    /// A node in no queue. A peer that ends the wait claims `ticket` with `outcome`. `slot` is
    /// where a receiver's value goes to and a sender's comes from; null for a sender that has no
    /// value yet, and for one that only watches.
    pub fn new(ticket: &Claim<W>, outcome: Outcome, slot: *mut ()) -> Sudog<W> {
        Sudog {
            links: Links::new(),
            orphan: Cell::new(false),
            ticket: NonNull::from(ticket),
            outcome,
            slot,
            ticket_use: TicketUse::Shared,
            verdict: Cell::new(Verdict::Pending),
        }
    }

    /// As [`new`](Sudog::new), for a ticket that is reachable only through this node: then the
    /// waiter may be replaced while it waits ([`replace_waiter`](Sudog::replace_waiter)).
    pub fn alone(ticket: &Claim<W>, outcome: Outcome, slot: *mut ()) -> Sudog<W> {
        Sudog { ticket_use: TicketUse::Alone, ..Sudog::new(ticket, outcome, slot) }
    }

    /// Replaces the waiter by another one. Returns the old one, which is not to be woken. Called by
    /// the owner, under the lock, while there is no verdict.
    pub fn replace_waiter(&self, waiter: W) -> Option<W> {
        debug_assert_eq!(self.ticket_use, TicketUse::Alone);
        let old = self.claim();
        // SAFETY: the owner calls this, so the ticket is alive; others reach it only through this
        // node, and the lock is held.
        unsafe { self.ticket.as_ref() }.put(waiter);
        old
    }

    /// Keeps a claimed waiter until a value is delivered: puts it back into the ticket if only
    /// holders of the lock may claim that, else returns it. Called under the lock.
    pub(crate) fn keep_waiter(&self, waiter: W) -> Option<W> {
        match self.ticket_use {
            TicketUse::Shared => Some(waiter),
            TicketUse::Alone => {
                // SAFETY: as in `replace_waiter`; the owner waits.
                unsafe { self.ticket.as_ref() }.put(waiter);
                None
            }
        }
    }

    /// What became of the waiter. Called by its owner after the wait, or under the lock.
    #[inline]
    pub fn verdict(&self) -> Verdict<W> {
        self.verdict.get()
    }

    #[inline]
    pub(crate) fn set_verdict(&self, verdict: Verdict<W>) {
        self.verdict.set(verdict);
    }

    /// Sets what became of the waiter. Called by its owner, while the node is in no queue.
    pub fn settle(&self, verdict: Verdict<W>) {
        self.verdict.set(verdict);
    }

    #[inline]
    pub(crate) fn slot(&self) -> *mut () {
        self.slot
    }

    pub(crate) fn set_orphan(&self) {
        self.orphan.set(true);
    }

    pub(crate) fn is_orphan(&self) -> bool {
        self.orphan.get()
    }

    /// Ends the owner's wait, if nobody else has: then the waiter is the caller's to wake.
    #[inline]
    pub(crate) fn claim(&self) -> Option<W> {
        // SAFETY: the ticket lives as long as the node can be reached, and the caller has reached
        // the node under the lock.
        unsafe { self.ticket.as_ref() }.claim(self.outcome)
    }

    /// Whether nobody has ended its wait yet.
    pub(crate) fn is_open(&self) -> bool {
        // SAFETY: as in `claim`.
        unsafe { self.ticket.as_ref() }.outcome().is_none()
    }
}

/// A queue of waiters, first come, first served.
#[derive(Debug)]
pub struct Queue<W>(DoubleList<Sudog<W>>);

// SAFETY: a queue lies behind a lock, which also guards the nodes in it; a waiter in a ticket is
// moved to the one thread that claims it.
unsafe impl<W: Send> Send for Queue<W> {}

impl<W> Queue<W> {
    /// An empty queue.
    pub const fn new() -> Queue<W> {
        Queue(DoubleList::new())
    }

    /// Whether nobody is queued.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The queued nodes whose wait nobody has ended.
    fn open(&self) -> impl Iterator<Item = &Sudog<W>> {
        self.0.iter().filter(|node| node.is_open())
    }

    /// Whether somebody is queued whose wait nobody has ended.
    pub fn has_open(&self) -> bool {
        self.open().next().is_some()
    }

    /// How many are queued whose wait nobody has ended.
    pub fn count_open(&self) -> usize {
        self.open().count()
    }

    /// Queues a node.
    ///
    /// # Safety
    /// The node is in no queue, and is neither moved nor freed until it is out of this one; it is
    /// touched only under the lock that guards this queue.
    pub unsafe fn push(&mut self, node: &Sudog<W>) {
        // SAFETY: by contract.
        unsafe { self.0.push_back(node) };
    }

    /// Takes a node out, if it is still in. Returns whether it was.
    ///
    /// # Safety
    /// The node is in this queue or in none.
    pub unsafe fn remove(&mut self, node: &Sudog<W>) -> bool {
        // SAFETY: by contract.
        unsafe { self.0.remove(node) }
    }

    /// The first node.
    pub(crate) fn first(&self) -> Option<&Sudog<W>> {
        self.0.first()
    }

    /// Ends the wait of the first one whose wait is not over. The node may be used until the waiter
    /// is woken.
    #[inline]
    #[must_use = "the waiter has to be woken"]
    pub fn claim_first(&mut self) -> Option<(NonNull<Sudog<W>>, W)> {
        while !self.is_empty() {
            if let claimed @ Some(_) = self.try_claim_first() {
                return claimed;
            }
        }
        None
    }

    /// Takes out the first one, and ends its wait if nobody else has.
    #[inline]
    #[must_use = "the waiter has to be woken"]
    pub(crate) fn try_claim_first(&mut self) -> Option<(NonNull<Sudog<W>>, W)> {
        let node = self.0.pop_front()?;
        // SAFETY: just taken out under the lock, which its owner takes before it frees the node.
        let waiter = unsafe { node.as_ref() }.claim()?;
        Some((node, waiter))
    }

    /// As [`claim_first`](Queue::claim_first), with a verdict.
    #[must_use = "the waiter has to be woken"]
    pub fn end_first(&mut self, verdict: Verdict<W>) -> Option<W> {
        let (node, waiter) = self.claim_first()?;
        // SAFETY: claimed, so its owner waits.
        unsafe { node.as_ref() }.set_verdict(verdict);
        Some(waiter)
    }
}

impl<W> Default for Queue<W> {
    fn default() -> Queue<W> {
        Queue::new()
    }
}
