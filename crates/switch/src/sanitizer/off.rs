//! No sanitizer: nothing is kept, nothing is called.

use super::Sanitizer;
use crate::arch::Gobuf;

pub(crate) const SANITIZER: Sanitizer = Sanitizer::Off;

/// Nothing.
#[derive(Debug)]
pub(crate) struct NoState;

impl NoState {
    #[inline(always)]
    pub(crate) const fn empty() -> NoState {
        NoState
    }

    #[inline(always)]
    pub(crate) fn fresh(_top: usize) -> NoState {
        NoState
    }

    #[inline(always)]
    pub(crate) fn set(&self, _from: NoState) {}
}

/// See `address.rs` and `thread.rs`.
///
/// # Safety
/// None here; the files of the sanitizers ask for one.
#[inline(always)]
pub(crate) unsafe fn depart(_save: *const Gobuf, _restore: *const Gobuf) {}

/// See `address.rs` and `thread.rs`.
///
/// # Safety
/// None here; the files of the sanitizers ask for one.
#[inline(always)]
pub(crate) unsafe fn depart_for_ever(restore: *const Gobuf, _sp: impl FnOnce() -> usize) -> *const Gobuf {
    restore
}

/// See `address.rs` and `thread.rs`.
///
/// # Safety
/// None here; the files of the sanitizers ask for one.
#[inline(always)]
pub(crate) unsafe fn arrive(_save: *const Gobuf) {}

/// See `address.rs`.
#[inline(always)]
pub(crate) fn note_slab(_base: usize, _stride: usize, _guard: usize, _len: usize) {}

/// See `address.rs`.
#[inline(always)]
pub fn root(_base: *const u8, _bytes: usize) {}

/// See `address.rs`.
///
/// # Safety
/// None here; the files of the sanitizers ask for one.
#[inline(always)]
pub unsafe fn unroot(_base: *const u8, _bytes: usize) {}
