//! A channel: a lock, a buffer, and the queues of waiters (D6). One core for all capacities.
//!
//! Nothing here parks or wakes. An operation is one call on [`ChanState`], under the lock. It
//! returns what happened and whom to wake after the lock is released; or that the caller has to
//! wait: then the caller queues its [`Sudog`], releases the lock and sleeps, as a goroutine, a
//! thread or a task.
//!
//! Invariants, whenever the lock is free ("waits" means: is queued and its wait is not over):
//! - if a receiver waits, the buffer is empty;
//! - if a sender waits, the buffer is full: values and reserved places are at least the capacity.
//!   So nobody can overtake a sender that waits for a place: whoever frees one gives it to the
//!   first of them, under the same lock;
//! - on a closed channel nobody waits, once [`ChanState::end_one`] has returned `None`;
//! - values are moved by copying their bytes, to and from a slot whose owner is claimed and waits,
//!   or is the caller.
//!
//! **Senders without a value.** A `select` learns which of its sends is chosen before its value is
//! computed. So it *reserves*: a place in the buffer, or the first waiting receiver, which
//! continues to wait until the value comes. Where such a sender waits itself, a receiver meets a
//! sender that has nothing to give yet (*an offer*): it accepts, binds itself to that sender, and
//! waits for the value.

use core::ptr::NonNull;

use gosched_primitives::{Lock, LockGuard};

use crate::buffer::{Buffer, NoRoom, Room};
use crate::outcome::{Filled, Offers, Received, Reserved, Sent, Side};
use crate::sudog::{Queue, Sudog, Verdict};

/// A channel for values of type `T`. `W` is a waiter.
///
/// ```
/// use gosched_chan::{Chan, Offers, Received, Sent};
/// use std::mem::{ManuallyDrop, MaybeUninit};
///
/// let chan: Chan<String, ()> = Chan::bounded(1);
/// let value = ManuallyDrop::new(String::from("hello"));
/// // SAFETY: the value is not used again.
/// assert!(matches!(unsafe { chan.lock().send(&*value) }, Sent::Buffered));
///
/// let mut slot = MaybeUninit::<String>::uninit();
/// // SAFETY: the slot may be written to; it is read if it was.
/// let received = unsafe { chan.lock().recv(slot.as_mut_ptr(), Offers::Accept) };
/// assert!(matches!(received, Received::Taken(None)));
/// assert_eq!(unsafe { slot.assume_init() }, "hello");
/// ```
pub struct Chan<T, W> {
    state: Lock<ChanState<T, W>>,
}

impl<T, W> Chan<T, W> {
    /// A channel that holds at most `capacity` values; with capacity 0 sender and receiver meet.
    pub fn bounded(capacity: usize) -> Chan<T, W> {
        Chan::with(capacity, Buffer::new(capacity))
    }

    /// A channel that holds any number of values.
    pub fn unbounded() -> Chan<T, W> {
        Chan::with(usize::MAX, Buffer::new(0))
    }

    fn with(capacity: usize, buffer: Buffer<T>) -> Chan<T, W> {
        Chan {
            state: Lock::new(ChanState {
                closed: false,
                capacity,
                reserved: 0,
                buffer,
                receivers: Queue::new(),
                senders: Queue::new(),
                recv_watchers: Queue::new(),
                send_watchers: Queue::new(),
            }),
        }
    }

    /// Locks it.
    #[inline]
    pub fn lock(&self) -> LockGuard<'_, ChanState<T, W>> {
        self.state.lock()
    }

    /// The lock itself, for a `select`, which holds several.
    pub fn raw_lock(&self) -> &Lock<ChanState<T, W>> {
        &self.state
    }
}

/// A channel whose lock is held.
#[derive(Debug)]
pub struct ChanState<T, W> {
    closed: bool,
    capacity: usize,
    /// Places in the buffer that belong to senders whose values are still to come.
    reserved: usize,
    receivers: Queue<W>,
    senders: Queue<W>,
    buffer: Buffer<T>,
    recv_watchers: Queue<W>,
    send_watchers: Queue<W>,
}

impl<T, W> ChanState<T, W> {
    /// How many values it holds.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether it holds no value.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Whether there is no place in its buffer.
    pub fn is_full(&self) -> bool {
        !self.has_place()
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    #[inline]
    fn has_place(&self) -> bool {
        self.buffer.len().saturating_add(self.reserved) < self.capacity
    }

    /// Moves a value to the first waiting receiver, if there is one.
    ///
    /// # Safety
    /// If this succeeds, the value has been moved out of `value`.
    #[inline]
    unsafe fn hand_over(&mut self, value: *const T) -> Option<W> {
        let (node, waiter) = self.receivers.claim_first()?;
        // SAFETY: claimed, so its owner waits, and its slot is free and a T's.
        unsafe { put(node, value) };
        Some(waiter)
    }

    /// Sends a value in the simplest case: there is a place in the buffer's one ring, and no
    /// receiver waits or watches. Returns whether it did.
    ///
    /// # Safety
    /// If this succeeds, the value has been moved out of `value`.
    #[inline(always)]
    pub unsafe fn send_simply(&mut self, value: *const T) -> bool {
        !self.closed
            && self.receivers.is_empty()
            && self.recv_watchers.is_empty()
            && self.has_place()
            // SAFETY: by contract.
            && unsafe { self.buffer.push_simply(value) }
    }

    /// Receives a value in the simplest case: there is one in the buffer's one ring, no sender
    /// waits or watches, and there is no garbage. Returns whether it did.
    ///
    /// # Safety
    /// `slot` may be written to. If this succeeds it holds the value.
    #[inline(always)]
    pub unsafe fn recv_simply(&mut self, slot: *mut T) -> bool {
        self.senders.is_empty()
            && self.send_watchers.is_empty()
            && !self.buffer.has_garbage()
            // SAFETY: by contract.
            && unsafe { self.buffer.pop_simply(slot) }
    }

    /// Sends a value, if that is possible without waiting.
    ///
    /// # Safety
    /// With [`Sent::Handed`] and [`Sent::Buffered`], the value has been moved out of `value`.
    #[inline]
    pub unsafe fn send(&mut self, value: *const T) -> Sent<W> {
        if self.closed {
            return Sent::Closed;
        }
        // SAFETY: by contract.
        if let Some(waiter) = unsafe { self.hand_over(value) } {
            return Sent::Handed(waiter);
        }
        if !self.has_place() {
            return Sent::Full;
        }
        // SAFETY: by contract.
        match unsafe { self.buffer.push(value) } {
            Ok(()) => Sent::Buffered,
            Err(no_room) => Sent::NoRoom(no_room),
        }
    }

    /// Receives a value into `slot`, if that is possible without waiting.
    ///
    /// # Safety
    /// `slot` may be written to. With [`Received::Taken`] it holds the value.
    #[inline]
    pub unsafe fn recv(&mut self, slot: *mut T, offers: Offers) -> Received<W> {
        // SAFETY: by contract.
        if unsafe { self.buffer.pop(slot) } {
            return Received::Taken(self.pass_place());
        }
        if !self.senders.is_empty() {
            // SAFETY: by contract.
            return unsafe { self.take_from_sender(slot, offers) };
        }
        if self.closed { Received::Closed } else { Received::Empty }
    }

    /// Takes the value of the first waiting sender, or claims it if it has none yet.
    ///
    /// # Safety
    /// A `T` can be written to `slot`.
    unsafe fn take_from_sender(&mut self, slot: *mut T, offers: Offers) -> Received<W> {
        while let Some(first) = self.senders.first() {
            if offers == Offers::Decline && first.slot().is_null() && first.is_open() {
                return Received::Offer;
            }
            let Some((node, waiter)) = self.senders.try_claim_first() else { continue };
            // SAFETY: claimed, so its owner waits.
            let sender = unsafe { node.as_ref() };
            if sender.slot().is_null() {
                return Received::Offered(node, waiter);
            }
            // SAFETY: a sender's slot holds a T, which is moved out of it; `slot` by contract.
            unsafe { slot.copy_from_nonoverlapping(sender.slot().cast::<T>(), 1) };
            sender.set_verdict(Verdict::Done);
            return Received::Taken(Some(waiter));
        }
        if self.closed { Received::Closed } else { Received::Empty }
    }

    /// Gives a place that has become free to the first waiting sender, if there is one.
    #[inline]
    fn pass_place(&mut self) -> Option<W> {
        if self.senders.is_empty() { None } else { self.pass_place_to_sender() }
    }

    fn pass_place_to_sender(&mut self) -> Option<W> {
        if !self.has_place() {
            return None;
        }
        let (node, waiter) = self.senders.claim_first()?;
        // SAFETY: claimed, so its owner waits.
        let sender = unsafe { node.as_ref() };
        if sender.slot().is_null() {
            self.reserved += 1;
            sender.set_verdict(Verdict::Place);
        } else {
            // SAFETY: a sender's slot holds a T, which is moved out of it.
            let pushed = unsafe { self.buffer.push(sender.slot().cast::<T>()) };
            // Senders wait at bounded channels only, whose last ring has a slot for each place.
            debug_assert!(pushed.is_ok());
            sender.set_verdict(Verdict::Done);
        }
        Some(waiter)
    }

    /// Reserves a place or a receiver, for a sender that has no value yet.
    pub fn reserve(&mut self) -> Reserved<W> {
        if self.closed {
            return Reserved::Closed;
        }
        if let Some((node, waiter)) = self.receivers.claim_first() {
            // SAFETY: claimed, so its owner waits.
            let waiter = unsafe { node.as_ref() }.keep_waiter(waiter);
            return Reserved::Peer(node, waiter);
        }
        if !self.has_place() {
            return Reserved::Full;
        }
        self.reserved += 1;
        Reserved::Place
    }

    /// Sends a value for which a place is reserved.
    ///
    /// # Safety
    /// The caller has a reserved place. It is used up by this, except with [`Filled::NoRoom`]. With
    /// [`Filled::Done`] and [`Filled::Buffered`] the value has been moved out of `value`.
    pub unsafe fn fill(&mut self, value: *const T) -> Filled<W> {
        if self.closed {
            self.reserved -= 1;
            return Filled::Closed;
        }
        // SAFETY: by contract.
        if let Some(receiver) = unsafe { self.hand_over(value) } {
            return Filled::Done(Some(receiver), self.give_up());
        }
        // SAFETY: by contract.
        if let Err(no_room) = unsafe { self.buffer.push(value) } {
            return Filled::NoRoom(no_room);
        }
        self.reserved -= 1;
        Filled::Buffered
    }

    /// Gives a reserved place back. Returns the sender that got it instead, which has to be woken.
    #[must_use = "the waiter has to be woken"]
    pub fn give_up(&mut self) -> Option<W> {
        self.reserved -= 1;
        self.pass_place()
    }

    /// Binds a receiver to the sender without a value that it has claimed: the value will be
    /// [delivered](ChanState::deliver) to it.
    ///
    /// # Safety
    /// `sender` is from [`Received::Offered`], and not yet woken. Until the delivery, `receiver` is
    /// neither moved nor freed, and its ticket is open and unknown to everybody else.
    pub unsafe fn bind(&mut self, sender: NonNull<Sudog<W>>, receiver: &Sudog<W>) {
        // SAFETY: claimed, so its owner waits.
        unsafe { sender.as_ref() }.set_verdict(Verdict::Peer(NonNull::from(receiver)));
    }

    /// Gives the value to the receiver that waits for it, and returns it: it has to be woken.
    ///
    /// `Err`: the receiver, an async task, is gone; the value was not moved, and the caller owns
    /// the node.
    ///
    /// # Safety
    /// `receiver` is from [`Reserved::Peer`] or [`Verdict::Peer`], and this is the one delivery.
    /// With `Ok` the value has been moved out of `value`.
    pub unsafe fn deliver(
        &mut self,
        receiver: NonNull<Sudog<W>>,
        waiter: Option<W>,
        value: *const T,
    ) -> Result<Option<W>, NonNull<Sudog<W>>> {
        // SAFETY: it waits for this delivery, or its box was left to us.
        let node = unsafe { receiver.as_ref() };
        if node.is_orphan() {
            return Err(receiver);
        }
        // SAFETY: the slot is free and a T's.
        unsafe { put(receiver, value) };
        Ok(waiter.or_else(|| node.claim()))
    }

    /// Tells a receiver that waits for a delivery that none will come. `Err` as in
    /// [`deliver`](ChanState::deliver).
    ///
    /// # Safety
    /// As for [`deliver`](ChanState::deliver), instead of it.
    pub unsafe fn disappoint(
        &mut self,
        receiver: NonNull<Sudog<W>>,
        waiter: Option<W>,
    ) -> Result<Option<W>, NonNull<Sudog<W>>> {
        // SAFETY: as in `deliver`.
        let node = unsafe { receiver.as_ref() };
        if node.is_orphan() {
            return Err(receiver);
        }
        node.set_verdict(Verdict::Again);
        Ok(waiter.or_else(|| node.claim()))
    }

    /// The owner of `receiver` is going away while the node is in no queue and has no verdict: the
    /// sender that is to deliver a value to it owns its memory from now on, and finds it an orphan.
    pub fn abandon(&mut self, receiver: &Sudog<W>) {
        receiver.set_orphan();
    }

    /// Takes back a value that was handed to a receiver which is gone: gives it to the next
    /// receiver, which has to be woken, or puts it at the buffer's front.
    ///
    /// # Safety
    /// If this succeeds, the value has been moved out of `value`.
    pub unsafe fn put_back(&mut self, value: *const T) -> Result<Option<W>, NoRoom> {
        // SAFETY: by contract.
        if let Some(waiter) = unsafe { self.hand_over(value) } {
            return Ok(Some(waiter));
        }
        // SAFETY: by contract.
        unsafe { self.buffer.push_front(value)? };
        Ok(None)
    }

    /// Takes the memory for values that [`Sent::NoRoom`] has asked for.
    pub fn supply(&mut self, room: Box<Room<T>>) {
        self.buffer.supply(room);
    }

    /// Memory that is not needed any more, to be dropped outside the lock.
    #[inline]
    pub fn take_garbage(&mut self) -> Option<Box<Room<T>>> {
        self.buffer.take_garbage()
    }

    /// Whether there is memory that is not needed any more.
    pub(crate) fn has_garbage(&self) -> bool {
        self.buffer.has_garbage()
    }

    fn queue(&mut self, side: Side) -> &mut Queue<W> {
        match side {
            Side::Send => &mut self.senders,
            Side::Recv => &mut self.receivers,
            Side::WatchSend => &mut self.send_watchers,
            Side::WatchRecv => &mut self.recv_watchers,
        }
    }

    /// Queues a waiter, after the operation has said that it has to wait, and before the lock is
    /// released.
    ///
    /// # Safety
    /// The node is in no queue, and stays where it is until a claimer or
    /// [`dequeue`](ChanState::dequeue) has taken it out.
    #[inline]
    pub unsafe fn enqueue(&mut self, side: Side, node: &Sudog<W>) {
        // SAFETY: by contract.
        unsafe { self.queue(side).push(node) };
    }

    /// Takes a waiter out of its queue, if it is still there. Returns whether it was.
    ///
    /// # Safety
    /// The node was queued on this side of this channel, or nowhere.
    pub unsafe fn dequeue(&mut self, side: Side, node: &Sudog<W>) -> bool {
        // SAFETY: by contract.
        unsafe { self.queue(side).remove(node) }
    }

    /// How many wait on this side.
    pub fn waiting(&self, side: Side) -> usize {
        match side {
            Side::Send => self.senders.count_open(),
            Side::Recv => self.receivers.count_open(),
            Side::WatchSend => self.send_watchers.count_open(),
            Side::WatchRecv => self.recv_watchers.count_open(),
        }
    }

    /// Whether a send would not wait.
    pub fn can_send(&self) -> bool {
        self.closed || self.has_place() || self.receivers.has_open()
    }

    /// Whether a receive would not wait.
    pub fn can_recv(&self) -> bool {
        self.closed || !self.buffer.is_empty() || self.senders.has_open()
    }

    /// Whether anybody watches. Rarely true.
    #[inline]
    pub fn is_watched(&self) -> bool {
        !(self.recv_watchers.is_empty() && self.send_watchers.is_empty())
    }

    /// Takes out a watcher whose operation would not wait any more, to be woken. While the channel
    /// [is watched](ChanState::is_watched), call it after every change until it returns `None`.
    #[must_use = "the waiter has to be woken"]
    pub fn end_watch(&mut self) -> Option<W> {
        if !self.recv_watchers.is_empty()
            && self.can_recv()
            && let Some(waiter) = self.recv_watchers.end_first(Verdict::Done)
        {
            return Some(waiter);
        }
        if !self.send_watchers.is_empty() && self.can_send() {
            return self.send_watchers.end_first(Verdict::Done);
        }
        None
    }

    /// Closes the channel. Returns whether it was open. [`end_one`](ChanState::end_one) then ends
    /// the waits.
    pub fn close(&mut self) -> bool {
        !core::mem::replace(&mut self.closed, true)
    }

    /// Ends one wait at a closed channel and returns the waiter, to be woken. Call it until it
    /// returns `None`.
    #[must_use = "the waiter has to be woken"]
    pub fn end_one(&mut self) -> Option<W> {
        debug_assert!(self.closed);
        self.receivers
            .end_first(Verdict::Closed)
            .or_else(|| self.senders.end_first(Verdict::Closed))
            .or_else(|| self.end_watch())
    }

    /// Takes out all values, to be dropped outside the lock: nobody will receive them.
    pub fn take_values(&mut self) -> Buffer<T> {
        self.buffer.take()
    }
}

/// Moves a value into a receiver's slot.
///
/// # Safety
/// The receiver is claimed and not woken, or waits for this delivery; its slot is a `T`'s and free.
/// The value is the caller's to move.
#[inline]
unsafe fn put<T, W>(receiver: NonNull<Sudog<W>>, value: *const T) {
    // SAFETY: by contract.
    unsafe {
        let receiver = receiver.as_ref();
        receiver.slot().cast::<T>().copy_from_nonoverlapping(value, 1);
        receiver.set_verdict(Verdict::Done);
    }
}
