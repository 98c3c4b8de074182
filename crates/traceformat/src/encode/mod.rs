//! What a recorder writes: batches, one M's events at a time, and the tables that they refer to.
//!
//! Nothing here allocates, locks or fails: a writer fills the storage that it is given, and each
//! method says whether its event still fitted ([`Fit`]). The caller then hands the full storage on
//! and begins a new batch.
//!
//! A generation is: any number of batches of events, one or more [`StringsWriter`] and
//! [`StacksWriter`] batches, at most a few [`SamplesWriter`] batches, exactly one [`put_sync`], and
//! [`END_OF_GENERATION`]. Batches of one M stand in the order of their times; else their order is
//! free. The file begins with [`crate::wire::HEADER`].
//!
//! Invariants:
//! - what has been written is always a whole number of events, and the length in a batch's header
//!   is filled in once, by `finish`;
//! - times within a batch do not decrease: an earlier one is written as the last one.

pub mod events;
pub mod tables;

pub use events::BatchWriter;
pub use tables::{ClockReading, SamplesWriter, StackFrame, StacksWriter, StringsWriter, put_sync};

use crate::leb128;
use crate::wire::{EXPERIMENT, EventType, MAX_BATCH};

/// What follows the last batch of a generation.
pub const END_OF_GENERATION: [u8; 1] = [EventType::EndOfGeneration as u8];

/// Bytes of the length in a batch's header: three hold every length up to [`MAX_BATCH`].
const LENGTH: usize = 3;

/// The longest header: two bytes of type, three numbers, the length.
pub const MAX_HEADER: usize = 2 + 3 * leb128::MAX_LEN + LENGTH;

/// Whether there was room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an event that did not fit is lost unless it is written to the next batch"]
pub enum Fit {
    /// It is written.
    Written,
    /// There was not room enough; nothing has changed.
    Full,
}

/// A batch that is being filled: the storage, and how far it is filled.
#[derive(Debug)]
pub(crate) struct BatchCore<B> {
    storage: B,
    /// Where the length stands.
    length_at: usize,
    at: usize,
    /// Never beyond the storage.
    end: usize,
}

impl<B: AsMut<[u8]>> BatchCore<B> {
    /// A batch of events; see [`MAX_HEADER`] for how much storage is needed.
    pub(crate) fn begin(storage: B, generation: u64, m: u64, time: u64) -> BatchCore<B> {
        BatchCore::with_head(storage, &[EventType::EventBatch as u8], [generation, m, time])
    }

    /// A batch of private data.
    pub(crate) fn begin_experimental(storage: B, generation: u64, m: u64, time: u64) -> BatchCore<B> {
        BatchCore::with_head(
            storage,
            &[EventType::ExperimentalBatch as u8, EXPERIMENT],
            [generation, m, time],
        )
    }

    fn with_head(mut storage: B, types: &[u8], numbers: [u64; 3]) -> BatchCore<B> {
        let room = storage.as_mut();
        let end = room.len().min(MAX_BATCH);
        assert!(end >= MAX_HEADER, "a batch needs storage for its header: {MAX_HEADER} bytes");
        room[..types.len()].copy_from_slice(types);
        let mut at = types.len();
        for number in numbers {
            at += leb128::put(&mut room[at..], number);
        }
        BatchCore { storage, length_at: at, at: at + LENGTH, end }
    }

    /// The place for up to `bytes` more.
    #[inline]
    pub(crate) fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        if self.end - self.at < bytes {
            return None;
        }
        Some(&mut self.storage.as_mut()[self.at..self.end])
    }

    /// So many bytes of the room have been filled.
    #[inline]
    pub(crate) fn advance(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.end - self.at);
        self.at += bytes;
    }

    /// How many bytes are written after the header.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.at - self.length_at - LENGTH
    }

    /// Fills the length in; the storage and how many of its bytes are the batch.
    pub(crate) fn finish(mut self) -> (B, usize) {
        let length = self.len() as u64;
        leb128::put_padded(&mut self.storage.as_mut()[self.length_at..self.length_at + LENGTH], length);
        (self.storage, self.at)
    }
}
