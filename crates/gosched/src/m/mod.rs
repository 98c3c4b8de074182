//! M: a worker thread (S2). Its own thread's stack is its g0, on which the scheduler loop runs.
//!
//! Who may touch what: fields marked *own* belong to the M's thread. `next_p` and the spinning flag are written by
//! whoever wakes the note, before that, and read by the M after: one that took the M off the idle list, or picked
//! the goroutine that is bound to it. `p` is written by
//! the M; it is read by others as a hint, and taken from it only through the protocol of `owner`
//! (`gosched-primitives`). Ms are never freed: an idle one sleeps on its note until it is wanted again, and one whose thread has ended
//! (`sched/idle.rs`) waits in a list for another thread.

pub(crate) mod current;
pub(crate) mod template;

use core::cell::{Cell, UnsafeCell};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use gosched_primitives::{Intr, Linked, List, Note, Owner, Spinning};
use gosched_switch::{Gobuf, Stack};

use crate::g::G;
use crate::p::P;
use crate::sched::SCHED;
use crate::sys::signal::AlternateStack;
use crate::sys::{cpu, thread};
use crate::sysmon::{Held, Probe};

/// What the next code on this M, on whatever stack, has to do first: the goroutine that was left has its
/// registers saved by then (D3).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Post {
    Nothing,
    /// Parking becomes waiting, or runnable if it was readied meanwhile.
    Park(NonNull<G>),
    /// Running becomes runnable, at the global queue's tail.
    Requeue(NonNull<G>),
    /// As `Requeue`, behind those that were woken: it was preempted, or has lost its P (D1).
    RequeueLast(NonNull<G>),
    /// As `Requeue`, and the M gives its P to another one, so that the goroutine goes on elsewhere.
    Migrate(NonNull<G>),
    /// The stack of one that ended goes to the cache.
    FreeStack,
}

/// Headers an M without a P takes at a time.
const SPARE_GS: usize = 32;

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
    p: AtomicPtr<P>,
    cur_g: AtomicPtr<G>,
    /// Own: the scheduler loop's registers while a goroutine runs.
    pub(crate) g0: UnsafeCell<Gobuf>,
    /// Own.
    pub(crate) post: Cell<Post>,
    /// Own: the stack under `Post::FreeStack`.
    pub(crate) dead_stack: UnsafeCell<Option<Stack>>,
    /// Own: picked by a goroutine that left, to be executed from g0.
    pub(crate) picked: Cell<Option<(NonNull<G>, crate::p::Slice)>>,
    /// Own: its goroutine has ended locked to the thread, which ends too (S51).
    ending: Cell<bool>,
    /// Own: the goroutine bound to this thread (D5).
    pub(crate) locked_g: Cell<Option<&'static G>>,
    /// Own: a request to yield that a call met which does not move (S39).
    asked_to_yield: Cell<bool>,
    /// Own: whether the goroutine on this M has stopped the world.
    stopped_world: Cell<bool>,
    /// Own: dead headers for goroutines created while this M is without a P.
    spare_gs: UnsafeCell<List<G>>,
    /// Own: state of the random generator.
    random: Cell<u64>,
    spinning: AtomicBool,
    next_p: AtomicPtr<P>,
    /// A [`Taken`]; written by the taker before it takes, and by the M when it finds out.
    taken: AtomicU32,
    /// The monitor's.
    pub(crate) probe: Probe,
    /// The monitor's.
    pub(crate) held: Held,
    pub(crate) note: Note,
    idle_link: AtomicPtr<M>,
    /// The M that was created before this one.
    pub(crate) all_link: AtomicPtr<M>,
    pub(crate) id: u64,
    tid: AtomicI32,
    /// A [`Life`].
    life: AtomicU32,
    /// Own: where signals are handled that find the stack used up. Stays with the M when its thread ends.
    alternate_stack: Cell<Option<AlternateStack>>,
    /// g0's stack pointer when the loop was last entered: always the same one (S10).
    #[cfg(test)]
    pub(crate) loop_sp: Cell<usize>,
}

// SAFETY: the cells marked *own* are touched by the M's thread alone (see above).
unsafe impl Sync for M {}
// SAFETY: an M is created on one thread and used by another from then on.
unsafe impl Send for M {}

// SAFETY: `idle_link` is used for the list of idle Ms and that of ended ones; no M is in both.
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
            p: AtomicPtr::new(core::ptr::null_mut()),
            cur_g: AtomicPtr::new(core::ptr::null_mut()),
            g0: UnsafeCell::new(Gobuf::empty()),
            post: Cell::new(Post::Nothing),
            dead_stack: UnsafeCell::new(None),
            picked: Cell::new(None),
            ending: Cell::new(false),
            locked_g: Cell::new(None),
            asked_to_yield: Cell::new(false),
            stopped_world: Cell::new(false),
            spare_gs: UnsafeCell::new(List::new()),
            random: Cell::new(crate::runtime::debug::seed() ^ id.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            spinning: AtomicBool::new(false),
            next_p: AtomicPtr::new(core::ptr::null_mut()),
            taken: AtomicU32::new(Taken::No as u32),
            probe: Probe::new(),
            held: Held::new(),
            note: Note::new(),
            idle_link: AtomicPtr::new(core::ptr::null_mut()),
            all_link: AtomicPtr::new(core::ptr::null_mut()),
            id,
            tid: AtomicI32::new(0),
            life: AtomicU32::new(Life::New as u32),
            alternate_stack: Cell::new(None),
            #[cfg(test)]
            loop_sp: Cell::new(0),
        }))
    }

    /// Its thread begins; whether it is the first that this M has. By that thread.
    pub(crate) fn begin(&self) -> FirstThread {
        if self.alternate_stack.get().is_none() {
            self.alternate_stack.set(AlternateStack::new());
        }
        if let Some(stack) = self.alternate_stack.get() {
            stack.adopt();
        }
        self.tid.store(thread::tid(), Ordering::Relaxed);
        let before = self.life.swap(Life::HasThread as u32, Ordering::Relaxed);
        if before == Life::New as u32 { FirstThread::Yes } else { FirstThread::No }
    }

    /// Its thread ends: the M is as new, but for what a next thread can use. By that thread, inside the runtime and without a P.
    pub(crate) fn end(&self) {
        self.ending.set(false);
        #[cfg(test)]
        self.loop_sp.set(0);
        self.life.store(Life::Ended as u32, Ordering::Relaxed);
        self.tid.store(0, Ordering::Relaxed);
        AlternateStack::drop_own();
    }

    /// Whether it has a thread, or is about to.
    pub(crate) fn has_thread(&self) -> bool {
        self.life.load(Ordering::Relaxed) != Life::Ended as u32
    }

    /// Whether its thread is to end.
    #[inline]
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.get()
    }

    pub(crate) fn set_ending(&self, ending: bool) {
        self.ending.set(ending);
    }

    /// The kernel's id of its thread; 0 while it has none.
    pub(crate) fn tid(&self) -> i32 {
        self.tid.load(Ordering::Relaxed)
    }

    /// The P this M holds, or held before it was taken: a memory only, while `owner` says TAKEN or BLOCKING. It may be anybody's
    /// by then, idle, or dead, and whoever asks knows which of the two it is, or copes with either.
    #[inline]
    pub(crate) fn p(&self) -> Option<&'static P> {
        // SAFETY: Ps are never freed.
        unsafe { self.p.load(Ordering::Relaxed).as_ref() }
    }

    /// The P this M holds, as far as others can tell.
    pub(crate) fn p_hint(&self) -> Option<&'static P> {
        match self.owner.intr() {
            Intr::None | Intr::Preempt | Intr::Retaking => self.p(),
            Intr::Taken | Intr::Blocking => None,
        }
    }

    /// Makes `p` this M's. On its own thread, inside the runtime.
    pub(crate) fn acquire_p(&'static self, p: &'static P) {
        p.start(self);
        p.note_cpu(cpu::current());
        self.p.store(core::ptr::from_ref(p).cast_mut(), Ordering::Relaxed);
        if self.owner.intr() == Intr::Taken {
            self.owner.regain();
        }
    }

    /// Lets go of the P and returns it. On its own thread, inside the runtime.
    pub(crate) fn release_p(&self) -> Option<&'static P> {
        let p = self.p();
        self.p.store(core::ptr::null_mut(), Ordering::Relaxed);
        if let Some(p) = p {
            p.stop();
        }
        p
    }

    /// Forgets a P that was taken by someone else: it is no longer ours to stop.
    pub(crate) fn forget_p(&self) {
        self.p.store(core::ptr::null_mut(), Ordering::Relaxed);
    }

    /// Notes why the P is taken, or that it is not; returns what was noted.
    pub(crate) fn set_taken(&self, taken: Taken) -> Taken {
        match self.taken.swap(taken as u32, Ordering::Relaxed) {
            0 => Taken::No,
            1 => Taken::Computing,
            _ => Taken::Blocked,
        }
    }

    #[inline]
    pub(crate) fn asked_to_yield(&self) -> bool {
        self.asked_to_yield.get()
    }

    pub(crate) fn set_asked_to_yield(&self, asked: bool) {
        self.asked_to_yield.set(asked);
    }

    pub(crate) fn has_stopped_world(&self) -> bool {
        self.stopped_world.get()
    }

    pub(crate) fn set_stopped_world(&self, stopped: bool) {
        self.stopped_world.set(stopped);
    }

    /// Forgets requests to yield: they were meant for the goroutine that ran before. With `migrate=1` every goroutine that
    /// begins to run is asked to go elsewhere.
    #[inline]
    pub(crate) fn clear_preempt(&self) {
        self.owner.clear_preempt();
        self.asked_to_yield.set(SCHED.is_migrating());
    }

    #[inline]
    pub(crate) fn cur_g(&self) -> Option<&'static G> {
        // SAFETY: headers are never unmapped.
        unsafe { self.cur_g.load(Ordering::Relaxed).as_ref() }
    }

    #[inline]
    pub(crate) fn set_cur_g(&self, g: Option<&G>) {
        let ptr = g.map_or(core::ptr::null_mut(), |g| core::ptr::from_ref(g).cast_mut());
        self.cur_g.store(ptr, Ordering::Relaxed);
    }

    /// Says which P (and whether as the spinner) this M is to go on with, before it is started or woken.
    pub(crate) fn give(&self, p: &'static P, spinning: Option<Spinning>) {
        if let Some(token) = spinning {
            self.set_spinning(token);
        }
        self.next_p.store(core::ptr::from_ref(p).cast_mut(), Ordering::Relaxed);
    }

    /// The P given by `give`.
    pub(crate) fn take_next_p(&self) -> Option<&'static P> {
        let p = self.next_p.load(Ordering::Relaxed);
        self.next_p.store(core::ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: Ps are never freed.
        unsafe { p.as_ref() }
    }

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

    /// A dead header for a new goroutine, by an M that has no P to take it from. On its own thread, inside the runtime.
    pub(crate) fn new_g_without_p(&self) -> &'static G {
        // SAFETY: the M's own cell, on its thread; nothing below comes back here.
        let spare = unsafe { &mut *self.spare_gs.get() };
        if spare.is_empty() {
            SCHED.refill_free(spare, SPARE_GS);
        }
        // SAFETY: `refill_free` leaves at least one, or ends the process; headers are never unmapped.
        unsafe { spare.pop_front().unwrap_unchecked().as_ref() }
    }

    /// A random number (xorshift64*), good enough to spread thieves.
    pub(crate) fn random(&self) -> u32 {
        let mut x = self.random.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.random.set(x);
        (x.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }
}
