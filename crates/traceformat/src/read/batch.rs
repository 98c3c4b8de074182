//! One batch at a time: the header, and the data as they are.
//!
//! Invariant: memory is taken for data that are there, not for a length that was only promised, and
//! never more than [`MAX_BATCH`].

use std::io::{self, BufRead, Read};

use super::error::TraceError;
use crate::leb128;
use crate::wire::{EventType, MAX_BATCH, NONE};

/// A batch as it was read.
#[derive(Clone, Debug)]
pub struct RawBatch {
    /// Whose events these are, or [`NONE`].
    pub m: u64,
    /// When it began, in ticks.
    pub time: u64,
    /// Which experiment it belongs to, or 0.
    pub experiment: u8,
    /// What follows the header.
    pub data: Vec<u8>,
    /// How many bytes of the trace stand before the data.
    pub offset: u64,
}

impl RawBatch {
    /// The type of its first event, if it belongs to no experiment.
    #[must_use]
    pub fn first(&self) -> Option<EventType> {
        (self.experiment == 0).then(|| self.data.first().copied().and_then(EventType::from_byte)).flatten()
    }
}

/// What stood at a place of the trace.
#[derive(Debug)]
pub(super) enum Read1 {
    /// A batch of this generation.
    Batch(u64, RawBatch),
    EndOfGeneration,
    EndOfTrace,
}

/// Counts what was read.
pub(super) struct Input<R> {
    inner: R,
    offset: u64,
}

impl<R: BufRead> Input<R> {
    pub(super) fn new(inner: R) -> Input<R> {
        Input { inner, offset: 0 }
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    fn failed(&self, what: &str, source: io::Error) -> TraceError {
        TraceError { offset: self.offset, message: what.to_owned(), source: Some(source) }
    }

    /// The next byte, if there is one.
    fn byte(&mut self) -> Result<Option<u8>, TraceError> {
        let byte = loop {
            match self.inner.fill_buf() {
                Ok(bytes) => break bytes.first().copied(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed("can't read", error)),
            }
        };
        if byte.is_some() {
            self.inner.consume(1);
            self.offset += 1;
        }
        Ok(byte)
    }

    /// As much as there is, up to `len`.
    pub(super) fn bytes(&mut self, len: usize) -> Result<Vec<u8>, TraceError> {
        let mut data = Vec::new();
        match self.inner.by_ref().take(len as u64).read_to_end(&mut data) {
            Ok(_) => {
                self.offset += data.len() as u64;
                data.shrink_to_fit();
                Ok(data)
            }
            Err(error) => Err(self.failed("can't read", error)),
        }
    }

    fn number(&mut self, what: &str) -> Result<u64, TraceError> {
        let mut bytes = [0; leb128::MAX_LEN];
        for place in &mut bytes {
            let Some(byte) = self.byte()? else {
                return Err(TraceError::new(self.offset, format!("the trace ends within a batch's {what}")));
            };
            *place = byte;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let number = leb128::get(&bytes).map(|(number, _)| number);
        number.ok_or_else(|| TraceError::new(self.offset, format!("a batch's {what} is no number")))
    }

    /// Reads the next batch whole.
    pub(super) fn batch(&mut self) -> Result<Read1, TraceError> {
        let start = self.offset;
        let Some(byte) = self.byte()? else { return Ok(Read1::EndOfTrace) };
        let experiment = match EventType::from_byte(byte) {
            Some(EventType::EndOfGeneration) => return Ok(Read1::EndOfGeneration),
            Some(EventType::EventBatch) => 0,
            Some(EventType::ExperimentalBatch) => self.byte()?.ok_or_else(|| {
                TraceError::new(self.offset, "the trace ends within the header of an experimental batch")
            })?,
            _ => return Err(TraceError::new(start, format!("a batch should begin here, not {byte}"))),
        };
        let generation = self.number("generation")?;
        let (m, time) = (self.number("thread")?, self.number("time")?);
        let size = self.number("size")?;
        if size > MAX_BATCH as u64 {
            return Err(TraceError::new(
                start,
                format!("a batch of {size} bytes: at most {MAX_BATCH} are possible"),
            ));
        }
        let offset = self.offset;
        let data = self.bytes(size as usize)?;
        if data.len() as u64 != size {
            let message = format!("the trace ends after {} of {size} bytes of a batch", data.len());
            return Err(TraceError::new(self.offset, message));
        }
        Ok(Read1::Batch(generation, RawBatch { m, time, experiment, data, offset }))
    }
}

/// Reads numbers out of a batch.
pub(super) struct BatchData<'a> {
    batch: &'a RawBatch,
    at: usize,
}

impl<'a> BatchData<'a> {
    /// After the batch's first `skip` bytes.
    pub(super) fn new(batch: &'a RawBatch, skip: usize) -> BatchData<'a> {
        BatchData { batch, at: skip }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.batch.data.len()
    }

    pub(super) fn error(&self, message: impl Into<String>) -> TraceError {
        TraceError::new(self.batch.offset + self.at as u64, message)
    }

    pub(super) fn number(&mut self, what: &str) -> Result<u64, TraceError> {
        let rest = self.batch.data.get(self.at..).unwrap_or_default();
        let Some((number, len)) = leb128::get(rest) else {
            return Err(self.error(format!("{what}: no number")));
        };
        self.at += len;
        Ok(number)
    }

    pub(super) fn data(&mut self, len: u64, what: &str) -> Result<&'a [u8], TraceError> {
        let rest = self.batch.data.get(self.at..).unwrap_or_default();
        let data = usize::try_from(len).ok().and_then(|len| rest.get(..len));
        let data =
            data.ok_or_else(|| self.error(format!("{what}: {len} bytes, but only {} follow", rest.len())))?;
        self.at += data.len();
        Ok(data)
    }

    /// The type of the next event, which is one of `wanted`.
    pub(super) fn event(&mut self, wanted: &[EventType]) -> Result<EventType, TraceError> {
        let found = self.batch.data.get(self.at).copied().unwrap_or(0);
        match EventType::from_byte(found) {
            Some(event) if wanted.contains(&event) => {
                self.at += 1;
                Ok(event)
            }
            _ => Err(self.error(format!("{:?} should stand here, not event {found}", wanted[0]))),
        }
    }
}

/// [`NONE`], as an option.
#[must_use]
pub(crate) fn present(number: u64) -> Option<u64> {
    (number != NONE).then_some(number)
}
