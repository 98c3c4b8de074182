//! One generation that is being written, and the numbers that are counted anew.
//!
//! Strings and stacks keep the numbers that they have in the generation that is read; those that
//! events name are copied.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use gosched_traceformat::decisions::{DecisionsWriter, TimedDecision};
use gosched_traceformat::encode::{
    BatchWriter, ClockReading, END_OF_GENERATION, Fit, SamplesWriter, StackFrame, StacksWriter,
    StringsWriter, put_sync,
};
use gosched_traceformat::order::{RangeScope, TraceEvent};
use gosched_traceformat::read::{IdMap, Tables};
use gosched_traceformat::wire::{EventType, MAX_ARGS, MAX_BATCH, NONE};

/// Storage of an M's batch: there may be many Ms.
const STORAGE: usize = 16 << 10;

/// Nanoseconds of a second: how many ticks a second has.
const FREQUENCY: u64 = 1_000_000_000;

/// The numbers of goroutines, Ps and collections, and the ranges that were begun.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    gs: IdMap<u64>,
    ps: IdMap<u64>,
    collections: u64,
    ranges: Vec<(EventType, RangeScope)>,
}

fn next(numbers: &mut IdMap<u64>, id: u64) -> u64 {
    let number = numbers.entry(id).or_insert(0);
    *number += 1;
    *number
}

impl Numbers {
    pub(super) fn begin_generation(&mut self) {
        self.gs.clear();
        self.ps.clear();
    }

    pub(super) fn of_g(&mut self, g: u64) -> u64 {
        next(&mut self.gs, g)
    }

    pub(super) fn of_p(&mut self, p: u64) -> u64 {
        next(&mut self.ps, p)
    }

    /// The goroutine is gone; its ranges with it.
    pub(super) fn forget(&mut self, g: u64) {
        self.gs.remove(&g);
        self.ranges.retain(|(_, scope)| *scope != RangeScope::OfG(g));
    }

    pub(super) fn collection(&mut self) -> u64 {
        self.collections += 1;
        self.collections
    }

    pub(super) fn has_collections(&self) -> bool {
        self.collections > 0
    }

    pub(super) fn is_open(&self, range: (EventType, RangeScope)) -> bool {
        self.ranges.contains(&range)
    }

    pub(super) fn begin_range(&mut self, range: (EventType, RangeScope)) -> bool {
        self.ranges.push(range);
        true
    }

    pub(super) fn end_range(&mut self, range: (EventType, RangeScope)) -> bool {
        let place = self.ranges.iter().position(|other| *other == range);
        place.map(|place| self.ranges.swap_remove(place)).is_some()
    }
}

/// A generation.
pub(super) struct GenerationWriter {
    number: u64,
    time: u64,
    clocks: ClockReading,
    batches: BTreeMap<u64, BatchWriter<Vec<u8>>>,
    decisions: BTreeMap<u64, DecisionsWriter<Vec<u8>>>,
    strings: BTreeMap<u64, String>,
    stacks: BTreeMap<u64, Vec<StackFrame>>,
    known: BTreeSet<u64>,
    samples: Vec<(u64, [u64; 4])>,
}

fn ticks(time: i64) -> u64 {
    u64::try_from(time).unwrap_or(0)
}

fn write_batch(out: &mut dyn Write, (storage, len): (Vec<u8>, usize)) -> io::Result<()> {
    out.write_all(&storage[..len])
}

impl GenerationWriter {
    /// `clocks`: what they read at some moment of the trace.
    pub(super) fn new(number: u64, time: i64, clocks: Option<(i64, ClockReading)>) -> GenerationWriter {
        GenerationWriter {
            number,
            time: ticks(time),
            clocks: moved(clocks, time),
            batches: BTreeMap::new(),
            decisions: BTreeMap::new(),
            strings: BTreeMap::new(),
            stacks: BTreeMap::new(),
            known: BTreeSet::new(),
            samples: Vec::new(),
        }
    }

    pub(super) fn event(
        &mut self,
        m: Option<u64>,
        wire: EventType,
        time: i64,
        args: [u64; MAX_ARGS],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (m, number, time) = (m.unwrap_or(NONE), self.number, ticks(time));
        let args = &args[..wire.spec().args.len() - 1];
        let begin = || BatchWriter::begin(vec![0; STORAGE], number, m, time);
        let batch = self.batches.entry(m).or_insert_with(begin);
        if batch.event(wire, time, args) == Fit::Full {
            write_batch(out, core::mem::replace(batch, begin()).finish())?;
            let fit = batch.event(wire, time, args);
            debug_assert_eq!(fit, Fit::Written, "an empty batch has room");
        }
        Ok(())
    }

    pub(super) fn decision(&mut self, decision: &TimedDecision, out: &mut dyn Write) -> io::Result<()> {
        let (m, number, time) = (decision.m.unwrap_or(NONE), self.number, ticks(decision.time));
        let begin = || DecisionsWriter::begin(vec![0; STORAGE], number, m, time);
        let batch = self.decisions.entry(m).or_insert_with(begin);
        if batch.decision(time, decision.decision) == Fit::Full {
            write_batch(out, core::mem::replace(batch, begin()).finish())?;
            let fit = batch.decision(time, decision.decision);
            debug_assert_eq!(fit, Fit::Written, "an empty batch has room");
        }
        Ok(())
    }

    /// What the event names goes along.
    pub(super) fn remember(&mut self, event: &TraceEvent, tables: &Tables) {
        let spec = event.wire.spec();
        for (place, id) in event.args[..spec.args.len() - 1].iter().enumerate() {
            if spec.is_string(place + 1) {
                self.string(*id, tables);
            } else if spec.is_stack(place + 1) {
                self.stack(*id, tables);
            }
        }
    }

    pub(super) fn sample(&mut self, event: &TraceEvent, tables: &Tables) {
        self.stack(event.stack, tables);
        let scene = event.scene;
        let (m, p, g) = (scene.m.unwrap_or(NONE), scene.p.unwrap_or(NONE), scene.g.unwrap_or(0));
        self.samples.push((ticks(event.time), [m, p, g, event.stack]));
    }

    fn string(&mut self, id: u64, tables: &Tables) {
        if id != 0 && !self.strings.contains_key(&id) {
            self.strings.insert(id, tables.string(id).unwrap_or_default().to_owned());
        }
    }

    fn stack(&mut self, id: u64, tables: &Tables) {
        if id == 0 || !self.known.insert(id) {
            return;
        }
        let frames: Vec<StackFrame> = tables.stack(id).collect();
        for frame in &frames {
            self.string(frame.function, tables);
            self.string(frame.file, tables);
        }
        self.stacks.insert(id, frames);
    }

    /// Writes what is left, the tables, and the end.
    pub(super) fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        for batch in self.batches.into_values() {
            write_batch(out, batch.finish())?;
        }
        for batch in self.decisions.into_values() {
            write_batch(out, batch.finish())?;
        }
        let (number, time) = (self.number, self.time);
        let begin = || StringsWriter::begin(vec![0; MAX_BATCH], number, time);
        let mut strings = begin();
        for (id, text) in &self.strings {
            if strings.string(*id, text) == Fit::Full {
                write_batch(out, core::mem::replace(&mut strings, begin()).finish())?;
                let fit = strings.string(*id, text);
                debug_assert_eq!(fit, Fit::Written, "an empty batch has room");
            }
        }
        write_batch(out, strings.finish())?;
        let begin = || StacksWriter::begin(vec![0; MAX_BATCH], number, time);
        let mut stacks = begin();
        for (id, frames) in &self.stacks {
            if stacks.stack(*id, frames) == Fit::Full {
                write_batch(out, core::mem::replace(&mut stacks, begin()).finish())?;
                let fit = stacks.stack(*id, frames);
                debug_assert_eq!(fit, Fit::Written, "an empty batch has room");
            }
        }
        write_batch(out, stacks.finish())?;
        write_samples(out, &self.samples, number, time)?;
        write_batch(out, put_sync(vec![0; 128], number, FREQUENCY, self.clocks))?;
        out.write_all(&END_OF_GENERATION)
    }
}

fn write_samples(out: &mut dyn Write, samples: &[(u64, [u64; 4])], number: u64, time: u64) -> io::Result<()> {
    let begin = || SamplesWriter::begin(vec![0; MAX_BATCH], number, time);
    let mut batch = begin();
    for (time, [m, p, g, stack]) in samples {
        if batch.sample(*time, *m, *p, *g, *stack) == Fit::Full {
            write_batch(out, core::mem::replace(&mut batch, begin()).finish())?;
            let fit = batch.sample(*time, *m, *p, *g, *stack);
            debug_assert_eq!(fit, Fit::Written, "an empty batch has room");
        }
    }
    write_batch(out, batch.finish())
}

/// What the clocks read at `time`, if that is what they read at another moment.
fn moved(clocks: Option<(i64, ClockReading)>, time: i64) -> ClockReading {
    let now = ticks(time);
    let Some((then, clocks)) = clocks else {
        return ClockReading { trace: now, mono: now, ..ClockReading::default() };
    };
    let ahead = time.saturating_sub(then);
    let wall = i128::from(clocks.seconds) * 1_000_000_000 + i128::from(clocks.nanos) + i128::from(ahead);
    let wall = u64::try_from(wall).unwrap_or(0);
    ClockReading {
        trace: now,
        mono: clocks.mono.saturating_add_signed(ahead),
        seconds: wall / 1_000_000_000,
        nanos: wall % 1_000_000_000,
    }
}
