//! How late sleepers wake.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::sample::Sample;

/// The longest sleep of [`sleep_of`].
pub const LONGEST: Duration = Duration::from_secs(1);

/// How long sleeper number `i` sleeps: less than [`LONGEST`], spread evenly; neighbours sleep for
/// very different times.
pub fn sleep_of(i: u64) -> Duration {
    Duration::from_micros(i.wrapping_mul(7_919) % LONGEST.as_micros() as u64)
}

/// The lateness of many sleepers, summed up.
#[derive(Debug, Default)]
pub struct Lateness(AtomicU64);

impl Lateness {
    /// Notes that a sleeper that slept for `d` from `start` on has woken.
    pub fn note(&self, start: Instant, d: Duration) {
        let late = start.elapsed().saturating_sub(d);
        self.0.fetch_add(late.as_nanos() as u64, Ordering::Relaxed);
    }

    /// In milliseconds: by how much `elapsed`, the time of all `n` sleepers, exceeds the longest
    /// sleep, and how late a sleeper was on average.
    pub fn sample(&self, elapsed: Duration, n: u64) -> Sample {
        let mean = self.0.load(Ordering::Relaxed) as f64 / n as f64 / 1e6;
        Sample::of("overshoot_ms", elapsed.saturating_sub(LONGEST).as_secs_f64() * 1e3).and("late_ms", mean)
    }
}

/// The median and the 99th percentile of these latenesses, in microseconds.
pub fn percentiles(mut late: Vec<Duration>) -> Sample {
    late.sort_unstable();
    let at = |percent: usize| late[(late.len() - 1) * percent / 100].as_secs_f64() * 1e6;
    Sample::of("p50_us", at(50)).and("p99_us", at(99))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_list() {
        let late = (0..=100).rev().map(Duration::from_micros).collect();
        assert_eq!(percentiles(late).to_string(), "p50_us=50.000 p99_us=99.000");
    }

    #[test]
    fn sleeps_are_spread() {
        let mean = (0..100_000).map(sleep_of).sum::<Duration>() / 100_000;
        assert!((450..550).contains(&mean.as_millis()), "{mean:?}");
        assert!((0..100_000).map(sleep_of).max().unwrap() < LONGEST);
    }
}
