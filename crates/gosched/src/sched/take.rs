//! Takes Ps from goroutines in user code (D1): several, behind one barrier. Called by the monitor
//! and by whoever stops the world.
//!
//! The protocol and its argument are the ownership word's (`gosched-primitives`). Takers exclude
//! each other by the lock around [`TakerToken`], which a [`Takes`] holds. `count_taken` comes
//! before the taking, so that an M that finds out has been counted; a P that is not taken after all
//! is counted back.

use std::io;

use gosched_primitives::{LockGuard, Retaking, TakerToken, barrier};

use super::Sched;
use crate::fatal::fatal;
use crate::m::{M, Taken, current};
use crate::p::{OwnedP, P};
use crate::recorder::{self, TakeAttempt};

/// How many Ps are taken behind one barrier.
pub(crate) const AT_ONCE: usize = 16;

/// The taker's barrier (D1). If the system refuses it, the process ends: no P could be taken any
/// more without the risk that two own it.
pub(crate) fn heavy_barrier() {
    if let Err(barrier::Refused { errno }) = barrier::heavy() {
        fatal!(
            "the system refuses membarrier ({}), which it granted when gosched was started. Has a seccomp filter been \
             installed since? Let it pass membarrier, or install it before the first use of gosched, which then does without",
            io::Error::from_raw_os_error(errno)
        );
    }
}

/// Whom a P is taken from, and why.
#[derive(Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) p: &'static P,
    pub(crate) m: &'static M,
    pub(crate) why: Taken,
}

/// Takes that were begun, and must be finished.
#[must_use = "until they are finished the Ms take their slow path"]
pub(crate) struct Takes<'s> {
    sched: &'s Sched,
    taker: LockGuard<'s, TakerToken>,
    begun: [Option<(Candidate, Retaking)>; AT_ONCE],
    len: usize,
}

impl Sched {
    /// The right to take Ps, until it is dropped or finished.
    pub(crate) fn takes(&self) -> Takes<'_> {
        Takes { sched: self, taker: self.taker.lock(), begun: [const { None }; AT_ONCE], len: 0 }
    }
}

impl Takes<'_> {
    /// The taker's token, for requests.
    pub(crate) fn taker(&mut self) -> &mut TakerToken {
        &mut self.taker
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len == AT_ONCE
    }

    /// Begins to take a P. Skips one that its M has already lost or let go of, and one for which
    /// there is no room.
    pub(crate) fn begin(&mut self, candidate: Candidate) {
        let Some(place) = self.begun.get_mut(self.len) else { return };
        let Some(retaking) = candidate.m.owner.begin_retake(&mut self.taker) else { return };
        self.sched.count_taken(candidate.m, candidate.why);
        *place = Some((candidate, retaking));
        self.len += 1;
    }

    /// Takes the P of each M that is still in user code, and passes it to `each`; `None` for an M
    /// that keeps its P.
    pub(crate) fn finish(mut self, mut each: impl FnMut(Candidate, Option<OwnedP>)) {
        if self.len > 0 {
            heavy_barrier();
        }
        for (candidate, retaking) in self.begun.into_iter().flatten() {
            let m = candidate.m;
            let theft = recorder::is_on()
                .then(|| TakeAttempt::from_user_code(&m.recorder, current::recorder()))
                .flatten();
            let taken = m.owner.finish_retake(&mut self.taker, retaking, || m.p()).flatten().map(|p| {
                // SAFETY: the word's compare-and-swap has one winner, and the M, which had left its
                // P in `m.p`, is not it.
                let mut p = unsafe { OwnedP::assume(p) };
                p.stop();
                m.probe.close();
                p
            });
            match (&taken, theft) {
                (None, _) => self.sched.count_kept(m),
                (Some(p), Some(theft)) => theft.done(p.id, &p.traced),
                (Some(_), None) => {}
            }
            each(candidate, taken);
        }
    }
}
