//! Timers and the scheduler: who runs those that are due, and who wakes up in time (S25, S46).
//!
//! A P's timers are run by whoever picks on that P, or by a thief in its last round. Of the Ms
//! without work one, the *keeper*, sleeps until the earliest of all timers; the others sleep
//! without limit. Where there is a network poller the keeper sleeps in it (`poll.rs`).
//!
//! The argument why no timer is slept through is `Keeper`'s (`gosched-primitives`), with the heaps'
//! `first` as the times that are published. If there is no keeper, an M is woken (if a P is idle
//! and nobody spins); it finds nothing to run, gives up its P, and becomes the keeper. An M that
//! gives up looks at the timers after it has put its P on the idle list, as it does with the
//! queues.

use core::time::Duration;

use gosched_primitives::{List, Watch};

use super::{SCHED, Sched, policy};
use crate::clock::{NEVER, now};
use crate::fatal::fatal;
use crate::m::{M, OwnM};
use crate::netpoll;
use crate::p::{OwnedP, P, RING};
use crate::timers::{Armed, TimerNode};

impl Sched {
    /// When the earliest of all timers is due.
    pub(super) fn first_timer(&self) -> u64 {
        self.all_p().map(|p| p.timers.first()).min().unwrap_or(NEVER)
    }

    /// Arms a timer in the heap of `near`, or, if that P is dead, of P 0, which never is. Inside
    /// the runtime, or on a foreign thread.
    ///
    /// # Safety
    /// As for `TimerHeap::arm`.
    unsafe fn arm(&self, near: Option<&'static P>, timer: &TimerNode, when: u64) {
        let candidates = [near, self.p(0)];
        // SAFETY: by contract; one that was refused is in no heap.
        let mut armed = candidates.into_iter().flatten().map(|p| unsafe { p.timers.arm(timer, when) });
        if !armed.any(|armed| armed == Armed::Yes) {
            fatal!("no P takes a timer");
        }
        self.watch_for(when);
    }

    /// Makes sure that an M wakes up at `when`. Called after the time was published.
    pub(super) fn watch_for(&self, when: u64) {
        if self.keeper.watch_for(when, netpoll::ring) == Watch::Nobody {
            self.wake_p();
        }
    }

    /// How long until the earliest timer is due, if there is one and all Ps are idle without a
    /// keeper.
    pub(crate) fn unwatched_timer(&self) -> Option<Duration> {
        let first = self.first_timer();
        let watched = self.keeper.is_kept() || !self.all_idle();
        (first != NEVER && !watched).then(|| Duration::from_nanos(first.saturating_sub(now())))
    }

    /// Wakes the keeper, whatever it sleeps for.
    pub(crate) fn rouse_keeper(&self) {
        self.keeper.rouse(netpoll::ring);
    }

    /// Sleeps as the keeper until a timer is due or the network has something, if either can happen
    /// and there is no keeper yet. What the network had is on the global queue then. Returns
    /// whether this M was the keeper.
    pub(super) fn keep_watch(&self) -> bool {
        let first = self.first_timer();
        if netpoll::exists() {
            return (first != NEVER || netpoll::waiters() > 0) && self.keep_watch_of_network(first);
        }
        // A poller that was made meanwhile makes the keeper look again, as an earlier timer does.
        let look = || if netpoll::exists() { 0 } else { self.first_timer() };
        let mut slack = None;
        first != NEVER
            && self.keeper.keep(first, look, |until| {
                let left = Duration::from_nanos(until.saturating_sub(now()));
                slack = policy::timer_slack::for_sleep(left);
                Some(left)
            })
    }

    /// Runs due timers of `of` and queues what they ready on `p` (S54): at least one, and no more
    /// than fill half of its ring. The others keep their turn in the heap; in the ring they would
    /// overflow to the global queue's tail, behind everything that waits there. (A million sleeps
    /// of 0 to 1 s, begun at once, on a busy machine, 2026-11-16: on average 25 to 760 ms late when
    /// all due ones were queued, 0.3 to 4 ms since.)
    pub(super) fn run_timers(&self, m: &mut OwnM, p: &mut OwnedP, of: &P) {
        if of.timers.first() == NEVER {
            return;
        }
        let now = now();
        if of.timers.first() > now {
            return;
        }
        let room = gosched_rules::batch::timer_room(p.ring.len(), RING);
        let mut ready = List::new();
        for _ in 0..of.timers.run_due(now, room, &mut ready) {
            p.count_created();
        }
        if ready.is_empty() {
            return;
        }
        while let Some(g) = ready.pop_front() {
            self.put_next(m, p, g);
        }
        self.wake_p();
    }
}

/// Arms a timer, for a goroutine inside the runtime or for a foreign thread.
///
/// # Safety
/// As for `TimerHeap::arm`.
pub(crate) unsafe fn arm_here(timer: &TimerNode, when: u64) {
    // The M's P, or the one that it has lost and remembers, which may have another owner by now, or
    // none, or be dead.
    let near = crate::m::current::current().and_then(M::p);
    // SAFETY: by contract.
    unsafe { SCHED.arm(near, timer, when) };
}
