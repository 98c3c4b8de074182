//! Senders and receivers as the cases of a selection: the core's operations, for all kinds of
//! receivers.
#![allow(unsafe_code)]

use core::alloc::Layout;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use gosched_chan::{
    AsOperation, Chan, Chosen, Filled, Interest, Offers, Operation, Polled, RecvOp, SendOp, Sudog,
};

use gosched_primitives::RawLock;

use super::err::SendError;
use super::receiver::Flavor;
use super::timer::TimeOp;
use super::{Receiver, Sender, future, ops};
use crate::g::waiter::Waiter;
use crate::panics::InTurn;
use crate::sched::{Inside, Visitor};

/// One operation of a selection, with what a selection needs often.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    operation: &'a dyn Part,
    lock: Option<&'a RawLock>,
    kind: CaseKind,
    /// The layout of what is received; that of `()` for a send.
    layout: Layout,
    /// Its number for the user.
    pub(super) index: usize,
    /// The address of the sender or receiver, to check that the one that completes it was selected.
    pub(super) handle: *const (),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CaseKind {
    Send,
    Recv,
    /// A receive from a timer channel.
    Time,
}

impl<'a> Case<'a> {
    #[inline]
    pub(super) fn send<T>(sender: &'a Sender<T>, index: usize) -> Case<'a> {
        Case {
            operation: sender,
            lock: Some(sender.chan().raw_lock().raw()),
            kind: CaseKind::Send,
            layout: Layout::new::<()>(),
            index,
            handle: core::ptr::from_ref(sender).cast(),
        }
    }

    #[inline]
    pub(super) fn recv<T>(receiver: &'a Receiver<T>, index: usize) -> Case<'a> {
        let (lock, kind) = match receiver.flavor() {
            Flavor::Chan(chan) => (Some(chan.raw_lock().raw()), CaseKind::Recv),
            Flavor::Time(timed) => (Some(timed.chan.raw_lock()), CaseKind::Time),
            Flavor::Never => (None, CaseKind::Recv),
        };
        Case {
            operation: receiver,
            lock,
            kind,
            layout: Layout::new::<T>(),
            index,
            handle: core::ptr::from_ref(receiver).cast(),
        }
    }

    pub(super) fn part(&self) -> &'a dyn Part {
        self.operation
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// Whether its node points to the selection's slot. (A send has no value yet.)
    pub(super) fn has_slot(&self) -> bool {
        self.kind != CaseKind::Send
    }

    /// When the selection must look at it again, even if nobody wakes it.
    ///
    /// # Safety
    /// The lock is held.
    pub(super) unsafe fn deadline(&self) -> Option<u64> {
        // SAFETY: by contract.
        if self.kind == CaseKind::Time { unsafe { self.operation.deadline() } } else { None }
    }
}

impl AsOperation<Waiter> for Case<'_> {
    #[inline]
    fn as_operation(&self) -> &dyn Operation<Waiter> {
        self.operation
    }

    #[inline]
    fn raw_lock(&self) -> Option<&RawLock> {
        self.lock
    }
}

/// An operation that can be undone if it was chosen and is not completed.
pub(super) trait Part: Operation<Waiter> {
    /// Undoes what was chosen. Outside the runtime.
    ///
    /// # Safety
    /// It was chosen, and is undone once; `slot` holds the value if there is one.
    unsafe fn undo(&self, chosen: Chosen<Waiter>, slot: *mut ());

    /// For a timer channel: when it is due.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn deadline(&self) -> Option<u64> {
        None
    }
}

impl<T> Part for Sender<T> {
    unsafe fn undo(&self, chosen: Chosen<Waiter>, _: *mut ()) {
        let visitor = Visitor::enter();
        let mut state = self.chan().lock();
        let (waiter, orphan) = match chosen {
            Chosen::Place => (state.give_up(), None),
            // SAFETY: chosen and not completed, so this replaces the delivery.
            Chosen::Peer(node, waiter) => match unsafe { state.disappoint(node, waiter) } {
                Ok(waiter) => (waiter, None),
                Err(orphan) => (None, Some(orphan)),
            },
            Chosen::Value | Chosen::ValueAndGarbage | Chosen::Closed => (None, None),
        };
        let waker = ops::conclude(visitor, state, waiter);
        if let Some(orphan) = orphan {
            // SAFETY: a future of this channel has left it to this sender.
            unsafe { future::free_orphan::<T>(orphan) };
        }
        ops::call(waker);
    }
}

impl<T> Part for Receiver<T> {
    unsafe fn undo(&self, chosen: Chosen<Waiter>, slot: *mut ()) {
        if let (Flavor::Chan(chan), Chosen::Value | Chosen::ValueAndGarbage) = (self.flavor(), chosen) {
            // SAFETY: the slot holds the value, which is moved out of it.
            ops::put_back(chan, unsafe { slot.cast::<T>().read() });
        }
    }

    unsafe fn deadline(&self) -> Option<u64> {
        match self.flavor() {
            // SAFETY: by contract.
            Flavor::Time(timed) => unsafe { timed.chan.deadline() },
            Flavor::Chan(_) | Flavor::Never => None,
        }
    }
}

/// Undoes what was chosen, and panics, unless the thread is panicking already.
///
/// # Safety
/// As [`Part::undo`].
#[cold]
pub(super) unsafe fn abandon(part: &dyn Part, chosen: Chosen<Waiter>, slot: *mut ()) {
    // SAFETY: by contract.
    unsafe { part.undo(chosen, slot) };
    if !std::thread::panicking() {
        panic!("dropped `SelectedOperation` without completing the operation");
    }
}

/// Completes a send that was chosen.
///
/// # Safety
/// It was chosen for a sender of this channel, and is completed once.
pub(super) unsafe fn complete_send<T>(
    chan: &Chan<T, Waiter>,
    chosen: Chosen<Waiter>,
    value: T,
) -> Result<(), SendError<T>> {
    match chosen {
        // SAFETY: by contract.
        Chosen::Place => unsafe { fill(chan, value) },
        Chosen::Peer(node, waiter) => {
            // SAFETY: by contract.
            unsafe { deliver(chan, node, waiter, value) };
            Ok(())
        }
        Chosen::Value | Chosen::ValueAndGarbage | Chosen::Closed => Err(SendError(value)),
    }
}

/// Puts a value into its reserved place.
///
/// # Safety
/// A place is reserved for it in this channel, and is filled once.
unsafe fn fill<T>(chan: &Chan<T, Waiter>, value: T) -> Result<(), SendError<T>> {
    let value = ManuallyDrop::new(value);
    loop {
        let mut visitor = Visitor::enter();
        let mut state = chan.lock();
        // SAFETY: a place is reserved; the value is not used again if it was moved.
        let woken = match unsafe { state.fill(&*value) } {
            Filled::Done(receiver, sender) => [receiver, sender],
            Filled::Buffered => {
                ops::tell_watchers(&mut state, &mut visitor);
                [None, None]
            }
            Filled::Closed => {
                let [] = visitor.conclude(state, []);
                return Err(SendError(ManuallyDrop::into_inner(value)));
            }
            Filled::NoRoom(no_room) => {
                let [] = visitor.conclude(state, []);
                ops::supply(chan, no_room);
                continue;
            }
        };
        let mut wakings = InTurn::new();
        for waker in visitor.conclude(state, woken).into_iter().flatten() {
            wakings.call(|| waker.wake());
        }
        wakings.finish();
        return Ok(());
    }
}

/// Gives a value to the receiver that waits for it.
///
/// # Safety
/// The receiver was claimed for a send to this channel, with this waiter, and gets a value, or is
/// disappointed, once.
unsafe fn deliver<T>(
    chan: &Chan<T, Waiter>,
    receiver: NonNull<Sudog<Waiter>>,
    waiter: Option<Waiter>,
    value: T,
) {
    let value = ManuallyDrop::new(value);
    let visitor = Visitor::enter();
    let mut state = chan.lock();
    // SAFETY: by contract; the value is not used again if it was moved.
    match unsafe { state.deliver(receiver, waiter, &*value) } {
        Ok(waiter) => {
            let [waker] = visitor.conclude(state, [waiter]);
            ops::call(waker);
        }
        Err(orphan) => {
            let [] = visitor.conclude(state, []);
            // SAFETY: a future of this channel has left it to this sender.
            unsafe { future::free_orphan::<T>(orphan) };
            ops::put_back(chan, ManuallyDrop::into_inner(value));
        }
    }
}

/// Frees memory of the channel that a selection has found to be garbage.
#[cold]
pub(super) fn tidy<T>(receiver: &Receiver<T>) {
    if let Flavor::Chan(chan) = receiver.flavor() {
        let visitor = Visitor::enter();
        let garbage = chan.lock().take_garbage();
        drop(visitor);
        drop(garbage);
    }
}

/// Receiving from nothing.
struct NeverOp;

// SAFETY: it has no lock, no queue and no value.
unsafe impl Operation<Waiter> for NeverOp {
    fn raw_lock(&self) -> Option<&RawLock> {
        None
    }
    unsafe fn poll(&self, _: *mut (), _: Offers) -> Polled<Waiter> {
        Polled::Wait
    }
    unsafe fn bind(&self, _: NonNull<Sudog<Waiter>>, _: &Sudog<Waiter>) {}
    unsafe fn is_ready(&self) -> bool {
        false
    }
    unsafe fn enqueue(&self, _: Interest, _: &Sudog<Waiter>) -> bool {
        false
    }
    unsafe fn dequeue(&self, _: Interest, _: &Sudog<Waiter>) {}
    unsafe fn end_watch(&self) -> Option<Waiter> {
        None
    }
}

/// Implements `Operation` by that of the operation that `$with` finds.
macro_rules! delegate {
    ($type:ident, $with:ident) => {
        // SAFETY: all methods delegate to the same operation, which keeps the contract.
        #[doc(hidden)]
        unsafe impl<T> Operation<Waiter> for $type<T> {
            fn raw_lock(&self) -> Option<&RawLock> {
                Case::$with(self, 0).lock
            }
            unsafe fn poll(&self, slot: *mut (), offers: Offers) -> Polled<Waiter> {
                // SAFETY: by contract.
                $with!(self, op => unsafe { op.poll(slot, offers) })
            }
            unsafe fn bind(&self, sender: NonNull<Sudog<Waiter>>, receiver: &Sudog<Waiter>) {
                // SAFETY: by contract.
                $with!(self, op => unsafe { op.bind(sender, receiver) })
            }
            unsafe fn is_ready(&self) -> bool {
                // SAFETY: by contract.
                $with!(self, op => unsafe { op.is_ready() })
            }
            unsafe fn enqueue(&self, interest: Interest, node: &Sudog<Waiter>) -> bool {
                // SAFETY: by contract.
                $with!(self, op => unsafe { op.enqueue(interest, node) })
            }
            unsafe fn dequeue(&self, interest: Interest, node: &Sudog<Waiter>) {
                // SAFETY: by contract.
                $with!(self, op => unsafe { op.dequeue(interest, node) })
            }
            unsafe fn end_watch(&self) -> Option<Waiter> {
                // SAFETY: by contract.
                $with!(self, op => unsafe { op.end_watch() })
            }
        }
    };
}

macro_rules! send {
    ($self:ident, $op:ident => $body:expr) => {{
        let $op = SendOp($self.chan());
        $body
    }};
}

macro_rules! recv {
    ($self:ident, $op:ident => $body:expr) => {
        match $self.flavor() {
            Flavor::Chan(chan) => {
                let $op = RecvOp(&**chan);
                $body
            }
            Flavor::Time(timed) => {
                let $op = TimeOp(&timed.chan, timed.value);
                $body
            }
            Flavor::Never => {
                let $op = NeverOp;
                $body
            }
        }
    };
}

delegate!(Sender, send);
delegate!(Receiver, recv);
