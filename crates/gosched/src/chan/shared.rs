//! A channel shared by its senders and receivers: how they are counted, and what the last one does.
//!
//! Invariants: the side that goes second frees the memory. The last handle of a side closes the
//! channel first, and the last receiver drops the values that nobody will receive; user code runs
//! outside the runtime only.
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gosched_chan::Chan;

use super::ops;
use crate::g::waiter::Waiter;
use crate::panics::InTurn;

/// A process can't have more handles than this, unless it forgets them.
const MOST: usize = isize::MAX as usize;

pub(super) struct SharedChan<T> {
    chan: Chan<T, Waiter>,
    capacity: Option<usize>,
    senders: AtomicUsize,
    receivers: AtomicUsize,
    /// One side has no handles any more, or never had any; the other side frees the memory.
    half_gone: AtomicBool,
    gone: Option<ReceiversGone>,
}

/// Who is told when nobody will receive any more: after the last receiver is gone, or after one has
/// closed the channel. May be told twice.
#[derive(Clone, Copy)]
pub(crate) struct ReceiversGone {
    /// Gets `number`. Called outside the runtime, without any lock.
    pub(crate) tell: fn(u64),
    pub(crate) number: u64,
}

/// Which side a handle belongs to.
pub(super) trait HandleSide {
    fn count<T>(counted: &SharedChan<T>) -> &AtomicUsize;
    /// What the last handle of this side does.
    fn last<T>(shared: &SharedChan<T>);
}

pub(super) enum SendingSide {}
pub(super) enum ReceivingSide {}

impl HandleSide for SendingSide {
    fn count<T>(counted: &SharedChan<T>) -> &AtomicUsize {
        &counted.senders
    }

    fn last<T>(shared: &SharedChan<T>) {
        ops::close(&shared.chan);
    }
}

impl HandleSide for ReceivingSide {
    fn count<T>(counted: &SharedChan<T>) -> &AtomicUsize {
        &counted.receivers
    }

    fn last<T>(shared: &SharedChan<T>) {
        let mut steps = InTurn::new();
        steps.call(|| {
            ops::close(&shared.chan);
        });
        steps.call(|| shared.tell_gone());
        steps.call(|| ops::discard(&shared.chan));
        steps.finish();
    }
}

/// A pointer to a channel, which the counted [`Handle`]s keep alive.
struct ChanPtr<T>(NonNull<SharedChan<T>>);

/// A handle of one side.
pub(super) struct Handle<T, E: HandleSide> {
    shared: ChanPtr<T>,
    end: PhantomData<E>,
}

// SAFETY: the channel moves values between threads (`Send`), and gives out no references to them.
unsafe impl<T: Send, E: HandleSide> Send for Handle<T, E> {}
// SAFETY: as above.
unsafe impl<T: Send, E: HandleSide> Sync for Handle<T, E> {}

/// A channel with one sender and one receiver. `None`: unbounded.
pub(super) fn new<T>(
    capacity: Option<usize>,
    gone: Option<ReceiversGone>,
) -> (Handle<T, SendingSide>, Handle<T, ReceivingSide>) {
    let counted = make(capacity, 1, gone);
    (Handle::new(ChanPtr(counted)), Handle::new(ChanPtr(counted)))
}

/// An open channel without a buffer that has a sender, and never has a receiver.
pub(super) fn new_without_receiver<T>() -> Handle<T, SendingSide> {
    Handle::new(ChanPtr(make(Some(0), 0, None)))
}

/// The memory of a channel with one sender and so many receivers.
fn make<T>(capacity: Option<usize>, receivers: usize, gone: Option<ReceiversGone>) -> NonNull<SharedChan<T>> {
    let chan = capacity.map_or_else(Chan::unbounded, Chan::bounded);
    NonNull::from(Box::leak(Box::new(SharedChan {
        chan,
        capacity,
        senders: AtomicUsize::new(1),
        receivers: AtomicUsize::new(receivers),
        half_gone: AtomicBool::new(receivers == 0),
        gone,
    })))
}

impl<T> SharedChan<T> {
    fn tell_gone(&self) {
        if let Some(gone) = self.gone {
            (gone.tell)(gone.number);
        }
    }
}

impl<T> ChanPtr<T> {
    #[inline]
    fn counted(&self) -> &SharedChan<T> {
        // SAFETY: a handle that is counted keeps the memory.
        unsafe { self.0.as_ref() }
    }
}

impl<T, E: HandleSide> Handle<T, E> {
    fn new(shared: ChanPtr<T>) -> Handle<T, E> {
        Handle { shared, end: PhantomData }
    }

    pub(super) fn capacity(&self) -> Option<usize> {
        self.shared.counted().capacity
    }

    /// Whether the other side has no handles, and will have none: its channel is closed, unless it
    /// was made without them.
    pub(super) fn is_alone(&self) -> bool {
        self.shared.counted().half_gone.load(Ordering::Relaxed)
    }

    pub(super) fn is(&self, other: &Handle<T, E>) -> bool {
        self.shared.0 == other.shared.0
    }
}

impl<T> Handle<T, ReceivingSide> {
    /// Closes the channel for everyone. Returns whether it was open.
    pub(super) fn close_by_receiver(&self) -> bool {
        let was_open = ops::close(self);
        if was_open {
            self.shared.counted().tell_gone();
        }
        was_open
    }
}

impl<T, E: HandleSide> Clone for Handle<T, E> {
    fn clone(&self) -> Handle<T, E> {
        if E::count(self.shared.counted()).fetch_add(1, Ordering::Relaxed) > MOST {
            std::process::abort();
        }
        Handle::new(ChanPtr(self.shared.0))
    }
}

impl<T, E: HandleSide> Drop for Handle<T, E> {
    fn drop(&mut self) {
        // ORDERING: AcqRel pairs with itself in the other handles of this side: the last one sees
        // all that they have done.
        if E::count(self.shared.counted()).fetch_sub(1, Ordering::AcqRel) == 1 {
            let free = FreeSecond(self.shared.0);
            E::last(self.shared.counted());
            drop(free);
        }
    }
}

/// Frees the memory if this side is the second one to go, even if a destructor has panicked.
struct FreeSecond<T>(NonNull<SharedChan<T>>);

impl<T> Drop for FreeSecond<T> {
    fn drop(&mut self) {
        // ORDERING: AcqRel pairs with itself on the other side: the second one sees all that the
        // first one has done.
        // SAFETY: not freed yet: the second side frees it, after this.
        if unsafe { self.0.as_ref() }.half_gone.swap(true, Ordering::AcqRel) {
            // SAFETY: nobody else has a handle.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

impl<T, E: HandleSide> Deref for Handle<T, E> {
    type Target = Chan<T, Waiter>;

    #[inline]
    fn deref(&self) -> &Chan<T, Waiter> {
        &self.shared.counted().chan
    }
}
