//! Possession of a P is a value: [`OwnedP`], neither `Copy` nor `Send`. Its holder is the P's only
//! owner.
//!
//! A P that nobody works with rests in one of four places, and each gives the value back to one
//! taker only:
//!
//! | place | put there by | given back by |
//! |---|---|---|
//! | an M, in user code, or while it switches stacks | [`Worker`](crate::m::Worker), when it leaves the runtime | the next entry, `after_switch`, or a taker (`sched/take.rs`), by the ownership word |
//! | a [`PList`]: idle, or waiting for a new M | `push` | `pop`, under the lock of whoever owns the list |
//! | a [`PMailbox`]: on its way to an M | `put`, before the M's note is woken | `take`, by the M after it |
//! | its own status word: *blocking*, *stopped*, *dead* | [`OwnedP::rest`] | [`P::win`], a compare-and-swap |
//!
//! Each of these orders memory, so the next owner sees what the last one did. All changes of a P's
//! status are in this file.

use core::marker::PhantomData;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::time::Instant;

use gosched_primitives::{Full, List, RingOwner, keep_order, sync};
use gosched_rules::pick::{self, Local};
use gosched_switch::arch;

use super::{Overflow, P, POwn, PStatus, RING, Slice};
use crate::debug;
use crate::g::G;
use crate::m::M;

/// "This P is mine": the owner's end of its ring, its caches, and the right to say what becomes of
/// it.
#[must_use = "a P that is dropped never runs anything again"]
pub(crate) struct OwnedP(&'static P, PhantomData<*mut ()>);

/// The statuses in which a P belongs to nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resting {
    Blocking,
    Stopped,
    Dead,
}

impl Resting {
    fn status(self) -> PStatus {
        match self {
            Resting::Blocking => PStatus::Blocking,
            Resting::Stopped => PStatus::Stopped,
            Resting::Dead => PStatus::Dead,
        }
    }
}

impl P {
    /// Takes a P that rests, making it *idle*; one of several who try wins.
    #[inline]
    pub(crate) fn win(&'static self, from: Resting) -> Option<OwnedP> {
        // ORDERING: Acquire pairs with the Release in `rest`: the winner sees all that was done to
        // the P.
        self.status
            .compare_exchange(
                from.status() as u32,
                PStatus::Idle as u32,
                Ordering::Acquire,
                Ordering::Relaxed,
            )
            .ok()?;
        // SAFETY: only `rest` stores such a status, and gives the value up, and `P::new`, before
        // there is a value; the compare-and-swap has one winner.
        Some(unsafe { OwnedP::assume(self) })
    }
}

/// Ps without an owner, linked through themselves.
pub(crate) struct PList(List<P>);

impl PList {
    pub(crate) const fn new() -> PList {
        PList(List::new())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn push_front(&mut self, p: OwnedP) {
        // SAFETY: Ps are never freed; this one has an owner, the caller, so it is on no list.
        unsafe { self.0.push_front(NonNull::from(p.0)) };
    }

    pub(crate) fn push_back(&mut self, p: OwnedP) {
        // SAFETY: as in `push_front`.
        unsafe { self.0.push_back(NonNull::from(p.0)) };
    }

    pub(crate) fn pop_front(&mut self) -> Option<OwnedP> {
        // SAFETY: Ps are never freed. A `push` gave the value up, and the list gives each of its Ps
        // back once.
        self.0.pop_front().map(|p| unsafe { OwnedP::assume(p.as_ref()) })
    }
}

/// Room for one P that is given to an M. The M's note, or its start, tells it that the P is there.
pub(crate) struct PMailbox(AtomicPtr<P>);

impl PMailbox {
    pub(crate) const fn new() -> PMailbox {
        PMailbox(AtomicPtr::new(core::ptr::null_mut()))
    }

    pub(crate) fn put(&self, p: OwnedP) {
        debug_assert!(self.0.load(Ordering::Relaxed).is_null(), "the M has a P on its way to it already");
        // ORDERING: Release pairs with the Acquire in `take`.
        self.0.store(core::ptr::from_ref(p.0).cast_mut(), Ordering::Release);
    }

    pub(crate) fn take(&self) -> Option<OwnedP> {
        // ORDERING: Acquire pairs with the Release in `put`: the next owner sees what was done to
        // the P.
        let p = self.0.swap(core::ptr::null_mut(), Ordering::Acquire);
        // SAFETY: Ps are never freed. `put` gave the value up, and the swap takes it once.
        unsafe { p.as_ref().map(|p| OwnedP::assume(p)) }
    }
}

impl core::ops::Deref for OwnedP {
    type Target = P;

    #[inline]
    fn deref(&self) -> &P {
        self.0
    }
}

impl OwnedP {
    /// The value of a P, taken from the place where it rested.
    ///
    /// # Safety
    /// The P rested there, nobody else takes it from there, and no other `OwnedP` of it exists.
    #[inline]
    pub(crate) unsafe fn assume(p: &'static P) -> OwnedP {
        OwnedP(p, PhantomData)
    }

    /// What anybody may use.
    #[inline]
    pub(crate) fn shared(&self) -> &'static P {
        self.0
    }

    /// The P now runs on `m`: *idle* becomes *running*.
    #[doc(alias = "wirep")]
    #[inline]
    pub(crate) fn start(&mut self, m: &'static M) {
        self.m.set(Some(m));
        self.status.store(PStatus::Running as u32, Ordering::Relaxed);
    }

    /// The P runs on no M any more: *running* becomes *idle*.
    #[doc(alias = "releasep")]
    #[inline]
    pub(crate) fn stop(&mut self) {
        self.m.set(None);
        self.status.store(PStatus::Idle as u32, Ordering::Relaxed);
    }

    /// Lets go of the P: it belongs to whoever [wins](P::win) it.
    #[inline]
    pub(crate) fn rest(self, how: Resting) {
        if how == Resting::Blocking {
            self.count_blocking();
        }
        self.m.set(None);
        // ORDERING: Release pairs with the Acquire of `win`.
        self.status.store(how.status() as u32, Ordering::Release);
    }

    /// The caches.
    #[inline]
    pub(crate) fn own(&mut self) -> &mut POwn {
        // SAFETY: there is one `OwnedP` of this P (`OwnedP::assume`), and it is mutably borrowed
        // for as long as the result.
        unsafe { &mut *self.0.own.get() }
    }

    /// The owner's end of the ring.
    #[inline]
    pub(crate) fn ring_owner(&mut self) -> RingOwner<'_, G, RING> {
        // SAFETY: as in `own`.
        unsafe { self.0.ring.owner() }
    }

    /// Puts a new or readied G in `runnext`; the one that was there goes to the ring's tail (S21).
    /// Returns what overflows.
    #[doc(alias = "runqput")]
    #[inline]
    pub(crate) fn put_next(&mut self, g: NonNull<G>, random: impl FnMut() -> u32) -> Option<Overflow> {
        let kicked = self.0.next.replace(g)?;
        self.put_tail(kicked, random)
    }

    /// Puts a G at the ring's tail; if the ring is full, half of it and the G are returned.
    #[inline]
    pub(crate) fn put_tail(&mut self, g: NonNull<G>, random: impl FnMut() -> u32) -> Option<Overflow> {
        let owner = self.ring_owner();
        match owner.push(g) {
            Ok(()) => {
                // A thief may have taken the G that kicked this one out: then only the ring's tail
                // shows this one, and the look for sleepers that follows must not come before that
                // store.
                sync::publish_fence();
                None
            }
            Err(Full(g)) => self.overflow(g, random),
        }
    }

    #[doc(alias = "runqputslow")]
    #[cold]
    fn overflow(&mut self, mut g: NonNull<G>, mut random: impl FnMut() -> u32) -> Option<Overflow> {
        let owner = self.ring_owner();
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
    pub(crate) fn get(&mut self) -> Option<(NonNull<G>, Slice)> {
        if let Some(g) = self.0.next.take() {
            return Some((g, pick::slice_of(Local::RunNext)));
        }
        let owner = self.ring_owner();
        let g = owner.pop()?;
        prefetch(owner.peek(0), owner.peek(2));
        Some((g, pick::slice_of(Local::Ring)))
    }

    /// Whether a slice that was passed on through `runnext` has been used up (S27). Looks at the
    /// clock once in many picks; the first look only notes the time.
    #[inline]
    pub(crate) fn slice_is_over(&mut self) -> bool {
        if !pick::looks_at_clock(self.0.inherited.load(Ordering::Relaxed)) {
            return false;
        }
        self.0.inherited.store(0, Ordering::Relaxed);
        match &mut self.own().slice_began {
            None => {
                self.own().slice_began = Some(Instant::now());
                false
            }
            Some(began) => pick::slice_is_over(began.elapsed().as_nanos() as u64),
        }
    }

    /// Counts a pick: in `sched_tick` if it begins a time slice, in `inherited` if not (S3).
    #[inline]
    pub(crate) fn count_pick(&mut self, slice: Slice) {
        match slice {
            Slice::Inherited => {
                let inherited = self.0.inherited.load(Ordering::Relaxed);
                self.0.inherited.store(inherited + 1, Ordering::Relaxed);
            }
            Slice::New => {
                let tick = self.0.sched_tick.load(Ordering::Relaxed);
                self.0.sched_tick.store(tick.wrapping_add(1), Ordering::Relaxed);
                self.0.inherited.store(0, Ordering::Relaxed);
                self.own().slice_began = None;
            }
        }
    }

    /// Whether this pick is the one that looks at the global queue first (S23).
    #[inline]
    pub(crate) fn is_fairness_tick(&mut self) -> bool {
        pick::is_fairness_tick(self.0.sched_tick.load(Ordering::Relaxed))
    }

    pub(crate) fn count_created(&mut self) {
        bump(&self.0.created);
    }

    pub(crate) fn count_ended(&mut self) {
        bump(&self.0.ended);
    }
}

/// Adds one to a counter that only its owner writes.
#[inline]
fn bump(counter: &AtomicU64) {
    // ORDERING: Release pairs with the Acquire loads of `num_goroutine`, which reads ends before
    // births.
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Release);
}

/// Asks for cache lines that the next picks will need: of the next G the stack lines with its saved
/// registers, of the third one the header (D3: a yield among 10,000 goroutines fell from 90 to 28
/// ns).
#[inline]
fn prefetch(soon: Option<NonNull<G>>, later: Option<NonNull<G>>) {
    if let Some(g) = later {
        arch::prefetch(g.as_ptr().cast());
    }
    if let Some(g) = soon {
        // SAFETY: headers are never unmapped, so the saved stack pointer can be read (atomically:
        // the G may be running elsewhere by now); whatever it says, a prefetch of it is harmless.
        let sp = unsafe { (*g.as_ref().buf.get()).sp() };
        let sp = core::ptr::with_exposed_provenance::<u8>(sp);
        arch::prefetch(sp);
        arch::prefetch(sp.wrapping_add(arch::CACHE_LINE));
    }
}
