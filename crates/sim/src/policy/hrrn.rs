//! Highest response ratio next: max\[(w+s)/s\]. Short ones come first, but whoever has waited long
//! enough comes before them.
//!
//! (w+s)/s is 1 + w/s, and w/s of two jobs is compared exactly, by multiplying crosswise. The
//! ratios change with time, each at a pace of its own, so the queue is searched at each pick.

use super::{Mode, Policy, Ready, Visit};
use crate::time::Time;

/// Highest response ratio next.
#[derive(Clone, Debug, Default)]
pub struct Hrrn(Vec<Visit>);

/// Whether the response ratio of `a` is above that of `b`.
fn is_above(now: Time, a: &Visit, b: &Visit) -> bool {
    let waited = |visit: &Visit| u128::from(now - visit.since);
    waited(a) * u128::from(b.service.max(1)) > waited(b) * u128::from(a.service.max(1))
}

impl Policy for Hrrn {
    fn name(&self) -> &'static str {
        "HRRN"
    }

    fn mode(&self) -> Mode {
        Mode::Cooperative
    }

    fn decision(&self) -> &'static str {
        "max[(w+s)/s]"
    }

    fn ready(&mut self, visit: Visit, _why: Ready) {
        self.0.push(visit);
    }

    /// Of several with the same ratio, the one that came first: `remove` keeps the order.
    fn pick(&mut self, now: Time) -> Option<Visit> {
        let mut best = 0;
        for index in 1..self.0.len() {
            if is_above(now, &self.0[index], &self.0[best]) {
                best = index;
            }
        }
        (!self.0.is_empty()).then(|| self.0.remove(best))
    }
}
