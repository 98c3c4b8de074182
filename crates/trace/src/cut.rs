//! `cut`: a span of time out of a trace, as a valid trace of its own.
//!
//! Events are read in order and written anew: one tick is a nanosecond, each generation begins with
//! the status of every P and goroutine, and numbers of goroutines, Ps and collections are counted
//! anew. What had begun before the span and has no word for that (a stopped world) loses its end as
//! well. Events of Go's experiments are left out; decisions and samples stay.
//!
//! - `mirror.rs`: what everything does, to be said where a generation begins.
//! - `writer.rs`: one generation that is being written.
//!
//! Invariant: a span begins and ends before a recorded event, never between one and what it
//! implies.

mod mirror;
mod writer;

use std::io::Write;
use std::path::Path;

use gosched_traceformat::decisions::TimedDecision;
use gosched_traceformat::order::{EventKind, GoState, Origin, ProcState, RangeEdge, RangeScope, TraceEvent};
use gosched_traceformat::read::{Generation, Tables};
use gosched_traceformat::wire::{EventType, HEADER, MAX_ARGS};

use crate::cli::write_file;
use crate::failure::ToolError;
use crate::source::{Observer, open, show};
use mirror::Mirror;
use writer::{GenerationWriter, Numbers};

/// Writes a span of a trace.
struct CutObserver<'a> {
    out: &'a mut dyn Write,
    from: u64,
    to: Option<u64>,
    first: Option<i64>,
    mirror: Mirror,
    numbers: Numbers,
    writer: Option<GenerationWriter>,
    /// What the clocks read, in the generation that is being read.
    clocks: Option<(i64, gosched_traceformat::encode::ClockReading)>,
    /// Generations that were begun.
    generations: u64,
    written: u64,
    is_over: bool,
    failed: Option<std::io::Error>,
}

/// Cuts the span `from` to `to` (nanoseconds after the first event) out of a file.
///
/// # Errors
/// If there is nothing in the span, or a file can't be read or written.
pub fn cut_file(path: &Path, from: u64, to: Option<u64>, output: &Path) -> Result<(), ToolError> {
    let (input, mut progress) = open(path)?;
    write_file(output, |out| {
        out.write_all(&HEADER)?;
        let mut observer = CutObserver {
            out,
            from,
            to,
            first: None,
            mirror: Mirror::default(),
            numbers: Numbers::default(),
            writer: None,
            clocks: None,
            generations: 0,
            written: 0,
            is_over: false,
            failed: None,
        };
        let shown = show(input, &mut observer, &mut progress);
        observer.end_generation();
        if let Some(error) = observer.failed {
            return Err(ToolError::Output(error));
        }
        // What is broken behind the span does not matter.
        if let (Err(error), false) = (shown, observer.is_over) {
            return Err(ToolError::Trace(path.to_owned(), error));
        }
        if observer.written == 0 {
            let message =
                "there are no events in that span: `gosched-trace summary` says how long the trace is";
            return Err(ToolError::Usage(message.to_owned()));
        }
        Ok(())
    })
}

impl CutObserver<'_> {
    fn end_generation(&mut self) {
        if let Some(writer) = self.writer.take()
            && self.failed.is_none()
        {
            self.failed = writer.finish(self.out).err();
        }
    }

    fn begin_generation(&mut self, time: i64) {
        self.generations += 1;
        self.numbers.begin_generation();
        let mut writer = GenerationWriter::new(self.generations, time, self.clocks);
        let is_first = self.generations == 1;
        let begun = self.mirror.write_statuses(&mut writer, time, self.out);
        self.failed = begun.err();
        if is_first && self.mirror.collects {
            let args = [self.numbers.collection(), 0, 0, 0];
            self.failed =
                writer.event(None, EventType::GCActive, time, args, self.out).err().or(self.failed.take());
        }
        self.writer = Some(writer);
    }

    /// The arguments to write, or nothing if the event has no place in the span.
    fn args(&mut self, event: &TraceEvent) -> Option<[u64; MAX_ARGS]> {
        let mut args = event.args;
        match event.wire {
            EventType::ProcStatus if !is_new(event) => return None,
            EventType::GoStatus | EventType::GoStatusStack if !is_new(event) => return None,
            EventType::ProcStart | EventType::ProcSteal => args[1] = self.numbers.of_p(args[0]),
            EventType::GoStart | EventType::GoUnblock | EventType::GoSwitch | EventType::GoSwitchDestroy => {
                args[1] = self.numbers.of_g(args[0]);
            }
            EventType::GoSyscallBegin => args[0] = self.numbers.of_p(event.scene.p?),
            EventType::GoDestroy | EventType::GoDestroySyscall => self.numbers.forget(event.scene.g?),
            EventType::GCActive if self.generations == 1 && self.numbers.has_collections() => return None,
            EventType::GCBegin | EventType::GCEnd | EventType::GCActive => {
                args[0] = self.numbers.collection()
            }
            _ => {}
        }
        if let EventKind::Range { edge, scope, .. } = &event.kind
            && *scope != RangeScope::All
        {
            let key = (event.wire.spec().begun_by.unwrap_or(event.wire), *scope);
            let is_first = self.generations == 1;
            let stays = match edge {
                RangeEdge::Begin => self.numbers.begin_range(key),
                RangeEdge::Active => {
                    self.numbers.is_open(key) != is_first && (!is_first || self.numbers.begin_range(key))
                }
                RangeEdge::End => self.numbers.end_range(key),
            };
            if !stays {
                return None;
            }
        }
        Some(args)
    }

    fn write(&mut self, event: &TraceEvent, tables: &Tables) {
        let args = match event.kind {
            EventKind::CpuSample | EventKind::Experimental => event.args,
            _ => match self.args(event) {
                Some(args) => args,
                None => return,
            },
        };
        let Some(writer) = &mut self.writer else { return };
        let written = match event.kind {
            EventKind::Experimental => Ok(()),
            EventKind::CpuSample => {
                writer.sample(event, tables);
                Ok(())
            }
            _ => {
                writer.remember(event, tables);
                self.written += 1;
                writer.event(event.scene.m, event.wire, event.time, args, self.out)
            }
        };
        self.failed = written.err();
    }
}

/// Whether a status says something that was not known: then it is the first of its G or P.
fn is_new(event: &TraceEvent) -> bool {
    match &event.kind {
        EventKind::ProcChange { from, .. } => matches!(from, ProcState::Undetermined | ProcState::NotExist),
        EventKind::GoChange { from, .. } => *from == GoState::Undetermined,
        _ => true,
    }
}

impl Observer for CutObserver<'_> {
    fn generation(&mut self, generation: &Generation) {
        let was_open = self.writer.is_some();
        self.end_generation();
        self.clocks = generation.clocks_in_nanos();
        let start = generation.tick.nanos(generation.start);
        self.first.get_or_insert(start);
        if was_open {
            // It begins with its first event, whose time is known then.
            self.writer = None;
        }
    }

    fn decision(&mut self, decision: &TimedDecision) {
        if let Some(writer) = &mut self.writer
            && self.failed.is_none()
        {
            self.failed = writer.decision(decision, self.out).err();
        }
    }

    fn event(&mut self, event: &TraceEvent, tables: &Tables) {
        let since = u64::try_from(event.time - self.first.unwrap_or(event.time)).unwrap_or(0);
        if event.origin == Origin::Recorded && event.kind != EventKind::CpuSample {
            self.is_over |= self.to.is_some_and(|to| since > to);
            if self.is_over {
                return;
            }
            if self.writer.is_none() && since >= self.from {
                self.begin_generation(event.time);
            }
        }
        if self.writer.is_some() && event.origin == Origin::Recorded {
            self.write(event, tables);
        }
        self.mirror.event(event);
    }

    fn has_enough(&self) -> bool {
        self.is_over || self.failed.is_some()
    }
}
