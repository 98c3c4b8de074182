//! How fast the simulator itself is: events per second of real time.
//!
//! An event is whatever takes simulated time: an arrival, the end of a burst or slice, of a wait,
//! of a thief's round. So G-M-P has more of them for the same jobs than a policy with one queue.

use std::time::{Duration, Instant};

use crate::kind::{PolicyKind, RunSettings};
use crate::trace::NoTrace;
use crate::workload::{Kind, Size};

/// What a measure came to.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    /// Who.
    pub policy: PolicyKind,
    /// Events simulated.
    pub events: u64,
    /// In this time, without the making of the workload.
    pub took: Duration,
}

impl Speed {
    /// Events per second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.events as f64 / self.took.as_secs_f64().max(1e-9)
    }
}

/// Runs the mixed workload with `jobs` jobs on `procs` processors; the best of three.
#[must_use]
pub fn measure(policy: PolicyKind, jobs: u32, procs: u32, seed: u64) -> Speed {
    let workload = Kind::Mixed.make(Size { jobs: Some(jobs), ..Size::usual(procs, seed) });
    let settings = RunSettings::new(procs, seed);
    let runs = (0..3).map(|_| {
        let began = Instant::now();
        let outcome = policy.run(&workload, &settings, &mut NoTrace);
        Speed { policy, events: outcome.events, took: began.elapsed() }
    });
    let best = runs.min_by_key(|speed| speed.took);
    best.unwrap_or(Speed { policy, events: 0, took: Duration::ZERO })
}
