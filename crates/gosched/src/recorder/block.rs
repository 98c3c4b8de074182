//! A thread's stream of events: what it has in the trace, and the batch that is being filled.
//!
//! Invariants:
//! - Events are written in a [`Section`], which holds the stream's lock. So the thread itself, the
//!   tracer (when it closes a generation) and a taker (when it takes the P) write one at a time.
//! - A section reads the generation after it has the lock, and after its caller got what the event
//!   is about. So an event never stands in an earlier generation than one that it follows from: the
//!   other section read the generation before, and reads of one variable don't go back in time.
//! - What the thread has in the trace (`p`, `g`) is by value: the headers may belong to somebody
//!   else by the time that the tracer reads it. Each generation of a stream begins with it.
//! - When the tracer has visited a stream for a generation, no event of that generation is added.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;

use gosched_traceformat::encode::{BatchWriter, Fit};
use gosched_traceformat::wire::{EventType, GoStatus, NONE, ProcStatus};

use super::buffers::{self, FullBuffer, TraceBuffer};
use super::word::{ProcRecord, TraceEntry, TraceStatus, TraceWord};
use super::{generation, is_on, late, lose_generation, stacks, ticks};

/// How often a stream's lock is looked at before the thread sleeps.
const SPINS: u32 = 200;
/// How long it sleeps then: the holder was probably stopped by the kernel.
const PAUSE: Duration = Duration::from_micros(20);

/// A P that a thread has in the trace.
#[derive(Clone, Copy)]
pub(super) struct HeldP {
    pub(super) id: u64,
    pub(super) record: &'static ProcRecord,
}

/// A goroutine that a thread has in the trace.
#[derive(Clone, Copy)]
pub(super) struct HeldG {
    pub(super) id: u64,
    /// In a blocking call, or without its P: for the trace it is the same.
    pub(super) in_call: bool,
}

/// A thread's stream.
pub(crate) struct Block {
    locked: AtomicBool,
    stream: UnsafeCell<Stream>,
    /// The thread's number in the trace.
    pub(super) m: u64,
}

// SAFETY: `stream` is reached by a `Section` alone, which has the lock; nothing in it belongs to a
// thread.
unsafe impl Sync for Block {}

pub(super) struct Stream {
    /// The generation that was begun last.
    generation: u64,
    batch: Option<BatchWriter<TraceBuffer>>,
    pub(super) p: Option<HeldP>,
    pub(super) g: Option<HeldG>,
}

/// The right to write to a stream, in one generation, at one moment.
pub(super) struct Section<'b> {
    block: &'b Block,
    pub(super) stream: &'b mut Stream,
    time: u64,
}

impl Drop for Section<'_> {
    #[inline]
    fn drop(&mut self) {
        // ORDERING: Release pairs with the Acquire in `acquire`.
        self.block.locked.store(false, Ordering::Release);
    }
}

impl Block {
    /// The stream of the thread with this number.
    pub(crate) const fn new(m: u64) -> Block {
        let stream = Stream { generation: 0, batch: None, p: None, g: None };
        Block { locked: AtomicBool::new(false), stream: UnsafeCell::new(stream), m }
    }

    #[inline]
    fn acquire(&self) -> Section<'_> {
        // ORDERING: Acquire pairs with the Release when a section is dropped.
        if self.locked.swap(true, Ordering::Acquire) {
            self.acquire_slow();
        }
        // SAFETY: the lock is ours, until the section is dropped.
        Section { block: self, stream: unsafe { &mut *self.stream.get() }, time: ticks::now() }
    }

    #[cold]
    fn acquire_slow(&self) {
        loop {
            for _ in 0..SPINS {
                // ORDERING: as in `acquire`.
                if !self.locked.load(Ordering::Relaxed) && !self.locked.swap(true, Ordering::Acquire) {
                    return;
                }
                core::hint::spin_loop();
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Begins to write; `None` if nothing is recorded any more.
    #[inline]
    pub(super) fn open(&self) -> Option<Section<'_>> {
        let mut section = self.acquire();
        let now = generation();
        if section.stream.generation == now || section.catch_up(now) { Some(section) } else { None }
    }

    /// What the thread has when recording begins in the generation after `before`. Called while the
    /// world is stopped.
    pub(crate) fn reset(&self, before: u64, g: Option<(u64, bool)>) {
        let section = self.acquire();
        section.stream.generation = before;
        section.stream.batch = None;
        section.stream.p = None;
        section.stream.g = g.map(|(id, in_call)| HeldG { id, in_call });
    }

    /// Completes a generation, which is over, though a section that began before may still run: it
    /// waits for that. Called by the tracer, for each stream.
    pub(crate) fn visit(&self, closed: u64) {
        let mut section = self.acquire();
        section.advance_to(closed);
        if section.stream.generation == closed {
            section.hand_in();
        }
    }
}

impl Section<'_> {
    /// The generation that is written.
    #[inline]
    pub(super) fn generation(&self) -> u64 {
        self.stream.generation
    }

    /// The number of the thread whose stream this is.
    pub(super) fn m(&self) -> u64 {
        self.block.m
    }

    /// Begins the generations up to `now`. `false` if recording has ended.
    #[cold]
    fn catch_up(&mut self, now: u64) -> bool {
        if !is_on() {
            return false;
        }
        self.advance_to(now);
        true
    }

    /// Begins the generations up to this one. What has nothing to say in those between passes over
    /// them.
    fn advance_to(&mut self, generation: u64) {
        while self.stream.generation < generation {
            let has_nothing = self.stream.p.is_none() && self.stream.g.is_none();
            self.begin(if has_nothing { generation } else { self.stream.generation + 1 });
        }
    }

    /// Goes on in the generation in which this word was last said, if that is later.
    pub(super) fn follow(&mut self, word: &TraceWord) {
        while !word.get().is_of(self.generation()) && word.get().is_since(self.generation()) {
            self.begin(self.generation() + 1);
        }
    }

    /// Completes the generation before and begins this one: with what the thread has.
    fn begin(&mut self, generation: u64) {
        self.hand_in();
        self.stream.generation = generation;
        if let Some(held) = self.stream.p {
            let in_call = self.stream.g.is_some_and(|g| g.in_call);
            if self.still_has(held, generation) {
                let status = if in_call { ProcStatus::Syscall } else { ProcStatus::Running };
                self.put(EventType::ProcStatus, &[held.id, status as u64]);
            } else {
                self.stream.p = None;
            }
        }
        if let Some(g) = self.stream.g {
            let (status, m) =
                if g.in_call { (GoStatus::Syscall, self.m()) } else { (GoStatus::Running, NONE) };
            self.put(EventType::GoStatus, &[g.id, m, status as u64]);
        }
    }

    /// Whether the thread has this P at the beginning of a generation. If it was stolen in it, the
    /// thief has said what there is to say.
    fn still_has(&self, p: HeldP, generation: u64) -> bool {
        loop {
            let entry = p.record.word.get();
            if p.record.holder() != self.block.m || entry.is_of(generation) {
                return false;
            }
            // Stolen in a later generation than this one, which is being completed: it was there.
            if entry.is_since(generation)
                || p.record.word.claim(entry, TraceEntry::new(TraceStatus::Held, generation, 0))
            {
                return true;
            }
        }
    }

    /// Whether the thread's P in the trace is still its own: nobody has stolen it during a call.
    pub(super) fn has_own_p(&self) -> bool {
        self.stream.p.is_some_and(|p| p.record.holder() == self.block.m)
    }

    /// Gives the batch to the tracer.
    fn hand_in(&mut self) {
        let generation = self.stream.generation;
        let Some(batch) = self.stream.batch.take() else { return };
        let empty = batch.is_empty();
        let (buffer, len) = batch.finish();
        if empty {
            buffers::give_back(buffer);
        } else {
            buffers::hand_in(FullBuffer { generation, buffer, len });
        }
    }

    /// As [`put`](Section::put), for an event whose last argument is a stack's number.
    #[inline]
    pub(super) fn put_with_stack(&mut self, event: EventType, args: &[u64]) {
        if let Some(stack) = args.last() {
            self.name_stack(*stack);
        }
        self.put(event, args);
    }

    /// An event of this generation names the stack.
    #[inline]
    pub(super) fn name_stack(&self, number: u64) {
        stacks::note_use(number, self.generation());
    }

    /// Writes an event with its arguments after the time.
    #[inline]
    pub(super) fn put(&mut self, event: EventType, args: &[u64]) {
        if let Some(batch) = &mut self.stream.batch
            && batch.event(event, self.time, args) == Fit::Written
        {
            return;
        }
        self.put_in_new_batch(event, args);
    }

    /// As [`put`](Section::put), when the batch is full, or there is none.
    #[cold]
    fn put_in_new_batch(&mut self, event: EventType, args: &[u64]) {
        self.hand_in();
        let generation = self.stream.generation;
        let Some(buffer) = buffers::take() else { return lose_generation(generation) };
        let mut batch = BatchWriter::begin(buffer, generation, self.block.m, self.time);
        if batch.event(event, self.time, args) == Fit::Full {
            lose_generation(generation);
        }
        self.stream.batch = Some(batch);
    }

    /// What is known of a goroutine or P that no thread has, which the caller owns. If the
    /// generation has not heard of it yet, it does now.
    #[inline]
    pub(super) fn touch(&mut self, word: &TraceWord, id: u64) -> TraceEntry {
        let entry = word.get();
        if entry.is_of(self.generation()) { entry } else { self.touch_first(word, id) }
    }

    #[cold]
    fn touch_first(&mut self, word: &TraceWord, id: u64) -> TraceEntry {
        let generation = self.generation();
        loop {
            let old = word.get();
            let new = TraceEntry::new(old.known(), generation, 0);
            let Some((event, args)) = status_of(old.known(), id) else {
                word.set(new);
                return new;
            };
            // The tracer may still be collecting what was not touched in the generation before.
            let claimed = match old.is_since(generation - 1) {
                true => word.claim(old, new),
                false => late::claim(generation - 1, word, (old, new), (event, args)),
            };
            if claimed {
                self.put(event, &args[..event.spec().args.len() - 1]);
                return new;
            }
        }
    }
}

/// The event that says what is known of a goroutine or P that no thread has, and its arguments.
pub(crate) fn status_of(known: TraceStatus, id: u64) -> Option<(EventType, [u64; 3])> {
    Some(match known {
        TraceStatus::Nothing | TraceStatus::Held => return None,
        TraceStatus::Waiting => (EventType::GoStatus, [id, NONE, GoStatus::Waiting as u64]),
        TraceStatus::Runnable => (EventType::GoStatus, [id, NONE, GoStatus::Runnable as u64]),
        TraceStatus::Idle => (EventType::ProcStatus, [id, ProcStatus::Idle as u64, 0]),
    })
}
