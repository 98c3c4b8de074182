//! What is written down while a trace is recorded: an event for each change of a goroutine or P, in
//! Go's format (`gosched-traceformat`), into a stream for each thread.
//!
//! | file | what it does |
//! |---|---|
//! | `events` | what is recorded of each change |
//! | `block` | a thread's stream, and the right to write to it |
//! | `word` | what the trace knows of a goroutine or a P |
//! | `late` | what is said of a generation when the next one has begun |
//! | `buffers` | the memory, of fixed size |
//! | `ticks` | the clock |
//! | `stacks` | the stacks that events name |
//! | `strings` | strings with fixed numbers |
//! | `texts` | strings of the user's |
//!
//! This module lies below goroutines, Ps and Ms: it knows their numbers, and a word in each header.
//! The thread that collects what is recorded is the tracer (`tracer/`).
//!
//! **Generations.** A trace is a sequence of generations of about a second. Each can be read
//! without those before it: it begins with the status of everything. The tracer ends one without
//! stopping anything: it adds one to the number of the generation, which each section reads when it
//! begins; then it visits every stream, which waits for a section that began before; then it says
//! the status of what nobody has touched.
//!
//! **Claim: a generation is a consistent cut.** An event that follows from another one is in the
//! same generation or a later one (`block.rs` says why). The order in which a reader puts the
//! events of several streams is by numbers: each goroutine and each P counts its starts, wake-ups
//! and thefts, and only its owner does.
//!
//! **Off** costs a load and a branch at each change: [`is_on`] is asked before anything else.
//!
//! Nothing here allocates. Locks are held for one event, and taken in this order: that of a stream
//! (of a victim's, then a taker's, [`TakeAttempt`]), that of `late` or `texts`, that of `buffers`.
//! Stacks are looked up before, under the unwinder's lock and that of `stacks` if they are new.

mod block;
mod buffers;
mod events;
mod late;
mod stacks;
mod strings;
mod texts;
mod ticks;
mod word;

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use gosched_primitives::Lock;

pub(crate) use block::Block;
pub(crate) use buffers::{FullBuffer, MOST_BYTES, first_full, give_back, prepare};
pub(crate) use events::*;
pub(crate) use late::collect;
pub(crate) use stacks::{FrameAt, each_stack, forget_stacks, set_unwinder, stack_in, stack_of_place};
pub(crate) use strings::{
    FIRST_FREE as FIRST_FREE_STRING, STOP_THE_WORLD, STOP_THE_WORLD_TEXT, StopReason, wait_reason,
};
pub(crate) use ticks::{both as read_clocks, choose as choose_clock};
pub(crate) use word::{NOBODY, ProcRecord, TraceEntry, TraceStatus, TraceWord};

/// Whether anything is recorded.
static ON: AtomicBool = AtomicBool::new(false);
/// The generation that is recorded. Only grows, also from one trace to the next.
static GENERATION: AtomicU64 = AtomicU64::new(1);
/// The last even and the last odd generation in which an event was lost, for want of a buffer: two
/// are written at the turn from one to the next.
static LOST: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// When the generation began that is recorded now: the time of what is said late of the one before.
static TURNED_AT: AtomicU64 = AtomicU64::new(0);
/// Whether something has gone wrong.
static ALARM: AtomicBool = AtomicBool::new(false);
/// Whether a goroutine has stopped the world, and a trace says so. The generation does not change
/// meanwhile: the end of a stop belongs to its beginning.
static WORLD_STOPPED: Lock<bool> = Lock::new(false);

/// Whether anything is recorded.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// The generation that is recorded now.
#[inline]
fn generation() -> u64 {
    // ORDERING: Acquire pairs with the Release in `turn`: whoever sees the generation that follows
    // the last one of a trace sees that nothing is recorded any more. (Coherence is all that the
    // cut needs, see `block.rs`.)
    GENERATION.load(Ordering::Acquire)
}

/// Events of this generation were lost.
#[cold]
fn lose_generation(generation: u64) {
    LOST[generation as usize % 2].store(generation, Ordering::Relaxed);
}

/// Whether events of this generation were lost. Called by the tracer, when it has visited all
/// streams.
pub(crate) fn is_lost(generation: u64) -> bool {
    LOST[generation as usize % 2].load(Ordering::Relaxed) == generation
}

/// The generation that is recorded. Called by the tracer.
pub(crate) fn current_generation() -> u64 {
    generation()
}

/// The generation before the first one of a trace that is about to begin. Nobody writes into it: a
/// thread that still believes the last trace to be on finds another generation, and then that it is
/// off.
pub(crate) fn generation_before_first() -> u64 {
    generation() + 1
}

/// Begins to record, in the generation after `generation_before_first`. Called while nobody changes
/// anything that a trace knows, but for foreign threads.
pub(crate) fn switch_on() {
    let _ = turn(2);
    ON.store(true, Ordering::Relaxed);
}

/// Adds to the number of the generation; returns the one that is over.
fn turn(by: u64) -> u64 {
    TURNED_AT.store(ticks::now(), Ordering::Relaxed);
    // ORDERING: Release pairs with the Acquire in `generation`.
    GENERATION.fetch_add(by, Ordering::Release)
}

/// Records no more events, as soon as everybody has noticed: the generation that was recorded is
/// over.
pub(crate) fn switch_off() -> u64 {
    ON.store(false, Ordering::Relaxed);
    let over = turn(1);
    fence_before_visits();
    over
}

/// Begins the next generation; returns the one that is over. `None` while the world is stopped.
pub(crate) fn advance() -> Option<u64> {
    let stopped = WORLD_STOPPED.lock();
    let over = (!*stopped).then(|| turn(1));
    fence_before_visits();
    over
}

/// Between the start of a generation, or the end of all, and the look at the list of all Ms.
fn fence_before_visits() {
    // ORDERING: SeqCst pairs with the fence in `Sched::list_m`: a new M is seen and visited, or its
    // sections see the new generation.
    fence(Ordering::SeqCst);
}

/// All events of a generation were written, and all statuses were collected: hands in what is left.
/// Called by the tracer.
pub(crate) fn complete(generation: u64) {
    late::complete();
    texts::complete(generation);
}

/// A stop of the world is in the trace, or not any more.
pub(crate) fn note_stopped_world(stopped: bool) {
    *WORLD_STOPPED.lock() = stopped;
}

/// Something has gone wrong: a flight recorder that waits for that writes what it has, soon. May be
/// called anywhere.
pub(crate) fn raise_alarm() {
    if is_on() {
        ALARM.store(true, Ordering::Relaxed);
    }
}

/// Whether something has gone wrong since the last call.
pub(crate) fn take_alarm() -> bool {
    ALARM.swap(false, Ordering::Relaxed)
}

/// In the child of a fork there is no tracer.
pub(crate) fn forked() {
    ON.store(false, Ordering::Relaxed);
}
