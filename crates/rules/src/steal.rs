//! From whom a thief steals, in which order, and when it may take `runnext` (S26).
//!
//! Invariant of [`StealOrder`]: a start and a stride coprime to `n` visit each of `0..n` exactly
//! once.

/// Rounds of a thief over all Ps.
#[doc(alias = "stealTries")]
pub const STEAL_ROUNDS: u32 = 4;

/// Whether a thief may take `runnext`, and run the victim's timers, in this round, counted from 0
/// (S26): only in the last. What is in a ring comes first.
#[inline]
#[must_use]
#[doc(alias = "stealTimersOrRunNextG")]
pub const fn takes_runnext(round: u32) -> bool {
    round == STEAL_ROUNDS - 1
}

/// The random orders in which a thief visits `n` Ps. Built when `n` changes; use does not allocate.
///
/// ```
/// use gosched_rules::steal::StealOrder;
/// let order = StealOrder::new(6);
/// let mut asked: Vec<u32> = order.iter(0xdead_beef).collect();
/// asked.sort();
/// assert_eq!(asked, [0, 1, 2, 3, 4, 5]);
/// ```
#[doc(alias = "randomOrder")]
pub struct StealOrder {
    n: u32,
    coprimes: Box<[u32]>,
}

impl StealOrder {
    /// All orders of `n`. Allocates.
    pub fn new(n: u32) -> StealOrder {
        StealOrder { n, coprimes: (1..=n).filter(|&stride| gcd(stride, n) == 1).collect() }
    }

    /// One of the orders, chosen by a random number.
    #[inline]
    pub fn iter(&self, random: u32) -> StealIter {
        if self.n == 0 {
            return StealIter { left: 0, at: 0, stride: 0, n: 0 };
        }
        let stride = self.coprimes[(random / self.n) as usize % self.coprimes.len()];
        StealIter { left: self.n, at: random % self.n, stride, n: self.n }
    }
}

/// The order of one round of stealing; see [`StealOrder::iter`].
#[doc(alias = "randomEnum")]
#[derive(Clone, Debug)]
pub struct StealIter {
    left: u32,
    at: u32,
    stride: u32,
    n: u32,
}

impl Iterator for StealIter {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let at = self.at;
        // `at` and `stride` are at most `n`, so this wraps at most once and cannot overflow as u64.
        self.at = ((u64::from(at) + u64::from(self.stride)) % u64::from(self.n)) as u32;
        Some(at)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for StealIter {}

fn gcd(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S26: four rounds, `runnext` in the last one only.
    #[test]
    fn runnext_is_taken_in_the_last_round() {
        assert_eq!((0..STEAL_ROUNDS).map(takes_runnext).collect::<Vec<_>>(), [false, false, false, true]);
    }

    /// S26: each order visits every P exactly once.
    #[test]
    fn every_order_visits_each_exactly_once() {
        let mut random = 0x9e37_79b9_u32;
        for n in 1..=1024 {
            let order = StealOrder::new(n);
            for _ in 0..4 {
                random ^= random << 13;
                random ^= random >> 17;
                random ^= random << 5;
                let mut seen = vec![false; n as usize];
                for p in order.iter(random) {
                    assert!(!std::mem::replace(&mut seen[p as usize], true), "{p} of {n} twice");
                }
                assert!(seen.iter().all(|&seen| seen), "not all of {n}");
            }
        }
        assert_eq!(StealOrder::new(0).iter(7).next(), None);
    }

    /// S26: random start and random stride are both used.
    #[test]
    fn orders_differ() {
        let order = StealOrder::new(5);
        let orders: std::collections::HashSet<Vec<u32>> = (0..20).map(|r| order.iter(r).collect()).collect();
        assert_eq!(orders.len(), 20);
    }
}
