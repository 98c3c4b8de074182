//! The textbook's table, measured (S52): one row for each policy.
//!
//! All of it is on one processor, where policies differ most: throughput, response, overhead and
//! effects on the mixed workload; starvation by a probe of its own.

use serde::Serialize;

use crate::costs::Costs;
use crate::job::{Class, Workload};
use crate::kind::{PolicyKind, RunSettings};
use crate::time::{MS, SECOND, Time};
use crate::trace::NoTrace;
use crate::workload::{Kind, Size};

/// A row of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Who.
    pub policy: PolicyKind,
    /// Its name.
    pub name: &'static str,
    /// Cooperative or preemptive.
    pub mode: &'static str,
    /// What it decides by.
    pub decision: &'static str,
    /// Jobs per second.
    pub throughput: f64,
    /// Mean response, ns.
    pub response: f64,
    /// Switches per job.
    pub switches: f64,
    /// The part of the used CPU time that goes into scheduling.
    pub overhead: f64,
    /// Mean slowdown of short, long and I/O-bound jobs.
    pub slowdown: [f64; 3],
    /// Jain's index over all slowdowns.
    pub jain: f64,
    /// The worst wait at a stretch, ns.
    pub longest_wait: f64,
    /// Whether a long job beside an endless row of short ones starves.
    pub starves: bool,
}

/// One long job beside short ones that come as fast as one processor can serve them, until the
/// horizon.
#[must_use]
pub fn starvation_probe(horizon: Time) -> Workload {
    let mut workload = Workload::new("starvation probe");
    for i in 0..horizon / MS {
        workload.add_single(i * MS, Class::Short, MS);
    }
    workload.add_single(10 * MS, Class::Long, 20 * MS);
    let mut workload = workload.finish();
    workload.horizon = horizon;
    workload
}

/// Whether a policy lets the probe's long job starve.
#[must_use]
pub fn starves(policy: PolicyKind) -> bool {
    let settings = RunSettings::new(1, 1).costs(Costs::FREE);
    policy.run(&starvation_probe(4 * SECOND), &settings, &mut NoTrace).summary(None).starved > 0
}

/// The row of a policy.
#[must_use]
pub fn row(policy: PolicyKind, costs: &Costs, seed: u64) -> Row {
    let settings = RunSettings::new(1, seed).costs(costs.clone());
    let outcome = policy.run(&Kind::Mixed.make(Size::usual(1, seed)), &settings, &mut NoTrace);
    let all = outcome.summary(None);
    let character = policy.character();
    let switches = outcome.switches.voluntary + outcome.switches.forced;
    Row {
        policy,
        name: character.name,
        mode: character.mode.name(),
        decision: character.decision,
        throughput: all.throughput,
        response: all.response.mean,
        switches: switches as f64 / all.jobs.max(1) as f64,
        overhead: outcome.overhead_share(),
        slowdown: Class::ALL.map(|class| outcome.summary(Some(class)).slowdown.mean),
        jain: all.jain,
        longest_wait: all.longest_wait,
        starves: starves(policy),
    }
}
