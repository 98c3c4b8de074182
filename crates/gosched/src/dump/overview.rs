//! What a dump asks the scheduler, which lies above this module: all Gs, Ms and Ps, and its
//! counters.

use std::sync::OnceLock;

use gosched_primitives::Idle;

use crate::g::G;
use crate::m::M;
use crate::p::P;

/// The scheduler, to be read only. May be asked at any time, by any thread.
pub(crate) trait Overview: Sync {
    /// All headers, alive or not.
    fn gs(&self) -> Box<dyn Iterator<Item = &'static G> + '_>;

    /// All Ms that have a thread.
    fn ms(&self) -> Box<dyn Iterator<Item = &'static M> + '_>;

    /// All Ms, also those without a thread.
    fn every_m(&self) -> Box<dyn Iterator<Item = &'static M> + '_>;

    /// All Ps there ever were.
    fn ps(&self) -> Box<dyn Iterator<Item = &'static P> + '_>;

    fn books(&self) -> Books;
}

/// The scheduler's counters.
pub(crate) struct Books {
    pub(crate) procs: u32,
    pub(crate) idle: Idle,
    pub(crate) runq_len: usize,
    pub(crate) goroutines: usize,
    /// Whether the world is to be stopped, and how many Ps do not stand still yet.
    pub(crate) stopping: bool,
    pub(crate) still_running: u32,
    /// Whether the monitor sleeps until it is needed.
    pub(crate) monitor_sleeps: bool,
}

static SCHEDULER: OnceLock<&'static dyn Overview> = OnceLock::new();

/// Sets the scheduler that dumps show. Called once, when it starts.
pub(super) fn set_scheduler(scheduler: &'static dyn Overview) {
    SCHEDULER.get_or_init(|| scheduler);
}

/// The scheduler, if it has started.
pub(crate) fn scheduler() -> Option<&'static dyn Overview> {
    SCHEDULER.get().copied()
}
