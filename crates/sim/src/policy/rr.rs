//! Round robin: constant. All take turns of one quantum, in the order in which they came.

use std::collections::VecDeque;

use super::{Mode, Policy, Ready, Visit};
use crate::time::Time;

/// Round robin.
#[derive(Clone, Debug)]
pub struct Rr {
    quantum: Time,
    queue: VecDeque<Visit>,
}

impl Rr {
    /// With turns of this length.
    ///
    /// # Panics
    ///
    /// If the quantum is 0: nobody would get on.
    #[must_use]
    pub fn new(quantum: Time) -> Rr {
        assert!(quantum > 0, "a quantum of nothing");
        Rr { quantum, queue: VecDeque::new() }
    }
}

impl Policy for Rr {
    fn name(&self) -> &'static str {
        "RR"
    }

    fn mode(&self) -> Mode {
        Mode::Preemptive
    }

    fn decision(&self) -> &'static str {
        "constant"
    }

    #[inline]
    fn ready(&mut self, visit: Visit, _why: Ready) {
        self.queue.push_back(visit);
    }

    #[inline]
    fn pick(&mut self, _now: Time) -> Option<Visit> {
        self.queue.pop_front()
    }

    #[inline]
    fn slice(&self, _visit: &Visit) -> Time {
        self.quantum
    }
}
