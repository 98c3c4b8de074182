//! Several channels at once (S45).
//!
//! A selection locks all its channels, in the order of their addresses and each once, so that two
//! selections never wait for each other. Under the locks it polls its operations in a given order
//! and does the first one that need not wait. If all would wait, it queues one node for each
//! operation, all with the same ticket, and releases the locks. The ticket is claimed once, on one
//! of the channels, so the selection takes part in exactly one operation; the other nodes are dead
//! from then on, and the owner takes them out of their queues before it continues.
//!
//! The caller chooses the order of polling. The library's is random, so that each ready operation
//! has the same chance.

use core::ptr::NonNull;

use gosched_primitives::RawLock;

use crate::chan::Chan;
use crate::outcome::{Offers, Received, Reserved, Side};
use crate::sudog::{Sudog, Verdict};

/// The result of the operation that a selection has chosen.
#[derive(Debug)]
pub enum Chosen<W> {
    /// A value is in the slot.
    Value,
    /// As `Value`, and the channel has memory to be freed
    /// ([`ChanState::take_garbage`](crate::ChanState::take_garbage)).
    ValueAndGarbage,
    /// The channel is closed.
    Closed,
    /// A send: a place is reserved for its value.
    Place,
    /// A send: this receiver waits for its value. The waiter, if it is not given, is in the
    /// receiver's ticket.
    Peer(NonNull<Sudog<W>>, Option<W>),
}

/// What polling an operation has shown.
#[derive(Debug)]
#[must_use]
pub enum Polled<W> {
    /// It would wait.
    Wait,
    /// It is done, or reserved. If it ended another's wait, that waiter has to be woken.
    Ready(Chosen<W>, Option<W>),
    /// A receive has met a sender without a value, and declined.
    Offer,
    /// A receive has claimed a sender without a value, and must [bind](Operation::bind) itself to
    /// it.
    Offered(NonNull<Sudog<W>>, W),
}

/// What a selection wants of its operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// To do one of them.
    Take,
    /// To know that one of them would not wait.
    Watch,
}

/// An operation that may be part of a selection.
///
/// # Safety
/// `raw_lock` always returns the same lock. With the lock held, `enqueue` puts the node into a
/// queue behind that lock, and `dequeue` takes it out if it is still in.
pub unsafe trait Operation<W> {
    /// The lock that is held during the other calls. `None` if there is nothing to lock: then the
    /// operation is never ready, and its node never in a queue.
    fn raw_lock(&self) -> Option<&RawLock>;

    /// Does the operation if it need not wait.
    ///
    /// # Safety
    /// The lock is held; a value of the operation's type may be written to `slot`.
    unsafe fn poll(&self, slot: *mut (), offers: Offers) -> Polled<W>;

    /// Binds a receive to the sender that `poll` has claimed.
    ///
    /// # Safety
    /// The lock is held; else as for [`ChanState::bind`](crate::ChanState::bind).
    unsafe fn bind(&self, sender: NonNull<Sudog<W>>, receiver: &Sudog<W>);

    /// Whether it would not wait.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn is_ready(&self) -> bool;

    /// Queues a waiter. Returns whether somebody watches this channel: see
    /// [`end_watch`](Operation::end_watch).
    ///
    /// # Safety
    /// The lock is held; else as for [`ChanState::enqueue`](crate::ChanState::enqueue).
    unsafe fn enqueue(&self, interest: Interest, node: &Sudog<W>) -> bool;

    /// Takes a waiter out of its queue, if it is still there.
    ///
    /// # Safety
    /// The lock is held; else as for [`ChanState::dequeue`](crate::ChanState::dequeue).
    unsafe fn dequeue(&self, interest: Interest, node: &Sudog<W>);

    /// As [`ChanState::end_watch`](crate::ChanState::end_watch).
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn end_watch(&self) -> Option<W>;
}

/// Sending to a channel, as part of a selection.
pub struct SendOp<'c, T, W>(pub &'c Chan<T, W>);

/// Receiving from a channel, as part of a selection.
pub struct RecvOp<'c, T, W>(pub &'c Chan<T, W>);

/// The methods that are the same for both.
macro_rules! locked_by_the_channel {
    () => {
        #[inline]
        fn raw_lock(&self) -> Option<&RawLock> {
            Some(self.0.raw_lock().raw())
        }

        /// # Safety
        /// As for the trait: the lock is held.
        unsafe fn end_watch(&self) -> Option<W> {
            // SAFETY: the lock is held, by contract, so the state is ours.
            let state = unsafe { &mut *self.0.raw_lock().data() };
            if state.is_watched() { state.end_watch() } else { None }
        }
    };
}

// SAFETY: all by the channel's own lock.
unsafe impl<T, W> Operation<W> for SendOp<'_, T, W> {
    locked_by_the_channel!();

    unsafe fn poll(&self, _: *mut (), _: Offers) -> Polled<W> {
        // SAFETY: the lock is held, by contract, so the state is ours.
        match unsafe { &mut *self.0.raw_lock().data() }.reserve() {
            Reserved::Place => Polled::Ready(Chosen::Place, None),
            Reserved::Peer(node, waiter) => Polled::Ready(Chosen::Peer(node, waiter), None),
            Reserved::Closed => Polled::Ready(Chosen::Closed, None),
            Reserved::Full => Polled::Wait,
        }
    }

    unsafe fn bind(&self, _: NonNull<Sudog<W>>, _: &Sudog<W>) {}

    unsafe fn is_ready(&self) -> bool {
        // SAFETY: the lock is held, by contract.
        unsafe { &*self.0.raw_lock().data() }.can_send()
    }

    unsafe fn enqueue(&self, interest: Interest, node: &Sudog<W>) -> bool {
        // SAFETY: the lock is held, by contract, so the state is ours.
        let state = unsafe { &mut *self.0.raw_lock().data() };
        // SAFETY: by contract.
        unsafe { state.enqueue(send_side(interest), node) };
        state.is_watched()
    }

    unsafe fn dequeue(&self, interest: Interest, node: &Sudog<W>) {
        // SAFETY: the lock is held, by contract; the rest by contract.
        unsafe { (*self.0.raw_lock().data()).dequeue(send_side(interest), node) };
    }
}

// SAFETY: all by the channel's own lock.
unsafe impl<T, W> Operation<W> for RecvOp<'_, T, W> {
    locked_by_the_channel!();

    unsafe fn poll(&self, slot: *mut (), offers: Offers) -> Polled<W> {
        // SAFETY: the lock is held, by contract, so the state is ours.
        let state = unsafe { &mut *self.0.raw_lock().data() };
        // SAFETY: by contract.
        match unsafe { state.recv(slot.cast(), offers) } {
            Received::Taken(waiter) if state.has_garbage() => Polled::Ready(Chosen::ValueAndGarbage, waiter),
            Received::Taken(waiter) => Polled::Ready(Chosen::Value, waiter),
            Received::Closed => Polled::Ready(Chosen::Closed, None),
            Received::Empty => Polled::Wait,
            Received::Offer => Polled::Offer,
            Received::Offered(node, waiter) => Polled::Offered(node, waiter),
        }
    }

    unsafe fn bind(&self, sender: NonNull<Sudog<W>>, receiver: &Sudog<W>) {
        // SAFETY: the lock is held, by contract; the rest by contract.
        unsafe { (*self.0.raw_lock().data()).bind(sender, receiver) };
    }

    unsafe fn is_ready(&self) -> bool {
        // SAFETY: the lock is held, by contract.
        unsafe { &*self.0.raw_lock().data() }.can_recv()
    }

    unsafe fn enqueue(&self, interest: Interest, node: &Sudog<W>) -> bool {
        // SAFETY: the lock is held, by contract, so the state is ours.
        let state = unsafe { &mut *self.0.raw_lock().data() };
        // SAFETY: by contract.
        unsafe { state.enqueue(recv_side(interest), node) };
        state.is_watched()
    }

    unsafe fn dequeue(&self, interest: Interest, node: &Sudog<W>) {
        // SAFETY: the lock is held, by contract; the rest by contract.
        unsafe { (*self.0.raw_lock().data()).dequeue(recv_side(interest), node) };
    }
}

fn send_side(interest: Interest) -> Side {
    match interest {
        Interest::Take => Side::Send,
        Interest::Watch => Side::WatchSend,
    }
}

fn recv_side(interest: Interest) -> Side {
    match interest {
        Interest::Take => Side::Recv,
        Interest::Watch => Side::WatchRecv,
    }
}

/// The lock's place in the order of locking: its address; 0 if there is no lock.
fn lock_id(lock: Option<&RawLock>) -> usize {
    lock.map_or(0, |lock| core::ptr::from_ref(lock).addr())
}

/// Some operations, of which one is to be done. `O` is a reference to an operation, or leads to one
/// in another way.
pub struct Selection<'s, O> {
    operations: &'s [O],
    /// The operations' numbers, in the order of polling.
    looking: &'s [u32],
    /// The operations' numbers, in the order of locking.
    locking: &'s mut [u32],
}

impl<'s, O> Selection<'s, O> {
    /// A selection among `operations`, which are polled in the order of the numbers in `looking`.
    /// `locking` has the same length, and is filled here.
    pub fn new<W>(operations: &'s [O], looking: &'s [u32], locking: &'s mut [u32]) -> Selection<'s, O>
    where
        O: AsOperation<W>,
    {
        for (number, place) in locking.iter_mut().enumerate() {
            *place = number as u32;
        }
        let id = |number: &u32| lock_id(operations[*number as usize].raw_lock());
        if let [first, second] = &mut *locking {
            if id(first) > id(second) {
                core::mem::swap(first, second);
            }
        } else {
            locking.sort_unstable_by_key(id);
        }
        Selection { operations, looking, locking }
    }

    #[inline]
    fn each_lock<W>(&self, mut f: impl FnMut(&RawLock))
    where
        O: AsOperation<W>,
    {
        let mut last = 0;
        for number in self.locking.iter() {
            let lock = self.operations[*number as usize].raw_lock();
            let id = lock_id(lock);
            if let Some(lock) = lock
                && id != last
            {
                f(lock);
            }
            last = id;
        }
    }

    /// Acquires all locks.
    pub fn lock<W>(&self)
    where
        O: AsOperation<W>,
    {
        self.each_lock(RawLock::lock);
    }

    /// Releases all locks.
    ///
    /// # Safety
    /// They are held, by [`lock`](Selection::lock).
    pub unsafe fn unlock<W>(&self)
    where
        O: AsOperation<W>,
    {
        // SAFETY: by contract.
        self.each_lock(|lock| unsafe { lock.unlock() });
    }

    /// Does the first operation that need not wait, and returns its number. If all would wait, but
    /// a receive has declined an offer, returns that.
    ///
    /// # Safety
    /// The locks are held, and a value of each operation's type may be written to `slot`.
    pub unsafe fn poll<W>(&self, slot: *mut (), offers: Offers) -> (usize, Polled<W>)
    where
        O: AsOperation<W>,
    {
        let mut declined = (0, Polled::Wait);
        for number in self.looking {
            let number = *number as usize;
            // SAFETY: by contract.
            match unsafe { self.operations[number].as_operation().poll(slot, offers) } {
                Polled::Wait => {}
                Polled::Offer => declined = (number, Polled::Offer),
                ready => return (number, ready),
            }
        }
        declined
    }

    /// The first operation that would not wait, in the order of polling.
    ///
    /// # Safety
    /// The locks are held.
    pub unsafe fn find_ready<W>(&self) -> Option<usize>
    where
        O: AsOperation<W>,
    {
        let mut numbers = self.looking.iter().map(|number| *number as usize);
        // SAFETY: by contract.
        numbers.find(|number| unsafe { self.operations[*number].as_operation().is_ready() })
    }

    /// Queues the nodes, one for each operation, in the order of polling: of several on the same
    /// channel a peer meets the first one first. Returns whether somebody watches one of the
    /// channels: see [`Operation::end_watch`].
    ///
    /// # Safety
    /// The locks are held. As for [`ChanState::enqueue`](crate::ChanState::enqueue), for each.
    pub unsafe fn enqueue<W>(&self, interest: Interest, nodes: &[Sudog<W>]) -> bool
    where
        O: AsOperation<W>,
    {
        let mut watched = false;
        for number in self.looking {
            let number = *number as usize;
            // SAFETY: by contract.
            watched |= unsafe { self.operations[number].as_operation().enqueue(interest, &nodes[number]) };
        }
        watched
    }

    /// Takes the nodes out of their queues, if they are still there. Acquires and releases the
    /// locks, one after the other, except for the operation `done`, whose node is out already.
    ///
    /// # Safety
    /// The nodes were queued by [`enqueue`](Selection::enqueue).
    pub unsafe fn dequeue<W>(&self, interest: Interest, nodes: &[Sudog<W>], done: Option<usize>)
    where
        O: AsOperation<W>,
    {
        for (number, node) in nodes.iter().enumerate() {
            if done == Some(number) {
                continue;
            }
            let operation = &self.operations[number];
            if let Some(lock) = operation.raw_lock() {
                lock.lock();
                // SAFETY: the lock is held; the rest by contract.
                unsafe {
                    operation.as_operation().dequeue(interest, node);
                    lock.unlock();
                }
            }
        }
    }
}

/// Leads to an [`Operation`], and may know its lock without a virtual call.
pub trait AsOperation<W> {
    /// The operation.
    fn as_operation(&self) -> &dyn Operation<W>;

    /// Its lock.
    fn raw_lock(&self) -> Option<&RawLock>;
}

impl<W> AsOperation<W> for &dyn Operation<W> {
    fn as_operation(&self) -> &dyn Operation<W> {
        *self
    }

    fn raw_lock(&self) -> Option<&RawLock> {
        (*self).raw_lock()
    }
}

/// What the verdict on the node of a selection's operation means. `None`: the selection must poll
/// again.
pub fn chosen<W>(verdict: Verdict<W>) -> Option<Chosen<W>> {
    match verdict {
        Verdict::Done => Some(Chosen::Value),
        Verdict::Closed => Some(Chosen::Closed),
        Verdict::Place => Some(Chosen::Place),
        Verdict::Peer(node) => Some(Chosen::Peer(node, None)),
        Verdict::Pending | Verdict::Again => None,
    }
}
