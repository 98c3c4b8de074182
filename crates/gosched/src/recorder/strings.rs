//! Strings with fixed numbers: why goroutines stop and wait. The tracer writes them into each
//! generation. Numbers from [`FIRST_FREE`] on are given out as they are needed.

/// Why a running goroutine stops, and is runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// It yields.
    Yielded = 1,
    /// It was asked to, because its time slice is over.
    Preempted = 2,
    /// `GOSCHED_DEBUG=migrate=1` moves it.
    Migrated = 3,
}

impl StopReason {
    pub(crate) const ALL: [(StopReason, &str); 3] = [
        (StopReason::Yielded, "runtime.Gosched"),
        (StopReason::Preempted, "preempted"),
        (StopReason::Migrated, "migrated"),
    ];

    pub(crate) const fn string(self) -> u64 {
        self as u64
    }
}

/// The kind of a stop of the world.
pub(crate) const STOP_THE_WORLD: u64 = 8;
pub(crate) const STOP_THE_WORLD_TEXT: &str = "stop_the_world";

/// The string of a wait reason is its number plus this.
const FIRST_WAIT: u64 = 16;

/// The string of the wait reason of this number.
#[inline]
pub(crate) const fn wait_reason(number: u8) -> u64 {
    FIRST_WAIT + number as u64
}

/// Numbers that nothing above has.
pub(crate) const FIRST_FREE: u64 = FIRST_WAIT + 256;
