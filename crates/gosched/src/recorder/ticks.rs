//! The trace's clock: the CPU's counter where the kernel itself tells the time by it, which means
//! that it is steady and the same on all CPUs; else the kernel's monotonic clock.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gosched_switch::arch;

use crate::clock;

/// Where the kernel says by what it tells the time.
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

static BY_COUNTER: AtomicBool = AtomicBool::new(false);
/// What the clock read when the trace began. Times are counted from there: a reader multiplies them
/// by the length of a tick, which each generation measures anew.
static BEGAN: AtomicU64 = AtomicU64::new(0);

/// Chooses the clock. Before anything is recorded.
pub(crate) fn choose() {
    let source = std::fs::read_to_string(CLOCK_SOURCE).unwrap_or_default();
    BY_COUNTER.store(source.trim() == arch::COUNTER_NAME, Ordering::Relaxed);
    BEGAN.store(read(), Ordering::Relaxed);
}

#[inline]
fn read() -> u64 {
    if BY_COUNTER.load(Ordering::Relaxed) { arch::counter() } else { clock::now() }
}

/// Now.
#[inline]
pub(crate) fn now() -> u64 {
    read().saturating_sub(BEGAN.load(Ordering::Relaxed))
}

/// The trace's clock and the monotonic one, at one moment.
pub(crate) fn both() -> (u64, u64) {
    // Of several readings the one in which the least time passed between the two readings of the
    // counter.
    let reading = || {
        let (before, mono, after) = (now(), clock::now(), now());
        (after.wrapping_sub(before), before + (after.wrapping_sub(before)) / 2, mono)
    };
    let (_, ticks, mono) = (0..5).map(|_| reading()).min().unwrap_or_default();
    (ticks, mono)
}
