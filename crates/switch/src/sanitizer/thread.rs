//! ThreadSanitizer.
//!
//! It keeps a clock and a picture of the calls for each thread; with *fibers* for each context:
//!
//! - a fresh context gets its fiber when it is first switched to; a thread's own stack has one from
//!   the start, and says which when it is left;
//! - `__tsan_switch_to_fiber`, right before the switch. What the old context did happens before
//!   what the new one does: they run on one thread, one after the other. (Flag 0; with "no sync"
//!   the scheduler's own data, which contexts hand to each other in this way, would look like
//!   races.)
//! - a context that leaves for ever can't destroy the fiber it is running on: the one that arrives
//!   does.
//!
//! Functions tell the sanitizer when they begin and end. So the call that changes fibers is inlined
//! in the function that switches: inside one of its own, the old fiber would see a beginning, and
//! the new one the end.

use core::cell::Cell;
use core::ffi::{c_uint, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use super::Sanitizer;
use crate::arch::Gobuf;

pub(crate) const SANITIZER: Sanitizer = Sanitizer::Thread;

unsafe extern "C" {
    fn __tsan_get_current_fiber() -> *mut c_void;
    fn __tsan_create_fiber(flags: c_uint) -> *mut c_void;
    fn __tsan_destroy_fiber(fiber: *mut c_void);
    fn __tsan_switch_to_fiber(fiber: *mut c_void, flags: c_uint);
}

/// The fiber of a resting context; null in a fresh one.
#[derive(Debug)]
pub(crate) struct TsanState(AtomicPtr<c_void>);

impl TsanState {
    pub(crate) const fn empty() -> TsanState {
        TsanState(AtomicPtr::new(null_mut()))
    }

    pub(crate) fn fresh(_top: usize) -> TsanState {
        TsanState::empty()
    }

    pub(crate) fn set(&self, from: TsanState) {
        self.0.store(from.0.into_inner(), Relaxed);
    }
}

thread_local! {
    /// Between departure and arrival: the fiber of a context that was left for ever. Used in
    /// functions that are never inlined, and by each only once, so that a thread's address of it
    /// does not live across a switch.
    static ENDED: Cell<*mut c_void> = const { Cell::new(null_mut()) };
}

/// Before the switch.
///
/// # Safety
/// As for [`switch`](crate::switch), which follows at once.
#[inline(always)]
pub(crate) unsafe fn depart(save: *const Gobuf, restore: *const Gobuf) {
    // SAFETY: both buffers are valid by contract; the fiber is not running, as its context is not.
    unsafe { __tsan_switch_to_fiber(prepare(save, restore), 0) };
}

/// Before the jump.
///
/// # Safety
/// As for [`jump`](crate::jump), which follows at once.
#[inline(always)]
pub(crate) unsafe fn depart_for_ever(restore: *const Gobuf, _sp: impl FnOnce() -> usize) -> *const Gobuf {
    // SAFETY: as in `depart`.
    unsafe { __tsan_switch_to_fiber(prepare_for_ever(restore), 0) };
    restore
}

/// Notes the fiber that is left, and returns the next one.
///
/// # Safety
/// As for [`depart`].
#[inline(never)]
unsafe fn prepare(save: *const Gobuf, restore: *const Gobuf) -> *mut c_void {
    // SAFETY: by contract of `depart`.
    unsafe {
        (*save).fiber().0.store(__tsan_get_current_fiber(), Relaxed);
        fiber_of(restore)
    }
}

/// Notes the fiber that ends, and returns the next one.
///
/// # Safety
/// As for [`depart_for_ever`].
#[inline(never)]
unsafe fn prepare_for_ever(restore: *const Gobuf) -> *mut c_void {
    // SAFETY: by contract of `depart_for_ever`.
    unsafe {
        ENDED.set(__tsan_get_current_fiber());
        fiber_of(restore)
    }
}

/// The fiber of a context: a new one if it is fresh.
///
/// # Safety
/// `restore` is a context that can be switched to.
unsafe fn fiber_of(restore: *const Gobuf) -> *mut c_void {
    // SAFETY: by contract of the callers.
    let fiber = unsafe { (*restore).fiber().0.load(Relaxed) };
    // SAFETY: has no preconditions.
    if fiber.is_null() { unsafe { __tsan_create_fiber(0) } } else { fiber }
}

/// After the switch.
///
/// # Safety
/// This is the first call on this stack since it was switched to.
pub(crate) unsafe fn arrive(_save: *const Gobuf) {
    // SAFETY: by contract.
    unsafe { arrive_first() }
}

/// As [`arrive`], in a fresh context: the trampoline calls it before the entry function.
///
/// # Safety
/// As for [`arrive`].
#[inline(never)]
pub(crate) unsafe extern "C" fn arrive_first() {
    let ended = ENDED.replace(null_mut());
    if !ended.is_null() {
        // SAFETY: its context has left for ever, a moment ago and on this thread: it runs nowhere.
        unsafe { __tsan_destroy_fiber(ended) };
    }
}

/// See `address.rs`.
pub(crate) fn note_slab(_base: usize, _stride: usize, _guard: usize, _len: usize) {}

/// See `address.rs`.
pub fn root(_base: *const u8, _bytes: usize) {}

/// See `address.rs`.
///
/// # Safety
/// None here; `address.rs` asks for one.
pub unsafe fn unroot(_base: *const u8, _bytes: usize) {}
