//! What senders and receivers do: the core's operations (`gosched-chan`) with the scheduler's way
//! of waiting and waking.
//!
//! A call enters the runtime once and takes the lock once; if it has to wait, it queues itself
//! under that same lock. (It enters again to give the channel memory, to leave the queue after a
//! time-out, and if it must look again.) No user code runs in between: values are moved by their
//! bytes; wakers are called, and values and memory dropped, after leaving.
#![allow(unsafe_code)]

use core::mem::{ManuallyDrop, MaybeUninit};
use core::task::Waker;

use gosched_chan::{Chan, ChanState, NoRoom, Offers, Received, Room, Sent, Side, Sudog, Verdict};
use gosched_primitives::LockGuard;

use super::err::{RecvTimeoutError, SendTimeoutError, TryRecvError, TrySendError};
use super::patience::Patience;
use crate::g::waiter::{FIRST_OUTCOME, ThreadParker, Ticket, WaitReason, Waiter};
use crate::panics::InTurn;
use crate::sched::{Caller, Inside, Limit, MayWait, StoppedWorld, Visitor};

type LockedChan<'c, T> = LockGuard<'c, ChanState<T, Waiter>>;

/// How a wait at a channel ended.
enum WaitEnd {
    /// By a peer, which has left a verdict.
    Met,
    /// By the end of the waiter's patience.
    Late,
}

/// Wakes an async task, if it is one that was woken. Outside the runtime.
#[inline]
pub(super) fn call(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// As [`call`], for the peer of a receive. If the waker panics, the value goes back to the channel;
/// else it would be lost.
#[inline]
pub(super) fn call_for<T>(chan: &Chan<T, Waiter>, waker: Option<Waker>, value: T) -> T {
    match waker {
        None => value,
        Some(waker) => call_or_put_back(chan, waker, value),
    }
}

#[cold]
fn call_or_put_back<T>(chan: &Chan<T, Waiter>, waker: Waker, value: T) -> T {
    let mut steps = InTurn::new();
    steps.call(|| waker.wake());
    if steps.has_panicked() {
        steps.call(|| put_back(chan, value));
        steps.finish();
        unreachable!("the panic goes on");
    }
    value
}

/// Wakes the watchers of the channel that should look again. (They are never async tasks.)
#[inline]
pub(super) fn tell_watchers<T>(state: &mut ChanState<T, Waiter>, inside: &mut impl Inside) {
    if state.is_watched() {
        tell_all(state, inside);
    }
}

#[cold]
fn tell_all<T>(state: &mut ChanState<T, Waiter>, inside: &mut impl Inside) {
    while let Some(waiter) = state.end_watch() {
        let _ = inside.wake(waiter);
    }
}

/// Leaves after an operation that watchers must learn of, or that has left unused memory. The
/// caller [calls](call) the waker that this returns, after it has secured the value, if one was
/// taken.
#[inline]
#[must_use = "an async task is woken by its waker"]
pub(super) fn conclude<T>(
    mut inside: impl Inside,
    mut state: LockedChan<'_, T>,
    waiter: Option<Waiter>,
) -> Option<Waker> {
    tell_watchers(&mut state, &mut inside);
    let garbage = state.take_garbage();
    let [waker] = inside.conclude(state, [waiter]);
    drop(garbage);
    waker
}

/// Queues the node on `side`, and waits. The node is in no queue afterwards.
fn wait_queued<T>(
    chan: &Chan<T, Waiter>,
    mut caller: Caller,
    mut state: LockedChan<'_, T>,
    side: Side,
    limit: Limit,
    ticket: &Ticket,
    node: &Sudog<Waiter>,
) -> WaitEnd {
    let reason = if side == Side::Send { WaitReason::ChanSend } else { WaitReason::ChanReceive };
    // SAFETY: the node is in the caller's frame, and is out of the queue when this returns.
    unsafe { state.enqueue(side, node) };
    tell_watchers(&mut state, &mut caller);
    let outcome = caller.wait_ticket(reason, limit, ticket, || drop(state));
    if outcome >= FIRST_OUTCOME {
        return WaitEnd::Met;
    }
    let _visitor = Visitor::enter();
    // SAFETY: it was queued there.
    unsafe { chan.lock().dequeue(side, node) };
    WaitEnd::Late
}

/// Gets the channel memory for more values. Outside the runtime.
#[cold]
pub(super) fn supply<T>(chan: &Chan<T, Waiter>, no_room: NoRoom) {
    let room = Room::new(no_room.slots);
    let visitor = Visitor::enter();
    let mut state = chan.lock();
    state.supply(room);
    let garbage = state.take_garbage();
    let [] = visitor.conclude(state, []);
    drop(garbage);
}

/// Sends, waiting for a place or a receiver if need be. `Timeout` means the end of patience, by
/// time or by the context.
#[inline]
pub(crate) fn send<T>(
    chan: &Chan<T, Waiter>,
    value: T,
    patience: Patience,
) -> Result<(), SendTimeoutError<T>> {
    let caller = match Caller::enter_moving() {
        Ok(caller) => caller,
        Err(stopped) => return send_at_once(chan, stopped, value, patience),
    };
    let value = ManuallyDrop::new(value);
    let mut state = chan.lock();
    // SAFETY: the value is not used again if it was moved.
    if unsafe { state.send_simply(&*value) } {
        let [] = caller.conclude(state, []);
        return Ok(());
    }
    send_meeting(chan, caller, state, value, patience)
}

/// Sends if somebody waits or watches, or if there is no place or no memory.
#[inline(never)]
fn send_meeting<'c, T>(
    chan: &'c Chan<T, Waiter>,
    mut caller: Caller,
    mut state: LockedChan<'c, T>,
    value: ManuallyDrop<T>,
    patience: Patience,
) -> Result<(), SendTimeoutError<T>> {
    loop {
        // SAFETY: the value is not used again if it was moved.
        match unsafe { state.send(&*value) } {
            Sent::Handed(waiter) => {
                let [waker] = caller.conclude(state, [Some(waiter)]);
                call(waker);
                return Ok(());
            }
            Sent::Buffered => {
                tell_watchers(&mut state, &mut caller);
                let [] = caller.conclude(state, []);
                return Ok(());
            }
            Sent::Full => return send_waiting(chan, caller, state, value, patience),
            Sent::Closed => {
                let [] = caller.conclude(state, []);
                return Err(SendTimeoutError::Disconnected(ManuallyDrop::into_inner(value)));
            }
            Sent::NoRoom(no_room) => {
                let [] = caller.conclude(state, []);
                supply(chan, no_room);
            }
        }
        caller = match Caller::enter_moving() {
            Ok(caller) => caller,
            Err(stopped) => return send_at_once(chan, stopped, ManuallyDrop::into_inner(value), patience),
        };
        state = chan.lock();
    }
}

/// Sends in a stopped world: without waiting, or not at all.
#[cold]
fn send_at_once<T>(
    chan: &Chan<T, Waiter>,
    stopped: StoppedWorld,
    value: T,
    patience: Patience,
) -> Result<(), SendTimeoutError<T>> {
    match try_send(chan, value) {
        Ok(()) => Ok(()),
        Err(TrySendError::Disconnected(value)) => Err(SendTimeoutError::Disconnected(value)),
        Err(TrySendError::Full(value)) if patience.is_over() => Err(SendTimeoutError::Timeout(value)),
        Err(TrySendError::Full(_)) => stopped.refuse("wait"),
    }
}

fn send_waiting<T>(
    chan: &Chan<T, Waiter>,
    caller: Caller,
    state: LockedChan<'_, T>,
    value: ManuallyDrop<T>,
    patience: Patience,
) -> Result<(), SendTimeoutError<T>> {
    let Some(limit) = patience.limit() else {
        let [] = caller.conclude(state, []);
        return Err(SendTimeoutError::Timeout(ManuallyDrop::into_inner(value)));
    };
    let ticket = Ticket::new();
    let slot = core::ptr::from_ref(&*value).cast_mut();
    let node = Sudog::new(&ticket, FIRST_OUTCOME, slot.cast());
    match wait_queued(chan, caller, state, Side::Send, limit, &ticket, &node) {
        WaitEnd::Met => match node.verdict() {
            Verdict::Done => Ok(()),
            _ => Err(SendTimeoutError::Disconnected(ManuallyDrop::into_inner(value))),
        },
        WaitEnd::Late => Err(SendTimeoutError::Timeout(ManuallyDrop::into_inner(value))),
    }
}

/// Sends if that takes no waiting.
#[inline]
pub(super) fn try_send<T>(chan: &Chan<T, Waiter>, value: T) -> Result<(), TrySendError<T>> {
    let value = ManuallyDrop::new(value);
    loop {
        let mut visitor = Visitor::enter();
        let mut state = chan.lock();
        // SAFETY: the value is not used again if it was moved.
        match unsafe { state.send(&*value) } {
            Sent::Handed(waiter) => {
                let [waker] = visitor.conclude(state, [Some(waiter)]);
                call(waker);
                return Ok(());
            }
            Sent::Buffered => {
                tell_watchers(&mut state, &mut visitor);
                let [] = visitor.conclude(state, []);
                return Ok(());
            }
            Sent::Full => {
                let [] = visitor.conclude(state, []);
                return Err(TrySendError::Full(ManuallyDrop::into_inner(value)));
            }
            Sent::Closed => {
                let [] = visitor.conclude(state, []);
                return Err(TrySendError::Disconnected(ManuallyDrop::into_inner(value)));
            }
            Sent::NoRoom(no_room) => {
                let [] = visitor.conclude(state, []);
                supply(chan, no_room);
            }
        }
    }
}

/// Receives, waiting for a value if need be. `Timeout` means the end of patience, by time or by the
/// context.
#[inline]
pub(super) fn recv<T>(chan: &Chan<T, Waiter>, patience: Patience) -> Result<T, RecvTimeoutError> {
    let caller = match Caller::enter_moving() {
        Ok(caller) => caller,
        Err(stopped) => return recv_at_once(stopped, patience, || try_recv(chan)),
    };
    let mut slot = MaybeUninit::uninit();
    let mut state = chan.lock();
    // SAFETY: the slot is read if it was written.
    if unsafe { state.recv_simply(slot.as_mut_ptr()) } {
        let [] = caller.conclude(state, []);
        // SAFETY: written.
        return Ok(unsafe { slot.assume_init() });
    }
    recv_meeting(chan, caller, state, patience)
}

/// Receives in a stopped world: by `try_recv`, or not at all.
#[cold]
pub(super) fn recv_at_once<T>(
    stopped: StoppedWorld,
    patience: Patience,
    try_recv: impl FnOnce() -> Result<T, TryRecvError>,
) -> Result<T, RecvTimeoutError> {
    match try_recv() {
        Ok(value) => Ok(value),
        Err(TryRecvError::Disconnected) => Err(RecvTimeoutError::Disconnected),
        Err(TryRecvError::Empty) if patience.is_over() => Err(RecvTimeoutError::Timeout),
        Err(TryRecvError::Empty) => stopped.refuse("wait"),
    }
}

/// Receives where somebody waits or watches, or there is nothing.
#[inline(never)]
fn recv_meeting<T>(
    chan: &Chan<T, Waiter>,
    caller: Caller,
    mut state: LockedChan<'_, T>,
    patience: Patience,
) -> Result<T, RecvTimeoutError> {
    let mut slot = MaybeUninit::uninit();
    // SAFETY: the slot is read if it was written.
    match unsafe { state.recv(slot.as_mut_ptr(), Offers::Accept) } {
        Received::Taken(waiter) => {
            let waker = conclude(caller, state, waiter);
            // SAFETY: taken.
            Ok(call_for(chan, waker, unsafe { slot.assume_init() }))
        }
        Received::Closed => {
            let [] = caller.conclude(state, []);
            Err(RecvTimeoutError::Disconnected)
        }
        Received::Empty | Received::Offer => recv_waiting(chan, caller, state, patience),
        Received::Offered(sender, waiter) => {
            let patience = patience.begun();
            match recv_offered(caller, state, sender, waiter) {
                Some(value) => Ok(value),
                None => recv(chan, patience),
            }
        }
    }
}

fn recv_waiting<T>(
    chan: &Chan<T, Waiter>,
    caller: Caller,
    state: LockedChan<'_, T>,
    patience: Patience,
) -> Result<T, RecvTimeoutError> {
    let Some(limit) = patience.limit() else {
        let [] = caller.conclude(state, []);
        return Err(RecvTimeoutError::Timeout);
    };
    let ticket = Ticket::new();
    let mut slot = MaybeUninit::<T>::uninit();
    let node = Sudog::new(&ticket, FIRST_OUTCOME, slot.as_mut_ptr().cast());
    match wait_queued(chan, caller, state, Side::Recv, limit, &ticket, &node) {
        WaitEnd::Met => match node.verdict() {
            // SAFETY: done, so a value was moved into the slot.
            Verdict::Done => Ok(unsafe { slot.assume_init() }),
            Verdict::Again => recv(chan, Patience::of(limit)),
            _ => Err(RecvTimeoutError::Disconnected),
        },
        WaitEnd::Late => Err(RecvTimeoutError::Timeout),
    }
}

/// Waits for the value of a `select` that was claimed and computes it now. `None`: it did not
/// complete the send.
#[cold]
fn recv_offered<T>(
    mut caller: Caller,
    mut state: LockedChan<'_, T>,
    sender: core::ptr::NonNull<Sudog<Waiter>>,
    waiter: Waiter,
) -> Option<T> {
    let ticket = Ticket::new();
    let mut slot = MaybeUninit::<T>::uninit();
    let node = Sudog::new(&ticket, FIRST_OUTCOME, slot.as_mut_ptr().cast());
    // SAFETY: from `Offered`; the node is in this frame until the delivery.
    unsafe { state.bind(sender, &node) };
    // The sender needs the lock to deliver, so it does not deliver before this waits. It is no
    // async task.
    let _ = caller.wake(waiter);
    caller.wait(WaitReason::ChanReceive, |waiter| {
        ticket.put(waiter);
        drop(state);
    });
    // SAFETY: done, so a value was moved into the slot.
    matches!(node.verdict(), Verdict::Done).then(|| unsafe { slot.assume_init() })
}

/// Receives if that is possible without waiting.
#[inline]
pub(super) fn try_recv<T>(chan: &Chan<T, Waiter>) -> Result<T, TryRecvError> {
    let mut slot = MaybeUninit::uninit();
    let visitor = Visitor::enter();
    let mut state = chan.lock();
    // SAFETY: the slot is read if it was written.
    match unsafe { state.recv(slot.as_mut_ptr(), Offers::Decline) } {
        Received::Taken(waiter) => {
            let waker = conclude(visitor, state, waiter);
            // SAFETY: taken.
            Ok(call_for(chan, waker, unsafe { slot.assume_init() }))
        }
        Received::Empty | Received::Offered(..) => Err(TryRecvError::Empty),
        Received::Closed => Err(TryRecvError::Disconnected),
        Received::Offer => {
            let [] = visitor.conclude(state, []);
            match MayWait::ask() {
                Ok(_) => try_recv_offered(chan),
                // The sender is stopped, and can't compute its value.
                Err(_stopped) => Err(TryRecvError::Empty),
            }
        }
    }
}

/// As [`try_recv`], where the only sender is a `select` that will compute its value when it is
/// chosen. This call must not move the goroutine, so it blocks the thread for that short time, and
/// the goroutine's P goes to the sender.
#[cold]
fn try_recv_offered<T>(chan: &Chan<T, Waiter>) -> Result<T, TryRecvError> {
    let parker = ThreadParker::current();
    let mut slot = MaybeUninit::<T>::uninit();
    let mut visitor = Visitor::enter();
    let mut state = chan.lock();
    // SAFETY: the slot is read if it was written.
    match unsafe { state.recv(slot.as_mut_ptr(), Offers::Accept) } {
        Received::Taken(waiter) => {
            let waker = conclude(visitor, state, waiter);
            // SAFETY: taken.
            Ok(call_for(chan, waker, unsafe { slot.assume_init() }))
        }
        Received::Empty | Received::Offer => Err(TryRecvError::Empty),
        Received::Closed => Err(TryRecvError::Disconnected),
        Received::Offered(sender, waiter) => {
            let ticket = Ticket::new();
            let node = Sudog::new(&ticket, FIRST_OUTCOME, slot.as_mut_ptr().cast());
            ticket.put(Waiter::Thread(parker.clone()));
            // SAFETY: from `Offered`; the node is in this frame until the delivery.
            unsafe { state.bind(sender, &node) };
            drop(state);
            let _ = visitor.wake(waiter);
            visitor.block(&parker);
            match node.verdict() {
                // SAFETY: done, so a value was moved into the slot.
                Verdict::Done => Ok(unsafe { slot.assume_init() }),
                _ => Err(TryRecvError::Empty),
            }
        }
    }
}

/// Puts back a value that was handed to a receiver that did not take it: the next one gets it.
#[cold]
pub(super) fn put_back<T>(chan: &Chan<T, Waiter>, value: T) {
    let value = ManuallyDrop::new(value);
    loop {
        let visitor = Visitor::enter();
        let mut state = chan.lock();
        // SAFETY: the value is not used again if it was moved.
        match unsafe { state.put_back(&*value) } {
            Ok(waiter) => return call(conclude(visitor, state, waiter)),
            Err(no_room) => {
                let [] = visitor.conclude(state, []);
                supply(chan, no_room);
            }
        }
    }
}

/// How many waiters a close wakes at a time, so that the lock is held for a short time only.
const BATCH: usize = 16;

/// Closes the channel and wakes all waiters, even if a waker panics. Returns whether it was open.
pub(super) fn close<T>(chan: &Chan<T, Waiter>) -> bool {
    let mut was_open = false;
    let mut wakings = InTurn::new();
    loop {
        let mut waiters = [const { None::<Waiter> }; BATCH];
        let visitor = Visitor::enter();
        let mut state = chan.lock();
        was_open |= state.close();
        for place in &mut waiters {
            *place = state.end_one();
        }
        let more = waiters.last().is_some_and(Option::is_some);
        for waker in visitor.conclude(state, waiters).into_iter().flatten() {
            wakings.call(|| waker.wake());
        }
        if !more {
            wakings.finish();
            return was_open;
        }
    }
}

/// Drops the values that nobody will receive.
pub(super) fn discard<T>(chan: &Chan<T, Waiter>) {
    let visitor = Visitor::enter();
    let values = chan.lock().take_values();
    drop(visitor);
    drop(values);
}

/// Calls `f` with the channel's state.
pub(super) fn look<T, R>(chan: &Chan<T, Waiter>, f: impl FnOnce(&ChanState<T, Waiter>) -> R) -> R {
    let _visitor = Visitor::enter();
    f(&chan.lock())
}
