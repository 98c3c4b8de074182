//! The workloads that all policies are measured on. Each is a function of its size, the number of
//! processors and a seed.
//!
//! Open workloads (jobs arrive whatever happens) are made for a *load*: the part of all processors'
//! time that the jobs need. The server is closed: its connections wait for an answer before they
//! ask again.

mod closed;
mod open;
mod tree;

use clap::ValueEnum;
use serde::Serialize;

use crate::job::Workload;
use crate::time::{NEVER, Time};

/// A workload by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Short jobs, 100 µs on average
    Short,
    /// Long jobs, 10 to 50 ms
    Long,
    /// Jobs that compute for 200 µs and wait for 2 ms, 20 times
    Io,
    /// 70 % short, 20 % I/O-bound, 10 % long ones
    Mixed,
    /// Pareto: most are tiny, few are huge, and these are most of the work
    Heavy,
    /// A tree of jobs, each forking eight and joining them
    Tree,
    /// 100,000 connections, each with a request now and then
    Server,
    /// One job that computes for ever among many that compute little
    Hog,
    /// Jobs that block their thread in system calls
    Blocking,
    /// Jobs that yield all the time
    Yields,
}

/// How much of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// About how many jobs; `None`: as many as is usual for this workload.
    pub jobs: Option<u32>,
    /// For how many processors.
    pub procs: u32,
    /// The part of all processors' time that open workloads need.
    pub load: f64,
    /// Until when it is observed; `None`: until the last job ends. Closed workloads go on until
    /// then.
    pub horizon: Option<Time>,
    /// For all that is random.
    pub seed: u64,
}

impl Size {
    /// The usual number of jobs, load 0.8.
    #[must_use]
    pub fn usual(procs: u32, seed: u64) -> Size {
        Size { jobs: None, procs, load: 0.8, horizon: None, seed }
    }
}

impl Kind {
    /// Its name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Short => "short",
            Kind::Long => "long",
            Kind::Io => "io",
            Kind::Mixed => "mixed",
            Kind::Heavy => "heavy",
            Kind::Tree => "tree",
            Kind::Server => "server",
            Kind::Hog => "hog",
            Kind::Blocking => "blocking",
            Kind::Yields => "yields",
        }
    }

    /// What it is, in a sentence.
    #[must_use]
    pub fn about(self) -> String {
        self.to_possible_value()
            .and_then(|value| value.get_help().map(ToString::to_string))
            .unwrap_or_default()
    }

    /// Makes it.
    #[must_use]
    pub fn make(self, size: Size) -> Workload {
        let jobs = size.jobs;
        let mut workload = match self {
            Kind::Short => open::short(size, jobs.unwrap_or(20_000)),
            Kind::Long => open::long(size, jobs.unwrap_or(2_000)),
            Kind::Io => open::io(size, jobs.unwrap_or(2_000)),
            Kind::Mixed => open::mixed(size, jobs.unwrap_or(20_000)),
            Kind::Heavy => open::heavy(size, jobs.unwrap_or(20_000)),
            Kind::Tree => tree::tree(size, jobs.unwrap_or(20_000)),
            Kind::Server => closed::server(size, jobs.unwrap_or(100_000)),
            Kind::Hog => closed::hog(size, jobs.unwrap_or(100)),
            Kind::Blocking => open::blocking(size, jobs.unwrap_or(2_000)),
            Kind::Yields => closed::yields(size, jobs.unwrap_or(50 * size.procs)),
        };
        workload.horizon = size.horizon.unwrap_or(NEVER);
        debug_assert!({
            workload.check();
            true
        });
        workload
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Class;

    /// Every workload keeps the invariants, has about as many jobs as asked for, and is the same
    /// for the same seed.
    #[test]
    fn workloads_are_sound_and_depend_on_the_seed() {
        for kind in Kind::value_variants() {
            for procs in [1, 64] {
                let size = Size { jobs: Some(600), ..Size::usual(procs, 9) };
                let workload = kind.make(size);
                workload.check();
                assert!((300..=1_200).contains(&workload.jobs.len()), "{kind:?}: {}", workload.jobs.len());
                assert_eq!(workload.bursts, kind.make(size).bursts, "{kind:?}");
                assert!(!kind.about().is_empty());
                let fixed = matches!(kind, Kind::Tree | Kind::Yields);
                assert_eq!(
                    workload.bursts != kind.make(Size { seed: 10, ..size }).bursts,
                    !fixed,
                    "{kind:?}"
                );
            }
        }
    }

    /// Open workloads need the part of the processors' time that was asked for.
    #[test]
    fn open_workloads_have_their_load() {
        for kind in [Kind::Short, Kind::Long, Kind::Io, Kind::Mixed, Kind::Blocking] {
            let workload = kind.make(Size { jobs: Some(20_000), load: 0.6, ..Size::usual(4, 3) });
            let span = workload.arrivals.last().map(|job| workload.jobs[*job as usize].arrival);
            let load = workload.total_service() as f64 / (4.0 * span.unwrap_or(1) as f64);
            assert!((load - 0.6).abs() < 0.03, "{kind:?}: {load}");
        }
    }

    /// The mixed workload has all three classes; a few Pareto jobs are most of the work.
    #[test]
    fn mixtures_are_mixed() {
        let mixed = Kind::Mixed.make(Size::usual(1, 1));
        for class in Class::ALL {
            let part =
                mixed.jobs.iter().filter(|job| job.class == class).count() as f64 / mixed.jobs.len() as f64;
            assert!((0.08..0.75).contains(&part), "{class:?}: {part}");
        }
        let heavy = Kind::Heavy.make(Size::usual(1, 1));
        let mut lengths: Vec<u64> = heavy.bursts.iter().map(|burst| burst.cpu).collect();
        lengths.sort_unstable();
        let top: u64 = lengths[lengths.len() * 95 / 100..].iter().sum();
        assert!(top * 2 > lengths.iter().sum(), "5 % of the jobs are more than half of the work");
    }
}
