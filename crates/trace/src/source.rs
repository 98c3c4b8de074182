//! Runs a trace past an observer: events and decisions, merged by time.
//!
//! Memory is that of [`OrderedTrace`]: one generation, and the goroutines that are alive.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use gosched_traceformat::TraceError;
use gosched_traceformat::decisions::TimedDecision;
use gosched_traceformat::order::{EventKind, OrderedTrace, TraceEvent};
use gosched_traceformat::read::{Generation, Tables};

use crate::failure::ToolError;
use crate::progress::ByteProgress;

/// Looks at a trace as it passes.
pub trait Observer {
    /// A generation begins.
    fn generation(&mut self, _generation: &Generation) {}
    /// Something was decided; the events before it have been shown.
    fn decision(&mut self, _decision: &TimedDecision) {}
    /// Something happened. Its strings and stacks are in the tables. The beginnings of generations
    /// are not shown.
    fn event(&mut self, event: &TraceEvent, tables: &Tables);
    /// Whether the rest need not be shown.
    fn has_enough(&self) -> bool {
        false
    }
}

/// Shows a whole trace. `Ok` is the time of its last event.
///
/// # Errors
/// If it is broken; what stands before has been shown.
pub fn show(
    input: impl BufRead,
    observer: &mut impl Observer,
    progress: &mut ByteProgress,
) -> Result<i64, TraceError> {
    let mut trace = OrderedTrace::new(input)?;
    let (mut last, mut decided) = (0, 0);
    while let Some(event) = trace.next_event()? {
        last = event.time;
        if observer.has_enough() {
            break;
        }
        let Some(generation) = trace.generation() else { break };
        if let EventKind::Sync { .. } = event.kind {
            progress.at(trace.offset());
            decided = 0;
            observer.generation(generation);
            continue;
        }
        while let Some(decision) = generation.decisions.get(decided).filter(|d| d.time <= event.time) {
            observer.decision(decision);
            decided += 1;
        }
        observer.event(&event, &generation.tables);
    }
    Ok(last)
}

/// Shows a file.
///
/// # Errors
/// If it can't be opened or is broken.
pub fn show_file(path: &Path, observer: &mut impl Observer) -> Result<i64, ToolError> {
    let (input, mut progress) = open(path)?;
    show(input, observer, &mut progress).map_err(|error| ToolError::Trace(path.to_owned(), error))
}

/// A file to show.
///
/// # Errors
/// If it can't be opened.
pub fn open(path: &Path) -> Result<(BufReader<File>, ByteProgress), ToolError> {
    let failed = |error| ToolError::File(path.to_owned(), error);
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    Ok((BufReader::with_capacity(1 << 18, file), ByteProgress::new(length)))
}
