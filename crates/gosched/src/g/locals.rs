//! Goroutine-local values: a small table per goroutine, made at first use (`goroutine_local!`).
//!
//! Invariants: a value does not move until its destructor runs (each is in a box of its own). A key
//! whose destructor has begun stays in the table without a value, so that no value is made for it
//! again. Only its goroutine, or thread, uses the table.

use core::any::TypeId;
use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::G;
use crate::fatal::fatal;

/// The values of one goroutine or foreign thread.
#[derive(Default)]
pub(crate) struct Locals {
    entries: Vec<LocalEntry>,
}

struct LocalEntry {
    key: usize,
    /// Two keys may have the same address, but then their types differ.
    of: TypeId,
    /// `None` once the destructor has begun.
    value: Option<LocalValue>,
}

pub(crate) struct LocalValue {
    pointer: NonNull<u8>,
    drop: unsafe fn(NonNull<u8>),
}

/// What is known of a key.
pub(crate) enum Found<T> {
    /// Its value.
    Value(NonNull<T>),
    /// Not made yet.
    Absent,
    /// Its destructor has begun.
    Destroyed,
}

impl Locals {
    pub(crate) fn find<T: 'static>(&self, key: usize) -> Found<T> {
        match self.entries.iter().find(|entry| entry.key == key && entry.of == TypeId::of::<T>()) {
            None => Found::Absent,
            Some(LocalEntry { value: Some(value), .. }) => Found::Value(value.pointer.cast()),
            Some(LocalEntry { value: None, .. }) => Found::Destroyed,
        }
    }

    /// Keeps a new value, whose box passes to the table.
    pub(crate) fn insert<T: 'static>(&mut self, key: usize, value: NonNull<T>) {
        let value = Some(LocalValue { pointer: value.cast(), drop: drop_box::<T> });
        self.entries.push(LocalEntry { key, of: TypeId::of::<T>(), value });
    }

    /// The table of a goroutine, made if need be.
    ///
    /// # Safety
    /// The caller runs as `g`. The reference must not live across anything that may come here
    /// again.
    pub(crate) unsafe fn of<'a>(g: &G) -> &'a mut Locals {
        let table = g.locals.get().unwrap_or_else(|| {
            let table = NonNull::from(Box::leak(Box::<Locals>::default()));
            g.locals.set(Some(table));
            table
        });
        // SAFETY: only the goroutine itself comes here, and by contract one at a time.
        unsafe { &mut *table.as_ptr() }
    }

    /// Runs the destructors of the calling goroutine's values, which may make new ones, until none
    /// is left.
    pub(crate) fn destroy(g: &G) {
        let Some(table) = g.locals.get() else { return };
        // SAFETY: the table is the calling goroutine's; no reference to it lives while a destructor
        // runs.
        while let Some(value) = unsafe { (*table.as_ptr()).take_last() } {
            value.destroy();
        }
        g.locals.set(None);
        // SAFETY: made by `of`, emptied, and no longer reachable.
        drop(unsafe { Box::from_raw(table.as_ptr()) });
    }

    /// Takes out the value that was made last.
    pub(crate) fn take_last(&mut self) -> Option<LocalValue> {
        self.entries.iter_mut().rev().find_map(|entry| entry.value.take())
    }
}

impl LocalValue {
    /// Runs the destructor. One that panics ends the process, as std's thread-locals do.
    pub(crate) fn destroy(self) {
        // SAFETY: the value was made by `insert`, with the matching function, and has left the
        // table for this.
        let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { (self.drop)(self.pointer) }));
        if dropped.is_err() {
            fatal!("a goroutine-local panicked when it was dropped");
        }
    }
}

/// # Safety
/// `pointer` is the box that was given to `insert::<T>`, and is not used again.
unsafe fn drop_box<T>(pointer: NonNull<u8>) {
    // SAFETY: by contract.
    drop(unsafe { Box::from_raw(pointer.cast::<T>().as_ptr()) });
}
