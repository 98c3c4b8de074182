//! Goroutines that hold their thread too long (`GOSCHED_DEBUG=stall=ms`): noticed by the monitor, told by the reporter,
//! once for each place in the program.

#![allow(unsafe_code)]

use core::fmt::Write;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::collections::HashSet;

use super::snapshot::Stack;
use super::text::{Dumper, Who, write_origin};
use crate::m::M;
use crate::runtime::debug;

/// How many may wait to be told; what does not fit is not told this time.
const SLOTS: usize = 16;

/// What the monitor hands to the reporter. One puts, one takes.
pub(super) struct Stalled([Slot; SLOTS]);

struct Slot {
    /// Null while the slot is the monitor's to fill.
    m: AtomicPtr<M>,
    id: AtomicU64,
}

impl Stalled {
    pub(super) const fn new() -> Stalled {
        Stalled([const { Slot { m: AtomicPtr::new(null_mut()), id: AtomicU64::new(0) } }; SLOTS])
    }

    pub(super) fn put(&self, m: &'static M, id: u64) {
        // ORDERING: Acquire pairs with the Release in `take`: the slot's id has been read.
        if let Some(free) = self.0.iter().find(|slot| slot.m.load(Ordering::Acquire).is_null()) {
            free.id.store(id, Ordering::Relaxed);
            // ORDERING: Release pairs with the Acquire in `take`: who sees the M sees the id.
            free.m.store(core::ptr::from_ref(m).cast_mut(), Ordering::Release);
        }
    }

    pub(super) fn take(&self) -> Option<(&'static M, u64)> {
        self.0.iter().find_map(|slot| {
            // ORDERING: Acquire, see `put`.
            // SAFETY: Ms are never freed.
            let m = unsafe { slot.m.load(Ordering::Acquire).as_ref() }?;
            let id = slot.id.load(Ordering::Relaxed);
            // ORDERING: Release, see `put`.
            slot.m.store(null_mut(), Ordering::Release);
            Some((m, id))
        })
    }
}

/// The places that were told.
pub(super) struct Places(HashSet<String>);

impl Places {
    pub(super) fn new() -> Places {
        Places(HashSet::new())
    }

    /// What is to be said of the goroutine called `id` on `m`, if it is still there and its place is new.
    pub(super) fn report(&mut self, dumper: &mut Dumper, m: &'static M, id: u64) -> Option<String> {
        dumper.refresh();
        let (view, stack, shown) = dumper.look(m.cur_g()?, Some(id), None)?;
        let how = match stack {
            Stack::Blocked => "blocked",
            Stack::Computing => "computing",
            Stack::Resting | Stack::NotStarted | Stack::Unavailable => return None,
        };
        if !self.0.insert(shown.place.clone()) {
            return None;
        }
        let limit = debug::get().stall?.as_millis();
        let mut text = String::new();
        // Writing to a String can't fail.
        let _ = write!(
            text,
            "gosched: {} has held its thread for more than {limit} ms, {how}:\n{}",
            Who(&view),
            shown.text
        );
        let _ = write_origin(&mut text, &view);
        Some(text)
    }
}
