//! Exceptional conditions in one word, so that a pick normally looks at one thing only.
//!
//! Invariants: STOP is set and cleared under `SCHED.lock`; whoever holds that lock and finds it clear may hand out idle Ps.
//! PRESSURE is the monitor's. MIGRATE is set at the start, or never.

use core::sync::atomic::{AtomicU32, Ordering};

/// The world is to stand still, or does (S42).
const STOP: u32 = 1;
/// Goroutines that compute have used up their slices while others waited: those that have not run yet stand behind.
const PRESSURE: u32 = 2;
/// Every moving call moves (`GOSCHED_DEBUG=migrate=1`).
const MIGRATE: u32 = 4;

pub(super) struct Exceptions(AtomicU32);

impl Exceptions {
    pub(super) const fn new() -> Exceptions {
        Exceptions(AtomicU32::new(0))
    }

    #[inline]
    fn has(&self, bit: u32) -> bool {
        self.0.load(Ordering::Relaxed) & bit != 0
    }

    /// Whether the world is to be stopped. A hint but under `SCHED.lock`, and to those who have no P (`stop_world.rs`).
    #[inline]
    pub(super) fn is_stopping(&self) -> bool {
        self.has(STOP)
    }

    pub(super) fn set_stopping(&self, on: bool) {
        self.set(STOP, on);
    }

    /// Whether goroutines that have not run yet stand behind those that were woken.
    #[inline]
    pub(super) fn is_under_pressure(&self) -> bool {
        self.has(PRESSURE)
    }

    pub(super) fn set_under_pressure(&self, on: bool) {
        self.set(PRESSURE, on);
    }

    /// Whether every moving call is to move.
    #[inline]
    pub(super) fn is_migrating(&self) -> bool {
        self.has(MIGRATE)
    }

    pub(super) fn set_migrating(&self) {
        self.set(MIGRATE, true);
    }

    fn set(&self, bit: u32, on: bool) {
        // ORDERING: SeqCst: STOP stands before the stopper's barrier; partner is `barrier::light` in an M's entry, after
        // which an M without a P looks here.
        match on {
            true => self.0.fetch_or(bit, Ordering::SeqCst),
            false => self.0.fetch_and(!bit, Ordering::SeqCst),
        };
    }
}
