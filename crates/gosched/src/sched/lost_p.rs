//! The counts of Ms that have lost their P, and the ways to lose it other than `take.rs`.
//!
//! Invariant: whoever takes a P counts before it takes; the M that finds out, or the taker that
//! failed, counts back. So the counts balance.

use core::sync::atomic::Ordering;

use super::Sched;
use super::policy::time_slices::{self, TimeSlice};
use crate::m::{M, Taken, Worker, current};
use crate::p::{OwnedP, P, Resting};
use crate::recorder::{self, TakeAttempt};

impl Sched {
    /// Goroutines that compute without a P.
    pub(crate) fn computing_without_p(&self) -> u32 {
        self.computing_without_p.load(Ordering::Relaxed)
    }

    /// Ms that are lost to blocking calls nobody announced.
    pub(crate) fn lost_to_blocking(&self) -> u32 {
        self.lost_to_blocking.load(Ordering::Relaxed)
    }

    /// A P is about to be taken from `m`. Before the taking, so that the M, when it finds out,
    /// finds it noted.
    pub(super) fn count_taken(&self, m: &M, why: Taken) {
        let _ = m.set_taken(why);
        self.count(why, 1);
    }

    /// The P was not taken after all. Called by the taker.
    pub(super) fn count_kept(&self, m: &M) {
        let why = m.set_taken(Taken::No);
        self.count(why, u32::MAX);
    }

    /// The M, on its own thread, has found out that its P was taken.
    pub(super) fn count_found_again(&self, m: &M) {
        let why = m.set_taken(Taken::No);
        self.count(why, u32::MAX);
        if why == Taken::Computing {
            time_slices::ask(0, TimeSlice::Short);
        }
    }

    /// Adds `change` (modulo 2³²) to the count of `why`.
    fn count(&self, why: Taken, change: u32) {
        match why {
            Taken::No => {}
            Taken::Computing => {
                self.computing_without_p.fetch_add(change, Ordering::Relaxed);
            }
            Taken::Blocked => {
                self.lost_to_blocking.fetch_add(change, Ordering::Relaxed);
            }
        }
    }

    /// For a call that never moves and has to block its thread: hands its P off at once, as the
    /// monitor would after a while. The goroutine continues without a P; its next moving call gets
    /// one again.
    pub(super) fn give_p_away(&self, mut worker: Worker) {
        self.part_with_p(&mut worker, Taken::Blocked);
    }

    /// On entering for a call that never moves: if the monitor insists on the P, hands it off
    /// (S39). The goroutine then continues without a P, as if it had been taken.
    pub(super) fn keep_p(&self, worker: &mut Worker) {
        if worker.p().is_some_and(|p| p.is_insisted()) {
            self.part_with_p(worker, Taken::Computing);
            time_slices::ask(0, TimeSlice::Long);
            self.wait_at_gate(worker);
        }
    }

    /// Hands off the worker's P, if it has one.
    fn part_with_p(&self, worker: &mut Worker, why: Taken) {
        if recorder::is_on() {
            recorder::lose_p(&worker.m().recorder);
        }
        if let Some(p) = worker.release_p() {
            {
                // Counted under the taker's lock: a taker may be about to fail on this very P, and
                // counts that back.
                let mut taker = self.taker.lock();
                self.count_taken(worker.m(), why);
                worker.m().owner.surrender(&mut taker);
            }
            self.hand_off_p(p);
        }
    }

    /// Takes a P whose M is in an announced blocking call; one of several who try wins.
    pub(crate) fn take_from_blocking(&self, p: &'static P) -> Option<OwnedP> {
        // Before the taking, so that the M, when it finds out, has been counted.
        self.left_in_calls.fetch_add(1, Ordering::Relaxed);
        let theft = recorder::is_on().then(|| TakeAttempt::from_call(current::recorder())).flatten();
        let taken = p.win(Resting::Blocking);
        match (&taken, theft) {
            (None, _) => drop(self.left_in_calls.fetch_sub(1, Ordering::Relaxed)),
            (Some(p), Some(theft)) => theft.done(p.id, &p.traced),
            (Some(_), None) => {}
        }
        taken
    }

    /// An M is back from an announced blocking call and finds that its P was taken.
    pub(super) fn count_back_from_call(&self) {
        self.left_in_calls.fetch_sub(1, Ordering::Relaxed);
    }
}
