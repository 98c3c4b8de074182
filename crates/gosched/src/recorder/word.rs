//! What the trace knows of a goroutine or a P: one word in its header.
//!
//! Whoever owns the goroutine or P changes the word, in a [section](super::Section). The tracer,
//! when it closes a generation, claims words that nobody has touched in it: a compare-and-swap from
//! an older generation. So the first touch in a generation is a compare-and-swap too; all others
//! are a load and a store.

use core::sync::atomic::{AtomicU64, Ordering};

/// What the trace says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum TraceStatus {
    /// It does not exist, or the trace has not heard of it.
    Nothing = 0,
    /// An M has it: that M's stream says the rest.
    Held = 1,
    /// A goroutine that waits.
    Waiting = 2,
    /// A goroutine that could run.
    Runnable = 3,
    /// A P that no M has.
    Idle = 4,
}

impl TraceStatus {
    const fn from_bits(bits: u64) -> TraceStatus {
        match bits & KNOWN {
            1 => TraceStatus::Held,
            2 => TraceStatus::Waiting,
            3 => TraceStatus::Runnable,
            4 => TraceStatus::Idle,
            _ => TraceStatus::Nothing,
        }
    }
}

const KNOWN: u64 = 0b111;
const GENERATION_AT: u32 = 3;
const GENERATION_BITS: u32 = 24;
const GENERATION: u64 = (1 << GENERATION_BITS) - 1;
const NUMBER_AT: u32 = GENERATION_AT + GENERATION_BITS;

/// The word's contents: what is known, the generation in which it was last said (modulo 2²⁴), and
/// the number of the last start, wake-up or theft in that generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceEntry(u64);

impl TraceEntry {
    pub(crate) const fn new(known: TraceStatus, generation: u64, number: u64) -> TraceEntry {
        TraceEntry(known as u64 | (generation & GENERATION) << GENERATION_AT | number << NUMBER_AT)
    }

    #[inline]
    pub(crate) fn known(self) -> TraceStatus {
        TraceStatus::from_bits(self.0)
    }

    #[inline]
    pub(crate) fn number(self) -> u64 {
        self.0 >> NUMBER_AT
    }

    /// Whether it was said in this generation.
    #[inline]
    pub(crate) fn is_of(self, generation: u64) -> bool {
        (self.0 >> GENERATION_AT ^ generation) & GENERATION == 0
    }

    /// Whether it was said in this generation or a later one.
    pub(crate) fn is_since(self, generation: u64) -> bool {
        (self.0 >> GENERATION_AT).wrapping_sub(generation) & GENERATION < 1 << (GENERATION_BITS - 1)
    }

    /// The number of the last start, wake-up or theft in this generation, if it was said in it.
    #[inline]
    pub(crate) fn number_in(self, generation: u64) -> u64 {
        if self.is_of(generation) { self.number() } else { 0 }
    }
}

/// The word.
pub(crate) struct TraceWord(AtomicU64);

impl TraceWord {
    pub(crate) const fn new() -> TraceWord {
        TraceWord(AtomicU64::new(0))
    }

    #[inline]
    pub(crate) fn get(&self) -> TraceEntry {
        // Relaxed: the owner sees what the last owner wrote, by whatever passed the goroutine or P
        // on; the tracer looks after all sections of the generation have ended (`Block::visit`).
        TraceEntry(self.0.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn set(&self, entry: TraceEntry) {
        self.0.store(entry.0, Ordering::Relaxed);
    }

    /// Replaces `from`, if the word still has it.
    pub(crate) fn claim(&self, from: TraceEntry, to: TraceEntry) -> bool {
        self.0.compare_exchange(from.0, to.0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

/// What the trace knows of a P.
pub(crate) struct ProcRecord {
    pub(crate) word: TraceWord,
    /// The number of the M that has it, in the trace; [`NOBODY`] if none does.
    holder: AtomicU64,
}

/// In the place of an M.
pub(crate) const NOBODY: u64 = u64::MAX;

impl ProcRecord {
    pub(crate) const fn new() -> ProcRecord {
        ProcRecord { word: TraceWord::new(), holder: AtomicU64::new(NOBODY) }
    }

    /// The M that has the P in the trace. Changed by the P's owner.
    pub(crate) fn holder(&self) -> u64 {
        // ORDERING: Acquire pairs with the Release in `set_holder`.
        self.holder.load(Ordering::Acquire)
    }

    pub(crate) fn set_holder(&self, m: u64) {
        // ORDERING: Release pairs with the Acquire in `holder`: an M that finds its P gone sees the
        // generation in which that was said.
        self.holder.store(m, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    //! Seen to fail: with `<` turned round in `is_since`.
    use super::*;

    /// What is put in comes out, also when generations have wrapped around.
    #[test]
    fn entries_keep_what_they_are_given() {
        for known in [
            TraceStatus::Nothing,
            TraceStatus::Held,
            TraceStatus::Waiting,
            TraceStatus::Runnable,
            TraceStatus::Idle,
        ] {
            for generation in [0, 1, 77, GENERATION, GENERATION + 1, GENERATION + 5] {
                let entry = TraceEntry::new(known, generation, 1 << 30);
                assert_eq!((entry.known(), entry.number()), (known, 1 << 30));
                assert!(entry.is_of(generation) && entry.is_since(generation));
                assert!(!entry.is_of(generation + 1) && !entry.is_since(generation + 1));
                assert!(generation == 0 || entry.is_since(generation - 1));
                assert_eq!((entry.number_in(generation), entry.number_in(generation + 1)), (1 << 30, 0));
            }
        }
    }
}
