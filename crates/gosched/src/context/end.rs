//! Whether a context has ended, and why: one word.
//!
//! Invariants:
//! - the word changes once, by compare-and-swap, from LIVE to what ended the context. So error and
//!   cause are set together, and nobody sees one without the other;
//! - a word that points to a [`Cause`] owns a count of it, until the word is dropped. Cloning an
//!   [`EndReason`] adds a count and frees nothing, so it may be done under a lock. The cause is the
//!   user's, and is dropped outside the runtime only.
#![allow(unsafe_code)]

use core::error::Error;
use core::ptr::{null_mut, without_provenance_mut};
use core::sync::atomic::{AtomicPtr, Ordering};
use std::sync::Arc;

use super::ContextError;

const LIVE: *mut Cause = null_mut();
const CANCELLED: *mut Cause = without_provenance_mut(1);
const EXCEEDED: *mut Cause = without_provenance_mut(2);

/// What the user gave as the reason for cancelling. In an `Arc` of its own, so that a pointer to it
/// is one word.
pub(super) struct Cause(Arc<dyn Error + Send + Sync>);

/// Why a context ends.
#[derive(Clone)]
pub(super) enum EndReason {
    Cancelled(Option<Arc<Cause>>),
    DeadlineExceeded,
}

impl EndReason {
    pub(super) fn cancelled_with(cause: Box<dyn Error + Send + Sync>) -> EndReason {
        EndReason::Cancelled(Some(Arc::new(Cause(Arc::from(cause)))))
    }

    pub(super) fn error(&self) -> ContextError {
        match self {
            EndReason::Cancelled(_) => ContextError::Cancelled,
            EndReason::DeadlineExceeded => ContextError::DeadlineExceeded,
        }
    }

    /// The user's cause, else the error itself.
    pub(super) fn cause(&self) -> Arc<dyn Error + Send + Sync> {
        match self {
            EndReason::Cancelled(Some(cause)) => Arc::clone(&cause.0),
            EndReason::Cancelled(None) | EndReason::DeadlineExceeded => Arc::new(self.error()),
        }
    }

    fn into_word(self) -> *mut Cause {
        match self {
            EndReason::Cancelled(Some(cause)) => Arc::into_raw(cause).cast_mut(),
            EndReason::Cancelled(None) => CANCELLED,
            EndReason::DeadlineExceeded => EXCEEDED,
        }
    }

    /// # Safety
    /// The word came from `into_word`, and the caller gives up a count that it owns.
    unsafe fn from_word(word: *mut Cause) -> Option<EndReason> {
        match word {
            LIVE => None,
            CANCELLED => Some(EndReason::Cancelled(None)),
            EXCEEDED => Some(EndReason::DeadlineExceeded),
            // SAFETY: by contract.
            cause => Some(EndReason::Cancelled(Some(unsafe { Arc::from_raw(cause) }))),
        }
    }
}

/// The word.
pub(super) struct EndWord(AtomicPtr<Cause>);

impl EndWord {
    pub(super) const fn new() -> EndWord {
        EndWord(AtomicPtr::new(LIVE))
    }

    /// Ends it, unless it has ended; returns whether this call has. Frees nothing.
    pub(super) fn win(&self, why: &EndReason) -> bool {
        let word = why.clone().into_word();
        // ORDERING: Release pairs with the Acquire in `error` and `why`.
        let won = self.0.compare_exchange(LIVE, word, Ordering::Release, Ordering::Relaxed).is_ok();
        if !won {
            // SAFETY: made above, and nobody else has it. Not the last count: `why` has one.
            drop(unsafe { EndReason::from_word(word) });
        }
        won
    }

    /// Why it has ended, as far as is known.
    pub(super) fn error(&self) -> Option<ContextError> {
        // ORDERING: Acquire pairs with the Release in `win`: what was done before the end is
        // visible.
        match self.0.load(Ordering::Acquire) {
            LIVE => None,
            EXCEEDED => Some(ContextError::DeadlineExceeded),
            _ => Some(ContextError::Cancelled),
        }
    }

    /// As [`error`](EndWord::error), with the cause.
    pub(super) fn why(&self) -> Option<EndReason> {
        // ORDERING: as in `error`.
        let word = self.0.load(Ordering::Acquire);
        if !matches!(word, LIVE | CANCELLED | EXCEEDED) {
            // SAFETY: the word owns a count, and keeps it: a word that is not LIVE does not change.
            unsafe { Arc::increment_strong_count(word.cast_const()) };
        }
        // SAFETY: a count was added for it just now, if it needs one.
        unsafe { EndReason::from_word(word) }
    }
}

impl Drop for EndWord {
    fn drop(&mut self) {
        // SAFETY: the word's own count, which goes with it.
        drop(unsafe { EndReason::from_word(*self.0.get_mut()) });
    }
}
