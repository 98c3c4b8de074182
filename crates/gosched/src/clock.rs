//! The clock of timers: nanoseconds of CLOCK_MONOTONIC, which `Instant` uses too.

use core::time::Duration;
use std::sync::OnceLock;
use std::time::Instant;

use crate::sys;

/// Later than everything.
pub(crate) const NEVER: u64 = u64::MAX;

/// Now.
#[inline]
pub(crate) fn now() -> u64 {
    sys::clock::monotonic()
}

/// The time `d` from now, or the last one before [`NEVER`] if that is too far away.
pub(crate) fn when_after(d: Duration) -> u64 {
    now().saturating_add(as_nanos(d)).min(NEVER - 1)
}

/// What stands for a time that is too far away.
const FAR_AWAY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The instant `d` from now, or in a hundred years if `Instant` can't hold that.
pub(crate) fn instant_after(d: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(d).unwrap_or_else(|| now + FAR_AWAY)
}

/// The time of `instant`. Reads the clocks at the first call only.
pub(crate) fn when_at(instant: Instant) -> u64 {
    /// One moment by both clocks: `Instant` does not say where it begins.
    static BASE: OnceLock<(Instant, u64)> = OnceLock::new();
    let (base, nanos) = *BASE.get_or_init(same_moment);
    match instant.checked_duration_since(base) {
        Some(after) => nanos.saturating_add(as_nanos(after)).min(NEVER - 1),
        None => nanos.saturating_sub(as_nanos(base - instant)),
    }
}

/// One moment by both clocks: the quickest of a few tries. Ours is read before and after `Instant`;
/// the later reading counts, so no timer is early.
fn same_moment() -> (Instant, u64) {
    let tries = core::array::from_fn::<_, 8, _>(|_| (now(), Instant::now(), now()));
    let [first, ..] = tries;
    let (_, instant, after) =
        tries.into_iter().min_by_key(|(before, _, after)| after - before).unwrap_or(first);
    (instant, after)
}

fn as_nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(NEVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S46: the time of an instant is never too early, and at most a second late; differences are
    /// exact.
    #[test]
    fn times_of_instants() {
        const SECOND: Duration = Duration::from_secs(1);
        for _ in 0..1_000 {
            let (before, instant, after) = (now(), Instant::now(), now());
            let when = when_at(instant);
            assert!(when >= before && when < after + as_nanos(SECOND), "{before} <= {when} <= {after}");
            assert_eq!(when_at(instant + SECOND), when + as_nanos(SECOND));
            assert_eq!(when_at(instant - SECOND), when - as_nanos(SECOND));
        }
    }

    /// A time that is too far away becomes the last one before `NEVER`.
    #[test]
    fn the_far_future() {
        let far = Instant::now() + Duration::from_secs(u64::from(u32::MAX) * 5);
        assert_eq!((when_at(far), when_after(Duration::MAX)), (NEVER - 1, NEVER - 1));
    }
}
