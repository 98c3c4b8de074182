//! Exceptional conditions in one word, so that a pick normally looks at one thing only.
//!
//! Invariants: STOP is set and cleared under `SCHED.lock`; whoever holds that lock and finds it
//! clear may hand out idle Ps. PRESSURE is written by the monitor alone. MIGRATE is set at the
//! start, or never.

use gosched_primitives::Conditions;

/// The world is stopped, or is to be (S42).
const STOP: u32 = 1;
/// Goroutines that compute have used up their slices while others waited: those that have not run
/// yet queue behind woken ones.
const PRESSURE: u32 = 2;
/// Every moving call moves (`GOSCHED_DEBUG=migrate=1`).
const MIGRATE: u32 = 4;

pub(super) struct Exceptions(Conditions);

impl Exceptions {
    pub(super) const fn new() -> Exceptions {
        Exceptions(Conditions::none())
    }

    /// Whether the world is to be stopped. A hint, except under `SCHED.lock`, and for an M without
    /// a P that has entered (`stop_world.rs`): one that finds the bit clear after a stop sees what
    /// was done during it.
    #[inline]
    pub(super) fn is_stopping(&self) -> bool {
        self.0.has(STOP)
    }

    pub(super) fn set_stopping(&self, on: bool) {
        self.0.set(STOP, on);
    }

    /// Whether goroutines that have not run yet queue behind those that were woken.
    #[inline]
    pub(super) fn is_under_pressure(&self) -> bool {
        self.0.has(PRESSURE)
    }

    pub(super) fn set_under_pressure(&self, on: bool) {
        self.0.set(PRESSURE, on);
    }

    /// Whether every moving call is to move.
    #[inline]
    pub(super) fn is_migrating(&self) -> bool {
        self.0.has(MIGRATE)
    }

    pub(super) fn set_migrating(&self) {
        self.0.set(MIGRATE, true);
    }
}
