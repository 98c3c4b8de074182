//! What the monitor remembers of an M, to find out how long one goroutine has held its thread
//! (`sched/sysmon/stint.rs`).

use core::sync::atomic::{AtomicU64, Ordering};

/// The stint of a goroutine on an M, as the monitor last saw it. Written by the monitor, except
/// `told`.
pub(crate) struct Stint {
    pub(crate) id: AtomicU64,
    pub(crate) picks: AtomicU64,
    /// When this stint was first seen; identifies it.
    pub(crate) since: AtomicU64,
    /// Its thread's CPU time then.
    pub(crate) cpu: AtomicU64,
    /// When the reporter was last asked to look at it.
    pub(crate) asked: AtomicU64,
    /// `since` of the last stint that needs no other look of the reporter, which writes this.
    told: AtomicU64,
}

impl Stint {
    pub(crate) const fn new() -> Stint {
        Stint {
            id: AtomicU64::new(0),
            picks: AtomicU64::new(0),
            since: AtomicU64::new(0),
            cpu: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            told: AtomicU64::new(0),
        }
    }

    /// Notes that this stint needs no other report. Called by the reporter.
    pub(crate) fn set_told(&self, since: u64) {
        self.told.store(since, Ordering::Relaxed);
    }

    pub(crate) fn is_told(&self, since: u64) -> bool {
        self.told.load(Ordering::Relaxed) == since
    }

    /// Another stint was first seen now.
    pub(crate) fn begin(&self, id: u64, picks: u64, cpu: u64, now: u64) {
        self.id.store(id, Ordering::Relaxed);
        self.picks.store(picks, Ordering::Relaxed);
        self.since.store(now, Ordering::Relaxed);
        self.cpu.store(cpu, Ordering::Relaxed);
        self.asked.store(now, Ordering::Relaxed);
    }
}
