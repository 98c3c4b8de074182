//! Policies × workloads × numbers of processors: runs them all, one line of figures each.

use serde::Serialize;

use crate::costs::Costs;
use crate::job::Class;
use crate::kind::{PolicyKind, RunSettings};
use crate::measure::{Summary, Switches};
use crate::scale::Change;
use crate::time::Time;
use crate::trace::NoTrace;
use crate::workload::{Kind, Size};

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// These policies,
    pub policies: Vec<PolicyKind>,
    /// on these workloads,
    pub workloads: Vec<Kind>,
    /// with so many processors.
    pub procs: Vec<u32>,
    /// About so many jobs; `None`: as is usual.
    pub jobs: Option<u32>,
    /// Load of open workloads.
    pub load: f64,
    /// The slice of round robin and feedback.
    pub quantum: Time,
    /// What of G-M-P is different from the library.
    pub change: Change,
    /// CPUs under G-M-P's Ps; as many as Ps if `None`.
    pub cpus: Option<u32>,
    /// What things cost.
    pub costs: Costs,
    /// For all that is random.
    pub seed: u64,
}

/// The figures of one run.
#[derive(Clone, Debug, Serialize)]
pub struct RunFigures {
    /// The policy.
    pub policy: PolicyKind,
    /// The workload.
    pub workload: Kind,
    /// Processors.
    pub procs: u32,
    /// Of all jobs.
    pub all: Summary,
    /// Of short, long and I/O-bound ones.
    pub by_class: [Summary; 3],
    /// Slowdown by job length: lower end of the decade in ns, jobs, mean.
    pub by_length: Vec<(Time, usize, f64)>,
    /// Part of all processors' time that went into jobs.
    pub utilisation: f64,
    /// Part of the used time that went into scheduling.
    pub overhead: f64,
    /// Switches.
    pub switches: Switches,
    /// Until the last job ended, ns.
    pub end: Time,
    /// Events simulated.
    pub events: u64,
    /// What only G-M-P counts.
    pub gmp: Option<crate::gmp::Counters>,
}

impl Plan {
    /// How many runs it is.
    #[must_use]
    pub fn len(&self) -> usize {
        self.policies.len() * self.workloads.len() * self.procs.len()
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Runs it all; `step` is told before each run what it is.
    pub fn run(&self, mut step: impl FnMut(&str)) -> Vec<RunFigures> {
        let mut lines = Vec::with_capacity(self.len());
        for &procs in &self.procs {
            for &kind in &self.workloads {
                let size = Size { jobs: self.jobs, load: self.load, ..Size::usual(procs, self.seed) };
                let workload = kind.make(size);
                for &policy in &self.policies {
                    step(&format!("{} on {}, {procs} processors", policy.name(), kind.name()));
                    let settings = RunSettings {
                        quantum: self.quantum,
                        variant: self.change.variant(procs),
                        cpus: self.cpus,
                        costs: self.costs.clone(),
                        ..RunSettings::new(procs, self.seed)
                    };
                    let outcome = policy.run(&workload, &settings, &mut NoTrace);
                    lines.push(RunFigures {
                        policy,
                        workload: kind,
                        procs,
                        all: outcome.summary(None),
                        by_class: Class::ALL.map(|class| outcome.summary(Some(class))),
                        by_length: outcome.slowdown_by_length(),
                        utilisation: outcome.utilisation(),
                        overhead: outcome.overhead_share(),
                        switches: outcome.switches,
                        end: outcome.end,
                        events: outcome.events,
                        gmp: outcome.gmp,
                    });
                }
            }
        }
        lines
    }
}
