//! What theory says, and whether a simulation agrees: closed forms of queues, and confidence
//! intervals from independent runs.

/// The probability that an arrival has to wait in M/M/c (Erlang C), for `load` = λ/μ and c servers.
///
/// ```
/// use gosched_sim::theory::erlang_c;
/// assert!((erlang_c(0.8, 1) - 0.8).abs() < 1e-12);
/// assert!((erlang_c(1.0, 2) - 1.0 / 3.0).abs() < 1e-12);
/// ```
#[must_use]
pub fn erlang_c(load: f64, servers: u32) -> f64 {
    // Erlang B by its recursion, which does not overflow; then C from B.
    let blocked = (1..=servers).fold(1.0, |b, k| load * b / (f64::from(k) + load * b));
    let utilisation = load / f64::from(servers);
    blocked / (1.0 - utilisation * (1.0 - blocked))
}

/// The mean wait in M/M/c, in units of the mean service: C(c, ρ) / (c − λ/μ).
#[must_use]
pub fn mmc_wait(load: f64, servers: u32) -> f64 {
    erlang_c(load, servers) / (f64::from(servers) - load)
}

/// The mean wait in M/G/1 (Pollaczek–Khinchine): λE\[S²\] / 2(1−ρ).
#[must_use]
pub fn mg1_wait(rate: f64, mean: f64, second_moment: f64) -> f64 {
    rate * second_moment / (2.0 * (1.0 - rate * mean))
}

/// A mean, and how far off the true one may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The middle.
    pub mean: f64,
    /// To either side.
    pub half_width: f64,
}

impl Interval {
    /// The 99 % confidence interval from the means of independent runs (Student's t).
    ///
    /// # Panics
    ///
    /// With fewer than 10 or more than 31 runs, of which no quantile is known here.
    #[must_use]
    pub fn of(means: &[f64]) -> Interval {
        let n = means.len();
        let mean = crate::measure::mean(means);
        let variance = means.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n as f64 - 1.0);
        Interval { mean, half_width: student_995(n - 1) * (variance / n as f64).sqrt() }
    }

    /// Whether a value lies in it.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (value - self.mean).abs() <= self.half_width
    }
}

/// The 99.5 % quantile of Student's t, for 9 to 30 degrees of freedom.
fn student_995(freedom: usize) -> f64 {
    const TABLE: [f64; 22] = [
        3.250, 3.169, 3.106, 3.055, 3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845, 2.831, 2.819,
        2.807, 2.797, 2.787, 2.779, 2.771, 2.763, 2.756, 2.750,
    ];
    assert!((9..=30).contains(&freedom), "10 to 31 runs, not {}", freedom + 1);
    TABLE[freedom - 9]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M/M/1 is a special case of both formulas.
    #[test]
    fn formulas_agree_where_they_meet() {
        let rho = 0.7;
        assert!((mmc_wait(rho, 1) - rho / (1.0 - rho)).abs() < 1e-12);
        assert!((mg1_wait(rho, 1.0, 2.0) - rho / (1.0 - rho)).abs() < 1e-12);
        // A textbook's example: 2 servers, load 1.5: C = 0.6429.
        assert!((erlang_c(1.5, 2) - 0.642_857).abs() < 1e-5);
    }

    /// The interval holds the mean, and 99 % is not 100 %.
    #[test]
    fn interval_of_known_values() {
        let interval = Interval::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
        assert_eq!(interval.mean, 5.5);
        // s = 3.0277, s/√10 = 0.9574, × 3.250.
        assert!((interval.half_width - 3.1117).abs() < 1e-3, "{}", interval.half_width);
        assert!(interval.contains(8.6) && !interval.contains(8.7));
    }
}
