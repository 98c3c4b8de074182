//! Fibonacci numbers, to check those that are computed in parallel.

/// The `n`th Fibonacci number, by a loop.
pub fn fibonacci(n: u64) -> u64 {
    (0..n).fold((0, 1), |(this, next), _| (next, this + next)).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_a_later_one() {
        assert_eq!([0, 1, 2, 3, 32].map(fibonacci), [0, 1, 1, 2, 2_178_309]);
    }
}
