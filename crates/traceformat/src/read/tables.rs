//! What a generation's events refer to: strings, stacks, samples, clocks.
//!
//! Invariants, as Go's parser has them: each string and stack has a number of its own; every
//! frame's function and file are strings of the same generation; frames of one address are alike,
//! the first one read counts.

use std::collections::HashMap;

use super::batch::{BatchData, RawBatch, present};
use super::error::TraceError;
use super::ids::IdMap;
use crate::encode::{ClockReading, StackFrame};
use crate::wire::{EventType, MAX_FRAMES, MAX_STRING};

/// A sample of what ran on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSample {
    /// Nanoseconds.
    pub time: i64,
    /// On which M.
    pub m: Option<u64>,
    /// With which P.
    pub p: Option<u64>,
    /// Which goroutine.
    pub g: Option<u64>,
    /// Its stack.
    pub stack: u64,
}

/// The tables of one generation.
#[derive(Debug, Default)]
pub struct Tables {
    strings: IdMap<Box<str>>,
    stacks: IdMap<Box<[u64]>>,
    frames: HashMap<u64, StackFrame>,
    pub(super) samples: Vec<(u64, CpuSample)>,
    /// Ticks of a second.
    pub(super) frequency: Option<u64>,
    pub(super) clocks: Option<ClockReading>,
}

impl Tables {
    /// The string of this number. 0 is the empty one.
    #[must_use]
    pub fn string(&self, id: u64) -> Option<&str> {
        if id == 0 { Some("") } else { self.strings.get(&id).map(|text| &**text) }
    }

    /// Whether there is a stack of this number. 0 is no stack, and always there.
    #[must_use]
    pub fn has_stack(&self, id: u64) -> bool {
        id == 0 || self.stacks.contains_key(&id)
    }

    /// The frames of a stack, the innermost first; none if there is no such stack.
    pub fn stack(&self, id: u64) -> impl DoubleEndedIterator<Item = StackFrame> + '_ {
        let pcs = self.stacks.get(&id).map_or(&[][..], |pcs| pcs);
        pcs.iter().filter_map(|pc| self.frames.get(pc).copied())
    }

    /// Whether there are any stacks.
    #[must_use]
    pub fn has_stacks(&self) -> bool {
        !self.stacks.is_empty()
    }

    pub(super) fn add_strings(&mut self, batch: &RawBatch) -> Result<(), TraceError> {
        let mut data = BatchData::new(batch, 1);
        while !data.is_empty() {
            data.event(&[EventType::String])?;
            let (id, len) = (data.number("a string's number")?, data.number("a string's length")?);
            if len > MAX_STRING as u64 {
                return Err(data.error(format!("a string of {len} bytes: at most {MAX_STRING} are possible")));
            }
            let text = String::from_utf8_lossy(data.data(len, "a string")?).into();
            // 0 is there already.
            if id == 0 || self.strings.insert(id, text).is_some() {
                return Err(data.error(format!("a second string has the number {id}")));
            }
        }
        Ok(())
    }

    pub(super) fn add_stacks(&mut self, batch: &RawBatch) -> Result<(), TraceError> {
        let mut data = BatchData::new(batch, 1);
        while !data.is_empty() {
            data.event(&[EventType::Stack])?;
            let (id, count) = (data.number("a stack's number")?, data.number("a stack's length")?);
            if count > MAX_FRAMES as u64 {
                return Err(
                    data.error(format!("a stack of {count} frames: at most {MAX_FRAMES} are possible"))
                );
            }
            let mut pcs = Vec::new();
            for _ in 0..count {
                let frame = StackFrame {
                    pc: data.number("a frame's address")?,
                    function: data.number("a frame's function")?,
                    file: data.number("a frame's file")?,
                    line: data.number("a frame's line")?,
                };
                pcs.push(frame.pc);
                self.frames.entry(frame.pc).or_insert(frame);
            }
            if id == 0 || self.stacks.insert(id, pcs.into()).is_some() {
                return Err(data.error(format!("a second stack has the number {id}")));
            }
        }
        Ok(())
    }

    pub(super) fn add_samples(&mut self, batch: &RawBatch) -> Result<(), TraceError> {
        let mut data = BatchData::new(batch, 1);
        while !data.is_empty() {
            data.event(&[EventType::CPUSample])?;
            let time = data.number("a sample's time")?;
            let (m, p) = (data.number("a sample's M")?, data.number("a sample's P")?);
            let (g, stack) = (data.number("a sample's goroutine")?, data.number("a sample's stack")?);
            let (m, p, g) = (present(m), present(p), present(g).filter(|g| *g != 0));
            self.samples.push((time, CpuSample { time: 0, m, p, g, stack }));
        }
        Ok(())
    }

    /// `skip`: how many bytes stand before the first event.
    pub(super) fn set_sync(&mut self, batch: &RawBatch, skip: usize) -> Result<(), TraceError> {
        let with_clocks = skip > 0;
        let wanted = [EventType::Frequency, EventType::ClockSnapshot];
        let mut data = BatchData::new(batch, skip);
        let mut trace = batch.time;
        while !data.is_empty() {
            if data.event(&wanted[..1 + usize::from(with_clocks)])? == EventType::Frequency {
                let frequency = data.number("the clock's frequency")?;
                if frequency == 0 {
                    return Err(data.error("the clock's frequency is 0"));
                }
                if self.frequency.replace(frequency).is_some() {
                    return Err(data.error("a second frequency in one generation"));
                }
                continue;
            }
            trace = trace.wrapping_add(data.number("the clocks' time")?);
            let mono = data.number("the monotonic clock")?;
            let (seconds, nanos) = (data.number("the wall clock")?, data.number("the wall clock")?);
            if self.clocks.replace(ClockReading { trace, mono, seconds, nanos }).is_some() {
                return Err(data.error("the clocks are said a second time in one generation"));
            }
        }
        Ok(())
    }

    /// Every frame's strings are there.
    pub(super) fn validate(&self, offset: u64) -> Result<(), TraceError> {
        for (id, pcs) in &self.stacks {
            for frame in pcs.iter().filter_map(|pc| self.frames.get(pc)) {
                if let Some(missing) =
                    [frame.function, frame.file].iter().find(|s| self.string(**s).is_none())
                {
                    return Err(TraceError::new(
                        offset,
                        format!("stack {id} refers to string {missing}: there is none"),
                    ));
                }
            }
        }
        Ok(())
    }
}
