//! What the monitor remembers of a P, to find out for how long it has not changed. Nobody else uses
//! it.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::m::M;

/// What the monitor last saw of a P.
pub(crate) struct SeenP {
    /// `sched_tick` at the monitor's last tick.
    glanced: AtomicU32,
    m: AtomicPtr<M>,
    sched_tick: AtomicU32,
    /// When `sched_tick` was first seen.
    since: AtomicU64,
    /// The thread's CPU time when the monitor first asked for it in this tick; 0 until then.
    cpu: AtomicU64,
    /// How long the P had shown this tick when its goroutine was asked to yield; 0 if it was not.
    asked_at: AtomicU64,
    blocking_tick: AtomicU32,
    blocking_since: AtomicU64,
}

impl SeenP {
    /// The tick that the last judgement was about.
    pub(crate) fn judged_tick(&self) -> u32 {
        self.sched_tick.load(Ordering::Relaxed)
    }

    pub(crate) const fn new() -> SeenP {
        SeenP {
            glanced: AtomicU32::new(0),
            m: AtomicPtr::new(core::ptr::null_mut()),
            sched_tick: AtomicU32::new(0),
            since: AtomicU64::new(0),
            cpu: AtomicU64::new(0),
            asked_at: AtomicU64::new(0),
            blocking_tick: AtomicU32::new(0),
            blocking_since: AtomicU64::new(0),
        }
    }

    /// How long the P had shown this tick when its goroutine was asked to yield, if it was.
    pub(crate) fn asked_at(&self) -> Option<u64> {
        Some(self.asked_at.load(Ordering::Relaxed)).filter(|at| *at > 0)
    }

    pub(crate) fn set_asked_at(&self, unchanged: u64) {
        self.asked_at.store(unchanged, Ordering::Relaxed);
    }

    /// Whether a time slice has begun on the P since this was last asked.
    pub(crate) fn has_moved(&self, tick: u32) -> bool {
        let before = self.glanced.load(Ordering::Relaxed);
        self.glanced.store(tick, Ordering::Relaxed);
        before != tick
    }

    /// How long the P has shown this tick under this M; 0 if either is new. In an announced
    /// blocking call `m` is `None`, which counts as any M.
    pub(crate) fn unchanged_for(&self, m: Option<&M>, tick: u32, now: u64) -> u64 {
        let m = m.map_or(core::ptr::null_mut(), |m| core::ptr::from_ref(m).cast_mut());
        let before = self.m.load(Ordering::Relaxed);
        let same_m = before == m || before.is_null() || m.is_null();
        let same = same_m && self.sched_tick.load(Ordering::Relaxed) == tick;
        if !same {
            self.sched_tick.store(tick, Ordering::Relaxed);
            self.since.store(now, Ordering::Relaxed);
            self.asked_at.store(0, Ordering::Relaxed);
        }
        if !same || (before != m && before.is_null()) {
            self.m.store(m, Ordering::Relaxed);
            self.cpu.store(0, Ordering::Relaxed);
        }
        now.saturating_sub(self.since.load(Ordering::Relaxed))
    }

    /// How long the goroutine has computed in this tick, by its thread's own time: time in which
    /// the kernel did not run it does not count (D1). By the wall clock where the thread's time
    /// can't be read.
    pub(crate) fn computed(&self, cpu: u64, unchanged: u64) -> u64 {
        match (cpu, self.cpu.load(Ordering::Relaxed)) {
            (0, _) => unchanged,
            (cpu, 0) => {
                self.cpu.store(cpu, Ordering::Relaxed);
                0
            }
            (cpu, before) => cpu.saturating_sub(before),
        }
    }

    /// As [`unchanged_for`](SeenP::unchanged_for), for the tick of blocking calls.
    pub(crate) fn blocking_for(&self, tick: u32, now: u64) -> u64 {
        if self.blocking_tick.load(Ordering::Relaxed) == tick {
            return now.saturating_sub(self.blocking_since.load(Ordering::Relaxed));
        }
        self.blocking_tick.store(tick, Ordering::Relaxed);
        self.blocking_since.store(now, Ordering::Relaxed);
        0
    }
}
