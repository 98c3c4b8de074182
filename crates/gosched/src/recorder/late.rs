//! What is said of a generation when the next one has begun: the status of goroutines and Ps that
//! nobody touched in it.
//!
//! The tracer collects them, one by one. Whoever touches one of them first, in the next generation,
//! before the tracer has come to it, says it in the tracer's place. A compare-and-swap of the word,
//! under the lock here, decides which of the two does.
//!
//! Invariant: the lock is free whenever the tracer completes the generation, so whoever has claimed
//! a word has written its status.

use core::sync::atomic::Ordering;

use gosched_primitives::Lock;
use gosched_traceformat::encode::{BatchWriter, Fit};
use gosched_traceformat::wire::EventType;

use super::buffers::{self, FullBuffer, TraceBuffer};
use super::word::{TraceEntry, TraceWord};
use super::{TURNED_AT, block, lose_generation};

/// The number of the stream, in the place of a thread's.
pub(super) const LATE_M: u64 = (1 << 32) + 1;

struct Late {
    generation: u64,
    batch: Option<BatchWriter<TraceBuffer>>,
}

static LATE: Lock<Late> = Lock::new(Late { generation: 0, batch: None });

impl Late {
    fn hand_in(&mut self) {
        if let Some(batch) = self.batch.take() {
            let (buffer, len) = batch.finish();
            buffers::hand_in(FullBuffer { generation: self.generation, buffer, len });
        }
    }

    fn put(&mut self, generation: u64, event: EventType, args: &[u64]) {
        let time = TURNED_AT.load(Ordering::Relaxed);
        if self.generation == generation
            && let Some(batch) = &mut self.batch
            && batch.event(event, time, args) == Fit::Written
        {
            return;
        }
        self.hand_in();
        self.generation = generation;
        let Some(buffer) = buffers::take() else { return lose_generation(generation) };
        let mut batch = BatchWriter::begin(buffer, generation, LATE_M, time);
        if batch.event(event, time, args) == Fit::Full {
            lose_generation(generation);
        }
        self.batch = Some(batch);
    }
}

/// Replaces what a word says, and says it in `generation`, which is being completed. `false` if the
/// word has changed.
pub(super) fn claim(
    generation: u64,
    word: &TraceWord,
    (from, to): (TraceEntry, TraceEntry),
    (event, args): (EventType, [u64; 3]),
) -> bool {
    let mut late = LATE.lock();
    let claimed = word.claim(from, to);
    if claimed {
        late.put(generation, event, &args[..event.spec().args.len() - 1]);
    }
    claimed
}

/// Says in `generation`, which is over, what the word says, unless that was said in it, or by
/// whoever has touched it since. Called by the tracer.
pub(crate) fn collect(generation: u64, word: &TraceWord, id: impl FnOnce() -> u64) {
    let entry = word.get();
    if entry.is_since(generation) || block::status_of(entry.known(), 0).is_none() {
        return;
    }
    // If the word is still the same when it is claimed, this was the one whom it speaks of.
    if let Some(said) = block::status_of(entry.known(), id()) {
        let _ = claim(generation, word, (entry, TraceEntry::new(entry.known(), generation, 0)), said);
    }
}

/// All was collected. Called by the tracer.
pub(super) fn complete() {
    LATE.lock().hand_in();
}
