//! Random numbers that are cheap and good enough to spread thieves and to be fair to the cases of a
//! select: xorshift64*, without its low half, which is the weaker one.
//!
//! Invariant: the state is never 0, which a step maps to 0. Other states are mapped one to one to
//! states other than 0.

use core::sync::atomic::{AtomicU64, Ordering};

/// A random number generator for one thread. (Two threads that call it at once may get the same
/// number.)
///
/// ```
/// use gosched_primitives::Random;
///
/// let (one, same) = (Random::new(7), Random::new(7));
/// assert_eq!(one.next_u32(), same.next_u32());
/// ```
#[derive(Debug)]
pub struct Random(AtomicU64);

impl Random {
    /// The generator for a seed. (Two seeds that differ only in the lowest bit give the same
    /// generator.)
    pub const fn new(seed: u64) -> Random {
        Random(AtomicU64::new(seed | 1))
    }

    /// The next 32 random bits.
    #[inline]
    pub fn next_u32(&self) -> u32 {
        let mut x = self.0.load(Ordering::Relaxed);
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.0.store(x, Ordering::Relaxed);
        (x.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Computed from the definition (Vigna, "An experimental exploration of Marsaglia's xorshift
    /// generators, scrambled"), with shifts of 12, 25 and 27.
    #[test]
    fn is_xorshift_64_star() {
        let random = Random::new(1);
        assert_eq!([(); 4].map(|()| random.next_u32()), [0x47e4_ce4b, 0xabcf_a6a8, 0xb9d1_0d8f, 0x4db4_18a0]);
    }

    /// For small bounds, as a select or a thief has, all remainders are about equally frequent.
    #[test]
    fn remainders_are_even() {
        const DRAWS: u32 = 30_000;
        for bound in 2..=10 {
            let random = Random::new(u64::from(bound) << 32);
            let mut counts = vec![0_u32; bound as usize];
            for _ in 0..DRAWS {
                counts[(random.next_u32() % bound) as usize] += 1;
            }
            let even = DRAWS / bound;
            assert!(counts.iter().all(|count| count.abs_diff(even) < even / 10), "{counts:?}");
        }
    }

    #[test]
    fn no_seed_gets_stuck() {
        for seed in [0, 1, 2, u64::MAX, 1 << 63] {
            let random = Random::new(seed);
            assert!((0..100).any(|_| random.next_u32() != random.next_u32()));
            assert_ne!(random.0.load(Ordering::Relaxed), 0);
        }
    }
}
