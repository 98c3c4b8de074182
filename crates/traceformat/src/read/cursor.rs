//! The events of one M, one after the other.

use super::error::TraceError;
use super::generation::{Strand, TickLength};
use crate::leb128;
use crate::wire::{EventType, MAX_ARGS};

/// An event as it was read; what it means depends on those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEvent {
    /// Its type, which is a timed one.
    pub event: EventType,
    /// Nanoseconds.
    pub time: i64,
    /// The arguments after the time; those that it does not have are 0.
    pub args: [u64; MAX_ARGS],
    /// How many bytes of the trace stand before it.
    pub offset: u64,
}

/// A place among the events of an M.
#[derive(Debug, Default)]
pub struct StrandCursor {
    batch: usize,
    at: usize,
    time: i64,
}

impl StrandCursor {
    /// The next event, if there is one.
    ///
    /// # Errors
    /// If what stands there is no timed event.
    pub fn next(&mut self, strand: &Strand, tick: TickLength) -> Result<Option<RawEvent>, TraceError> {
        while strand.batches.get(self.batch).is_some_and(|batch| batch.data.len() == self.at) {
            *self = StrandCursor { batch: self.batch + 1, at: 0, time: 0 };
        }
        let Some(batch) = strand.batches.get(self.batch) else { return Ok(None) };
        // As Go's parser has it: a time of 0 is none yet.
        if self.time == 0 {
            self.time = tick.nanos(batch.time);
        }
        let offset = batch.offset + self.at as u64;
        let data = &batch.data[self.at..];
        let event = EventType::from_byte(data[0]).filter(|event| event.spec().is_timed());
        let Some(event) = event else {
            return Err(TraceError::new(offset, format!("event {} does not belong here", data[0])));
        };
        let mut len = 1;
        let mut numbers = [0; MAX_ARGS + 1];
        for number in &mut numbers[..event.spec().args.len()] {
            let Some((value, bytes)) = leb128::get(&data[len..]) else {
                return Err(TraceError::new(offset, format!("{event:?} has too few arguments")));
            };
            *number = value;
            len += bytes;
        }
        self.at += len;
        self.time = self.time.saturating_add(tick.nanos(numbers[0]));
        let mut args = [0; MAX_ARGS];
        args.copy_from_slice(&numbers[1..]);
        Ok(Some(RawEvent { event, time: self.time, args, offset }))
    }
}
