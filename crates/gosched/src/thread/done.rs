//! What a join handle stores beside its goroutine, in one word: the channel that is closed when the
//! goroutine ends, if anybody has asked for one; or that the result was taken.
//!
//! Invariants: the word changes from NONE to a channel once, by compare-and-swap, and owns a count
//! of the channel. Only a caller with exclusive access to the handle changes it to TAKEN.
#![allow(unsafe_code)]

use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::{null_mut, without_provenance_mut};
use core::sync::atomic::{AtomicPtr, Ordering};
use std::sync::Arc;

use crate::chan::timer::TimerChan;

const NONE: *mut TimerChan = null_mut();
const TAKEN: *mut TimerChan = without_provenance_mut(1);

pub(super) struct Done(AtomicPtr<TimerChan>);

impl UnwindSafe for Done {}
impl RefUnwindSafe for Done {}

/// Whether this call has made the channel: then the caller must see to it that it will be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum ChanMade {
    Now,
    Before,
}

impl Done {
    pub(super) const fn new() -> Done {
        Done(AtomicPtr::new(NONE))
    }

    pub(super) fn is_taken(&self) -> bool {
        self.0.load(Ordering::Relaxed) == TAKEN
    }

    /// Whether there is a channel.
    pub(super) fn is_made(&self) -> bool {
        !matches!(self.0.load(Ordering::Relaxed), NONE | TAKEN)
    }

    /// The channel, if there is one.
    pub(super) fn get(&self) -> Option<Arc<TimerChan>> {
        // ORDERING: Acquire pairs with the Release in `get_or_make`: the channel's contents are
        // visible.
        let chan = self.0.load(Ordering::Acquire);
        if matches!(chan, NONE | TAKEN) {
            return None;
        }
        // SAFETY: the word owns a count, and keeps it as long as the handle is shared.
        unsafe {
            Arc::increment_strong_count(chan);
            Some(Arc::from_raw(chan))
        }
    }

    /// The channel, made if there is none. After the result was taken it is a new one each time.
    pub(super) fn get_or_make(&self) -> (Arc<TimerChan>, ChanMade) {
        if let Some(chan) = self.get() {
            return (chan, ChanMade::Before);
        }
        let chan = TimerChan::signal(None);
        let word = Arc::into_raw(Arc::clone(&chan)).cast_mut();
        // ORDERING: Release pairs with the Acquire in `get`; so does the Acquire of a failure.
        match self.0.compare_exchange(NONE, word, Ordering::Release, Ordering::Acquire) {
            Ok(_) => (chan, ChanMade::Now),
            Err(found) => {
                // SAFETY: made above, and nobody has seen it.
                drop(unsafe { Arc::from_raw(word) });
                if found == TAKEN { (chan, ChanMade::Now) } else { self.get_or_make() }
            }
        }
    }

    /// The result is taken.
    pub(super) fn take(&mut self) {
        drop(core::mem::replace(self, Done(AtomicPtr::new(TAKEN))));
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        let chan = *self.0.get_mut();
        if !matches!(chan, NONE | TAKEN) {
            // SAFETY: the word's own count, which goes with it.
            drop(unsafe { Arc::from_raw(chan) });
        }
    }
}
