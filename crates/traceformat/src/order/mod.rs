//! Puts the events of all Ms in order, and says what they mean.
//!
//! A trace has a string of events for each M. [`OrderedTrace`] merges them by time where it may and
//! by the numbers of goroutines and Ps where it must, keeps the state of everything (`model.rs`),
//! and gives each event its scene and the change that it is. It accepts what Go's parser accepts,
//! and finds the same order; `tests/go_parser.rs` holds it to that.
//!
//! Memory is bounded by the largest generation and by the goroutines that are alive.

mod annotations;
mod event;
mod frontier;
mod goroutines;
mod model;
mod procs;

use std::io::BufRead;

pub use event::{
    EventKind, GaugeKind, GoState, Origin, ProcState, RangeEdge, RangeKind, RangeScope, Scene, TraceEvent,
};

use crate::TraceError;
use crate::read::{CpuSample, Generation, TraceReader, Version};
use crate::wire::{EventType, MAX_ARGS};
use frontier::Frontier;
use model::Model;

/// A trace, event by event.
pub struct OrderedTrace<R> {
    reader: TraceReader<R>,
    model: Model,
    generation: Option<Generation>,
    frontier: Frontier,
    /// Samples of the generation that were given.
    sampled: usize,
    last: i64,
    syncs: u64,
    ended: bool,
}

impl<R: BufRead> OrderedTrace<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// If this is no trace, or one of a version that can't be read.
    pub fn new(input: R) -> Result<OrderedTrace<R>, TraceError> {
        Ok(OrderedTrace {
            reader: TraceReader::new(input)?,
            model: Model::new(),
            generation: None,
            frontier: Frontier::default(),
            sampled: 0,
            last: 0,
            syncs: 0,
            ended: false,
        })
    }

    /// The version of the trace.
    pub fn version(&self) -> Version {
        self.reader.version()
    }

    /// How many bytes have been read.
    pub fn offset(&self) -> u64 {
        self.reader.offset()
    }

    /// The generation of the event that was given last: its tables have the strings and stacks that
    /// the event names. None before the first event and after the last.
    pub fn generation(&self) -> Option<&Generation> {
        self.generation.as_ref()
    }

    /// The next event, or nothing at the end. After an error, nothing.
    ///
    /// The first event of each generation, and the last of all, is a [`EventKind::Sync`].
    ///
    /// # Errors
    /// If the trace is broken or can't be read.
    pub fn next_event(&mut self) -> Result<Option<TraceEvent>, TraceError> {
        if self.ended {
            return Ok(None);
        }
        let found = self.find();
        self.ended |= found.is_err();
        let mut event = found?;
        if event.time <= self.last {
            event.time = self.last.saturating_add(1);
        }
        self.last = event.time;
        Ok(Some(event))
    }

    fn find(&mut self) -> Result<TraceEvent, TraceError> {
        if self.model.queue.is_empty() {
            let all_sampled =
                self.generation.as_ref().is_none_or(|generation| self.sampled == generation.samples.len());
            if self.frontier.is_empty() && all_sampled {
                return self.next_generation();
            }
            if let Some(sample) = self.due_sample() {
                return Ok(sample_event(sample, self.reader.offset()));
            }
            if let Some(generation) = &self.generation {
                self.frontier.advance(&mut self.model, generation)?;
            }
        }
        let event = self.model.queue.pop_front();
        let event =
            event.ok_or_else(|| TraceError::new(self.reader.offset(), "no event where one advanced"))?;
        self.validate(&event)?;
        Ok(event)
    }

    fn next_generation(&mut self) -> Result<TraceEvent, TraceError> {
        self.generation = self.reader.next_generation()?;
        self.sampled = 0;
        self.syncs += 1;
        let time = match &self.generation {
            Some(generation) => {
                self.frontier = Frontier::of_generation(generation)?;
                generation.tick.nanos(generation.start)
            }
            None => {
                self.ended = true;
                self.last
            }
        };
        Ok(TraceEvent {
            time,
            scene: Scene::default(),
            kind: EventKind::Sync { number: self.syncs },
            stack: 0,
            wire: EventType::Sync,
            args: [0; MAX_ARGS],
            origin: Origin::Implied,
            offset: self.reader.offset(),
        })
    }

    /// The next sample, if it is earlier than every event.
    fn due_sample(&mut self) -> Option<CpuSample> {
        let sample = *self.generation.as_ref()?.samples.get(self.sampled)?;
        let is_due = self.frontier.time().is_none_or(|time| sample.time < time);
        self.sampled += usize::from(is_due);
        is_due.then_some(sample)
    }

    /// The strings and stacks that it names are there.
    fn validate(&self, event: &TraceEvent) -> Result<(), TraceError> {
        let (Origin::Recorded, Some(generation)) = (event.origin, &self.generation) else { return Ok(()) };
        let spec = event.wire.spec();
        for (place, id) in event.args[..spec.args.len() - 1].iter().enumerate() {
            let what = match place + 1 {
                arg if spec.is_stack(arg) && !generation.tables.has_stack(*id) => "stack",
                arg if spec.is_string(arg) && generation.tables.string(*id).is_none() => "string",
                _ => continue,
            };
            return Err(TraceError::new(
                event.offset,
                format!("{:?} with {what} {id}: there is none", event.wire),
            ));
        }
        Ok(())
    }
}

fn sample_event(sample: CpuSample, offset: u64) -> TraceEvent {
    TraceEvent {
        time: sample.time,
        scene: Scene { m: sample.m, p: sample.p, g: sample.g },
        kind: EventKind::CpuSample,
        stack: sample.stack,
        wire: EventType::CPUSample,
        args: [0; MAX_ARGS],
        origin: Origin::Recorded,
        offset,
    }
}
