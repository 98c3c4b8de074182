//! The monitor's tick (S34–S38): polls the network if nobody else does, and takes Ps from those that
//! block or compute too long.
//!
//! It is awake while a P is not idle: one tick a millisecond, and after it has taken a P from a blocking
//! call a burst of faster ones. Its own CPU time is not counted, and it does not slow down while all
//! goes well.

use super::decisions::{self, Verdict};
use super::lines::FOREIGN;
use super::machine::{Doing, Machine, TICK};
use crate::trace::Trace;

impl<T: Trace> Machine<'_, T> {
    /// A P is busy: the monitor must be awake.
    pub(super) fn rouse_monitor(&mut self) {
        if !self.monitor_awake {
            self.monitor_awake = true;
            let pause = decisions::monitor_pause(self.config.costs.monitor_tick, self.monitor_burst);
            self.events.schedule(self.now() + pause, TICK);
        }
    }

    pub(super) fn monitor_tick(&mut self) {
        self.monitor_awake = false;
        if self.idle_ps == self.config.procs {
            return;
        }
        self.poll_overdue();
        let work_waits = self.is_work_queued();
        let taken_before = self.counters.taken_blocking;
        for p in 0..self.config.procs {
            let verdict = self.judge(p, work_waits);
            self.take_p(p, verdict);
        }
        self.monitor_burst = match self.counters.taken_blocking == taken_before {
            true => self.monitor_burst.saturating_sub(1),
            false => decisions::BURST_TICKS,
        };
        self.rouse_monitor();
    }

    fn judge(&self, p: u32, work_waits: bool) -> Verdict {
        let own = &self.ps[p as usize];
        match own.doing {
            Doing::Running => {
                let computed = self.now().saturating_sub(own.slice_began);
                decisions::judge_computing(computed, self.without_p, self.config.procs, work_waits)
            }
            Doing::Blocking => {
                let idle = self.group(p).word.snapshot();
                let has_work = !own.ring.is_empty() || own.next != crate::job::NO_JOB;
                let nobody = idle.idle_ps == 0 && idle.spinning == 0;
                decisions::judge_blocking(self.now().saturating_sub(own.call_began), has_work, nobody)
            }
            Doing::Idle | Doing::Waking | Doing::Searching => Verdict::Leave,
        }
    }

    fn poll_overdue(&mut self) {
        let mut t = self.now();
        for k in 0..self.pollers.len() {
            let poller = &self.pollers[k];
            if decisions::is_poll_wanted(poller.waiters, poller.kept)
                && decisions::is_poll_overdue(self.now().saturating_sub(poller.last_look))
                && self.queue_globally(k) > 0
            {
                self.wake_p(FOREIGN, &mut t);
            }
        }
        self.debt = 0;
    }
}
