//! The stacks that events name: each one once, by number.
//!
//! A stack is found by its hash in a table of fixed size; a new one is added under a lock. Entries
//! are never changed until the next trace begins, so looking one up takes no lock. Each entry notes
//! the last generation in which an event named it: the tracer writes those of this generation and
//! of the next, in which some may have been named again.
//!
//! If the table is full, or unwinding is off, events have no stack: number 0.

use core::ops::Range;
use core::panic::Location;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::OnceLock;

use gosched_primitives::Lock;

/// The most frames of a stack; those further out are left out.
const MOST_FRAMES: usize = 64;
/// Places in the table, of which half are used.
const PLACES: usize = 1 << 15;
/// Room for the frames of all of them.
const ROOM: usize = 1 << 19;
/// How many places are looked at.
const TRIES: usize = 16;
/// A frame that is no address of code but a place in the source, at which a goroutine was created.
const IS_PLACE: usize = 1 << (usize::BITS - 1);

/// Finds the frames of the stack on which it is called, inner ones first, and returns how many. The
/// stack lies in the range. Called inside the runtime.
pub(crate) type Unwinder = fn(Range<usize>, &mut [usize]) -> usize;

static UNWINDER: OnceLock<Unwinder> = OnceLock::new();

struct StackPlace {
    /// 0: free.
    hash: AtomicU64,
    /// Where its frames begin in [`FRAMES`], and how many there are.
    frames: AtomicU64,
    used: AtomicU64,
}

static TABLE: [StackPlace; PLACES] =
    [const { StackPlace { hash: AtomicU64::new(0), frames: AtomicU64::new(0), used: AtomicU64::new(0) } };
        PLACES];
static FRAMES: [AtomicUsize; ROOM] = [const { AtomicUsize::new(0) }; ROOM];
/// How many places are taken.
static TAKEN: AtomicU32 = AtomicU32::new(0);
/// How much of [`FRAMES`] is used. The lock is that of whoever adds a stack.
static ADDING: Lock<usize> = Lock::new(0);

/// A frame, as the tracer sees it.
#[derive(Clone, Copy)]
pub(crate) enum FrameAt {
    /// An address inside an instruction.
    Code(usize),
    /// A place in the source.
    Source(&'static Location<'static>),
}

/// Sets how stacks are found.
pub(crate) fn set_unwinder(unwinder: Unwinder) {
    UNWINDER.get_or_init(|| unwinder);
}

/// Forgets all stacks. Before recording begins.
pub(crate) fn forget_stacks() {
    let mut used = ADDING.lock();
    for place in &TABLE {
        place.hash.store(0, Ordering::Relaxed);
    }
    TAKEN.store(0, Ordering::Relaxed);
    *used = 0;
}

/// The number of the calling goroutine's stack, which lies in `limits`; 0 if the caller runs on
/// another one.
#[cold]
pub(crate) fn stack_in(limits: Range<usize>) -> u64 {
    let Some(unwind) = UNWINDER.get() else { return 0 };
    let mut frames = [0; MOST_FRAMES];
    let found = unwind(limits, &mut frames);
    number_of(&frames[..found])
}

/// The number of a stack that consists of a place in the source.
#[cold]
pub(crate) fn stack_of_place(place: &'static Location<'static>) -> u64 {
    number_of(&[core::ptr::from_ref(place).expose_provenance() | IS_PLACE])
}

fn hash(frames: &[usize]) -> u64 {
    let mix =
        |hash: u64, frame: &usize| (hash.rotate_left(5) ^ *frame as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = frames.iter().fold(frames.len() as u64, mix);
    (hash ^ hash >> 32).max(1)
}

fn number_of(frames: &[usize]) -> u64 {
    if frames.is_empty() {
        return 0;
    }
    let hash = hash(frames);
    match find(hash) {
        StackFound::At(place) => place as u64 + 1,
        StackFound::Free => add(hash, frames),
        StackFound::Full => 0,
    }
}

enum StackFound {
    At(usize),
    Free,
    Full,
}

fn find(hash: u64) -> StackFound {
    for place in (0..TRIES).map(|n| (hash as usize).wrapping_add(n) % PLACES) {
        // ORDERING: Acquire pairs with the Release in `add`: whoever sees the hash sees the frames.
        match TABLE[place].hash.load(Ordering::Acquire) {
            0 => return StackFound::Free,
            there if there == hash => return StackFound::At(place),
            _ => {}
        }
    }
    StackFound::Full
}

#[cold]
fn add(hash: u64, frames: &[usize]) -> u64 {
    let mut used = ADDING.lock();
    if TAKEN.load(Ordering::Relaxed) as usize >= PLACES / 2 || *used + frames.len() > ROOM {
        return 0;
    }
    let free = |place: &usize| {
        matches!(TABLE[*place].hash.load(Ordering::Relaxed), 0)
            || TABLE[*place].hash.load(Ordering::Relaxed) == hash
    };
    let Some(place) = (0..TRIES).map(|n| (hash as usize).wrapping_add(n) % PLACES).find(free) else {
        return 0;
    };
    let entry = &TABLE[place];
    if entry.hash.load(Ordering::Relaxed) == 0 {
        for (at, frame) in (*used..).zip(frames) {
            FRAMES[at].store(*frame, Ordering::Relaxed);
        }
        entry.frames.store((*used as u64) << 8 | frames.len() as u64, Ordering::Relaxed);
        *used += frames.len();
        TAKEN.fetch_add(1, Ordering::Relaxed);
        entry.used.store(0, Ordering::Relaxed);
        // ORDERING: Release pairs with the Acquire in `find`.
        entry.hash.store(hash, Ordering::Release);
    }
    place as u64 + 1
}

/// An event of this generation names the stack of this number.
#[inline]
pub(super) fn note_use(number: u64, generation: u64) {
    let place = number.checked_sub(1).and_then(|place| TABLE.get(place as usize));
    if let Some(place) = place
        && place.used.load(Ordering::Relaxed) < generation
    {
        // The later one wins. The tracer looks when all sections of its generation have ended, so
        // it sees at least what they have noted.
        place.used.fetch_max(generation, Ordering::Relaxed);
    }
}

/// Gives each stack to `see` that events of this generation may name: its number and its frames.
pub(crate) fn each_stack(generation: u64, mut see: impl FnMut(u64, &mut dyn Iterator<Item = FrameAt>)) {
    for (number, place) in (1..).zip(&TABLE) {
        // ORDERING: as in `find`.
        if place.hash.load(Ordering::Acquire) == 0 || place.used.load(Ordering::Relaxed) < generation {
            continue;
        }
        let frames = place.frames.load(Ordering::Relaxed);
        let (begin, count) = ((frames >> 8) as usize, (frames & 0xff) as usize);
        let mut frames = FRAMES[begin..begin + count].iter().map(|frame| {
            let frame = frame.load(Ordering::Relaxed);
            match frame & IS_PLACE {
                0 => FrameAt::Code(frame),
                // SAFETY: `stack_of_place` was given such a reference.
                _ => FrameAt::Source(unsafe {
                    &*core::ptr::with_exposed_provenance::<Location<'static>>(frame & !IS_PLACE)
                }),
            }
        });
        see(number, &mut frames);
    }
}
