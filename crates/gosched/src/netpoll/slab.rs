//! The states of descriptors: type-stable and never freed. A late report finds a state, whose
//! generation rejects it.
//!
//! They lie in chunks, each twice as large as the one before, so that a place never moves and is
//! found by its number alone. `source/places.rs` knows which are in use.

use core::sync::atomic::{AtomicPtr, Ordering};

use gosched_primitives::Readiness;

use crate::fatal::fatal;
use crate::g::waiter::Waiter;

/// Places in the first chunk.
pub(crate) const FIRST: usize = 64;
/// Together they have almost 2^30 places. A process that registers more descriptors ends.
pub(crate) const CHUNKS: usize = 24;

pub(crate) type SourceState = Readiness<Waiter>;

static BASES: [AtomicPtr<SourceState>; CHUNKS] = [const { AtomicPtr::new(core::ptr::null_mut()) }; CHUNKS];

/// The number of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlaceNumber(pub(crate) u32);

/// Marks the numbers that name a registration, so that none of them is 0.
const REGISTERED: u64 = 1 << 31;

impl PlaceNumber {
    /// The number by which epoll knows the current use of this place. Never 0.
    pub(crate) fn registration(self) -> u64 {
        u64::from(self.state().generation()) << 32 | REGISTERED | u64::from(self.0)
    }

    /// The place that a registration names.
    pub(crate) fn of(registration: u64) -> PlaceNumber {
        PlaceNumber((registration & (REGISTERED - 1)) as u32)
    }

    pub(crate) fn state(self) -> &'static SourceState {
        let at = self.0 as usize + FIRST;
        // The chunk's number is that of the highest bit; the rest is the place in it.
        let chunk = (at / FIRST).ilog2() as usize;
        let offset = at - (FIRST << chunk);
        // ORDERING: Acquire pairs with the Release in `publish`: a chunk that is seen is
        // initialised.
        let base = BASES[chunk].load(Ordering::Acquire);
        if base.is_null() {
            fatal!("netpoll: place {} was never made", self.0);
        }
        // SAFETY: chunk `chunk` has FIRST << chunk places, and `offset` is below that; chunks are
        // never freed.
        unsafe { &*base.add(offset) }
    }
}

/// Adds chunk number `number`, for ever. Called once for each number, under the lock of
/// `source/places.rs`.
pub(crate) fn publish(number: usize, chunk: Box<[SourceState]>) {
    debug_assert_eq!(chunk.len(), FIRST << number);
    // ORDERING: Release pairs with `state`.
    BASES[number].store(Box::leak(chunk).as_mut_ptr(), Ordering::Release);
}

/// The state that a report is about, and the generation that it names.
pub(crate) fn find(registration: u64) -> (&'static SourceState, u32) {
    (PlaceNumber::of(registration).state(), (registration >> 32) as u32)
}
