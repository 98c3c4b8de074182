//! Who waits at a channel, and the queues they wait in (Go's `sudog` and `waitq`).
//!
//! A [`Sudog`] lies in its owner's frame (a goroutine's or thread's stack) or, for an async task, in a box. It belongs to
//! the lock of the channel in whose queue it is:
//!
//! - links, slot and verdict are read and written under that lock, or by the owner before it is queued and after its wait is
//!   over;
//! - whoever wants to end the wait takes the node out of the queue and *claims* the owner's ticket, under the lock. If that
//!   fails, somebody else has ended the wait (time, a cancelled context, another case of the same `select`), and the
//!   node is only forgotten;
//! - the owner does not let the node go before it is out of the queue: it was taken out by the one who claimed it, or the owner
//!   takes it out itself, under the lock;
//! - after it has won the claim and until it wakes the owner, the winner may use the node and the slot: their owner waits.

use core::cell::Cell;
use core::ptr::NonNull;

use gosched_primitives::{Claim, DoubleList, DoublyLinked, Links, Outcome};

/// What has become of a waiter, written by whoever ended its wait.
#[derive(Debug)]
pub enum Verdict<W> {
    /// Nothing yet.
    Pending,
    /// The value has been moved: into the receiver's slot, or out of the sender's.
    Done,
    /// The channel is closed.
    Closed,
    /// The peer has changed its mind: look again.
    Again,
    /// A sender without a value may now put one into the buffer: a place is reserved for it.
    Place,
    /// A sender without a value is to give it to this receiver, which waits for it.
    Peer(NonNull<Sudog<W>>),
}

impl<W> Clone for Verdict<W> {
    fn clone(&self) -> Verdict<W> {
        *self
    }
}

impl<W> Copy for Verdict<W> {}

/// One who waits at one channel. A `select` has one for each of its cases, all with the same ticket.
#[derive(Debug)]
pub struct Sudog<W> {
    links: Links<Sudog<W>>,
    /// The owner, an async task, is gone: whoever was to deliver a value to it does something else with it.
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
    /// Also others than those who hold the channel's lock: time, a context, other channels.
    Shared,
    /// Nobody else.
    Alone,
}

impl<W> Sudog<W> {
    /// A node in no queue. Whoever ends the wait claims `ticket` with `outcome`. `slot` is where a receiver's value goes to
    /// and a sender's comes from; null for one that has no value to give yet, or that only watches.
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

    /// As [`new`](Sudog::new), for one whose ticket is known to nobody but this node: then the waiter may be replaced while it
    /// waits ([`replace_waiter`](Sudog::replace_waiter)).
    pub fn alone(ticket: &Claim<W>, outcome: Outcome, slot: *mut ()) -> Sudog<W> {
        Sudog { ticket_use: TicketUse::Alone, ..Sudog::new(ticket, outcome, slot) }
    }

    /// Puts another waiter in the place of the one that waits. Returns the old one, which is not to be woken. By the owner, under
    /// the lock, while there is no verdict.
    pub fn replace_waiter(&self, waiter: W) -> Option<W> {
        debug_assert_eq!(self.ticket_use, TicketUse::Alone);
        let old = self.claim();
        // SAFETY: the ticket is the owner's, who calls this; nobody else knows of it but by this node, and the lock is held.
        unsafe { self.ticket.as_ref() }.put(waiter);
        old
    }

    /// Keeps a claimed waiter for whoever delivers the value, in the ticket if nobody else may claim it. Under the lock.
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

    /// What has become of the waiter. By its owner, after the wait; or under the lock.
    #[inline]
    pub fn verdict(&self) -> Verdict<W> {
        self.verdict.get()
    }

    #[inline]
    pub(crate) fn set_verdict(&self, verdict: Verdict<W>) {
        self.verdict.set(verdict);
    }

    /// Says what has become of the waiter. By its owner, when it is in no queue.
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
        // SAFETY: the ticket lies beside the node, and its owner lets neither go before the node is out of reach; the caller has
        // reached it under the lock.
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

// SAFETY: a queue lies behind a lock, and so do the nodes in it; the waiters in their tickets go to whoever claims them.
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

    /// Those who are queued and whose wait nobody has ended.
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
    /// The node is in no queue and neither moves nor dies until it is out of this one; nobody touches it but under the lock
    /// that guards this queue.
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

    /// The first one.
    pub(crate) fn first(&self) -> Option<&Sudog<W>> {
        self.0.first()
    }

    /// Ends the wait of the first one whose wait is not over. The node may be used until the waiter is woken.
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
        // SAFETY: just taken out under the lock, which its owner takes before it lets it go.
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
