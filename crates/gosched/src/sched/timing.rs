//! Timers and the scheduler: who runs what is due, and who wakes up in time (S25, S46).
//!
//! A P's timers are run by whoever picks on that P, or by a thief in its last round. If nobody runs, one M, the *keeper*,
//! sleeps until the earliest of all; the others sleep without limit.
//!
//! The argument why no timer is slept through. Whoever arms one stores the heap's `first` (SeqCst), then looks at `keeper`.
//! Whoever becomes the keeper stores until when it will sleep (SeqCst), then looks at all heaps once more. So either
//! the keeper sees the timer, or it is seen and interrupted. If there is no keeper, an M is woken (if a P is idle and
//! nobody spins); it finds nothing to run, gives up, and becomes the keeper; a spinner that gives up looks at the
//! timers after it has taken back its spinning, as it does with the queues.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use gosched_queue::{List, Note, Wake};

use super::{SCHED, Sched};
use crate::m::M;
use crate::p::{HeldP, Overflow, P};
use crate::timers::{NEVER, Timer, now};

/// Nobody keeps watch.
const NOBODY: u64 = 0;
/// The keeper was told to look again.
const INTERRUPTED: u64 = 1;

/// The M that sleeps until the earliest timer.
pub(super) struct Keeper {
    /// [`NOBODY`], [`INTERRUPTED`], or until when it sleeps.
    until: AtomicU64,
    note: Note,
}

impl Keeper {
    pub(super) const fn new() -> Keeper {
        Keeper { until: AtomicU64::new(NOBODY), note: Note::new() }
    }
}

impl Sched {
    /// When the earliest of all timers is due.
    pub(super) fn first_timer(&self) -> u64 {
        self.all_p().map(|p| p.timers.first()).min().unwrap_or(NEVER)
    }

    /// Arms a timer on the calling M's P, or, without one, on any. Inside the runtime, or on a foreign thread.
    ///
    /// # Safety
    /// As for `TimerHeap::arm`.
    pub(crate) unsafe fn arm(&self, p: Option<&P>, timer: &Timer, when: u64) {
        let Some(p) = p.or_else(|| self.p(0)) else { return };
        // SAFETY: by contract.
        unsafe { p.timers.arm(timer, when) };
        self.watch_for(when);
    }

    /// Sees to it that somebody wakes up at `when`, should nobody run then.
    pub(super) fn watch_for(&self, when: u64) {
        // ORDERING: SeqCst: after the store of the heap's `first`; see the head of this file.
        let until = self.keeper.until.load(Ordering::SeqCst);
        match until {
            NOBODY => self.wake_p(),
            INTERRUPTED => {}
            until if until > when => self.interrupt_keeper(until),
            _ => {}
        }
    }

    /// How long until a timer is due that nobody sleeps for.
    pub(crate) fn unwatched_timer(&self) -> Option<Duration> {
        let first = self.first_timer();
        // ORDERING: SeqCst, as in `watch_for`.
        let watched = self.keeper.until.load(Ordering::SeqCst) != NOBODY || !self.all_idle();
        (first != NEVER && !watched).then(|| Duration::from_nanos(first.saturating_sub(now())))
    }

    /// Wakes the keeper, whatever it sleeps for: it will look for work.
    pub(super) fn wake_keeper(&self) {
        // ORDERING: SeqCst: after the P was put on the idle list; a keeper that is not asleep yet looks at its timers, and
        // at the queues after it.
        match self.keeper.until.load(Ordering::SeqCst) {
            NOBODY | INTERRUPTED => {}
            until => self.interrupt_keeper(until),
        }
    }

    #[cold]
    fn interrupt_keeper(&self, until: u64) {
        // ORDERING: as in `watch_for`. Of several, one wins and wakes; a keeper that is gone by itself looks anyway.
        if self.keeper.until.compare_exchange(until, INTERRUPTED, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        {
            self.keeper.note.wake();
        }
    }

    /// Sleeps as the keeper until a timer is due, if there is one and nobody else does. Returns whether it did.
    pub(super) fn keep_watch(&self) -> bool {
        let first = self.first_timer();
        if first == NEVER {
            return false;
        }
        // ORDERING: SeqCst: before the second look below; see the head of this file.
        let until = first.max(INTERRUPTED + 1);
        if self.keeper.until.compare_exchange(NOBODY, until, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            return false;
        }
        let first = self.first_timer();
        let mut woken = Wake::TimedOut;
        if first >= until {
            woken = self.keeper.note.sleep_timeout(Duration::from_nanos(until.saturating_sub(now())));
        }
        // ORDERING: SeqCst: an interrupter comes before this, and is waited for, or finds nobody. The note is clear again
        // before the place is free, for the next keeper sleeps on it.
        if self.keeper.until.compare_exchange(until, NOBODY, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            if woken == Wake::TimedOut {
                self.keeper.note.sleep();
            }
            self.keeper.note.clear();
            self.keeper.until.store(NOBODY, Ordering::SeqCst);
        }
        true
    }

    /// Runs the due timers of `of` and queues what they ready on `p` (S54).
    pub(super) fn run_timers(&self, m: &M, p: HeldP<'_>, of: &P) {
        if of.timers.first() == NEVER {
            return;
        }
        let now = now();
        if of.timers.first() > now {
            return;
        }
        let mut ready = List::new();
        of.timers.run_due(now, &mut ready);
        if ready.is_empty() {
            return;
        }
        while let Some(g) = ready.pop_front() {
            if let Some(Overflow(batch)) = p.put_next(g, || m.random()) {
                self.put_global(p.id, batch);
            }
        }
        self.wake_p();
    }
}

/// Arms a timer for the calling goroutine, inside the runtime.
///
/// # Safety
/// As for `TimerHeap::arm`.
pub(crate) unsafe fn arm_here(timer: &Timer, when: u64) {
    let p = crate::m::current::current().and_then(M::p);
    // SAFETY: by contract.
    unsafe { SCHED.arm(p, timer, when) };
}

/// Runs this P's due timers: what every pick looks at first (S25).
#[inline]
pub(super) fn run_own_timers(m: &M, p: HeldP<'_>) {
    if p.timers.first() != NEVER {
        SCHED.run_timers(m, p, &p);
    }
}
