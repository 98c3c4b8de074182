//! Shortest remaining time: min\[s−e\]. As SPN, but somebody with less to do takes the processor
//! from somebody with more.

use super::spn::Shortest;
use super::{Mode, Policy, Ready, Visit};
use crate::time::Time;

/// Shortest remaining time.
#[derive(Clone, Debug, Default)]
pub struct Srt(Shortest);

impl Policy for Srt {
    fn name(&self) -> &'static str {
        "SRT"
    }

    fn mode(&self) -> Mode {
        Mode::Preemptive
    }

    fn decision(&self) -> &'static str {
        "min[s-e]"
    }

    fn ready(&mut self, visit: Visit, _why: Ready) {
        self.0.push(visit.left(), visit);
    }

    fn pick(&mut self, _now: Time) -> Option<Visit> {
        self.0.pop()
    }

    fn preempts(&self, fresh: &Visit, running: &Visit) -> bool {
        fresh.left() < running.left()
    }
}
