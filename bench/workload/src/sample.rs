//! The figures of one run, and the line in which they are printed.

use std::fmt;
use std::time::Duration;

/// What one run measured: names and numbers.
#[derive(Debug)]
pub struct Sample(Vec<(&'static str, f64)>);

impl Sample {
    /// Nanoseconds for each of `operations`, called `ns`.
    pub fn per_op(elapsed: Duration, operations: u64) -> Sample {
        Sample(vec![("ns", elapsed.as_nanos() as f64 / operations as f64)])
    }

    /// One figure.
    pub fn of(name: &'static str, value: f64) -> Sample {
        Sample(vec![(name, value)])
    }

    /// One more figure.
    pub fn and(mut self, name: &'static str, value: f64) -> Sample {
        self.0.push((name, value));
        self
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, value)) in self.0.iter().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}{name}={value:.3}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_one_line_of_pairs() {
        let sample = Sample::per_op(Duration::from_micros(3), 2).and("bytes", 17.0);
        assert_eq!(sample.to_string(), "ns=1500.000 bytes=17.000");
    }
}
