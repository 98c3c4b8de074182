//! `check`: does the trace keep the scheduler's promises?
//!
//! What the order of events already demands (a goroutine is on one M at most, a P runs one
//! goroutine at most, only what is runnable starts, and it became so by a creation, a wake-up or a
//! yield) is checked by putting them in order: a trace that breaks it can't be. The rest is checked
//! here, each promise by a part of its own:
//!
//! - `order`: the above.
//! - `idle`: no P stays idle for longer than a bound while a goroutine is runnable all the time.
//! - `latency`: nobody is runnable for longer than a bound.
//! - `time`: the clock of no M goes back.
//! - `fifo`: what was put into the global queue as the k-th is taken as the k-th; needs decisions.
//! - `fairness`: each 61st pick looks at the global queue first; needs decisions.
//! - `picked`: what starts was picked, on that P; needs decisions.
//!
//! The bounds leave out what is not the scheduler's doing: times in which the world is stopped, and
//! Ps that GOMAXPROCS leaves out.

mod idle;
mod queues;

use std::io::{self, Write};

use gosched_traceformat::decisions::TimedDecision;
use gosched_traceformat::order::TraceEvent;
use gosched_traceformat::read::{Generation, StrandCursor, Tables};
use serde::Serialize;

use crate::source::Observer;
use crate::text::duration;
use idle::IdleCheck;
use queues::QueueCheck;

/// What is checked, in the order of the report.
pub const CHECKS: [&str; 7] = ["order", "idle", "latency", "time", "fifo", "fairness", "picked"];

/// The most violations of one promise that are kept; beyond, they are counted.
const KEPT: usize = 20;

/// How much is allowed, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// For how long a P may be idle while somebody is runnable.
    pub idle: u64,
    /// For how long somebody may be runnable.
    pub latency: u64,
}

/// A promise that was broken.
#[derive(Clone, Debug, Serialize)]
pub struct Violation {
    /// Which: one of [`CHECKS`].
    pub check: &'static str,
    /// When it was seen, in the trace's nanoseconds.
    pub time: i64,
    /// What happened.
    pub message: String,
}

/// All violations.
#[derive(Debug, Default, Serialize)]
pub struct CheckReport {
    /// Those that were kept, as they were found.
    pub violations: Vec<Violation>,
    /// How many there were.
    pub total: u64,
    /// Events that were looked at.
    pub events: u64,
    /// Decisions that were looked at. Without any, the last three promises are not checked.
    pub decisions: u64,
}

impl CheckReport {
    /// One more.
    pub fn add(&mut self, check: &'static str, time: i64, message: String) {
        self.total += 1;
        if self.violations.iter().filter(|violation| violation.check == check).count() < KEPT {
            self.violations.push(Violation { check, time, message });
        }
    }

    /// Writes it as text.
    ///
    /// # Errors
    /// If the output can't be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for violation in &self.violations {
            writeln!(out, "{}: at {} ns: {}", violation.check, violation.time, violation.message)?;
        }
        let kept = self.violations.len() as u64;
        if self.total > kept {
            writeln!(out, "and {} more", self.total - kept)?;
        }
        let checked = if self.decisions == 0 { &CHECKS[..4] } else { &CHECKS[..] };
        writeln!(
            out,
            "{} violations in {} events and {} decisions; checked: {}",
            self.total,
            self.events,
            self.decisions,
            checked.join(", ")
        )?;
        if self.decisions == 0 {
            writeln!(out, "not checked, for want of decisions in the trace: {}", CHECKS[4..].join(", "))?;
        }
        Ok(())
    }
}

/// Checks a trace.
pub struct CheckObserver {
    report: CheckReport,
    idle: IdleCheck,
    queues: QueueCheck,
}

impl CheckObserver {
    /// With these bounds.
    #[must_use]
    pub fn new(bounds: Bounds) -> CheckObserver {
        CheckObserver {
            report: CheckReport::default(),
            idle: IdleCheck::new(bounds),
            queues: QueueCheck::default(),
        }
    }

    /// The report: `broken` is why the trace could not be read to its end, if so.
    #[must_use]
    pub fn finish(mut self, broken: Option<String>) -> CheckReport {
        self.idle.finish(&mut self.report);
        if let Some(message) = broken {
            self.report.add("order", self.idle.last(), message);
        }
        self.report
    }
}

impl Observer for CheckObserver {
    fn generation(&mut self, generation: &Generation) {
        self.queues.generation(!generation.decisions.is_empty());
        for strand in &generation.strands {
            let (mut cursor, mut last) = (StrandCursor::default(), 0);
            // What is broken is said where the events are put in order.
            while let Ok(Some(event)) = cursor.next(strand, generation.tick) {
                if event.time < last {
                    let back = duration((last - event.time) as u64);
                    let message = format!("the clock of M {} goes back by {back}", strand.m as i64);
                    self.report.add("time", event.time, message);
                }
                last = event.time;
            }
        }
    }

    fn decision(&mut self, decision: &TimedDecision) {
        self.report.decisions += 1;
        self.queues.decision(decision, &mut self.report);
    }

    fn event(&mut self, event: &TraceEvent, _: &Tables) {
        self.report.events += 1;
        self.idle.event(event, &mut self.report);
        self.queues.event(event, &mut self.report);
    }
}
