//! Sending and receiving in async code.
//!
//! A task that has to wait puts a node into the channel's queue, as goroutines do. The node is in a
//! box, not in the future: a future may be forgotten and its memory reused, but then the box is
//! leaked, and the queue's pointer stays valid. Value and waker are in the box.
//!
//! Invariants:
//! - the future owns the box. When it is dropped it takes the node out of the queue, under the
//!   lock; a value that was already handed to it is put back for the next receiver, outside;
//! - in one case a node is out of the queue, and somebody still has a pointer to it: a `select` has
//!   chosen to send to it, and is computing the value. A future that is dropped then leaves the box
//!   to that sender ([`free_orphan`]).
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::fmt;
use core::future::Future;
use core::mem::MaybeUninit;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll, Waker};

use gosched_chan::{Chan, Offers, Received, Sent, Side, Sudog, Verdict};

use super::err::{RecvError, SendError, TrySendError};
use super::ops;
use super::receiver::Flavor;
use super::stand_in::{self, StandIn, TimePolled};
use super::{Receiver, Sender};
use crate::g::waiter::{FIRST_OUTCOME, Ticket, Waiter};
use crate::sched::{Inside, Visitor};

/// A waiting task's node, and what it points to. The node comes first: see [`free_orphan`].
#[repr(C)]
struct Parcel<T> {
    node: Sudog<Waiter>,
    ticket: Ticket,
    slot: UnsafeCell<MaybeUninit<T>>,
}

/// The owner of a parcel.
struct Owned<T>(NonNull<Parcel<T>>);

impl<T> Owned<T> {
    fn new(value: MaybeUninit<T>) -> Owned<T> {
        let parcel = Box::leak(Box::new(MaybeUninit::<Parcel<T>>::uninit()));
        let place = parcel.as_mut_ptr();
        // SAFETY: the fields are written before they are read; the node points at its neighbours,
        // which do not move.
        unsafe {
            (&raw mut (*place).slot).write(UnsafeCell::new(value));
            (&raw mut (*place).ticket).write(Ticket::new());
            let slot = UnsafeCell::raw_get(&raw const (*place).slot);
            let node = Sudog::alone(&(*place).ticket, FIRST_OUTCOME, slot.cast());
            (&raw mut (*place).node).write(node);
            Owned(NonNull::new_unchecked(place))
        }
    }

    fn node(&self) -> &Sudog<Waiter> {
        // SAFETY: owned, so alive.
        unsafe { &self.0.as_ref().node }
    }

    fn slot(&self) -> *mut T {
        // SAFETY: owned, so alive.
        unsafe { self.0.as_ref() }.slot.get().cast()
    }

    /// Frees it. A value in the slot is not dropped.
    fn free(self) {
        // SAFETY: it came from a box, and nobody else has a pointer to it by now.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Frees the parcel of a dropped future, which has left it to the sender that was to deliver a
/// value.
///
/// # Safety
/// The node is that of a [`RecvFuture`] for `T`s, and orphaned.
pub(super) unsafe fn free_orphan<T>(node: NonNull<Sudog<Waiter>>) {
    Owned::<T>(node.cast()).free();
}

/// A future that sends; see [`Sender::send_async`].
///
/// ```
/// let (s, _r) = gosched::chan::bounded(1);
/// let future: gosched::chan::SendFuture<'_, i32> = s.send_async(1);
/// # drop(future);
/// ```
#[must_use = "futures do nothing unless awaited"]
pub struct SendFuture<'a, T> {
    sender: &'a Sender<T>,
    state: Sending<T>,
}

enum Sending<T> {
    Fresh(T),
    /// Queued; the value is in the parcel until the verdict says that it was taken.
    Waiting(Owned<T>),
    Over,
}

impl<T> Unpin for SendFuture<'_, T> {}

// SAFETY: the future owns the parcel and the value; others access them under the channel's lock
// only.
unsafe impl<T: Send> Send for SendFuture<'_, T> {}
// SAFETY: `&SendFuture` gives access to nothing.
unsafe impl<T: Send> Sync for SendFuture<'_, T> {}

impl<'a, T> SendFuture<'a, T> {
    pub(super) fn new(sender: &'a Sender<T>, value: T) -> SendFuture<'a, T> {
        SendFuture { sender, state: Sending::Fresh(value) }
    }
}

impl<T> fmt::Debug for SendFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("SendFuture { .. }")
    }
}

impl<T> Future for SendFuture<'_, T> {
    type Output = Result<(), SendError<T>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        let chan = self.sender.chan();
        if let Sending::Waiting(parcel) = &self.state
            && wait_on(chan, parcel.node(), cx.waker()) == Waits::Yes
        {
            return Poll::Pending;
        }
        match core::mem::replace(&mut self.state, Sending::Over) {
            Sending::Fresh(value) => match ops::try_send(chan, value) {
                Ok(()) => Poll::Ready(Ok(())),
                Err(TrySendError::Disconnected(value)) => Poll::Ready(Err(SendError(value))),
                Err(TrySendError::Full(value)) => {
                    let waker = cx.waker().clone();
                    let parcel = Owned::new(MaybeUninit::new(value));
                    begin_sending(chan, parcel, waker, &mut self.state)
                }
            },
            Sending::Waiting(parcel) => Poll::Ready(finish_sending(parcel)),
            Sending::Over => panic!("a SendFuture was polled after it was ready"),
        }
    }
}

/// Sends the parcel's value, or queues it.
fn begin_sending<T>(
    chan: &Chan<T, Waiter>,
    parcel: Owned<T>,
    waker: Waker,
    state: &mut Sending<T>,
) -> Poll<Result<(), SendError<T>>> {
    let mut waker = Some(waker);
    loop {
        let mut visitor = Visitor::enter();
        let mut held = chan.lock();
        // SAFETY: the slot holds the value, and is not read again if it was moved.
        match unsafe { held.send(parcel.slot()) } {
            Sent::Full => {
                if let Some(waker) = waker.take() {
                    let _ = parcel.node().replace_waiter(Waiter::Async(waker));
                }
                // SAFETY: the parcel stays until the future takes the node out.
                unsafe { held.enqueue(Side::Send, parcel.node()) };
                ops::tell_watchers(&mut held, &mut visitor);
                *state = Sending::Waiting(parcel);
                return Poll::Pending;
            }
            Sent::Handed(waiter) => {
                let [waker] = visitor.conclude(held, [Some(waiter)]);
                parcel.free();
                ops::call(waker);
                return Poll::Ready(Ok(()));
            }
            Sent::Buffered => {
                ops::tell_watchers(&mut held, &mut visitor);
                let [] = visitor.conclude(held, []);
                parcel.free();
                return Poll::Ready(Ok(()));
            }
            Sent::Closed => {
                let [] = visitor.conclude(held, []);
                // SAFETY: not moved.
                let value = unsafe { parcel.slot().read() };
                parcel.free();
                return Poll::Ready(Err(SendError(value)));
            }
            Sent::NoRoom(no_room) => {
                let [] = visitor.conclude(held, []);
                ops::supply(chan, no_room);
            }
        }
    }
}

/// Whether a task still waits.
#[derive(PartialEq, Eq)]
enum Waits {
    Yes,
    No,
}

/// Replaces the waker of a task that is polled before its wait is over. If user code panics (the
/// new waker's clone, the old one's drop), the node stays in the queue.
fn wait_on<T>(chan: &Chan<T, Waiter>, node: &Sudog<Waiter>, waker: &Waker) -> Waits {
    let waker = waker.clone();
    let visitor = Visitor::enter();
    let held = chan.lock();
    let (waits, unused) = match node.verdict() {
        Verdict::Pending => (Waits::Yes, node.replace_waiter(Waiter::Async(waker))),
        _ => (Waits::No, Some(Waiter::Async(waker))),
    };
    let [] = visitor.conclude(held, []);
    drop(unused);
    waits
}

/// The end of a wait that has a verdict.
fn finish_sending<T>(parcel: Owned<T>) -> Result<(), SendError<T>> {
    let result = match parcel.node().verdict() {
        Verdict::Done => Ok(()),
        // SAFETY: not taken, so the value is still there.
        _ => Err(SendError(unsafe { parcel.slot().read() })),
    };
    parcel.free();
    result
}

impl<T> Drop for SendFuture<'_, T> {
    fn drop(&mut self) {
        if let Sending::Waiting(parcel) = core::mem::replace(&mut self.state, Sending::Over) {
            let visitor = Visitor::enter();
            // SAFETY: it was queued there.
            unsafe { self.sender.chan().lock().dequeue(Side::Send, parcel.node()) };
            drop(visitor);
            drop(finish_sending(parcel));
        }
    }
}

/// A future that receives; see [`Receiver::recv_async`].
///
/// ```
/// let (_s, r) = gosched::chan::bounded::<i32>(1);
/// let future: gosched::chan::RecvFuture<'_, i32> = r.recv_async();
/// # drop(future);
/// ```
#[must_use = "futures do nothing unless awaited"]
pub struct RecvFuture<'a, T> {
    receiver: &'a Receiver<T>,
    state: Receiving<T>,
}

enum Receiving<T> {
    Fresh,
    /// Queued, or bound to a sender; the value will come into the parcel.
    Waiting(Owned<T>),
    /// Waiting for a timer channel.
    StandIn(StandIn),
    Over,
}

impl<T> Unpin for RecvFuture<'_, T> {}

// SAFETY: the future owns the parcel; others access it under the channel's lock only.
unsafe impl<T: Send> Send for RecvFuture<'_, T> {}
// SAFETY: `&RecvFuture` gives access to nothing.
unsafe impl<T: Send> Sync for RecvFuture<'_, T> {}

impl<'a, T> RecvFuture<'a, T> {
    pub(super) fn new(receiver: &'a Receiver<T>) -> RecvFuture<'a, T> {
        RecvFuture { receiver, state: Receiving::Fresh }
    }
}

impl<T> fmt::Debug for RecvFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("RecvFuture { .. }")
    }
}

impl<T> Future for RecvFuture<'_, T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        assert!(!matches!(self.state, Receiving::Over), "a RecvFuture was polled after it was ready");
        let polled = match self.receiver.flavor() {
            Flavor::Chan(chan) => poll_chan(chan, &mut self.state, cx.waker()),
            Flavor::Time(timed) => {
                let stand_in = match &mut self.state {
                    Receiving::StandIn(stand_in) => Some(stand_in),
                    _ => None,
                };
                match stand_in::poll(&timed.chan, stand_in, cx.waker()) {
                    TimePolled::Ready(due) => Poll::Ready(due.map(timed.value)),
                    TimePolled::Set(stand_in) => {
                        self.state = Receiving::StandIn(stand_in);
                        Poll::Pending
                    }
                    TimePolled::Still => Poll::Pending,
                }
            }
            Flavor::Never => Poll::Pending,
        };
        if polled.is_ready() {
            self.state = Receiving::Over;
        }
        polled
    }
}

fn poll_chan<T>(
    chan: &Chan<T, Waiter>,
    state: &mut Receiving<T>,
    waker: &Waker,
) -> Poll<Result<T, RecvError>> {
    if let Receiving::Waiting(parcel) = &*state
        && wait_on(chan, parcel.node(), waker) == Waits::Yes
    {
        return Poll::Pending;
    }
    if let Receiving::Waiting(parcel) = core::mem::replace(state, Receiving::Fresh) {
        if let Some(result) = finish_receiving(parcel) {
            return Poll::Ready(result);
        }
    } else if let Poll::Ready(result) = poll_unqueued(chan) {
        return Poll::Ready(result);
    }
    // The clone may panic: nothing is queued, and no lock is held.
    let mut waker = Some(waker.clone());
    match begin_receiving(chan, Owned::new(MaybeUninit::uninit()), &mut waker) {
        Begun::Waiting(parcel) => {
            *state = Receiving::Waiting(parcel);
            Poll::Pending
        }
        Begun::Ended(parcel, peer) => {
            let result = match finish_receiving(parcel) {
                Some(Ok(value)) => Some(Ok(ops::call_for(chan, peer, value))),
                other => {
                    ops::call(peer);
                    other
                }
            };
            result.map_or(Poll::Pending, Poll::Ready)
        }
    }
}

/// The end of a wait that has a verdict. `None`: look again.
fn finish_receiving<T>(parcel: Owned<T>) -> Option<Result<T, RecvError>> {
    let result = match parcel.node().verdict() {
        // SAFETY: done, so a value was moved into the slot.
        Verdict::Done => Some(Ok(unsafe { parcel.slot().read() })),
        Verdict::Closed => Some(Err(RecvError)),
        _ => None,
    };
    parcel.free();
    result
}

/// A first look, which needs no parcel.
fn poll_unqueued<T>(chan: &Chan<T, Waiter>) -> Poll<Result<T, RecvError>> {
    let mut slot = MaybeUninit::uninit();
    let visitor = Visitor::enter();
    let mut held = chan.lock();
    // SAFETY: the slot is read if it was written.
    match unsafe { held.recv(slot.as_mut_ptr(), Offers::Decline) } {
        Received::Taken(waiter) => {
            let waker = ops::conclude(visitor, held, waiter);
            // SAFETY: taken.
            Poll::Ready(Ok(ops::call_for(chan, waker, unsafe { slot.assume_init() })))
        }
        Received::Closed => Poll::Ready(Err(RecvError)),
        _ => Poll::Pending,
    }
}

/// What became of an attempt to receive into a parcel.
enum Begun<T> {
    Waiting(Owned<T>),
    /// There is a verdict, and perhaps a peer's waker to call.
    Ended(Owned<T>, Option<Waker>),
}

/// Receives into the parcel, or queues it with the waker.
fn begin_receiving<T>(chan: &Chan<T, Waiter>, parcel: Owned<T>, waker: &mut Option<Waker>) -> Begun<T> {
    let mut visitor = Visitor::enter();
    let mut held = chan.lock();
    // SAFETY: the slot is empty, and read if it was written.
    match unsafe { held.recv(parcel.slot(), Offers::Accept) } {
        Received::Taken(waiter) => {
            parcel.node().settle(Verdict::Done);
            Begun::Ended(parcel, ops::conclude(visitor, held, waiter))
        }
        Received::Closed => {
            parcel.node().settle(Verdict::Closed);
            Begun::Ended(parcel, None)
        }
        Received::Empty | Received::Offer => {
            let _ = waker.take().and_then(|waker| parcel.node().replace_waiter(Waiter::Async(waker)));
            // SAFETY: the parcel stays until the future takes the node out.
            unsafe { held.enqueue(Side::Recv, parcel.node()) };
            ops::tell_watchers(&mut held, &mut visitor);
            Begun::Waiting(parcel)
        }
        Received::Offered(sender, waiter) => {
            let _ = waker.take().and_then(|waker| parcel.node().replace_waiter(Waiter::Async(waker)));
            // SAFETY: from `Offered`; the parcel stays until the delivery.
            unsafe { held.bind(sender, parcel.node()) };
            // A `select` is no async task, so no waker comes back.
            let _ = visitor.wake(waiter);
            Begun::Waiting(parcel)
        }
    }
}

/// What a future that is dropped does with its parcel.
enum LeftParcel<T> {
    /// Frees it.
    Parcel(Owned<T>),
    /// Frees it, and puts the value in it back.
    Full(Owned<T>),
    /// Leaves it to the sender that is to deliver a value.
    ToSender,
}

impl<T> Drop for RecvFuture<'_, T> {
    fn drop(&mut self) {
        match core::mem::replace(&mut self.state, Receiving::Over) {
            Receiving::Waiting(parcel) => {
                if let Flavor::Chan(chan) = self.receiver.flavor() {
                    leave(chan, parcel);
                }
            }
            Receiving::StandIn(stand_in) => {
                if let Flavor::Time(timed) = self.receiver.flavor() {
                    drop(stand_in);
                    timed.chan.nudge();
                }
            }
            Receiving::Fresh | Receiving::Over => {}
        }
    }
}

fn leave<T>(chan: &Chan<T, Waiter>, parcel: Owned<T>) {
    let visitor = Visitor::enter();
    let mut held = chan.lock();
    // SAFETY: it was queued there, or nowhere.
    let queued = unsafe { held.dequeue(Side::Recv, parcel.node()) };
    let left = match parcel.node().verdict() {
        Verdict::Pending if !queued => {
            held.abandon(parcel.node());
            LeftParcel::ToSender
        }
        Verdict::Done => LeftParcel::Full(parcel),
        _ => LeftParcel::Parcel(parcel),
    };
    let [] = visitor.conclude(held, []);
    match left {
        LeftParcel::Parcel(parcel) => parcel.free(),
        LeftParcel::Full(parcel) => {
            // SAFETY: done, so a value was moved into the slot.
            let value = unsafe { parcel.slot().read() };
            parcel.free();
            ops::put_back(chan, value);
        }
        LeftParcel::ToSender => {}
    }
}
