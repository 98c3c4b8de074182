//! P: the right to run goroutine code, and the queues and caches that come with it (S3).
//!
//! Who may touch what: `next` and `ring` are read and stolen from by anybody (their protocols are in
//! `gosched-primitives`); everything in [`Own`] and the counters belongs to whoever owns the P: the M whose `p` it is
//! (inside the runtime), a starter that took it off the idle list, a taker that won it. Ownership passes through
//! the scheduler's lock, a note or the ownership word, each of which orders memory. [`HeldP`] is the proof.

mod lone;

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gosched_primitives::{Full, Linked, List, NextSlot, Ring, Spinning, keep_order, sync};
use gosched_switch::StackCache;

use crate::g::G;
use crate::m::M;
use crate::runtime::debug;
use crate::sched::SCHED;
use crate::sysmon::Seen;
use crate::timers::TimerHeap;
use lone::Trust;

/// Slots of a ring.
pub(crate) const RING: usize = 256;
/// Every so many picks the global queue comes first (S23).
pub(crate) const FAIRNESS_TICK: u32 = 61;
/// How long goroutines that wake each other through `runnext` may keep the P to themselves (S27).
const TIME_SLICE: Duration = Duration::from_millis(10);
/// They look at the clock after so many picks.
const INHERITED_PER_LOOK: u32 = 128;
/// How often others give way to an M that does not come to its next pick.
const MOST_GIVEN_WAY: u32 = 16;
/// Dead headers a P keeps at most; then half go to the shared cache (S9).
const FREE_MAX: usize = 64;
/// Ids a P takes from the generator at a time.
const ID_BATCH: u64 = 16;

/// Whether a picked G goes on with the running time slice or begins its own (S27).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slice {
    Inherited,
    New,
}

#[repr(C, align(128))]
pub(crate) struct P {
    pub(crate) id: u32,
    status: AtomicU32,
    m: AtomicPtr<M>,
    idle_link: AtomicPtr<P>,
    /// Whether the new M that this P waits for will be a spinner.
    start_spinning: AtomicBool,
    sched_tick: AtomicU32,
    /// `sched_tick` when a thief last found something queued here.
    looked_at: AtomicU32,
    /// The CPU that its M was on when it last looked; the owner's.
    cpu: AtomicU32,
    /// Picks in a row that went on with the running slice. The owner's; the monitor reads it.
    inherited: AtomicU32,
    blocking_tick: AtomicU32,
    /// The `sched_tick` whose goroutine has to give the P up itself. The monitor's; the owner reads it.
    insisted: AtomicU32,
    /// How often others gave way to its M since a pick: the pick's `sched_tick` in the upper half, the number in the lower.
    given_way: AtomicU64,
    /// What the monitor saw of this P; its own.
    pub(crate) seen: Seen,
    /// Goroutines created and ended on this P; read by `num_goroutine`.
    pub(crate) created: AtomicU64,
    pub(crate) ended: AtomicU64,
    pub(crate) timers: TimerHeap,
    pub(crate) next: NextSlot<G>,
    pub(crate) trust: Trust,
    pub(crate) ring: Ring<G, RING>,
    own: UnsafeCell<Own>,
}

/// The older half of a full ring and the G that did not fit: 129 that belong on the global queue (S21).
#[must_use = "these goroutines would never run"]
pub(crate) struct Overflow(pub(crate) List<G>);

/// What only the P's owner touches.
pub(crate) struct Own {
    /// Headers of dead goroutines, last in first out.
    pub(crate) free: List<G>,
    /// Hot stacks of the default size.
    pub(crate) stacks: StackCache,
    next_id: u64,
    end_id: u64,
    /// When the first of the picks in `inherited` were counted.
    slice_began: Option<Instant>,
}

/// The status a dump shows; who owns the P follows from who points at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum PStatus {
    Idle = 0,
    Running = 1,
    /// Its M is in an announced blocking call: whoever makes it another status by CAS has the P (S19).
    Blocking = 2,
    /// The world is stopped; whoever stopped it has the P.
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

// SAFETY: `own` is touched by the owner only (see above).
unsafe impl Sync for P {}
// SAFETY: as above.
unsafe impl Send for P {}

// SAFETY: `idle_link` is used for the idle list, and for the list of those that wait for a new M: never both.
unsafe impl Linked for P {
    fn link(&self) -> &AtomicPtr<P> {
        &self.idle_link
    }
}

impl P {
    pub(crate) fn new(id: u32, stacks: gosched_switch::StackClass) -> P {
        P {
            id,
            status: AtomicU32::new(PStatus::Idle as u32),
            m: AtomicPtr::new(core::ptr::null_mut()),
            idle_link: AtomicPtr::new(core::ptr::null_mut()),
            start_spinning: AtomicBool::new(false),
            sched_tick: AtomicU32::new(0),
            looked_at: AtomicU32::new(u32::MAX),
            cpu: AtomicU32::new(u32::MAX),
            inherited: AtomicU32::new(0),
            blocking_tick: AtomicU32::new(0),
            insisted: AtomicU32::new(u32::MAX),
            given_way: AtomicU64::new(0),
            seen: Seen::new(),
            created: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            timers: TimerHeap::new(),
            next: NextSlot::new(),
            trust: Trust::new(),
            ring: Ring::new(),
            own: UnsafeCell::new(Own {
                free: List::new(),
                stacks: StackCache::new(stacks),
                next_id: 0,
                end_id: 0,
                slice_began: None,
            }),
        }
    }

    pub(crate) fn status(&self) -> PStatus {
        match self.status.load(Ordering::Relaxed) {
            0 => PStatus::Idle,
            1 => PStatus::Running,
            2 => PStatus::Blocking,
            3 => PStatus::Stopped,
            _ => PStatus::Dead,
        }
    }

    /// The owner lets go for an announced blocking call: from here on the P is anybody's who wins the CAS of
    /// [`leave_blocking`](P::leave_blocking).
    #[inline]
    pub(crate) fn enter_blocking(&self) {
        self.count_blocking();
        self.m.store(core::ptr::null_mut(), Ordering::Relaxed);
        // ORDERING: Release pairs with the Acquire of `leave_blocking`: the winner sees all that was done to the P.
        self.status.store(PStatus::Blocking as u32, Ordering::Release);
    }

    /// Takes a P that is in a blocking call, making it `to`; one of several wins.
    #[inline]
    pub(crate) fn leave_blocking(&self, to: PStatus) -> bool {
        // ORDERING: Acquire, see `enter_blocking`.
        self.status
            .compare_exchange(PStatus::Blocking as u32, to as u32, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Counts a blocking call, or the loss of the P in one. By the owner.
    #[inline]
    pub(crate) fn count_blocking(&self) {
        self.blocking_tick
            .store(self.blocking_tick.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Blocking calls begun so far.
    pub(crate) fn blocking_tick(&self) -> u32 {
        self.blocking_tick.load(Ordering::Relaxed)
    }

    /// The monitor would take the P, but finds its M inside the runtime: whoever it has judged is to give it up.
    pub(crate) fn insist(&self) {
        // ORDERING: Relaxed: the owner may act on it at any later call, or not at all; the next pick is another tick. The tick
        // is the one that was judged: by now somebody else may run.
        self.insisted.store(self.seen.judged_tick(), Ordering::Relaxed);
    }

    /// Whether the goroutine that runs has to give the P up.
    pub(crate) fn is_insisted(&self) -> bool {
        self.insisted.load(Ordering::Relaxed) == self.sched_tick()
    }

    /// Picks so far, those aside that went on with a running slice.
    pub(crate) fn sched_tick(&self) -> u32 {
        self.sched_tick.load(Ordering::Relaxed)
    }

    /// Whether something is queued in the ring and nothing was picked since a thief last saw that: its M computes, or the
    /// kernel does not run it.
    pub(crate) fn stands_still(&self) -> bool {
        if self.ring.is_empty() {
            return false;
        }
        let tick = self.sched_tick();
        // ORDERING: Relaxed, a hint: two thieves that look at once may take one look for two, and steal a little early.
        let still = self.looked_at.load(Ordering::Relaxed) == tick;
        if !still {
            self.looked_at.store(tick, Ordering::Relaxed);
        }
        still
    }

    /// The owner says which CPU it is on.
    pub(crate) fn note_cpu(&self, cpu: u32) {
        if self.cpu.load(Ordering::Relaxed) != cpu {
            self.cpu.store(cpu, Ordering::Relaxed);
        }
    }

    /// Whether this P's M was last on the CPU that the caller is on, so that it can't be running, and has something in hand: a
    /// goroutine, the next one, or what it finds in the network. At most [`MOST_GIVEN_WAY`] times for one pick.
    pub(crate) fn waits_for_cpu(&self, cpu: u32, is_looker: bool) -> bool {
        if self.cpu.load(Ordering::Relaxed) != cpu || self.status() != PStatus::Running {
            return false;
        }
        let in_hand =
            is_looker || self.next.peek().is_some() || self.m().is_some_and(|m| m.cur_g().is_some());
        if !in_hand {
            return false;
        }
        let tick = u64::from(self.sched_tick()) << 32;
        // ORDERING: Relaxed, a hint: of two that count at once, one may be lost.
        let given = self.given_way.load(Ordering::Relaxed);
        let times = if given & !u64::from(u32::MAX) == tick { given as u32 } else { 0 };
        if times < MOST_GIVEN_WAY {
            self.given_way.store(tick | u64::from(times + 1), Ordering::Relaxed);
        }
        times < MOST_GIVEN_WAY
    }

    /// Whether anybody ever gave way to its M.
    #[cfg(test)]
    pub(crate) fn was_given_way(&self) -> bool {
        self.given_way.load(Ordering::Relaxed) != 0
    }

    /// A number that is another one after each pick (or, once in a long while, the same).
    pub(crate) fn picks(&self) -> u64 {
        u64::from(self.sched_tick()) << 32 | u64::from(self.inherited.load(Ordering::Relaxed))
    }

    /// The M that runs this P, if one does. A hint to all but the owner.
    pub(crate) fn m(&self) -> Option<&'static M> {
        // SAFETY: Ms are never freed.
        unsafe { self.m.load(Ordering::Relaxed).as_ref() }
    }

    /// The owner gives the P to `m`, which is the owner from here on.
    pub(crate) fn start(&self, m: &'static M) {
        self.m.store(core::ptr::from_ref(m).cast_mut(), Ordering::Relaxed);
        self.status.store(PStatus::Running as u32, Ordering::Relaxed);
    }

    /// The owner lets go.
    pub(crate) fn stop(&self) {
        self.m.store(core::ptr::null_mut(), Ordering::Relaxed);
        self.set_status(PStatus::Idle);
    }

    /// Says what the owner, which is no M, makes of the P.
    pub(crate) fn set_status(&self, status: PStatus) {
        self.status.store(status as u32, Ordering::Relaxed);
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

    /// Whether anything is queued here, as the wake-up protocol's re-check must ask it: `runnext` first, so that
    /// what was kicked from there into the ring is not missed.
    pub(crate) fn has_work(&self) -> bool {
        !self.next.is_empty() || self.ring.has_work()
    }

    /// Proof that the caller owns this P.
    ///
    /// # Safety
    /// It does, for as long as the proof lives.
    #[inline]
    pub(crate) unsafe fn held(&self) -> HeldP<'_> {
        HeldP(self)
    }
}

/// Proof that the P is owned by whoever has this: the queue's owner side and the caches.
#[derive(Clone, Copy)]
pub(crate) struct HeldP<'a>(&'a P);

impl core::ops::Deref for HeldP<'_> {
    type Target = P;

    #[inline]
    fn deref(&self) -> &P {
        self.0
    }
}

impl<'a> HeldP<'a> {
    /// The P itself.
    #[cfg(test)]
    pub(crate) fn as_p(self) -> &'a P {
        self.0
    }

    /// The caches.
    #[inline]
    pub(crate) fn own<R>(self, f: impl FnOnce(&mut Own) -> R) -> R {
        // SAFETY: we own the P, and no `f` in this crate calls `own` again: they move a node and return.
        f(unsafe { &mut *self.0.own.get() })
    }

    /// Puts a new or readied G in `runnext`; who was there goes to the ring's tail (S21). Returns what overflows.
    #[doc(alias = "runqput")]
    #[inline]
    pub(crate) fn put_next(self, g: NonNull<G>, random: impl FnMut() -> u32) -> Option<Overflow> {
        let kicked = self.0.next.replace(g)?;
        self.put_tail(kicked, random)
    }

    /// As [`put_next`](HeldP::put_next), if `runnext` will be all that is queued here, and trusted to be run soon ([`Trust`]). Returns
    /// whether it was.
    #[inline]
    pub(crate) fn put_alone(self, g: NonNull<G>) -> bool {
        let alone = self.0.trust.is_given() && self.0.next.peek().is_none() && self.0.ring.is_empty();
        if alone {
            // Only the owner fills it, so nobody is kicked out.
            let _ = self.0.next.replace(g);
        }
        alone
    }

    /// Puts a G at the ring's tail; if the ring is full, half of it and the G are returned.
    #[inline]
    pub(crate) fn put_tail(self, g: NonNull<G>, random: impl FnMut() -> u32) -> Option<Overflow> {
        // SAFETY: we own the P.
        let owner = unsafe { self.0.ring.owner() };
        match owner.push(g) {
            Ok(()) => {
                // A thief may have taken what kicked this one out: then only the ring's tail tells of it, and the look
                // for sleepers that follows must not come before it.
                sync::publish_fence();
                None
            }
            Err(Full(g)) => self.overflow(g, random),
        }
    }

    #[doc(alias = "runqputslow")]
    #[cold]
    fn overflow(self, mut g: NonNull<G>, mut random: impl FnMut() -> u32) -> Option<Overflow> {
        // SAFETY: we own the P.
        let owner = unsafe { self.0.ring.owner() };
        loop {
            let batch = if debug::get().randomize {
                owner.overflow(g, |bound| random() as usize % bound)
            } else {
                owner.overflow(g, keep_order)
            };
            if let Some(batch) = batch {
                return Some(Overflow(batch));
            }
            // Thieves made room meanwhile.
            match owner.push(g) {
                Ok(()) => {
                    sync::publish_fence();
                    return None;
                }
                Err(Full(back)) => g = back,
            }
        }
    }

    /// The next G by `runnext` and ring alone.
    #[doc(alias = "runqget")]
    #[inline]
    pub(crate) fn get(self) -> Option<(NonNull<G>, Slice)> {
        if let Some(g) = self.0.next.take() {
            self.0.trust.gain();
            return Some((g, Slice::Inherited));
        }
        // SAFETY: we own the P.
        let owner = unsafe { self.0.ring.owner() };
        let g = owner.pop()?;
        prefetch(owner.peek(0), owner.peek(2));
        Some((g, Slice::New))
    }

    /// Whether a slice that was handed on through `runnext` has been used up (S27). Looks at the clock once in many
    /// picks.
    #[inline]
    pub(crate) fn slice_is_over(self) -> bool {
        if self.0.inherited.load(Ordering::Relaxed) < INHERITED_PER_LOOK {
            return false;
        }
        self.0.inherited.store(0, Ordering::Relaxed);
        self.own(|own| match own.slice_began {
            None => {
                own.slice_began = Some(Instant::now());
                false
            }
            Some(began) => began.elapsed() >= TIME_SLICE,
        })
    }

    /// Counts a pick: in `sched_tick`, unless it goes on with a running slice (S3).
    #[inline]
    pub(crate) fn count_pick(self, slice: Slice) {
        match slice {
            Slice::Inherited => {
                let inherited = self.0.inherited.load(Ordering::Relaxed);
                self.0.inherited.store(inherited + 1, Ordering::Relaxed);
            }
            Slice::New => {
                let tick = self.0.sched_tick.load(Ordering::Relaxed);
                self.0.sched_tick.store(tick.wrapping_add(1), Ordering::Relaxed);
                self.0.inherited.store(0, Ordering::Relaxed);
                self.own(|own| own.slice_began = None);
            }
        }
    }

    /// Whether this pick is the one that looks at the global queue first (S23).
    #[inline]
    pub(crate) fn is_fairness_tick(self) -> bool {
        self.0.sched_tick.load(Ordering::Relaxed).is_multiple_of(FAIRNESS_TICK)
    }

    /// The id of the next goroutine.
    #[inline]
    pub(crate) fn new_id(self) -> u64 {
        self.own(|own| {
            if own.next_id == own.end_id {
                own.next_id = SCHED.new_ids(ID_BATCH);
                own.end_id = own.next_id + ID_BATCH;
            }
            own.next_id += 1;
            own.next_id - 1
        })
    }

    /// A dead header to reuse: from the own cache, else a batch from the shared one, else fresh ones (S8).
    #[doc(alias = "gfget")]
    #[inline]
    pub(crate) fn new_g(self) -> &'static G {
        let g = self.own(|own| {
            own.free.pop_front().or_else(|| {
                SCHED.refill_free(&mut own.free, FREE_MAX / 2);
                own.free.pop_front()
            })
        });
        // SAFETY: `refill_free` leaves at least one, or ends the process; headers are never unmapped.
        unsafe { g.unwrap_unchecked().as_ref() }
    }

    /// Takes a dead header back; with 64 of them, half go to the shared cache (S9).
    #[doc(alias = "gfput")]
    #[inline]
    pub(crate) fn free_g(self, g: NonNull<G>) {
        self.own(|own| {
            // SAFETY: dead and in no list: the caller owned it alone.
            unsafe { own.free.push_front(g) };
            if own.free.len() >= FREE_MAX {
                let surplus = own.free.split_front(FREE_MAX / 2);
                SCHED.free_many(surplus);
            }
        });
    }

    pub(crate) fn count_created(self) {
        bump(&self.0.created);
    }

    pub(crate) fn count_ended(self) {
        bump(&self.0.ended);
    }
}

/// Adds one to a counter that only its owner writes.
#[inline]
fn bump(counter: &AtomicU64) {
    // ORDERING: Release pairs with the Acquire loads of `num_goroutine`, which reads ends before births.
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Release);
}

/// Asks for the cache lines that the picks after this one will need: the saved registers' stack lines of the next
/// G, the header of the one after the one after it (D3: a yield among 10,000 goroutines fell from 90 to 28 ns).
#[inline]
fn prefetch(soon: Option<NonNull<G>>, later: Option<NonNull<G>>) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        if let Some(g) = later {
            // SAFETY: a prefetch reads nothing the program can see and never faults.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(g.as_ptr().cast()) };
        }
        if let Some(g) = soon {
            // SAFETY: headers are never unmapped, so the saved stack pointer can be read (atomically: the G may be
            // running elsewhere by now); whatever it says, a prefetch of it is harmless.
            unsafe {
                let sp = core::ptr::with_exposed_provenance::<i8>((*g.as_ref().buf.get()).sp());
                _mm_prefetch::<_MM_HINT_T0>(sp);
                _mm_prefetch::<_MM_HINT_T0>(sp.wrapping_add(64));
            }
        }
    }
}
