//! What is going to happen, earliest first: a heap of 16-byte keys.
//!
//! Invariants:
//! - of two events at the same time the one that was scheduled first comes first, so a run depends
//!   on nothing but its seed;
//! - nothing is ever searched or removed in the middle: an event that no longer counts is
//!   recognised by its owner when it comes up (by its [`EventTicket`]), and dropped.
//!
//! A 4-ary heap: half the depth of a binary one, and a node's children share a cache line.

use crate::time::Time;

/// Which event this is: its place in the order of scheduling. The default is no event's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EventTicket(u32);

/// An event that has come up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Time,
    /// Which one.
    pub ticket: EventTicket,
    /// What: as it was given to [`Events::schedule`].
    pub what: u32,
}

/// The events to come.
///
/// ```
/// use gosched_sim::events::Events;
/// let mut events = Events::new();
/// events.schedule(20, 1);
/// events.schedule(10, 2);
/// events.schedule(10, 3);
/// let order: Vec<u32> = std::iter::from_fn(|| events.pop()).map(|event| event.what).collect();
/// assert_eq!(order, [2, 3, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct Events {
    /// time (64 bits), ticket (32), what (32), from the top.
    heap: Vec<u128>,
    next: u32,
}

const WIDTH: usize = 4;

impl Default for Events {
    fn default() -> Events {
        Events::new()
    }
}

impl Events {
    /// None yet.
    #[must_use]
    pub fn new() -> Events {
        Events { heap: Vec::with_capacity(1024), next: 1 }
    }

    /// How many are to come, those included that no longer count.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether nothing is to come.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Adds an event.
    #[inline]
    pub fn schedule(&mut self, at: Time, what: u32) -> EventTicket {
        let ticket = self.next;
        self.next = self.next.wrapping_add(1);
        let key = u128::from(at) << 64 | u128::from(ticket) << 32 | u128::from(what);
        let mut hole = self.heap.len();
        self.heap.push(key);
        while hole > 0 {
            let parent = (hole - 1) / WIDTH;
            if self.heap[parent] <= key {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = key;
        EventTicket(ticket)
    }

    /// When the next one is.
    #[inline]
    #[must_use]
    pub fn next_at(&self) -> Option<Time> {
        self.heap.first().map(|key| (key >> 64) as Time)
    }

    /// Takes the next one.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        let last = self.heap.pop()?;
        let Some(&first) = self.heap.first() else { return Some(unpack(last)) };
        let mut hole = 0;
        let len = self.heap.len();
        loop {
            let begin = hole * WIDTH + 1;
            if begin >= len {
                break;
            }
            let mut least = begin;
            for child in begin + 1..(begin + WIDTH).min(len) {
                if self.heap[child] < self.heap[least] {
                    least = child;
                }
            }
            if self.heap[least] >= last {
                break;
            }
            self.heap[hole] = self.heap[least];
            hole = least;
        }
        self.heap[hole] = last;
        Some(unpack(first))
    }
}

#[inline]
fn unpack(key: u128) -> Event {
    Event { at: (key >> 64) as Time, ticket: EventTicket((key >> 32) as u32), what: key as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomStream;

    /// Whatever is put in comes out in order of time, and at one time in order of scheduling.
    #[test]
    fn events_come_in_order() {
        let mut random = RandomStream::new(5);
        let mut events = Events::new();
        let mut expected = Vec::new();
        for what in 0..5_000 {
            let at = random.below(500);
            events.schedule(at, what);
            expected.push((at, what));
        }
        expected.sort();
        let seen: Vec<_> = std::iter::from_fn(|| events.pop()).map(|event| (event.at, event.what)).collect();
        assert_eq!(seen, expected);
        assert!(events.is_empty());
    }
}
