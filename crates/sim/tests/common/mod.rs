//! What several tests need.

use std::cell::Cell;

use gosched_sim::costs::Costs;
use gosched_sim::engine;
use gosched_sim::job::Workload;
use gosched_sim::kind::{PolicyKind, RunSettings};
use gosched_sim::measure::RunOutcome;
use gosched_sim::policy::{Mode, Policy, Ready, Visit};
use gosched_sim::time::Time;
use gosched_sim::trace::NoTrace;
use gosched_sim::workload::{Kind, Size};

/// All of them.
pub const POLICIES: [PolicyKind; 7] = [
    PolicyKind::Fcfs,
    PolicyKind::Spn,
    PolicyKind::Hrrn,
    PolicyKind::Rr,
    PolicyKind::Srt,
    PolicyKind::Mlfq,
    PolicyKind::Gmp,
];

/// A run of the usual size.
pub fn run(policy: PolicyKind, kind: Kind, procs: u32, seed: u64) -> RunOutcome {
    policy.run(&kind.make(Size::usual(procs, seed)), &RunSettings::new(procs, seed), &mut NoTrace)
}

/// The longest wait of a long job beside a row of short ones that needs all of the processor's
/// time, and whether it starved.
pub fn probe(policy: PolicyKind, horizon: Time) -> (Time, usize) {
    let workload = gosched_sim::table::starvation_probe(horizon);
    let outcome = policy.run(&workload, &RunSettings::new(1, 1).costs(Costs::FREE), &mut NoTrace);
    let long = outcome.jobs.iter().find(|job| job.class == gosched_sim::job::Class::Long);
    (long.map_or(0, |job| job.longest_wait), outcome.summary(None).starved)
}

/// A policy whose picks are compared with a formula.
pub struct Checked<'c, P, F> {
    inner: P,
    ready: Vec<Visit>,
    formula: F,
    picks: &'c Cell<u64>,
}

impl<P: Policy, F: Fn(Time, Time, Time) -> f64> Checked<'_, P, F> {
    /// Runs the workload on two processors; panics when a pick is not the best by
    /// `formula(w, s, e)`, the least of all. How many picks had a choice.
    pub fn run(workload: &Workload, inner: P, costs: &Costs, formula: F) -> u64 {
        let picks = Cell::new(0);
        let checked = Checked { inner, ready: Vec::new(), formula, picks: &picks };
        engine::run(workload, checked, 2, costs, &mut NoTrace);
        picks.get()
    }
}

impl<P: Policy, F: Fn(Time, Time, Time) -> f64> Policy for Checked<'_, P, F> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn mode(&self) -> Mode {
        self.inner.mode()
    }

    fn decision(&self) -> &'static str {
        self.inner.decision()
    }

    fn ready(&mut self, visit: Visit, why: Ready) {
        self.ready.push(visit);
        self.inner.ready(visit, why);
    }

    fn pick(&mut self, now: Time) -> Option<Visit> {
        let picked = self.inner.pick(now);
        let value = |visit: &Visit| (self.formula)(now - visit.since, visit.service, visit.executed);
        let least = self.ready.iter().map(value).fold(f64::INFINITY, f64::min);
        assert_eq!(picked.is_some(), !self.ready.is_empty());
        let picked = picked?;
        assert!(value(&picked) <= least + 1e-9 * least.abs(), "{picked:?} at {now}, the best is {least}");
        let place = self.ready.iter().position(|visit| *visit == picked);
        self.ready.swap_remove(place.expect("whoever is picked was ready"));
        self.picks.set(self.picks.get() + u64::from(!self.ready.is_empty()));
        Some(picked)
    }

    fn slice(&self, visit: &Visit) -> Time {
        self.inner.slice(visit)
    }

    fn preempts(&self, fresh: &Visit, running: &Visit) -> bool {
        self.inner.preempts(fresh, running)
    }
}
