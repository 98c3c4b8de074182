//! The aim of a row (D8, `docs/design.md`), and whether it was met.

use std::fmt;

use crate::peer::Peer;

/// What gosched's figure is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aim {
    /// No more than so many times another runtime's figure.
    AtMost(f64, Peer),
    /// No less than so many times another runtime's figure: for rates.
    AtLeast(f64, Peer),
    /// No more than this, whatever the others do.
    Within(f64),
}

/// How an aim was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// It was.
    Met,
    /// It was not.
    Missed,
    /// One of the two figures is missing.
    Unknown,
}

impl Aim {
    /// Compares `ours` with the figure of the runtime that the aim names.
    pub fn judge(self, ours: Option<f64>, figure: impl Fn(Peer) -> Option<f64>) -> Verdict {
        let (bound, holds): (_, fn(f64, f64) -> bool) = match self {
            Aim::AtMost(factor, peer) => {
                (figure(peer).map(|theirs| factor * theirs), |ours, bound| ours <= bound)
            }
            Aim::AtLeast(factor, peer) => {
                (figure(peer).map(|theirs| factor * theirs), |ours, bound| ours >= bound)
            }
            Aim::Within(bound) => (Some(bound), |ours, bound| ours <= bound),
        };
        match (ours, bound) {
            (Some(ours), Some(bound)) if holds(ours, bound) => Verdict::Met,
            (Some(_), Some(_)) => Verdict::Missed,
            _ => Verdict::Unknown,
        }
    }
}

impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Aim::AtMost(factor, peer) => write!(f, "≤ {factor} × {}", peer.title()),
            Aim::AtLeast(factor, peer) => write!(f, "≥ {factor} × {}", peer.title()),
            Aim::Within(bound) => write!(f, "≤ {bound}"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Met => "met",
            Verdict::Missed => "missed",
            Verdict::Unknown => "unknown",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_to_the_named_runtime() {
        let figure = |peer| (peer == Peer::Tokio).then_some(100.0);
        assert_eq!(Aim::AtMost(0.6, Peer::Tokio).judge(Some(60.0), figure), Verdict::Met);
        assert_eq!(Aim::AtMost(0.6, Peer::Tokio).judge(Some(60.1), figure), Verdict::Missed);
        assert_eq!(Aim::AtLeast(1.0, Peer::Tokio).judge(Some(99.0), figure), Verdict::Missed);
        assert_eq!(Aim::AtLeast(1.0, Peer::Tokio).judge(Some(100.0), figure), Verdict::Met);
        assert_eq!(Aim::Within(5.0).judge(Some(4.0), figure), Verdict::Met);
    }

    #[test]
    fn a_missing_figure_decides_nothing() {
        assert_eq!(Aim::AtMost(0.3, Peer::Go).judge(Some(1.0), |_| None), Verdict::Unknown);
        assert_eq!(Aim::AtMost(0.3, Peer::Go).judge(None, |_| Some(1.0)), Verdict::Unknown);
    }

    #[test]
    fn an_aim_reads_like_the_design() {
        assert_eq!(Aim::AtMost(0.3, Peer::Go).to_string(), "≤ 0.3 × Go");
    }
}
