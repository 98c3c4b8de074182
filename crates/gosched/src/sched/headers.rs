//! Headers and ids for new goroutines (S8, S9): a few cached on each P, and on an M for the times
//! when it has no P; the others shared by all.

use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use gosched_primitives::List;

use super::{SCHED, Sched};
use crate::g::{G, MAIN_ID};
use crate::m::Worker;
use crate::p::OwnedP;

/// A P with this many dead headers gives half of them to the shared cache (S9).
const FREE_MAX: usize = 64;
/// Ids a P takes from the generator at a time.
const ID_BATCH: u64 = 16;

/// Headers an M without a P takes at a time.
const SPARE_GS: usize = 32;

impl OwnedP {
    /// The id of the next goroutine.
    #[inline]
    pub(super) fn new_id(&mut self) -> u64 {
        let own = self.own();
        if own.next_id == own.end_id {
            own.next_id = SCHED.new_ids(ID_BATCH);
            own.end_id = own.next_id + ID_BATCH;
        }
        own.next_id += 1;
        own.next_id - 1
    }

    /// A dead header to reuse: from the P's cache, else a batch from the shared one, else fresh
    /// ones (S8).
    #[doc(alias = "gfget")]
    #[inline]
    pub(super) fn new_g(&mut self) -> &'static G {
        let free = &mut self.own().free;
        let g = free.pop_front().or_else(|| {
            SCHED.refill_free(free, FREE_MAX / 2);
            free.pop_front()
        });
        // SAFETY: `refill_free` leaves at least one, or ends the process; headers are never
        // unmapped.
        unsafe { g.unwrap_unchecked().as_ref() }
    }

    /// Takes a dead header back.
    #[doc(alias = "gfput")]
    #[inline]
    pub(super) fn free_g(&mut self, g: NonNull<G>) {
        let free = &mut self.own().free;
        // SAFETY: dead and in no list: the caller owned it alone.
        unsafe { free.push_front(g) };
        if free.len() >= FREE_MAX {
            let surplus = free.split_front(FREE_MAX / 2);
            SCHED.free_many(surplus);
        }
    }
}

impl Worker {
    /// A dead header for a new goroutine, for an M without a P.
    pub(super) fn new_g_without_p(&mut self) -> &'static G {
        let spare = &mut self.own().spare_gs;
        if spare.is_empty() {
            SCHED.refill_free(spare, SPARE_GS);
        }
        // SAFETY: `refill_free` leaves at least one, or ends the process; headers are never
        // unmapped.
        unsafe { spare.pop_front().unwrap_unchecked().as_ref() }
    }
}

impl Sched {
    /// Reserves `n` ids and returns the first.
    pub(super) fn new_ids(&self, n: u64) -> u64 {
        self.ids.fetch_add(n, Ordering::Relaxed)
    }

    /// The id of a closure given to `run`: 1 for the first, the next one for others (S7).
    pub(super) fn main_id(&self) -> u64 {
        if self.main_taken.swap(true, Ordering::Relaxed) { self.new_ids(1) } else { MAIN_ID }
    }

    /// Adds up to `n` dead headers to `list`, and at least one: fresh ones if none are left.
    fn refill_free(&self, list: &mut List<G>, n: usize) {
        let batch = self.free.lock().split_front(n);
        list.append(batch);
        if list.is_empty() {
            self.arena.fresh(list);
        }
    }

    /// One dead header, for a foreign thread.
    pub(super) fn new_g(&self) -> &'static G {
        let mut list = self.free.lock().split_front(1);
        if list.is_empty() {
            self.arena.fresh(&mut list);
        }
        let g = list.pop_front();
        self.free_many(list);
        // SAFETY: the list had one from the cache or a batch of fresh ones; headers are never
        // unmapped.
        unsafe { g.unwrap_unchecked().as_ref() }
    }

    /// Puts dead headers into the shared cache.
    pub(super) fn free_many(&self, list: List<G>) {
        self.free.lock().append(list);
    }
}
