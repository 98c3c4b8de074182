//! `perfetto`: the trace for Perfetto (ui.perfetto.dev and trace_processor), in its protobuf.
//!
//! A track for each P (which goroutine it runs), each M (likewise) and each goroutine (what it
//! does), grouped; regions stand on a track below their goroutine's, each task on its own. A
//! wake-up is a flow: from an instant on the waker's track to where the goroutine next runs.
//! Counters: runnable goroutines, and Ps that an M holds.
//!
//! Packets are written as events pass; slices that are open at the end are ended there.

mod proto;
mod tracks;

use std::io::{self, Write};
use std::path::Path;

use gosched_traceformat::order::{EventKind, GoState, ProcState, RangeEdge, RangeKind, TraceEvent};
use gosched_traceformat::read::{IdMap, Tables};

use crate::cli::write_file;
use crate::failure::ToolError;
use crate::people::People;
use crate::source::{Observer, open, show};
use tracks::{TrackKind, Tracks};

pub use proto::{Field, FieldValue, fields};

/// Turns one file into another.
///
/// # Errors
/// If a file can't be read or written.
pub fn convert_file(path: &Path, output: &Path) -> Result<(), ToolError> {
    let (input, mut progress) = open(path)?;
    write_file(output, |out| {
        let mut observer = PerfettoObserver::new(out);
        let shown = show(input, &mut observer, &mut progress);
        let last = shown.map_err(|error| ToolError::Trace(path.to_owned(), error))?;
        Ok(observer.finish(last)?)
    })
}

/// Writes a trace for Perfetto.
pub struct PerfettoObserver<'a> {
    tracks: Tracks<'a>,
    people: People,
    /// The flow that ends where the goroutine runs next.
    flows: IdMap<u64>,
    next_flow: u64,
    states: IdMap<GoState>,
    runnable: i64,
    held: i64,
    failed: Option<io::Error>,
}

impl<'a> PerfettoObserver<'a> {
    /// Writes to `out`.
    pub fn new(out: &'a mut dyn Write) -> PerfettoObserver<'a> {
        PerfettoObserver {
            tracks: Tracks::new(out),
            people: People::default(),
            flows: IdMap::default(),
            next_flow: 1,
            states: IdMap::default(),
            runnable: 0,
            held: 0,
            failed: None,
        }
    }

    /// Ends what is open.
    ///
    /// # Errors
    /// If the output could not be written.
    pub fn finish(mut self, last: i64) -> io::Result<()> {
        match self.failed {
            Some(error) => Err(error),
            None => self.tracks.end_all(last),
        }
    }

    fn label(&self, g: u64) -> String {
        format!("G{g} {}", self.people.function(g))
    }

    fn goroutine(&mut self, event: &TraceEvent, tables: &Tables) -> io::Result<()> {
        let EventKind::GoChange { g, from, to, reason, .. } = event.kind else { return Ok(()) };
        let old = self.states.insert(g, to).unwrap_or(GoState::NotExist);
        if old == to {
            return Ok(());
        }
        let time = event.time;
        let runnable = i64::from(to == GoState::Runnable) - i64::from(old == GoState::Runnable);
        if runnable != 0 {
            self.runnable += runnable;
            self.tracks.count(time, TrackKind::Runnable, self.runnable)?;
        }
        let label = self.label(g);
        let (own, p) = (TrackKind::Goroutine(g), event.scene.p);
        if matches!(from, GoState::Waiting | GoState::NotExist) && to == GoState::Runnable {
            let waker = p.map(TrackKind::P).or(event.scene.m.map(TrackKind::M)).unwrap_or(TrackKind::Outside);
            let what = if from == GoState::Waiting { "wakes" } else { "creates" };
            let flow = self.next_flow;
            self.next_flow += 1;
            self.tracks.instant(time, waker, &format!("{what} {label}"), flow)?;
            self.flows.insert(g, flow);
        }
        // What it did before ends, on its own track and on those of its P and M.
        if !matches!(old, GoState::NotExist | GoState::Undetermined) {
            self.tracks.end(time, own)?;
        }
        let places = [p.map(TrackKind::P), event.scene.m.map(TrackKind::M)];
        if matches!(old, GoState::Running | GoState::Syscall) {
            for place in places.into_iter().flatten() {
                self.tracks.end(time, place)?;
            }
        }
        let text = match to {
            GoState::NotExist | GoState::Undetermined => {
                self.states.remove(&g);
                self.flows.remove(&g);
                self.tracks.drop_goroutine(time, g)?;
                self.people.forget(g);
                return Ok(());
            }
            GoState::Runnable => "runnable".to_owned(),
            GoState::Running => p.map_or("running".to_owned(), |p| format!("running on P{p}")),
            GoState::Syscall => "blocking call".to_owned(),
            GoState::Waiting => format!("waiting: {}", tables.string(reason).unwrap_or_default()),
        };
        let flow = if to == GoState::Running { self.flows.remove(&g) } else { None };
        self.tracks.name_goroutine(g, &label);
        self.tracks.begin(time, own, &text, flow)?;
        if matches!(to, GoState::Running | GoState::Syscall) {
            let text = if to == GoState::Running { label } else { format!("{label} (blocking call)") };
            for place in places.into_iter().flatten() {
                self.tracks.begin(time, place, &text, None)?;
            }
        }
        Ok(())
    }

    fn proc(&mut self, event: &TraceEvent) -> io::Result<()> {
        let EventKind::ProcChange { p, from, to } = event.kind else { return Ok(()) };
        if from == to {
            return Ok(());
        }
        let held = i64::from(to == ProcState::Running) - i64::from(from == ProcState::Running);
        self.held += held;
        // A P that was taken from a blocking call runs nothing more.
        if to == ProcState::Idle {
            self.tracks.end(event.time, TrackKind::P(p))?;
        }
        self.tracks.count(event.time, TrackKind::HeldPs, self.held)
    }

    fn other(&mut self, event: &TraceEvent, tables: &Tables) -> io::Result<()> {
        let (time, text) = (event.time, |id| tables.string(id).unwrap_or_default());
        match &event.kind {
            EventKind::Region { edge, name, .. } => {
                let Some(g) = event.scene.g else { return Ok(()) };
                match edge {
                    RangeEdge::End => self.tracks.end(time, TrackKind::Regions(g)),
                    _ => self.tracks.begin(time, TrackKind::Regions(g), text(*name), None),
                }
            }
            EventKind::TaskBegin { task, name, .. } => {
                self.tracks.begin(time, TrackKind::Task(*task), name, None)
            }
            EventKind::TaskEnd { task, .. } => self.tracks.drop_task(time, *task),
            EventKind::Range { edge, range: RangeKind::StoppedWorld { why }, .. } => match edge {
                RangeEdge::End => self.tracks.end(time, TrackKind::World),
                _ => self.tracks.begin(time, TrackKind::World, &format!("stopped: {}", text(*why)), None),
            },
            _ => Ok(()),
        }
    }
}

impl Observer for PerfettoObserver<'_> {
    fn event(&mut self, event: &TraceEvent, tables: &Tables) {
        self.people.event(event, tables);
        let written = match event.kind {
            EventKind::GoChange { .. } => self.goroutine(event, tables),
            EventKind::ProcChange { .. } => self.proc(event),
            _ => self.other(event, tables),
        };
        self.failed = written.err();
    }

    fn has_enough(&self) -> bool {
        self.failed.is_some()
    }
}
