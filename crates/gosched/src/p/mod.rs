//! P: the right to run goroutine code, and the queues and caches that come with it (S3).
//!
//! [`P`] is what anybody may use of it: atomics, the timer heap, and `next` and `ring`, which
//! anybody may read and steal from (their protocols are in `gosched-primitives`). What belongs to
//! the owner alone, the owner's end of the ring and the caches, is reached through an [`OwnedP`]
//! (`owned.rs`), of which there is one for each P.

mod owned;
mod seen;

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use gosched_primitives::{AtomicRef, Linked, List, NextSlot, Ring, Spinning};
use gosched_switch::StackCache;

use crate::g::G;
use crate::m::M;
use crate::recorder::ProcRecord;
use crate::timers::TimerHeap;
pub(crate) use gosched_rules::batch::RING;
pub(crate) use gosched_rules::pick::Slice;
use seen::SeenP;

pub(crate) use owned::{OwnedP, PList, PMailbox, Resting};

#[repr(C, align(128))]
pub(crate) struct P {
    pub(crate) id: u32,
    status: AtomicU32,
    m: AtomicRef<M>,
    link: AtomicPtr<P>,
    /// Whether the new M that this P waits for will be a spinner.
    start_spinning: AtomicBool,
    sched_tick: AtomicU32,
    /// `sched_tick` when an M last found something in the ring before it polled the network
    /// (`policy/relieve.rs`).
    pub(crate) looked_at: AtomicU32,
    /// The CPU that its M was on when that last noted it (`policy/give_way.rs`).
    pub(crate) cpu: AtomicU32,
    /// Picks that inherited the running slice, since it began or the clock was last looked at.
    /// Written by the owner; the monitor reads it.
    inherited: AtomicU32,
    blocking_tick: AtomicU32,
    /// The `sched_tick` whose goroutine has to give the P up itself. Written by the monitor; the
    /// owner reads it.
    insisted: AtomicU32,
    /// How often others gave way to its M since a pick: the pick's `sched_tick` in the upper half,
    /// the number in the lower.
    pub(crate) given_way: AtomicU64,
    /// What the monitor saw of this P. Used by the monitor alone.
    pub(crate) seen: SeenP,
    /// How many goroutines were created and ended on this P; read by `num_goroutine`.
    pub(crate) created: AtomicU64,
    pub(crate) ended: AtomicU64,
    /// What the trace knows of it.
    pub(crate) traced: ProcRecord,
    pub(crate) timers: TimerHeap,
    pub(crate) next: NextSlot<G>,
    /// How many Gs in a row this P has itself run from `runnext`, up to a limit
    /// (`policy/trust.rs`).
    pub(crate) trust: AtomicU32,
    pub(crate) ring: Ring<G, RING>,
    own: UnsafeCell<POwn>,
}

/// The older half of a full ring and the G that did not fit, 129 in all: the caller puts them in
/// the global queue (S21).
#[must_use = "these goroutines would never run"]
pub(crate) struct Overflow(pub(crate) List<G>);

/// What only the P's owner uses.
pub(crate) struct POwn {
    /// Headers of dead goroutines, last in first out.
    pub(crate) free: List<G>,
    /// Hot stacks of the default size.
    pub(crate) stacks: StackCache,
    /// Ids that were reserved from the generator and not used yet: from `next_id` up to, but not
    /// including, `end_id`.
    pub(crate) next_id: u64,
    pub(crate) end_id: u64,
    /// When the clock was first looked at in the running slice.
    slice_began: Option<Instant>,
}

/// A P's status. While it is *blocking*, *stopped* or *dead* nobody owns the P, and this word
/// decides who will ([`P::win`]); else the owner writes it, for dumps and the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum PStatus {
    Idle = 0,
    Running = 1,
    /// Its M is in an announced blocking call (S19).
    Blocking = 2,
    /// The world is stopped (S42).
    Stopped = 3,
    /// Beyond GOMAXPROCS, and empty.
    Dead = 4,
}

impl PStatus {
    /// As shown by a dump, in Go's words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            PStatus::Idle => "idle",
            PStatus::Running => "running",
            PStatus::Blocking => "syscall",
            PStatus::Stopped => "gcstop",
            PStatus::Dead => "dead",
        }
    }
}

// SAFETY: all fields but `own` are `Sync`. `own` is private to this folder and reached by
// `OwnedP::own` alone, which takes a mutable borrow of the one `OwnedP`. That value is passed on in
// ways that order memory (`owned.rs`).
unsafe impl Sync for P {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for P {}

// SAFETY: always the same field, which only lists write to. A P is put into one by giving its
// `OwnedP` up (`PList`), which comes back when it is taken out: in between nobody can put it into
// another.
unsafe impl Linked for P {
    fn link(&self) -> &AtomicPtr<P> {
        &self.link
    }
}

impl P {
    /// A dead P, as one beyond GOMAXPROCS is: `Sched::resize` puts it to use.
    pub(crate) fn new(id: u32, stacks: gosched_switch::StackClass) -> P {
        P {
            id,
            status: AtomicU32::new(PStatus::Dead as u32),
            m: AtomicRef::none(),
            link: AtomicPtr::new(core::ptr::null_mut()),
            start_spinning: AtomicBool::new(false),
            sched_tick: AtomicU32::new(0),
            looked_at: AtomicU32::new(u32::MAX),
            cpu: AtomicU32::new(u32::MAX),
            inherited: AtomicU32::new(0),
            blocking_tick: AtomicU32::new(0),
            insisted: AtomicU32::new(u32::MAX),
            given_way: AtomicU64::new(0),
            seen: SeenP::new(),
            created: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            traced: ProcRecord::new(),
            timers: TimerHeap::new(),
            next: NextSlot::new(),
            trust: AtomicU32::new(gosched_rules::trust::NONE),
            ring: Ring::new(),
            own: UnsafeCell::new(POwn {
                free: List::new(),
                stacks: StackCache::new(stacks),
                next_id: 0,
                end_id: 0,
                slice_began: None,
            }),
        }
    }

    /// Its status. Only a hint: to use what belongs to the owner takes the ownership word, or
    /// [`win`](P::win).
    pub(crate) fn status(&self) -> PStatus {
        match self.status.load(Ordering::Relaxed) {
            0 => PStatus::Idle,
            1 => PStatus::Running,
            2 => PStatus::Blocking,
            3 => PStatus::Stopped,
            _ => PStatus::Dead,
        }
    }

    /// Counts a blocking call, or the loss of the P in one. Called by the owner.
    #[inline]
    pub(crate) fn count_blocking(&self) {
        self.blocking_tick
            .store(self.blocking_tick.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// A number that changes with each blocking call, and when a stop of the world takes the P from
    /// one.
    pub(crate) fn blocking_tick(&self) -> u32 {
        self.blocking_tick.load(Ordering::Relaxed)
    }

    /// The monitor would take the P, but finds its M inside the runtime: the goroutine that it has
    /// judged is to give the P up.
    pub(crate) fn insist(&self) {
        // ORDERING: Relaxed: the owner may act on it at any later call, or not at all; the next
        // slice has another tick. The tick stored is the one that was judged: another goroutine may
        // run by now.
        self.insisted.store(self.seen.judged_tick(), Ordering::Relaxed);
    }

    /// As [`insist`](P::insist), for whoever runs now.
    #[cfg(test)]
    pub(crate) fn force_insist(&self) {
        self.insisted.store(self.sched_tick(), Ordering::Relaxed);
    }

    /// Whether the goroutine that runs has to give the P up.
    pub(crate) fn is_insisted(&self) -> bool {
        self.insisted.load(Ordering::Relaxed) == self.sched_tick()
    }

    /// How many picks have begun a time slice.
    pub(crate) fn sched_tick(&self) -> u32 {
        self.sched_tick.load(Ordering::Relaxed)
    }

    /// The owner says which CPU it is on.
    pub(crate) fn note_cpu(&self, cpu: u32) {
        if self.cpu.load(Ordering::Relaxed) != cpu {
            self.cpu.store(cpu, Ordering::Relaxed);
        }
    }

    /// A number that changes with each pick. (It may be the same again after many picks that
    /// inherited one slice: `slice_is_over` sets their count back.)
    pub(crate) fn picks(&self) -> u64 {
        u64::from(self.sched_tick()) << 32 | u64::from(self.inherited.load(Ordering::Relaxed))
    }

    /// The M that runs this P, if one does. A hint to all but the owner.
    pub(crate) fn m(&self) -> Option<&'static M> {
        self.m.get()
    }

    /// Notes a spinner's place for the M that will be made for this P.
    pub(crate) fn keep_for_new_m(&self, spinning: Option<Spinning>) {
        self.start_spinning.store(spinning.is_some(), Ordering::Relaxed);
        if let Some(token) = spinning {
            token.into_flag();
        }
    }

    /// The spinner's place that was noted.
    pub(crate) fn take_kept_spinning(&self) -> Option<Spinning> {
        // SAFETY: the flag was set from a token that was given up for it, and is off now.
        self.start_spinning.swap(false, Ordering::Relaxed).then(|| unsafe { Spinning::assume() })
    }

    /// Whether anything is queued here, as the wake-up protocol's re-check must ask it: `runnext`
    /// first, so that a G that is kicked from there into the ring meanwhile is not missed.
    pub(crate) fn has_work(&self) -> bool {
        !self.next.is_empty() || self.ring.has_work()
    }
}
