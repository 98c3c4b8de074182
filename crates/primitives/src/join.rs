//! One word on which a task that ends and the handle that wants its result agree who owns what.
//!
//! Two parties: the *task* (a goroutine that will end) and the *handle* (at most one; may wait,
//! poll or be dropped). The result and the header (the task's memory) each have one owner at any
//! time:
//!
//! | word | result | header | written by |
//! |---|---|---|---|
//! | `ALIVE` | not there yet | task | start |
//! | a waiter | not there yet | task | handle, which waits |
//! | `DETACHED` | the task drops it | task frees it | handle, dropped early |
//! | an orphan | the task drops it | task frees it | handle, dropped early; its boxed waiter is to be woken all the same |
//! | `DONE` | handle | handle frees it | task, its last step |
//! | `FINISHING` | handle | task: it still runs the waiter's wake-up | task |
//! | `JOINED` | taken | task frees it | handle, which came during `FINISHING` |
//!
//! A *peer* waiter is woken without running foreign code, so the task's last step goes straight to
//! `DONE`. A *boxed* waiter (foreign thread, async waker) is woken by code that must still run as
//! the task; therefore the task first writes `FINISHING`, and then `DONE`, unless the handle came
//! first (`JOINED`).

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::sync::{AtomicUsize, Ordering};

const ALIVE: usize = 0;
const DETACHED: usize = 1;
const DONE: usize = 2;
const FINISHING: usize = 3;
const JOINED: usize = 4;

// A waiter's address with a tag in its low bits; states stay below 8.
const TAGS: usize = 0xf;
const PEER: usize = 8;
const BOXED: usize = 9;
/// As `BOXED`, and the handle is gone.
const ORPHAN: usize = 10;

/// A waiter. Addresses are multiples of 16.
#[derive(Debug, PartialEq, Eq)]
pub enum JoinWaiter<A, B> {
    /// A waiter that can be woken without running foreign code.
    Peer(NonNull<A>),
    /// A waiter that is described on the heap; the pointer owns it.
    Boxed(NonNull<B>),
}

impl<A, B> JoinWaiter<A, B> {
    fn to_word(&self) -> usize {
        let (address, tag) = match self {
            JoinWaiter::Peer(p) => (p.as_ptr().expose_provenance(), PEER),
            JoinWaiter::Boxed(p) => (p.as_ptr().expose_provenance(), BOXED),
        };
        assert!(address & TAGS == 0, "a join waiter must be aligned to 16 bytes");
        address | tag
    }

    fn from_word(word: usize) -> Option<JoinWaiter<A, B>> {
        let address = word & !TAGS;
        match word & TAGS {
            PEER => NonNull::new(core::ptr::with_exposed_provenance_mut(address)).map(JoinWaiter::Peer),
            BOXED => NonNull::new(core::ptr::with_exposed_provenance_mut(address)).map(JoinWaiter::Boxed),
            _ => None,
        }
    }
}

/// The task's end, as the task sees it.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Finish<A, B> {
    /// Result and header are the handle's. The task touches neither again.
    Done,
    /// As `Done`, and this waiter has to be woken.
    WakePeer(NonNull<A>),
    /// The result is the handle's; wake this waiter, then call [`JoinWord::finish_waking`].
    WakeBoxed(NonNull<B>),
    /// Nobody wants the result: drop it, wake the [`orphan`](JoinWord::orphan) if there is one,
    /// then free the header.
    Detached,
}

/// Who frees the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an unowned header leaks"]
pub enum Header {
    /// The caller.
    Yours,
    /// The other side.
    Theirs,
}

/// What became of a handle's wish to wait.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Registered<A, B> {
    /// It waits; the waiter that was there before, if any, is the caller's again.
    Waiting(Option<JoinWaiter<A, B>>),
    /// The result is there.
    Finished,
}

/// What a dropped handle has to do.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Detach<A, B> {
    /// Free the waiter that was registered, if there is one; the task does the rest.
    Left(Option<JoinWaiter<A, B>>),
    /// The result is there: drop it, then call [`JoinWord::release`].
    Collect,
}

/// The word. `A` is a peer, `B` what is boxed.
pub struct JoinWord<A, B> {
    word: AtomicUsize,
    waiter: PhantomData<(*mut A, *mut B)>,
}

// SAFETY: the word only carries the pointers from one side to the other; what they point at is
// shared (A) or handed over (B) by the callers, as the bounds ask.
unsafe impl<A: Sync, B: Send> Sync for JoinWord<A, B> {}
// SAFETY: as above.
unsafe impl<A: Sync, B: Send> Send for JoinWord<A, B> {}

impl<A, B> fmt::Debug for JoinWord<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JoinWord").field(&self.word).finish()
    }
}

impl<A, B> JoinWord<A, B> {
    crate::sync::const_fn! {
        /// A task that has not ended, with a handle.
        pub const fn new() -> JoinWord<A, B> {
            JoinWord { word: AtomicUsize::new(ALIVE), waiter: PhantomData }
        }
    }

    /// Makes the word ready for another task. Both sides of the last one must be done with it.
    #[inline]
    pub fn reset(&self) {
        self.word.store(ALIVE, Ordering::Relaxed);
    }

    /// Whether the result is there (and the handle's).
    #[inline]
    pub fn is_finished(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `finish`: the result is seen.
        matches!(self.word.load(Ordering::Acquire), DONE | FINISHING)
    }

    /// Whether the handle is gone. Once true, always true: the result is the task's to drop.
    #[inline]
    pub fn is_detached(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `detach` and `abandon`: what the handle's
        // owner did is seen.
        matches!(self.word.load(Ordering::Acquire) & TAGS, DETACHED | ORPHAN)
    }

    /// Task, after [`Finish::Detached`]: the waiter that has to be woken although the handle is
    /// gone. The task owns it.
    pub fn orphan(&self) -> Option<NonNull<B>> {
        // ORDERING: Acquire pairs with the Release of `abandon`.
        let word = self.word.load(Ordering::Acquire);
        if word & TAGS != ORPHAN {
            return None;
        }
        NonNull::new(core::ptr::with_exposed_provenance_mut(word & !TAGS))
    }

    /// Task: the result is written; who gets it?
    #[inline]
    pub fn finish(&self) -> Finish<A, B> {
        let mut found = ALIVE;
        loop {
            let next = match found & TAGS {
                DETACHED | ORPHAN => return Finish::Detached,
                BOXED => FINISHING,
                _ => DONE,
            };
            // ORDERING: Release publishes the result to `is_finished` and `register`; Acquire
            // receives the waiter that `register` published, or what the handle's owner did before
            // `detach` or `abandon`.
            match self.word.compare_exchange(found, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => found = now,
            }
        }
        match JoinWaiter::from_word(found) {
            None => Finish::Done,
            Some(JoinWaiter::Peer(p)) => Finish::WakePeer(p),
            Some(JoinWaiter::Boxed(b)) => Finish::WakeBoxed(b),
        }
    }

    /// Task: the boxed waiter has been woken.
    pub fn finish_waking(&self) -> Header {
        // ORDERING: Release lets the handle free the header after all that the task did with it;
        // Acquire pairs with `release`, after which the header is the task's alone.
        match self.word.compare_exchange(FINISHING, DONE, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Header::Theirs,
            Err(_) => Header::Yours,
        }
    }

    /// Handle: registers a waiter for the end, in place of the one that it registered before.
    pub fn register(&self, waiter: &JoinWaiter<A, B>) -> Registered<A, B> {
        let next = waiter.to_word();
        let mut found = self.word.load(Ordering::Relaxed);
        loop {
            if matches!(found, DONE | FINISHING) {
                // ORDERING: Acquire pairs with the Release of `finish`: the result is seen.
                crate::sync::fence(Ordering::Acquire);
                return Registered::Finished;
            }
            // ORDERING: Release publishes the waiter to `finish`; Acquire gives an earlier one back
            // whole.
            match self.word.compare_exchange(found, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Registered::Waiting(JoinWaiter::from_word(found)),
                Err(now) => found = now,
            }
        }
    }

    /// Handle: goes away without having taken the result.
    pub fn detach(&self) -> Detach<A, B> {
        let mut found = ALIVE;
        loop {
            if matches!(found, DONE | FINISHING) {
                return Detach::Collect;
            }
            // ORDERING: Release pairs with the Acquire of `finish`: what the handle's owner did
            // comes before the task's cleaning up. Acquire pairs with the Release of `finish`: the
            // result is seen, if there is one.
            match self.word.compare_exchange(found, DETACHED, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Detach::Left(JoinWaiter::from_word(found)),
                Err(now) => found = now,
            }
        }
    }

    /// As [`detach`](JoinWord::detach), but a boxed waiter that was registered stays, and belongs
    /// to the task, which wakes it at the end ([`orphan`](JoinWord::orphan)).
    pub fn abandon(&self) -> Detach<A, B> {
        let mut found = self.word.load(Ordering::Relaxed);
        loop {
            if found & TAGS != BOXED {
                return self.detach();
            }
            // ORDERING: as in `detach`.
            match self.word.compare_exchange(
                found,
                (found & !TAGS) | ORPHAN,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Detach::Left(None),
                Err(now) => found = now,
            }
        }
    }

    /// Handle: has taken or dropped the result; who frees the header?
    #[inline]
    pub fn release(&self) -> Header {
        // ORDERING: Acquire pairs with the Release of `finish` or `finish_waking`: the task is done
        // with the header.
        if self.word.load(Ordering::Acquire) == DONE {
            return Header::Yours;
        }
        // ORDERING: Release hands the header to the task; Acquire as above.
        match self.word.compare_exchange(FINISHING, JOINED, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Header::Theirs,
            Err(_) => Header::Yours,
        }
    }
}
