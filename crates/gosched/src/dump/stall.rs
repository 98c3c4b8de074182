//! Goroutines that hold their thread too long (`GOSCHED_DEBUG=stall=ms`): the monitor notices them,
//! the reporter reports them, once for each place in the program: a function that computes, a line
//! that blocks.

#![allow(unsafe_code)]

use core::fmt::Write;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::collections::HashSet;

use super::snapshot::StackState;
use super::text::{Dumper, Who, write_origin};
use crate::debug;
use crate::m::M;

/// How many may wait to be reported. The monitor puts those that do not fit again later.
const SLOTS: usize = 16;

/// A goroutine that holds its thread: its M, its id, and when this stint began.
#[derive(Clone, Copy)]
pub(crate) struct Stall {
    pub(crate) m: &'static M,
    pub(crate) id: u64,
    pub(crate) since: u64,
}

/// What the monitor passes to the reporter. Only the monitor puts, only the reporter takes.
pub(super) struct Stalled([StallSlot; SLOTS]);

struct StallSlot {
    /// Null while the slot is free, for the monitor to fill.
    m: AtomicPtr<M>,
    id: AtomicU64,
    since: AtomicU64,
}

impl StallSlot {
    const fn empty() -> StallSlot {
        StallSlot { m: AtomicPtr::new(null_mut()), id: AtomicU64::new(0), since: AtomicU64::new(0) }
    }
}

impl Stalled {
    pub(super) const fn new() -> Stalled {
        Stalled([const { StallSlot::empty() }; SLOTS])
    }

    pub(super) fn put(&self, stall: Stall) {
        // ORDERING: Acquire pairs with the Release in `take`: the slot has been read.
        if let Some(free) = self.0.iter().find(|slot| slot.m.load(Ordering::Acquire).is_null()) {
            free.id.store(stall.id, Ordering::Relaxed);
            free.since.store(stall.since, Ordering::Relaxed);
            // ORDERING: Release pairs with the Acquire in `take`, which then sees the other fields.
            free.m.store(core::ptr::from_ref(stall.m).cast_mut(), Ordering::Release);
        }
    }

    pub(super) fn take(&self) -> Option<Stall> {
        self.0.iter().find_map(|slot| {
            // ORDERING: Acquire pairs with the Release in `put`.
            // SAFETY: Ms are never freed.
            let m = unsafe { slot.m.load(Ordering::Acquire).as_ref() }?;
            let stall =
                Stall { m, id: slot.id.load(Ordering::Relaxed), since: slot.since.load(Ordering::Relaxed) };
            // ORDERING: Release pairs with the Acquire in `put`.
            slot.m.store(null_mut(), Ordering::Release);
            Some(stall)
        })
    }
}

/// The places that were reported.
pub(super) struct ToldPlaces(HashSet<String>);

impl ToldPlaces {
    pub(super) fn new() -> ToldPlaces {
        ToldPlaces(HashSet::new())
    }

    /// The report on a goroutine, if it still holds its thread and its place was not reported
    /// before.
    pub(super) fn report(&mut self, dumper: &mut Dumper, stall: Stall) -> Option<String> {
        if stall.m.stint.is_told(stall.since) {
            return None;
        }
        let (view, stack, shown) = dumper.look(stall.m.cur_g()?, Some(stall.id), None)?;
        let how = match stack {
            StackState::Blocked => "blocked",
            StackState::Computing => "computing",
            StackState::Resting | StackState::NotStarted | StackState::Unavailable => return None,
        };
        let users = shown.users.as_ref()?;
        stall.m.stint.set_told(stall.since);
        // A loop is found at another line each time, a call that blocks always at its own.
        let place = users.place.as_ref().filter(|_| stack == StackState::Blocked).unwrap_or(&users.function);
        if !self.0.insert(place.clone()) {
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
