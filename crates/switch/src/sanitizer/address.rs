//! AddressSanitizer and its LeakSanitizer.
//!
//! AddressSanitizer knows one stack for each thread: its bounds, by which it finds the frames that
//! a panic cuts off, and its *fake stack*, to which it moves locals that it wants to see used after
//! their function has returned. Both have to change with the context, at the moment when the stack
//! pointer does:
//!
//! - `__sanitizer_start_switch_fiber(save, bottom, size)`, before. The bounds are those of the
//!   context to go to. The fake stack of the one that leaves is stored in *its own* `Gobuf`, so it
//!   goes wherever the context goes, for it may continue on another thread. One that leaves for
//!   ever passes null: its fake stack is freed.
//! - `__sanitizer_finish_switch_fiber(fake, &bottom, &size)`, first thing after. The fake stack is
//!   the one from the `Gobuf` of the context that arrives; a fresh one has none (null) and gets one
//!   when it first needs it. The bounds that come back are those of the context that was left. That
//!   is how a thread's own stack becomes known, which nobody maps here: it is written to the
//!   `Gobuf` it was left by, before anybody can go back to it.
//!
//! A fresh context's bounds are looked up among the slabs, where its stack must lie.
//!
//! Functions mark what lies around their locals as poisoned when they begin, and clear it when they
//! return. One that leaves for ever does not return, so what it and its callers have marked, from
//! its stack pointer to the stack's end, is cleared by [`depart_for_ever`]: whoever gets the stack
//! next finds it clean. Lower frames have returned.
//!
//! LeakSanitizer looks for pointers in the running stacks of threads. What only a resting context
//! points to would be a leak to it. So while a context rests, its frames are a root region, and so
//! is other memory that this workspace maps by itself and keeps pointers in ([`root`]). Fake stacks
//! are not: see `docs/sanitizers.md`.
//!
//! Invariants: those of the folder. The saved stack pointer does not change while a context rests,
//! so the region that is unregistered is the one that was registered.

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use super::Sanitizer;
use crate::arch::Gobuf;

pub(crate) const SANITIZER: Sanitizer = Sanitizer::Address;

unsafe extern "C" {
    fn __sanitizer_start_switch_fiber(save: *mut *mut c_void, bottom: *const c_void, size: usize);
    fn __sanitizer_finish_switch_fiber(fake: *mut c_void, bottom: *mut *const c_void, size: *mut usize);
    fn __asan_unpoison_memory_region(at: *const c_void, size: usize);
    fn __lsan_register_root_region(at: *const c_void, size: usize);
    fn __lsan_unregister_root_region(at: *const c_void, size: usize);
}

/// What the sanitizer has to be told of a resting context. Atomic for the same reason as the rest
/// of a `Gobuf`.
#[derive(Debug)]
pub(crate) struct AsanState {
    /// The bounds of its stack; 0 while they are unknown.
    bottom: AtomicUsize,
    size: AtomicUsize,
    /// Its fake stack; 0 if it has none.
    fake: AtomicUsize,
}

impl AsanState {
    pub(crate) const fn empty() -> AsanState {
        AsanState { bottom: AtomicUsize::new(0), size: AtomicUsize::new(0), fake: AtomicUsize::new(0) }
    }

    /// Of a context that has not run, on the stack with this top.
    pub(crate) fn fresh(top: usize) -> AsanState {
        let (bottom, size) = bounds(top);
        AsanState {
            bottom: AtomicUsize::new(bottom),
            size: AtomicUsize::new(size),
            fake: AtomicUsize::new(0),
        }
    }

    pub(crate) fn set(&self, from: AsanState) {
        self.bottom.store(from.bottom.into_inner(), Relaxed);
        self.size.store(from.size.into_inner(), Relaxed);
        self.fake.store(from.fake.into_inner(), Relaxed);
    }

    pub(crate) fn copy(&self, from: &AsanState) {
        self.bottom.store(from.bottom.load(Relaxed), Relaxed);
        self.size.store(from.size.load(Relaxed), Relaxed);
        self.fake.store(from.fake.load(Relaxed), Relaxed);
    }

    fn bounds(&self) -> (*const c_void, usize) {
        (self.bottom.load(Relaxed) as *const c_void, self.size.load(Relaxed))
    }

    fn high(&self) -> usize {
        self.bottom.load(Relaxed) + self.size.load(Relaxed)
    }
}

thread_local! {
    /// Between departure and arrival: what was left, null if for ever. Used in functions that are
    /// never inlined, and by each only once, so that a thread's address of it does not live across
    /// a switch.
    static LEFT: Cell<*const Gobuf> = const { Cell::new(null()) };
    /// Where one goes that leaves for ever: its own buffer may lie in the fake stack that is freed
    /// before the jump.
    static NEXT: Gobuf = const { Gobuf::empty() };
}

/// Before the switch.
///
/// # Safety
/// As for [`switch`](crate::switch), which follows at once.
#[inline(never)]
pub(crate) unsafe fn depart(save: *const Gobuf, restore: *const Gobuf) {
    LEFT.set(save);
    // SAFETY: both buffers are valid by contract; the fake stack's place lives as long as its
    // context rests.
    unsafe { start((*save).fiber().fake.as_ptr().cast(), restore) }
}

/// Before the jump, by a context whose frames lie above `sp`. Returns what to jump to.
///
/// Inlined, because the fake stack goes here: a function that returns would look for its frame
/// there once more.
///
/// # Safety
/// As for [`jump`](crate::jump), which follows at once, from a frame that begins at `sp`.
#[inline(always)]
pub(crate) unsafe fn depart_for_ever(restore: *const Gobuf, sp: impl FnOnce() -> usize) -> *const Gobuf {
    // SAFETY: by contract. `next` is the thread's, which keeps it.
    unsafe {
        let next = prepare_for_ever(restore, sp());
        start(null_mut(), next);
        next
    }
}

/// Copies what is jumped to out of the fake stack, and clears what the frames left behind.
///
/// # Safety
/// As for [`depart_for_ever`].
#[inline(never)]
unsafe fn prepare_for_ever(restore: *const Gobuf, sp: usize) -> *const Gobuf {
    LEFT.set(null());
    // A thread's own stack is not left for ever, but by the thread's end.
    if let Some((bottom, size)) = find(sp) {
        // SAFETY: the frames from `sp` on belong to functions that never return.
        unsafe { __asan_unpoison_memory_region(sp as *const c_void, bottom + size - sp) };
    }
    NEXT.with(|next| {
        // SAFETY: the buffer is valid by contract.
        next.copy(unsafe { &*restore });
        core::ptr::from_ref(next)
    })
}

/// Tells the sanitizer which stack comes next.
///
/// # Safety
/// `restore` is a context that can be switched to, which follows at once; `save` is the place of
/// the fake stack of the context that is left, or null if it is left for ever.
#[inline(always)]
unsafe fn start(save: *mut *mut c_void, restore: *const Gobuf) {
    // SAFETY: valid by contract of the callers. The bounds are those of the stack that the caller
    // is about to go to: `fresh` looked them up, or whoever arrived after it was left had them from
    // the sanitizer.
    unsafe {
        let (bottom, size) = (*restore).fiber().bounds();
        __sanitizer_start_switch_fiber(save, bottom, size);
    }
}

/// After the switch, in the context that `save` was left by.
///
/// # Safety
/// This is the first call on this stack since it was switched to, and `save` is what its departure
/// saved to.
#[inline(never)]
pub(crate) unsafe fn arrive(save: *const Gobuf) {
    // SAFETY: by contract; the region was registered when it was left, with the same stack pointer.
    unsafe {
        let here = &*save;
        finish(here.fiber().fake.load(Relaxed) as *mut c_void);
        __lsan_unregister_root_region(here.sp() as *const c_void, here.fiber().high() - here.sp());
    }
}

/// After the switch, in a fresh context: the trampoline calls it before the entry function.
///
/// # Safety
/// This is the first call on this stack since it was switched to.
pub(crate) unsafe extern "C" fn arrive_first() {
    // SAFETY: by contract; a fresh context has no fake stack.
    unsafe { finish(null_mut()) }
}

/// Tells the sanitizer that the switch is over, and notes the bounds of the stack that was left.
///
/// # Safety
/// A switch that [`start`] announced has just ended on this stack. `fake` is what the departure of
/// this context stored, or null if it is fresh.
unsafe fn finish(fake: *mut c_void) {
    let (mut bottom, mut size) = (null(), 0);
    // SAFETY: `fake` is what the departure of this context stored, or null.
    unsafe { __sanitizer_finish_switch_fiber(fake, &mut bottom, &mut size) };
    // SAFETY: what was left a moment ago on this thread is valid until it is restored, which nobody
    // can do yet.
    let Some(left) = (unsafe { LEFT.replace(null()).as_ref() }) else { return };
    left.fiber().bottom.store(bottom as usize, Relaxed);
    left.fiber().size.store(size, Relaxed);
    // SAFETY: the frames of a resting context: readable, and unregistered when somebody is back.
    unsafe { __lsan_register_root_region(left.sp() as *const c_void, left.fiber().high() - left.sp()) };
}

/// Where the stacks of a slab lie.
struct SlabPlace {
    stride: usize,
    guard: usize,
    len: usize,
}

/// Every slab by its lowest address.
static SLABS: RwLock<BTreeMap<usize, SlabPlace>> = RwLock::new(BTreeMap::new());

/// There is a new slab.
pub(crate) fn note_slab(base: usize, stride: usize, guard: usize, len: usize) {
    let mut slabs = SLABS.write().unwrap_or_else(PoisonError::into_inner);
    slabs.insert(base, SlabPlace { stride, guard, len });
}

/// The bounds of the pool's stack with this address, or with an end there.
fn find(address: usize) -> Option<(usize, usize)> {
    let slabs = SLABS.read().unwrap_or_else(PoisonError::into_inner);
    let (base, slab) = slabs.range(..address).next_back()?;
    let offset = address - base;
    let low = base + (offset - 1) / slab.stride * slab.stride + slab.guard;
    (offset <= slab.len).then_some((low, slab.stride - slab.guard))
}

fn bounds(top: usize) -> (usize, usize) {
    match find(top) {
        Some(bounds) => bounds,
        None => panic!(
            "with AddressSanitizer contexts run on stacks of a StackPool only, and {top:#x} is in none"
        ),
    }
}

/// This memory may hold the only pointer to something that is not a leak.
pub fn root(base: *const u8, bytes: usize) {
    // SAFETY: the caller has mapped it; only its address is kept, and what can't be read is not
    // looked at.
    unsafe { __lsan_register_root_region(base.cast(), bytes) }
}

/// The memory given to [`root`] is about to go.
///
/// # Safety
/// It was given to `root`, as a whole, and not taken back since.
pub unsafe fn unroot(base: *const u8, bytes: usize) {
    // SAFETY: by contract.
    unsafe { __lsan_unregister_root_region(base.cast(), bytes) }
}
