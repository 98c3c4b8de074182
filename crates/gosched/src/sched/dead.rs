//! Whether any goroutine can ever run again (S48). The monitor asks before it sleeps without ticks.
//! It is woken, and so asks again later, by every P that becomes busy and every foreign thread that
//! begins to wait.
//!
//! What is asked: the world not stopped; all Ps idle and no M searching; nothing queued or held
//! back; no goroutine in user code or a blocking call without a P; no timer; nobody waiting for
//! I/O; every header *waiting* or without a goroutine; and no thread in the process but ours and
//! those that wait, without limit, in our calls. Goroutines that wait for a stack are runnable, but
//! can't run: if only those are left, the process is out of stacks (D4).
//!
//! The argument why there is no false alarm. These are many places, looked at one after the other,
//! between which activity might hop: a goroutine wakes another one that was looked at already, then
//! waits. So the evidence is taken before and after, and must be the same:
//! - all Ps idle at both ends, and none taken off the idle list in between: then no goroutine ran
//!   with a P in between; and none changed its status without a P, because one that is without
//!   takes an idle P first, and all were idle. So the headers that were found waiting one after the
//!   other were waiting all at the same time.
//! - the same foreign threads waiting, without one having been woken (each is uncounted by whoever
//!   wakes it): if in between the process had just as many threads more than ours, all of those
//!   were asleep at that moment.
//!
//! At that moment, then, nobody was left who could do anything.
//!
//! The argument why no deadlock is missed. After a look the monitor sleeps, perhaps for ever, and
//! relies on being rung: by whoever takes an idle P, and by a foreign thread that has counted
//! itself in. A ring that comes while the monitor is awake is lost. So the monitor also takes the
//! evidence before the look, and once more after it has announced that it sleeps
//! ([`Dormant`](gosched_primitives::Dormant)). Each part is changed under a lock, before the ring,
//! and read under that lock. If the change comes first, the monitor sees it, and looks again. If
//! the reading comes first, the one who changes acquires the lock after the announcement, and so
//! sees it, and wakes the monitor. It is not enough to ask whether all Ps are idle: one may have
//! been taken in between, and be idle again.

use core::sync::atomic::Ordering;

use gosched_primitives::Idle;

use super::Sched;
use crate::clock::NEVER;
use crate::debug;
use crate::g::waiter::Foreign;
use crate::netpoll;
use crate::sys::thread;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Deadlock {
    /// A goroutine can run, or nobody waits, or the detector is switched off.
    No,
    /// No goroutine can, but there may be threads that can wake one.
    ThreadsInTheWay,
    /// All goroutines are asleep for ever.
    Yes,
    /// All that have a stack are; others wait for one.
    OutOfStacks,
}

/// What must be the same before and after, while all Ps are idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Evidence {
    idle_ps_taken: u64,
    foreign: Foreign,
    stackless: usize,
}

impl Sched {
    #[doc(alias = "checkdead")]
    pub(crate) fn check_dead(&self) -> Deadlock {
        let Some(before) = self.nobody_can_run() else { return Deadlock::No };
        if self.num_goroutine() == 0 && before.foreign.waiting == 0 {
            return Deadlock::No;
        }
        if thread::in_process() != Some(thread::ours() + before.foreign.waiting) {
            return Deadlock::ThreadsInTheWay;
        }
        // Those without a stack are runnable.
        let can_run = self.all_g().filter(|g| g.status().can_run()).count();
        if can_run != before.stackless || self.nobody_can_run() != Some(before) {
            return Deadlock::No;
        }
        match can_run {
            // Switched off, by a user who knows of something else that wakes them. Out of stacks is
            // reported all the same.
            0 if !debug::get().deadlock => Deadlock::No,
            0 => Deadlock::Yes,
            _ => Deadlock::OutOfStacks,
        }
    }

    /// The evidence, if all Ps are idle.
    pub(super) fn evidence(&self) -> Option<Evidence> {
        let idle_ps_taken = {
            let shared = self.lock.lock();
            self.all_idle().then_some(shared.idle_ps_taken)?
        };
        Some(Evidence { idle_ps_taken, foreign: Foreign::now(), stackless: self.stackless() })
    }

    /// The evidence, if by the scheduler's own counts no goroutine can run.
    fn nobody_can_run(&self) -> Option<Evidence> {
        let evidence = self.evidence()?;
        let elsewhere = [&self.computing_without_p, &self.lost_to_blocking, &self.left_in_calls];
        // The counts of `elsewhere` are read after the idle word, in which whoever gave up the last
        // P has released what it counted before.
        let nobody = !self.exceptions.is_stopping()
            && self.idle.snapshot() == (Idle { idle_ps: self.procs(), spinning: 0 })
            && !self.is_work_queued()
            && self.held_back() == 0
            && elsewhere.iter().all(|count| count.load(Ordering::Relaxed) == 0)
            && self.first_timer() == NEVER
            && netpoll::waiters() == 0;
        nobody.then_some(evidence)
    }
}
