//! M: a worker thread (S2). Its own thread's stack is its g0, on which the scheduler loop runs.
//!
//! [`M`] is what anybody may touch of it: atomics. What belongs to its thread alone is reached
//! through a [`Worker`] (`worker.rs`), which exists only on that thread and inside the runtime.
//!
//! Whoever wakes an M's note, or starts its thread, writes `next_p` before that, and the spinning
//! flag if the M is to spin: a thread that took the M off the idle list, or that picked the
//! goroutine bound to it. The M reads them afterwards; while it is awake it alone writes the flag.
//! `p` is written by the M; others read it as a hint, and take the P only through the protocol of
//! `owner` (`gosched-primitives`). Ms are never freed: an idle one sleeps on its note until it is
//! wanted again, and one whose thread has ended (`sched/idle.rs`) waits in a list for another
//! thread.

pub(crate) mod current;
mod probe;
mod stint;
mod worker;

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use gosched_primitives::{AtomicRef, Intr, Linked, List, Note, Owner, Random, Spinning};
use gosched_switch::{Gobuf, Stack};

use crate::g::G;
use crate::p::{OwnedP, P, PMailbox, Slice};
use crate::recorder::Block;
use crate::sys::signal::AlternateStack;
use probe::Probe;
use stint::Stint;
pub(crate) use worker::{G0, HasP, OwnM, Worker};

/// What the code that runs next on this M, on whatever stack, has to do first: the registers of the
/// goroutine that left are saved by then (D3).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Post {
    Nothing,
    /// Parking becomes waiting, or runnable if it was readied meanwhile.
    Park(NonNull<G>),
    /// Running becomes runnable, at the global queue's tail.
    Requeue(NonNull<G>),
    /// As `Requeue`, behind those that were woken: it was preempted, or has lost its P (D1).
    RequeueLast(NonNull<G>),
    /// As `Requeue`, and the M hands its P off, so that the goroutine resumes elsewhere.
    Migrate(NonNull<G>),
    /// The stack of a goroutine that has ended goes to the cache.
    FreeStack,
}

/// Why an M has lost its P.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Taken {
    /// It has not.
    No = 0,
    /// Its goroutine computes.
    Computing = 1,
    /// Its thread is blocked in a call that was not announced.
    Blocked = 2,
}

/// Whether an M has a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Life {
    /// It never had one.
    New = 0,
    HasThread = 1,
    /// Its last one has ended.
    Ended = 2,
}

/// Whether a thread is the first that its M has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum FirstThread {
    Yes,
    No,
}

#[repr(C)]
pub(crate) struct M {
    /// `in_rt` and `intr` (D1): the only words that others look at often.
    pub(crate) owner: Owner,
    p: AtomicRef<P>,
    cur_g: AtomicRef<G>,
    /// What only its thread uses.
    own: UnsafeCell<MOwn>,
    /// Whether the goroutine on this M has stopped the world. Used by its thread.
    stopped_world: AtomicBool,
    /// Whether a goroutine has left this M without a P, and what is left to do for it may not be
    /// done yet. Its thread's, for whoever stops the world.
    finishing: AtomicBool,
    /// Used by its thread.
    random: Random,
    spinning: AtomicBool,
    next_p: PMailbox,
    /// A [`Taken`]; written by the taker before it takes, and by the M when it finds out.
    taken: AtomicU32,
    /// Asked by the monitor; closed by whoever takes the P, or ends the thread.
    pub(crate) probe: Probe,
    /// Used by the monitor, and by the reporter to note what it has reported.
    pub(crate) stint: Stint,
    pub(crate) note: Note,
    idle_link: AtomicPtr<M>,
    /// The M that was listed before this one.
    pub(crate) all_link: AtomicPtr<M>,
    pub(crate) id: u64,
    tid: AtomicI32,
    /// A [`Life`].
    life: AtomicU32,
    /// Its stream in a trace.
    pub(crate) recorder: Block,
}

/// What only an M's thread uses, inside the runtime.
pub(crate) struct MOwn {
    /// The scheduler loop's registers while a goroutine runs.
    g0: UnsafeCell<Gobuf>,
    pub(crate) post: Post,
    /// The stack under `Post::FreeStack`.
    pub(crate) dead_stack: Option<Stack>,
    /// What a goroutine that left has picked, to be run from g0.
    pub(crate) picked: Option<(NonNull<G>, Slice)>,
    /// Its goroutine has ended locked to the thread, which ends too (S51).
    pub(crate) ending: bool,
    /// The goroutine bound to this thread (D5).
    pub(crate) locked_g: Option<&'static G>,
    /// A request to yield that a call which does not move has found (S39). The next moving call
    /// honours it.
    pub(crate) asked_to_yield: bool,
    /// Dead headers for goroutines created while this M is without a P.
    pub(crate) spare_gs: List<G>,
    /// Where signals are handled when the stack is used up. Stays with the M when its thread ends.
    alternate_stack: Option<AlternateStack>,
    /// g0's stack pointer when the loop was last entered: always the same one (S10).
    #[cfg(test)]
    pub(crate) loop_sp: usize,
}

// SAFETY: all fields but `own` are `Sync`. `own` is private to this folder and reached by
// `OwnM::own` alone, which takes a mutable borrow of what only a `Worker` has: that is not `Send`,
// is made on the M's thread, and is one at a time (`Worker::assume`). When an M gets another
// thread, the last one's worker was given up before `put_spare_m`, and the next one's is made after
// `take_spare_m`, under the same lock.
unsafe impl Sync for M {}
// SAFETY: nothing in it belongs to the thread that made it: registers, stacks, headers and the
// memory of a signal stack are used by whichever thread the M has.
unsafe impl Send for M {}

// SAFETY: always the same field, which only lists write to. An M is put into one by its own thread
// while it runs (`stop_m`), or when it has no thread (`put_spare_m`); it gets to run, or a thread,
// by being taken out.
unsafe impl Linked for M {
    fn link(&self) -> &AtomicPtr<M> {
        &self.idle_link
    }
}

impl M {
    /// An M without a thread yet, and without a P.
    pub(crate) fn new() -> &'static M {
        static IDS: AtomicU64 = AtomicU64::new(0);
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        Box::leak(Box::new(M {
            owner: Owner::new(),
            p: AtomicRef::none(),
            cur_g: AtomicRef::none(),
            own: UnsafeCell::new(MOwn {
                g0: UnsafeCell::new(Gobuf::empty()),
                post: Post::Nothing,
                dead_stack: None,
                picked: None,
                ending: false,
                locked_g: None,
                asked_to_yield: false,
                spare_gs: List::new(),
                alternate_stack: None,
                #[cfg(test)]
                loop_sp: 0,
            }),
            stopped_world: AtomicBool::new(false),
            finishing: AtomicBool::new(false),
            random: Random::new(crate::debug::seed() ^ id.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            spinning: AtomicBool::new(false),
            next_p: PMailbox::new(),
            taken: AtomicU32::new(Taken::No as u32),
            probe: Probe::new(),
            stint: Stint::new(),
            note: Note::new(),
            idle_link: AtomicPtr::new(core::ptr::null_mut()),
            all_link: AtomicPtr::new(core::ptr::null_mut()),
            id,
            tid: AtomicI32::new(0),
            life: AtomicU32::new(Life::New as u32),
            recorder: Block::new(id),
        }))
    }

    /// Whether it has a thread, or is to get its first one.
    pub(crate) fn has_thread(&self) -> bool {
        self.life.load(Ordering::Relaxed) != Life::Ended as u32
    }

    /// The kernel's id of its thread; 0 while it has none. A thread that found the M by its P sees
    /// it: it was stored before the M had a P.
    pub(crate) fn tid(&self) -> i32 {
        self.tid.load(Ordering::Relaxed)
    }

    /// The P this M holds, or held before it was taken: only remembered while `owner` says TAKEN or
    /// BLOCKING. Then it may have another owner, be idle, or dead; the caller knows which of the
    /// two it gets, or copes with either.
    #[inline]
    pub(crate) fn p(&self) -> Option<&'static P> {
        self.p.get()
    }

    /// Called by its worker.
    #[inline]
    fn set_p(&self, p: Option<&'static P>) {
        self.p.set(p);
    }

    /// The P this M holds, as far as others can tell.
    pub(crate) fn p_hint(&self) -> Option<&'static P> {
        match self.owner.intr() {
            Intr::None | Intr::Preempt | Intr::Retaking => self.p(),
            Intr::Taken | Intr::Blocking => None,
        }
    }

    /// Notes why the P is taken, or that it is not; returns what was noted.
    pub(crate) fn set_taken(&self, taken: Taken) -> Taken {
        // Relaxed: the ownership word orders it. The taker notes before it makes the word TAKEN;
        // the M, which acquires that, takes the note back before it makes the word NONE, which the
        // next taker acquires.
        match self.taken.swap(taken as u32, Ordering::Relaxed) {
            0 => Taken::No,
            1 => Taken::Computing,
            _ => Taken::Blocked,
        }
    }

    pub(crate) fn has_stopped_world(&self) -> bool {
        self.stopped_world.load(Ordering::Relaxed)
    }

    pub(crate) fn set_stopped_world(&self, stopped: bool) {
        self.stopped_world.store(stopped, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn cur_g(&self) -> Option<&'static G> {
        self.cur_g.get()
    }

    #[inline]
    pub(crate) fn set_cur_g(&self, g: Option<&'static G>) {
        self.cur_g.set(g);
    }

    /// Whether it does anything for a goroutine, inside the runtime. For whoever stops the world,
    /// about an M without a P, after a heavy barrier.
    pub(crate) fn is_busy_inside(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `finished`. The goroutine is read before: an
        // M that has none was marked before it had none (`Worker::part_with_g`).
        self.owner.in_runtime() && (self.cur_g().is_some() || self.finishing.load(Ordering::Acquire))
    }

    /// The post-switch step is done. On g0.
    #[inline]
    pub(crate) fn finished(&self) {
        if self.finishing.load(Ordering::Relaxed) {
            // ORDERING: Release pairs with the Acquire in `is_busy_inside`: the stopper sees all
            // that was done.
            self.finishing.store(false, Ordering::Release);
        }
    }

    /// Gives this M a P, and perhaps the place of a spinner, before it is started or woken.
    pub(crate) fn give(&self, p: OwnedP, spinning: Option<Spinning>) {
        if let Some(token) = spinning {
            self.set_spinning(token);
        }
        self.next_p.put(p);
    }

    /// The P given by `give`.
    pub(crate) fn take_next_p(&self) -> Option<OwnedP> {
        self.next_p.take()
    }

    /// Only its own thread relies on it; it is set for an M that sleeps before the note is woken.
    pub(crate) fn is_spinning(&self) -> bool {
        self.spinning.load(Ordering::Relaxed)
    }

    /// Keeps the token as a flag.
    pub(crate) fn set_spinning(&self, token: Spinning) {
        token.into_flag();
        self.spinning.store(true, Ordering::Relaxed);
    }

    /// Turns the flag back into the token.
    pub(crate) fn take_spinning(&self) -> Option<Spinning> {
        if !self.spinning.load(Ordering::Relaxed) {
            return None;
        }
        self.spinning.store(false, Ordering::Relaxed);
        // SAFETY: the flag was set from a token that was given up for it, and is off now.
        Some(unsafe { Spinning::assume() })
    }

    /// A random number. Called by its thread.
    pub(crate) fn random(&self) -> u32 {
        self.random.next_u32()
    }
}
