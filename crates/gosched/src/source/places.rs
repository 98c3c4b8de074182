//! Which places of the slab (`netpoll/slab.rs`) are in use. Adds a chunk when none is free.
//!
//! Invariant: a place belongs to the caller that took its number out of `FREE`, until it is put
//! back.

use gosched_primitives::Lock;

use crate::fatal::fatal;
use crate::netpoll::{CHUNKS, FIRST, PlaceNumber, SourceState, publish};
use crate::sched::Visitor;

static FREE: Lock<FreePlaces> = Lock::new(FreePlaces { places: Vec::new(), chunks: 0 });

struct FreePlaces {
    places: Vec<PlaceNumber>,
    chunks: usize,
}

impl PlaceNumber {
    /// A place for a new registration.
    pub(crate) fn take() -> PlaceNumber {
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

    /// Puts it back. Only late reports still use its state.
    pub(crate) fn give_back(self) {
        let _visitor = Visitor::enter();
        // There is room: `add` reserved it for all places.
        FREE.lock().places.push(self);
    }
}

/// Makes chunk number `number`, unless another thread has. Allocates and frees outside the runtime.
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
            publish(number, chunk);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netpoll::{READY, find};
    use std::collections::HashSet;

    /// S47: every place has a state of its own, also beyond the first chunk; a registration names
    /// place and generation.
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
            place.state().renew(READY, |_| panic!("nobody waits"));
            assert_ne!(place.registration(), registration);
            place.give_back();
        }
    }
}
