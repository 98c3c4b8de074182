//! Shortest process next: min\[s\]. Of those that wait, the one with the least to do runs until it
//! waits or ends.
//!
//! It has to know s beforehand; a real system can only guess it from the past.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Mode, Policy, Ready, Visit};
use crate::time::Time;

/// Those that wait, by a key and then by the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Shortest {
    heap: BinaryHeap<Reverse<(Time, u64)>>,
    /// What the second half of a key stands for: its low bits are the place.
    visits: Vec<Option<Visit>>,
    free: Vec<u32>,
    came: u64,
}

/// Places in `visits` are below this.
const PLACES: u64 = 1 << 28;

impl Shortest {
    pub(super) fn push(&mut self, key: Time, visit: Visit) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.visits.push(None);
            self.visits.len() as u32 - 1
        });
        self.visits[place as usize] = Some(visit);
        self.heap.push(Reverse((key, self.came * PLACES + u64::from(place))));
        self.came += 1;
    }

    pub(super) fn pop(&mut self) -> Option<Visit> {
        let Reverse((_, second)) = self.heap.pop()?;
        let place = second % PLACES;
        self.free.push(place as u32);
        self.visits[place as usize].take()
    }
}

/// Shortest process next.
#[derive(Clone, Debug, Default)]
pub struct Spn(Shortest);

impl Policy for Spn {
    fn name(&self) -> &'static str {
        "SPN"
    }

    fn mode(&self) -> Mode {
        Mode::Cooperative
    }

    fn decision(&self) -> &'static str {
        "min[s]"
    }

    fn ready(&mut self, visit: Visit, _why: Ready) {
        self.0.push(visit.service, visit);
    }

    fn pick(&mut self, _now: Time) -> Option<Visit> {
        self.0.pop()
    }
}
