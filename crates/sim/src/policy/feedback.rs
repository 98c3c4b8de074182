//! Multilevel feedback: e and priority. New ones begin on the highest level; whoever uses up its
//! slice goes one down, where slices are twice as long; a level is served only if all above it are
//! empty.
//!
//! Nobody has to know how long a job is: the past tells. Who waits before its slice is over keeps
//! its level, so I/O-bound jobs stay high. There is no way up for those below: they can starve.

use std::collections::VecDeque;

use super::{Mode, Policy, Ready, Visit};
use crate::time::Time;

/// Levels; on the lowest one it is round robin.
const LEVELS: usize = 5;

/// Multilevel feedback with demotion.
#[derive(Clone, Debug)]
pub struct Feedback {
    quantum: Time,
    queues: [VecDeque<Visit>; LEVELS],
    /// Of each job that ever was demoted, and of those before it.
    levels: Vec<u8>,
}

impl Feedback {
    /// With slices of this length on the highest level.
    ///
    /// # Panics
    ///
    /// If the quantum is 0.
    #[must_use]
    pub fn new(quantum: Time) -> Feedback {
        assert!(quantum > 0, "a quantum of nothing");
        Feedback { quantum, queues: Default::default(), levels: Vec::new() }
    }

    fn level(&self, visit: &Visit) -> usize {
        self.levels.get(visit.job as usize).copied().unwrap_or(0) as usize
    }

    fn demote(&mut self, visit: &Visit) {
        let job = visit.job as usize;
        if self.levels.len() <= job {
            self.levels.resize(job + 1, 0);
        }
        self.levels[job] = (self.levels[job] + 1).min(LEVELS as u8 - 1);
    }
}

impl Policy for Feedback {
    fn name(&self) -> &'static str {
        "MLFQ"
    }

    fn mode(&self) -> Mode {
        Mode::Preemptive
    }

    fn decision(&self) -> &'static str {
        "e and priority, demotion"
    }

    fn ready(&mut self, visit: Visit, why: Ready) {
        if why == Ready::Expired {
            self.demote(&visit);
        }
        let level = self.level(&visit);
        self.queues[level].push_back(visit);
    }

    fn pick(&mut self, _now: Time) -> Option<Visit> {
        self.queues.iter_mut().find_map(VecDeque::pop_front)
    }

    fn slice(&self, visit: &Visit) -> Time {
        self.quantum << self.level(visit)
    }
}
