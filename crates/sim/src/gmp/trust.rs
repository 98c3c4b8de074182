//! Trust in a lone goroutine in `runnext` (D9): its P will run it soon, and nobody is woken for it.
//!
//! When trust is won and given is asked of the library's `gosched_rules::trust`; when it is lost is
//! here, as in the library: somebody stole the goroutine, the monitor found it still there, or the
//! one that woke it went into a blocking call.

use gosched_rules::trust;

use super::lines::FOREIGN;
use super::machine::{Doing, Machine};
use crate::job::{JobId, NO_JOB};
use crate::trace::Trace;

impl<T: Trace> Machine<'_, T> {
    /// Puts a woken goroutine in `runnext`, if it will be all that is queued on `p`, and `p` is
    /// trusted; whether it was.
    pub(super) fn queue_trusted(&mut self, p: u32, job: JobId) -> bool {
        let own = &mut self.ps[p as usize];
        if !trust::is_given(own.trust) || own.has_work() {
            return false;
        }
        own.next = job;
        self.nexts += 1;
        self.queued += 1;
        true
    }

    /// A P has run what was in its `runnext` itself.
    pub(super) fn win_trust(&mut self, p: u32) {
        let own = &mut self.ps[p as usize];
        own.trust = trust::gained(own.trust);
    }

    /// What was in the `runnext` of a P had to wait.
    pub(super) fn lose_trust(&mut self, p: u32) {
        self.ps[p as usize].trust = trust::NONE;
    }

    /// For the monitor, while a P is idle: who waits in trust after all gets an M. One that is
    /// there for no longer than a thief would wait does not count.
    pub(super) fn end_trust(&mut self) {
        if self.idle_ps == 0 || self.idle.iter().any(|group| group.word.snapshot().spinning > 0) {
            return;
        }
        for p in 0..self.config.procs {
            let own = &self.ps[p as usize];
            let is_brief = own.doing == Doing::Running
                && self.now().saturating_sub(self.gs[own.job as usize].ran_from)
                    < self.config.costs.runnext_pause;
            if trust::is_given(own.trust) && own.next != NO_JOB && !is_brief {
                self.lose_trust(p);
                self.wake_p(FOREIGN, &mut self.now());
            }
        }
        self.debt = 0;
    }
}
