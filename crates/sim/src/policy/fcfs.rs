//! First come, first served: max\[w\]. Whoever has waited longest runs until it waits or ends.

use std::collections::VecDeque;

use super::{Mode, Policy, Ready, Visit};
use crate::time::Time;

/// First come, first served.
#[derive(Clone, Debug, Default)]
pub struct Fcfs(VecDeque<Visit>);

impl Policy for Fcfs {
    fn name(&self) -> &'static str {
        "FCFS"
    }

    fn mode(&self) -> Mode {
        Mode::Cooperative
    }

    fn decision(&self) -> &'static str {
        "max[w]"
    }

    #[inline]
    fn ready(&mut self, visit: Visit, _why: Ready) {
        self.0.push_back(visit);
    }

    #[inline]
    fn pick(&mut self, _now: Time) -> Option<Visit> {
        self.0.pop_front()
    }
}
