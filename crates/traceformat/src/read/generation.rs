//! One generation: the batches of each M and what they refer to. All of it is in memory, and
//! nothing of another one.

use super::batch::RawBatch;
use super::error::TraceError;
use super::ids::IdMap;
use super::tables::{CpuSample, Tables};
use super::version::Version;
use crate::decisions::{TimedDecision, is_decisions, read_decisions};
use crate::encode::ClockReading;
use crate::read::batch::present;
use crate::wire::EventType;

/// Nanoseconds of ticks.
#[derive(Clone, Copy, Debug)]
pub struct TickLength(f64);

impl TickLength {
    fn of_frequency(frequency: u64) -> TickLength {
        // As Go's parser computes it, to the last bit.
        TickLength(1.0 / (frequency as f64 / 1e9))
    }

    /// So many ticks in nanoseconds.
    #[must_use]
    pub fn nanos(self, ticks: u64) -> i64 {
        (ticks as f64 * self.0) as i64
    }
}

/// The events of one M, in the order of its batches.
#[derive(Debug)]
pub struct Strand {
    /// Which M, or [`crate::wire::NONE`].
    pub m: u64,
    /// Its batches.
    pub batches: Vec<RawBatch>,
}

/// A generation that was read.
#[derive(Debug)]
pub struct Generation {
    /// Its number, from 1 on.
    pub number: u64,
    /// The events of each M; Ms stand in the order of their first batches.
    pub strands: Vec<Strand>,
    /// Strings and stacks.
    pub tables: Tables,
    /// Samples of what ran on the CPUs, in the order of their times.
    pub samples: Vec<CpuSample>,
    /// What was decided, in the order of the times.
    pub decisions: Vec<TimedDecision>,
    /// How many batches of experiments there are that are no decisions.
    pub unknown_batches: usize,
    /// The length of its ticks.
    pub tick: TickLength,
    /// Ticks of a second.
    pub frequency: u64,
    /// The time of its first batch, in ticks.
    pub start: u64,
    /// What the clocks read, if it says so.
    pub clocks: Option<ClockReading>,
}

impl Generation {
    /// What the clocks read, the trace's in nanoseconds.
    #[must_use]
    pub fn clocks_in_nanos(&self) -> Option<(i64, ClockReading)> {
        self.clocks.map(|clocks| (self.tick.nanos(clocks.trace), clocks))
    }
}

/// A generation of which batches are still being read.
pub(super) struct Gathered {
    number: u64,
    strands: Vec<Strand>,
    places: IdMap<usize>,
    tables: Tables,
    experimental: Vec<RawBatch>,
    start: u64,
}

impl Gathered {
    pub(super) fn new(number: u64) -> Gathered {
        Gathered {
            number,
            strands: Vec::new(),
            places: IdMap::default(),
            tables: Tables::default(),
            experimental: Vec::new(),
            start: 0,
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn has_events(&self) -> bool {
        !self.strands.is_empty()
    }

    pub(super) fn add(&mut self, batch: RawBatch, version: Version) -> Result<(), TraceError> {
        if self.start == 0 || batch.time < self.start {
            self.start = batch.time;
        }
        let sync = version.sync_event();
        match batch.first() {
            Some(EventType::Strings) => self.tables.add_strings(&batch),
            Some(EventType::Stacks) => self.tables.add_stacks(&batch),
            Some(EventType::CPUSamples) => self.tables.add_samples(&batch),
            Some(event) if event == sync => {
                self.tables.set_sync(&batch, usize::from(event == EventType::Sync))
            }
            _ if batch.experiment != 0 => {
                self.experimental.push(batch);
                Ok(())
            }
            Some(EventType::EndOfGeneration) => {
                Err(TraceError::new(batch.offset, "the end of a generation within a batch"))
            }
            _ => {
                let place = *self.places.entry(batch.m).or_insert(self.strands.len());
                if place == self.strands.len() {
                    self.strands.push(Strand { m: batch.m, batches: Vec::new() });
                }
                self.strands[place].batches.push(batch);
                Ok(())
            }
        }
    }

    /// All batches have been read; `offset` is where they end.
    pub(super) fn finish(mut self, version: Version, offset: u64) -> Result<Generation, TraceError> {
        let Some(frequency) = self.tables.frequency else {
            return Err(TraceError::new(offset, format!("generation {} has no frequency", self.number)));
        };
        if version.has_clocks() && self.tables.clocks.is_none() {
            return Err(TraceError::new(
                offset,
                format!("generation {} does not say the clocks", self.number),
            ));
        }
        self.tables.validate(offset)?;
        let tick = TickLength::of_frequency(frequency);
        let mut samples: Vec<CpuSample> = core::mem::take(&mut self.tables.samples)
            .into_iter()
            .map(|(time, sample)| CpuSample { time: tick.nanos(time), ..sample })
            .collect();
        samples.sort_by_key(|sample| sample.time);
        let (decisions, unknown_batches) = decisions_of(&self.experimental, tick)?;
        Ok(Generation {
            number: self.number,
            strands: self.strands,
            samples,
            decisions,
            unknown_batches,
            tick,
            frequency,
            start: self.start,
            clocks: self.tables.clocks,
            tables: self.tables,
        })
    }
}

/// The decisions in batches of experiments, and how many of these are something else.
fn decisions_of(batches: &[RawBatch], tick: TickLength) -> Result<(Vec<TimedDecision>, usize), TraceError> {
    let (mut decisions, mut unknown) = (Vec::new(), 0);
    for batch in batches {
        if !is_decisions(&batch.data) {
            unknown += 1;
            continue;
        }
        let read = read_decisions(&batch.data, batch.time)
            .map_err(|at| TraceError::new(batch.offset + at as u64, "this is no decision"))?;
        decisions.extend(read.into_iter().map(|(time, decision)| TimedDecision {
            time: tick.nanos(time),
            m: present(batch.m),
            decision,
        }));
    }
    decisions.sort_by_key(|decision| decision.time);
    Ok((decisions, unknown))
}
