//! Strings of the user's in a trace: names of tasks and regions, logs. Each is written where it is
//! used first, into a batch of the generation of the event that names it; one that was written
//! lately in the same generation is not written again.
//!
//! At the turn of a generation some events still belong to the one that is over: so there are two
//! batches.

use gosched_primitives::Lock;
use gosched_traceformat::encode::{Fit, StringsWriter};
use gosched_traceformat::wire::{MAX_STRING, NONE};

use super::buffers::{self, FullBuffer, TraceBuffer};
use super::{lose_generation, ticks};

/// Numbers from here on are given to strings of the user's.
const FIRST: u64 = 1 << 32;
/// How many strings are remembered.
const REMEMBERED: usize = 256;

struct Texts {
    batches: [Option<(u64, StringsWriter<TraceBuffer>)>; 2],
    last: u64,
    /// Hash, generation and number.
    known: [(u64, u64, u64); REMEMBERED],
}

static TEXTS: Lock<Texts> =
    Lock::new(Texts { batches: [None, None], last: FIRST, known: [(0, 0, 0); REMEMBERED] });

fn hash(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

impl Texts {
    fn hand_in(&mut self, slot: usize) {
        if let Some((generation, batch)) = self.batches[slot].take() {
            let (buffer, len) = batch.finish();
            buffers::hand_in(FullBuffer { generation, buffer, len });
        }
    }

    fn write(&mut self, generation: u64, number: u64, text: &str) {
        let slot = generation as usize % 2;
        if let Some((begun, batch)) = &mut self.batches[slot]
            && *begun == generation
            && batch.string(number, text) == Fit::Written
        {
            return;
        }
        self.hand_in(slot);
        let Some(buffer) = buffers::take() else { return lose_generation(generation) };
        let mut batch = StringsWriter::begin(buffer, generation, ticks::now());
        if batch.string(number, text) == Fit::Full {
            lose_generation(generation);
        }
        self.batches[slot] = Some((generation, batch));
    }
}

/// The number of a string in a generation. Strings longer than Go's tools accept are cut off.
pub(super) fn number_of(generation: u64, text: &str) -> u64 {
    if text.is_empty() {
        return 0;
    }
    let text = &text[..text.floor_char_boundary(MAX_STRING)];
    let hash = hash(text);
    let mut texts = TEXTS.lock();
    let place = hash as usize % REMEMBERED;
    if let (there, of, number) = texts.known[place]
        && (there, of) == (hash, generation)
    {
        return number;
    }
    texts.last += 1;
    let number = texts.last;
    debug_assert!(number < NONE);
    texts.known[place] = (hash, generation, number);
    texts.write(generation, number, text);
    number
}

/// All of this generation were written. Called by the tracer, when it has visited all streams.
pub(super) fn complete(generation: u64) {
    let mut texts = TEXTS.lock();
    for slot in 0..2 {
        if texts.batches[slot].as_ref().is_some_and(|(of, _)| *of <= generation) {
            texts.hand_in(slot);
        }
    }
}
