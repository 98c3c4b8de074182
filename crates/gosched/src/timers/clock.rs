//! The clock of timers: nanoseconds of CLOCK_MONOTONIC, which `Instant` uses too.

use core::time::Duration;
use std::time::Instant;

/// Later than everything.
pub(crate) const NEVER: u64 = u64::MAX;

/// Now.
#[inline]
pub(crate) fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The time `d` from now; a duration that is too long to count ends just before [`NEVER`].
pub(crate) fn when_after(d: Duration) -> u64 {
    let nanos = u64::try_from(d.as_nanos()).unwrap_or(NEVER);
    now().saturating_add(nanos).min(NEVER - 1)
}

/// The time of `instant`; one that is past is now.
pub(crate) fn when_at(instant: Instant) -> u64 {
    when_after(instant.saturating_duration_since(Instant::now()))
}
