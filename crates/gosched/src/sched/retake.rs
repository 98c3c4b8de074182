//! What the monitor asks of the scheduler, and the books it keeps on Ms that have lost their P.

use core::sync::atomic::Ordering;
use std::io;

use gosched_primitives::barrier;

use super::{Rt, Sched};
use crate::fatal::fatal;
use crate::m::{M, Taken};
use crate::p::{P, PStatus};
use crate::sys::thread::{self, TimeSlice};

/// The taker's barrier (D1). Refused, it ends the process: no P could ever be taken again without two having it.
pub(crate) fn heavy_barrier() {
    if let Err(barrier::Refused { errno }) = barrier::heavy() {
        fatal!(
            "the system refuses membarrier ({}), which it granted when gosched was started. Has a seccomp filter been \
             installed since? Let it pass membarrier, or install it before the first use of gosched, which then does without",
            io::Error::from_raw_os_error(errno)
        );
    }
}

impl Sched {
    /// Whether every P is idle.
    pub(crate) fn all_idle(&self) -> bool {
        self.idle.snapshot().idle_ps >= self.procs()
    }

    /// Whether anything waits for a P: queued goroutines, or a timer that is due.
    pub(crate) fn work_waits(&self, now: u64) -> bool {
        self.is_work_queued() || self.first_timer() <= now
    }

    /// Whether new work would find neither an idle P nor a searching M.
    pub(crate) fn nobody_would_find_work(&self) -> bool {
        let idle = self.idle.snapshot();
        idle.idle_ps == 0 && idle.spinning == 0
    }

    /// Goroutines that compute without a P.
    pub(crate) fn computing_without_p(&self) -> u32 {
        self.computing_without_p.load(Ordering::Relaxed)
    }

    /// Ms that are lost to blocking calls nobody announced.
    pub(crate) fn lost_to_blocking(&self) -> u32 {
        self.lost_to_blocking.load(Ordering::Relaxed)
    }

    /// A P is about to be taken from `m`. Before the taking, so that the M, when it finds out, finds it noted.
    pub(crate) fn count_taken(&self, m: &M, kind: Taken) {
        let _ = m.set_taken(kind);
        self.count(kind, 1);
    }

    /// For a call that never moves and has to block its thread: hands the P to somebody else at once, as the monitor would after a
    /// while. The goroutine goes on without, and its next moving call gets one again.
    pub(super) fn give_p_away(&self, rt: Rt) {
        if rt.p().is_some() {
            self.part_with_p(rt.m, Taken::Blocked);
        }
    }

    /// The P that the calling M keeps on entering for a call that never moves; `None` if the monitor insists on it (S39). The
    /// goroutine then goes on without, as if it had been taken.
    ///
    /// By an M that has a P, inside the runtime.
    pub(super) fn keep_p(&self, m: &'static M) -> Option<&'static P> {
        let p = m.p()?;
        if !p.is_insisted() {
            return Some(p);
        }
        self.part_with_p(m, Taken::Computing);
        thread::set_time_slice(0, TimeSlice::Long);
        self.wait_at_gate(m);
        None
    }

    /// Hands the P of the calling M, which has one, to somebody else. Inside the runtime.
    fn part_with_p(&self, m: &'static M, why: Taken) {
        if let Some(p) = m.release_p() {
            self.count_taken(m, why);
            m.owner.surrender(&mut self.taker.lock());
            self.hand_off_p(p);
        }
    }

    /// It was not taken after all, says the taker.
    pub(crate) fn count_kept(&self, m: &M) {
        let kind = m.set_taken(Taken::No);
        self.count(kind, u32::MAX);
    }

    /// The M, on its own thread, has found out that its P was taken.
    pub(super) fn count_found_again(&self, m: &M) {
        let kind = m.set_taken(Taken::No);
        self.count(kind, u32::MAX);
        if kind == Taken::Computing {
            thread::set_time_slice(0, TimeSlice::Short);
        }
    }

    /// Takes a P whose M is in an announced blocking call, making it `to`; one of several who try wins.
    pub(crate) fn take_from_blocking(&self, p: &P, to: PStatus) -> bool {
        // Before the taking, so that the M, when it finds out, finds itself counted.
        self.left_in_calls.fetch_add(1, Ordering::Relaxed);
        let taken = p.leave_blocking(to);
        if !taken {
            self.left_in_calls.fetch_sub(1, Ordering::Relaxed);
        }
        taken
    }

    /// An M is back from an announced blocking call and finds that its P was taken.
    pub(super) fn count_back_from_call(&self) {
        self.left_in_calls.fetch_sub(1, Ordering::Relaxed);
    }

    /// Adds `change` (modulo 2³²) to the count of `kind`.
    fn count(&self, kind: Taken, change: u32) {
        match kind {
            Taken::No => {}
            Taken::Computing => {
                self.computing_without_p.fetch_add(change, Ordering::Relaxed);
            }
            Taken::Blocked => {
                self.lost_to_blocking.fetch_add(change, Ordering::Relaxed);
            }
        }
    }
}
