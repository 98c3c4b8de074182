//! The states of descriptors: type-stable and never freed, so that a late report finds a state, and its generation tells it
//! off.
//!
//! They lie in chunks, each as large as all before it together, so that a place never moves and is found by its number
//! alone. Places that are not in use are kept in a list of numbers.
//!
//! Invariant: a place belongs to whoever took its number out of `FREE`, until it is put back.

use core::sync::atomic::{AtomicPtr, Ordering};

use gosched_primitives::{Lock, Readiness};

use crate::fatal::fatal;
use crate::g::waiter::Waiter;
use crate::sched::Visitor;

/// Places in the first chunk.
const FIRST: usize = 64;
/// More chunks than any process has descriptors for.
const CHUNKS: usize = 24;

type SourceState = Readiness<Waiter>;

static BASES: [AtomicPtr<SourceState>; CHUNKS] = [const { AtomicPtr::new(core::ptr::null_mut()) }; CHUNKS];
static FREE: Lock<FreePlaces> = Lock::new(FreePlaces { places: Vec::new(), chunks: 0 });

struct FreePlaces {
    places: Vec<PlaceNumber>,
    chunks: usize,
}

/// The number of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlaceNumber(u32);

/// Marks the numbers that name a registration, so that none of them is 0.
const REGISTERED: u64 = 1 << 31;

impl PlaceNumber {
    /// The number under which epoll knows the present use of this place. Never 0.
    pub(super) fn registration(self) -> u64 {
        u64::from(self.state().generation()) << 32 | REGISTERED | u64::from(self.0)
    }

    /// The place that a registration names.
    pub(super) fn of(registration: u64) -> PlaceNumber {
        PlaceNumber((registration & (REGISTERED - 1)) as u32)
    }

    pub(super) fn state(self) -> &'static SourceState {
        let at = self.0 as usize + FIRST;
        // The chunk's number is that of the highest bit; the rest is the place in it.
        let chunk = (at / FIRST).ilog2() as usize;
        let offset = at - (FIRST << chunk);
        // ORDERING: Acquire pairs with the Release in `add`: a chunk that is seen is whole.
        let base = BASES[chunk].load(Ordering::Acquire);
        if base.is_null() {
            fatal!("netpoll: place {} was never made", self.0);
        }
        // SAFETY: chunk `chunk` has FIRST << chunk places, and `offset` is below that; chunks are never freed.
        unsafe { &*base.add(offset) }
    }

    /// A place for a new registration.
    pub(super) fn take() -> PlaceNumber {
        loop {
            let chunks = {
                let _visitor = Visitor::enter();
                let mut free = FREE.lock();
                match free.places.pop() {
                    Some(place) => return place,
                    None => free.chunks,
                }
            };
            add(chunks);
        }
    }

    /// Puts it back. Nobody uses its state any more but for late reports.
    pub(super) fn give_back(self) {
        let _visitor = Visitor::enter();
        // There is room: it was made for all places when they were.
        FREE.lock().places.push(self);
    }
}

/// Makes chunk number `number`, unless somebody has. Allocates outside the runtime.
fn add(number: usize) {
    let len = FIRST << number;
    if number >= CHUNKS {
        fatal!("netpoll: more than {} descriptors are registered", len - FIRST);
    }
    let chunk: Box<[SourceState]> = (0..len).map(|_| SourceState::new()).collect();
    let places = Vec::with_capacity(2 * len);
    let unused = {
        let _visitor = Visitor::enter();
        let mut free = FREE.lock();
        if free.chunks != number {
            Err((chunk, places))
        } else {
            // ORDERING: Release pairs with `state`.
            BASES[number].store(Box::leak(chunk).as_mut_ptr(), Ordering::Release);
            free.chunks += 1;
            let first = len - FIRST;
            let old = core::mem::replace(&mut free.places, places);
            free.places.extend(old.iter().copied());
            free.places.extend((first..first + len).rev().map(|place| PlaceNumber(place as u32)));
            Ok(old)
        }
    };
    drop(unused);
}

/// The state that a report is about, and the generation that it names.
pub(super) fn find(registration: u64) -> (&'static SourceState, u32) {
    (PlaceNumber::of(registration).state(), (registration >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// S47: every place has a state of its own, also beyond the first chunks; a registration names place and generation.
    #[test]
    fn places_are_apart() {
        let places: Vec<PlaceNumber> = (0..5 * FIRST).map(|_| PlaceNumber::take()).collect();
        let states: HashSet<usize> =
            places.iter().map(|place| core::ptr::from_ref(place.state()).addr()).collect();
        assert_eq!(states.len(), places.len());
        for place in &places {
            let registration = place.registration();
            assert_eq!(PlaceNumber::of(registration), *place);
            assert!(core::ptr::eq(find(registration).0, place.state()));
            assert_eq!(find(registration).1, place.state().generation());
            place.state().renew(super::super::READY, |_| panic!("nobody waits"));
            assert_ne!(place.registration(), registration);
            place.give_back();
        }
    }
}
