//! Random numbers, the same for the same seed on every machine: SplitMix64, and the distributions
//! that workloads are made of.
//!
//! Invariant: streams that were forked with different labels are independent of each other, so that
//! one more draw in one part of a workload does not change the others.

use crate::time::Time;

/// A stream of random numbers.
///
/// ```
/// use gosched_sim::random::RandomStream;
/// assert_eq!(RandomStream::new(7).next_u64(), RandomStream::new(7).next_u64());
/// assert_ne!(RandomStream::new(7).next_u64(), RandomStream::new(8).next_u64());
/// ```
#[derive(Clone, Debug)]
pub struct RandomStream(u64);

impl RandomStream {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> RandomStream {
        let mut random = RandomStream(seed ^ 0x5851_f42d_4c95_7f2d);
        random.next_u64();
        random
    }

    /// An independent stream for a part of the whole.
    #[must_use]
    pub fn fork(&self, label: u64) -> RandomStream {
        RandomStream::new(self.0 ^ label.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31))
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 32 random bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// A number in 0..1, never 0 nor 1.
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// An index below `bound`.
    ///
    /// # Panics
    ///
    /// If `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "nothing is below 0");
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Evenly between two times, both included.
    pub fn between(&mut self, low: Time, high: Time) -> Time {
        low + self.below(high - low + 1)
    }

    /// Exponential, with this mean; at least 1 ns.
    pub fn exponential(&mut self, mean: Time) -> Time {
        at_least_one(-self.unit().ln() * mean as f64)
    }

    /// Pareto: no less than `least`, with a tail of index `alpha`, cut off at `most`. The smaller
    /// `alpha`, the heavier the tail; at 2 or less its variance would be infinite without the cut.
    pub fn pareto(&mut self, least: Time, alpha: f64, most: Time) -> Time {
        at_least_one(least as f64 / self.unit().powf(1.0 / alpha)).min(most)
    }
}

fn at_least_one(time: f64) -> Time {
    (time.round() as Time).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MS;

    fn mean(mut draw: impl FnMut() -> Time) -> f64 {
        (0..200_000).map(|_| draw() as f64).sum::<f64>() / 200_000.0
    }

    /// The distributions have the means that they are asked for.
    #[test]
    fn means_are_right() {
        let mut random = RandomStream::new(1);
        let exponential = mean(|| random.exponential(MS));
        assert!((exponential / MS as f64 - 1.0).abs() < 0.02, "{exponential}");
        let even = mean(|| random.between(MS, 3 * MS));
        assert!((even / (2 * MS) as f64 - 1.0).abs() < 0.02, "{even}");
        // Without a cut: alpha / (alpha - 1).
        let pareto = mean(|| random.pareto(MS, 3.0, Time::MAX));
        assert!((pareto / (1.5 * MS as f64) - 1.0).abs() < 0.02, "{pareto}");
    }

    /// A fork does not repeat its parent nor its siblings.
    #[test]
    fn forks_differ() {
        let root = RandomStream::new(3);
        let firsts: std::collections::HashSet<u64> =
            (0..100).map(|label| root.fork(label).next_u64()).collect();
        assert_eq!(firsts.len(), 100);
        assert!(!firsts.contains(&root.clone().next_u64()));
    }
}
