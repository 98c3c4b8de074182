//! Simulated time: whole nanoseconds since the beginning. Nothing here looks at a clock.

/// A moment or a span of simulated time, in nanoseconds.
pub type Time = u64;

/// A microsecond.
pub const US: Time = 1_000;
/// A millisecond.
pub const MS: Time = 1_000_000;
/// A second.
pub const SECOND: Time = 1_000_000_000;
/// Later than everything.
pub const NEVER: Time = Time::MAX;

/// A time for people: with a fitting unit and about three digits.
///
/// ```
/// use gosched_sim::time::show;
/// assert_eq!(show(950.0), "950 ns");
/// assert_eq!(show(12_340.0), "12.3 µs");
/// assert_eq!(show(5_600_000.0), "5.60 ms");
/// assert_eq!(show(2_500_000_000.0), "2.50 s");
/// ```
#[must_use]
pub fn show(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => return format!("{ns:.0} ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    match value {
        value if value >= 100.0 => format!("{value:.0} {unit}"),
        value if value >= 10.0 => format!("{value:.1} {unit}"),
        value => format!("{value:.2} {unit}"),
    }
}
