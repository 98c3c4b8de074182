//! The tables of a generation: strings, stacks, CPU samples, and what the clock read.
//!
//! They belong to no M. Numbers of strings and stacks are the caller's choice, from 1 on, each once
//! in a generation; 0 is the empty string and no stack.

use super::{BatchCore, Fit, MAX_HEADER};
use crate::leb128;
use crate::wire::{EventType, MAX_FRAMES, MAX_STRING, NONE};

/// Storage that one batch of any of these tables fits in, however large its one entry is.
pub const MIN_STORAGE: usize = MAX_HEADER + 1 + MAX_STACK;

/// The longest stack.
const MAX_STACK: usize = 1 + 2 * leb128::MAX_LEN + 4 * leb128::MAX_LEN * MAX_FRAMES;
/// The longest sample.
const MAX_SAMPLE: usize = 1 + 5 * leb128::MAX_LEN;

/// A frame of a stack; the innermost comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackFrame {
    /// The address: frames of one address have the same function, file and line throughout a
    /// generation.
    pub pc: u64,
    /// The function's name: a string.
    pub function: u64,
    /// The file's name: a string.
    pub file: u64,
    /// The line.
    pub line: u64,
}

macro_rules! table {
    ($(#[$doc:meta])* $name:ident $event:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<B>(BatchCore<B>);

        impl<B: AsMut<[u8]>> $name<B> {
            /// A batch of this generation. See [`MIN_STORAGE`].
            ///
            /// # Panics
            /// If the storage has not even room for a header.
            pub fn begin(storage: B, generation: u64, time: u64) -> $name<B> {
                let mut core = BatchCore::begin(storage, generation, NONE, time);
                if let Some(room) = core.room(1) {
                    room[0] = EventType::$event as u8;
                    core.advance(1);
                }
                $name(core)
            }

            /// Ends the batch: the storage, and how many of its bytes are the batch, header
            /// included.
            pub fn finish(self) -> (B, usize) {
                self.0.finish()
            }
        }
    };
}

table! {
    /// A batch of strings.
    StringsWriter Strings
}
table! {
    /// A batch of stacks.
    StacksWriter Stacks
}
table! {
    /// A batch of CPU samples.
    SamplesWriter CPUSamples
}

/// The first [`MAX_STRING`] bytes or fewer, cut between two characters.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_STRING)]
}

impl<B: AsMut<[u8]>> StringsWriter<B> {
    /// The string of this number. What is longer than [`MAX_STRING`] is cut off.
    pub fn string(&mut self, id: u64, text: &str) -> Fit {
        let text = cut(text);
        let Some(room) = self.0.room(1 + 2 * leb128::MAX_LEN + text.len()) else { return Fit::Full };
        room[0] = EventType::String as u8;
        let mut at = 1 + leb128::put(&mut room[1..], id);
        at += leb128::put(&mut room[at..], text.len() as u64);
        room[at..at + text.len()].copy_from_slice(text.as_bytes());
        self.0.advance(at + text.len());
        Fit::Written
    }
}

impl<B: AsMut<[u8]>> StacksWriter<B> {
    /// The stack of this number. Frames after the first [`MAX_FRAMES`] are left out.
    pub fn stack(&mut self, id: u64, frames: &[StackFrame]) -> Fit {
        let frames = &frames[..frames.len().min(MAX_FRAMES)];
        let most = 1 + leb128::MAX_LEN * (2 + 4 * frames.len());
        let Some(room) = self.0.room(most) else { return Fit::Full };
        room[0] = EventType::Stack as u8;
        let mut at = 1 + leb128::put(&mut room[1..], id);
        at += leb128::put(&mut room[at..], frames.len() as u64);
        for frame in frames {
            for number in [frame.pc, frame.function, frame.file, frame.line] {
                at += leb128::put(&mut room[at..], number);
            }
        }
        self.0.advance(at);
        Fit::Written
    }
}

impl<B: AsMut<[u8]>> SamplesWriter<B> {
    /// At `time` (not a difference), this stack ran on the M, with this P and goroutine: [`NONE`]
    /// if it had no P, 0 if no goroutine.
    pub fn sample(&mut self, time: u64, m: u64, p: u64, g: u64, stack: u64) -> Fit {
        let Some(room) = self.0.room(MAX_SAMPLE) else { return Fit::Full };
        room[0] = EventType::CPUSample as u8;
        let mut at = 1;
        for number in [time, m, p, g, stack] {
            at += leb128::put(&mut room[at..], number);
        }
        self.0.advance(at);
        Fit::Written
    }
}

/// What three clocks read at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockReading {
    /// The trace's clock.
    pub trace: u64,
    /// The monotonic clock, in nanoseconds.
    pub mono: u64,
    /// Seconds since 1970.
    pub seconds: u64,
    /// And nanoseconds.
    pub nanos: u64,
}

/// Writes the batch that says how long the trace's ticks are (`frequency`: ticks of a second, not
/// 0) and what the clocks read. Each generation needs exactly one. Returns the storage and how many
///    of its bytes are the batch.
///
/// # Panics
/// If the storage has less than 96 bytes.
pub fn put_sync<B: AsMut<[u8]>>(
    storage: B,
    generation: u64,
    frequency: u64,
    clocks: ClockReading,
) -> (B, usize) {
    let mut core = BatchCore::begin(storage, generation, NONE, clocks.trace);
    let room = core.room(3 + 5 * leb128::MAX_LEN).expect("storage of 96 bytes");
    room[0] = EventType::Sync as u8;
    room[1] = EventType::Frequency as u8;
    let mut at = 2 + leb128::put(&mut room[2..], frequency);
    room[at] = EventType::ClockSnapshot as u8;
    at += 1;
    // The first number is the difference to the batch's time.
    for number in [0, clocks.mono, clocks.seconds, clocks.nanos] {
        at += leb128::put(&mut room[at..], number);
    }
    core.advance(at);
    core.finish()
}

#[cfg(test)]
mod tests {
    //! Seen to fail: with `cut` giving the text back as it is.
    use super::*;

    /// A long string is cut, and not within a character.
    #[test]
    fn long_strings_are_cut_between_characters() {
        let text = "é".repeat(MAX_STRING);
        assert_eq!(cut(&text).len(), MAX_STRING);
        let odd = format!("a{text}");
        assert_eq!(cut(&odd).len(), MAX_STRING - 1);
        let mut storage = vec![0; MIN_STORAGE];
        let mut batch = StringsWriter::begin(&mut storage[..], 1, 0);
        assert_eq!(batch.string(1, &odd), Fit::Written);
        assert!(batch.finish().1 < MAX_HEADER + MAX_STRING + 8);
    }
}
