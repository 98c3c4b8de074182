//! The textbook's policies: who of those that are ready runs next, and for how long.
//!
//! A *visit* is one coming of a job to the ready queue: for a CPU burst of `service` (s), of which
//! `executed` (e) is done, waiting since `since` (so w is now − since). A job that comes back from
//! a wait makes a new visit, as in queueing theory; for a job with one burst s is its whole
//! service. Each policy is a file; to the engine it is a queue with opinions.
//!
//! | policy | mode | decision |
//! |---|---|---|
//! | [`Fcfs`] | cooperative | max\[w\] |
//! | [`Spn`] | cooperative | min\[s\] |
//! | [`Hrrn`] | cooperative | max\[(w+s)/s\] |
//! | [`Rr`] | preemptive | constant: turns of one quantum |
//! | [`Srt`] | preemptive | min\[s−e\] |
//! | [`Feedback`] | preemptive | e and priority, with demotion |

mod fcfs;
mod feedback;
mod hrrn;
mod rr;
mod spn;
mod srt;

pub use fcfs::Fcfs;
pub use feedback::Feedback;
pub use hrrn::Hrrn;
pub use rr::Rr;
pub use spn::Spn;
pub use srt::Srt;

use crate::job::JobId;
use crate::time::{NEVER, Time};

/// Whether a policy takes the processor from a job that has not finished its burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Never.
    Cooperative,
    /// It does.
    Preemptive,
}

impl Mode {
    /// In a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mode::Cooperative => "cooperative",
            Mode::Preemptive => "preemptive",
        }
    }
}

/// One coming of a job to the ready queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Who.
    pub job: JobId,
    /// Ready since.
    pub since: Time,
    /// CPU time it came for: s.
    pub service: Time,
    /// CPU time it has had of that: e.
    pub executed: Time,
}

impl Visit {
    /// CPU time still to come.
    #[must_use]
    pub fn left(&self) -> Time {
        self.service - self.executed
    }
}

/// Why a job is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// It arrived, or came back from a wait.
    Fresh,
    /// It has used up its slice.
    Expired,
    /// A better one took its place.
    Preempted,
}

/// Who of those that are ready runs next.
pub trait Policy {
    /// Its short name.
    fn name(&self) -> &'static str;

    /// Whether it interrupts.
    fn mode(&self) -> Mode;

    /// What it decides by, in the textbook's notation.
    fn decision(&self) -> &'static str;

    /// Somebody is ready.
    fn ready(&mut self, visit: Visit, why: Ready);

    /// Takes the one to run now.
    fn pick(&mut self, now: Time) -> Option<Visit>;

    /// How long a job may run before it is [`Ready::Expired`].
    fn slice(&self, _visit: &Visit) -> Time {
        NEVER
    }

    /// Whether somebody who has just become ready takes the processor from somebody who runs. Both
    /// with what they have executed by now.
    fn preempts(&self, _fresh: &Visit, _running: &Visit) -> bool {
        false
    }
}
