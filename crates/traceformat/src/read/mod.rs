//! Reads a trace, one generation at a time: memory is bounded by the largest generation.
//!
//! Traces of Go 1.22 to 1.26 can be read. What is wrong is an error with the place where it was
//! noticed; nothing panics, whatever the bytes are. What is accepted is what Go's parser accepts,
//! but for a frequency of 0, decisions that are broken, and a table that is cut off before a
//! number: Go's parser takes the latter for the end of the trace and loses the rest.
//!
//! Here the events of each M stand apart; [`crate::order`] puts them in order.

pub(crate) mod batch;
pub(crate) mod cursor;
pub(crate) mod error;
pub(crate) mod generation;
pub(crate) mod ids;
mod tables;
mod version;

use std::io::BufRead;

pub use batch::RawBatch;
pub use cursor::{RawEvent, StrandCursor};
pub use generation::{Generation, Strand, TickLength};
pub use ids::{IdHasher, IdMap};
pub use tables::{CpuSample, Tables};
pub use version::Version;

use crate::TraceError;
use batch::{Input, Read1};
use generation::Gathered;

/// Reads generations.
pub struct TraceReader<R> {
    input: Input<R>,
    version: Version,
    /// Before Go 1.26: the first batch of the next generation, by which the end of one is known.
    spilled: Option<(u64, RawBatch)>,
    /// What was wrong behind the generation that was given last.
    pending: Option<TraceError>,
    ended: bool,
}

impl<R: BufRead> TraceReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// If this is no trace, or one of a version that can't be read.
    pub fn new(input: R) -> Result<TraceReader<R>, TraceError> {
        let mut input = Input::new(input);
        let header = input.bytes(crate::wire::HEADER.len())?;
        let version = Version::of_header(&header).map_err(|message| TraceError::new(0, message))?;
        Ok(TraceReader { input, version, spilled: None, pending: None, ended: false })
    }

    /// The version of the trace.
    pub fn version(&self) -> Version {
        self.version
    }

    /// How many bytes have been read.
    pub fn offset(&self) -> u64 {
        self.input.offset()
    }

    /// The next generation, or nothing if there is none. After an error, there is none.
    ///
    /// # Errors
    /// If the trace is broken or can't be read. Before Go 1.26, a generation is given even if it is
    /// the next that is broken.
    pub fn next_generation(&mut self) -> Result<Option<Generation>, TraceError> {
        if let Some(error) = self.pending.take() {
            return Err(error);
        }
        if self.ended {
            return Ok(None);
        }
        let read = if self.version.has_ends() { self.read_to_end() } else { self.read_to_next() };
        self.ended |= !matches!(read, Ok(Some(_)));
        read
    }

    fn read_to_end(&mut self) -> Result<Option<Generation>, TraceError> {
        let mut gathered: Option<Gathered> = None;
        loop {
            let offset = self.input.offset();
            let (number, batch) = match self.input.batch()? {
                Read1::Batch(number, batch) => (number, batch),
                Read1::EndOfGeneration => {
                    let gathered = gathered.unwrap_or_else(|| Gathered::new(0));
                    return gathered.finish(self.version, offset).map(Some);
                }
                Read1::EndOfTrace if gathered.is_some_and(|gathered| gathered.has_events()) => {
                    return Err(TraceError::new(
                        offset,
                        "the trace ends within a generation: it was cut off",
                    ));
                }
                Read1::EndOfTrace => return Ok(None),
            };
            if number == 0 {
                return Err(TraceError::new(offset, "a batch of generation 0"));
            }
            let gathered = gathered.get_or_insert_with(|| Gathered::new(number));
            if number != gathered.number() {
                let message = format!("generation {number} begins before {} has ended", gathered.number());
                return Err(TraceError::new(offset, message));
            }
            gathered.add(batch, self.version)?;
        }
    }

    fn read_to_next(&mut self) -> Result<Option<Generation>, TraceError> {
        let mut gathered: Option<Gathered> = None;
        if let Some((number, batch)) = self.spilled.take() {
            gathered.insert(Gathered::new(number)).add(batch, self.version)?;
        }
        loop {
            let offset = self.input.offset();
            let (number, batch) = match self.input.batch() {
                Ok(Read1::Batch(number, batch)) => (number, batch),
                Ok(Read1::EndOfTrace) => {
                    self.ended = true;
                    break;
                }
                Ok(Read1::EndOfGeneration) => {
                    return Err(TraceError::new(offset, "the end of a generation in a trace before Go 1.26"));
                }
                Err(error) if gathered.is_some() => {
                    self.pending = Some(error);
                    self.ended = true;
                    break;
                }
                Err(error) => return Err(error),
            };
            if number == 0 {
                return Err(TraceError::new(offset, "a batch of generation 0"));
            }
            let gathered = gathered.get_or_insert_with(|| Gathered::new(number));
            if gathered.number().checked_add(1) == Some(number) {
                self.spilled = Some((number, batch));
                break;
            }
            if number != gathered.number() {
                let message = format!("generation {number} stands within {}", gathered.number());
                return Err(TraceError::new(offset, message));
            }
            gathered.add(batch, self.version)?;
        }
        // An empty trace is as good as one without a frequency, for Go's parser.
        let gathered = gathered.unwrap_or_else(|| Gathered::new(0));
        gathered.finish(self.version, self.input.offset()).map(Some)
    }
}
