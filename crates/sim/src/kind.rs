//! The policies by name, and one way to run any of them.

use clap::ValueEnum;
use serde::Serialize;

use crate::costs::Costs;
use crate::engine;
use crate::gmp::{self, Variant};
use crate::job::Workload;
use crate::measure::RunOutcome;
use crate::policy::{Fcfs, Feedback, Hrrn, Mode, Policy, Rr, Spn, Srt};
use crate::time::{MS, Time};
use crate::trace::Trace;

/// A policy by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyKind {
    /// First come, first served
    Fcfs,
    /// Shortest process next
    Spn,
    /// Highest response ratio next
    Hrrn,
    /// Round robin
    Rr,
    /// Shortest remaining time
    Srt,
    /// Multilevel feedback, with demotion
    Mlfq,
    /// gosched's own: queues per P, stealing, hand-off after 10 ms
    Gmp,
}

/// Everything but the policy and the workload.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Processors; Ps for G-M-P.
    pub procs: u32,
    /// CPUs under the Ps; as many as Ps if `None`.
    pub cpus: Option<u32>,
    /// The slice of round robin, and of feedback's highest level.
    pub quantum: Time,
    /// What things cost.
    pub costs: Costs,
    /// What of G-M-P is different from the library.
    pub variant: Variant,
    /// For what is random in the policy: the order of stealing.
    pub seed: u64,
}

impl RunSettings {
    /// A quantum of 1 ms, the usual costs, nothing different.
    #[must_use]
    pub fn new(procs: u32, seed: u64) -> RunSettings {
        RunSettings {
            procs,
            cpus: None,
            quantum: MS,
            costs: Costs::default(),
            variant: Variant::LIBRARY,
            seed,
        }
    }

    /// With these costs.
    #[must_use]
    pub fn costs(self, costs: Costs) -> RunSettings {
        RunSettings { costs, ..self }
    }

    /// With this quantum.
    #[must_use]
    pub fn quantum(self, quantum: Time) -> RunSettings {
        RunSettings { quantum, ..self }
    }
}

/// What the table says of a policy without running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Character {
    /// As in tables.
    pub name: &'static str,
    /// Whether it interrupts.
    pub mode: Mode,
    /// What it decides by.
    pub decision: &'static str,
}

impl PolicyKind {
    /// The textbook's six.
    pub const TEXTBOOK: [PolicyKind; 6] = [
        PolicyKind::Fcfs,
        PolicyKind::Spn,
        PolicyKind::Hrrn,
        PolicyKind::Rr,
        PolicyKind::Srt,
        PolicyKind::Mlfq,
    ];

    /// What is known of it without running it.
    #[must_use]
    pub fn character(self) -> Character {
        let of = |policy: &dyn Policy| Character {
            name: policy.name(),
            mode: policy.mode(),
            decision: policy.decision(),
        };
        match self {
            PolicyKind::Fcfs => of(&Fcfs::default()),
            PolicyKind::Spn => of(&Spn::default()),
            PolicyKind::Hrrn => of(&Hrrn::default()),
            PolicyKind::Rr => of(&Rr::new(MS)),
            PolicyKind::Srt => of(&Srt::default()),
            PolicyKind::Mlfq => of(&Feedback::new(MS)),
            PolicyKind::Gmp => {
                Character { name: "G-M-P", mode: Mode::Cooperative, decision: "max[w] per P, stealing" }
            }
        }
    }

    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.character().name
    }

    /// What it is, in a few words.
    #[must_use]
    pub fn about(self) -> String {
        self.to_possible_value()
            .and_then(|value| value.get_help().map(ToString::to_string))
            .unwrap_or_default()
    }

    /// Runs a workload under it.
    ///
    /// ```
    /// use gosched_sim::kind::{PolicyKind, RunSettings};
    /// use gosched_sim::trace::NoTrace;
    /// use gosched_sim::workload::{Kind, Size};
    ///
    /// let workload = Kind::Short.make(Size { jobs: Some(100), ..Size::usual(1, 1) });
    /// let outcome = PolicyKind::Srt.run(&workload, &RunSettings::new(1, 1), &mut NoTrace);
    /// assert_eq!(outcome.summary(None).done, 100);
    /// ```
    pub fn run<T: Trace>(self, workload: &Workload, settings: &RunSettings, trace: &mut T) -> RunOutcome {
        let RunSettings { procs, quantum, costs, .. } = settings;
        match self {
            PolicyKind::Fcfs => engine::run(workload, Fcfs::default(), *procs, costs, trace),
            PolicyKind::Spn => engine::run(workload, Spn::default(), *procs, costs, trace),
            PolicyKind::Hrrn => engine::run(workload, Hrrn::default(), *procs, costs, trace),
            PolicyKind::Rr => engine::run(workload, Rr::new(*quantum), *procs, costs, trace),
            PolicyKind::Srt => engine::run(workload, Srt::default(), *procs, costs, trace),
            PolicyKind::Mlfq => engine::run(workload, Feedback::new(*quantum), *procs, costs, trace),
            PolicyKind::Gmp => gmp::run(workload, &settings.gmp(), trace),
        }
    }
}

impl RunSettings {
    fn gmp(&self) -> gmp::GmpConfig {
        gmp::GmpConfig {
            cpus: self.cpus.unwrap_or(self.procs),
            costs: self.costs.clone(),
            variant: self.variant,
            ..gmp::GmpConfig::new(self.procs, self.seed)
        }
    }
}
