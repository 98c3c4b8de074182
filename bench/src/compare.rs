//! All measurements, interleaved. In each round every runtime runs once, and each round begins with
//! the next runtime: so a machine that gets slower or busier meanwhile does so for all of them.

use std::collections::BTreeMap;

use crate::peer::Peer;
use crate::process::{Figures, Program};
use crate::programs::Programs;
use crate::progress::Progress;
use crate::rows::{Scale, Workload};
use crate::stats;
use crate::wrk::Wrk;

/// What one runtime did with one workload.
#[derive(Debug, Default)]
pub struct Runs {
    /// What each run measured.
    pub samples: Vec<Figures>,
    /// Why there were no more.
    pub failure: Option<String>,
}

/// What all did with one workload.
#[derive(Debug)]
pub struct Outcome {
    /// The workload.
    pub workload: &'static Workload,
    /// By runtime; those that have no such workload are not there.
    pub by_peer: BTreeMap<Peer, Runs>,
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Runs of each workload on each runtime.
    pub runs: u32,
    /// Processors for each.
    pub procs: u32,
    /// Sizes.
    pub scale: Scale,
}

impl Runs {
    /// Everything that was measured under this name.
    pub fn values(&self, metric: &str) -> Vec<f64> {
        self.samples.iter().filter_map(|figures| figures.get(metric).copied()).collect()
    }
}

impl Outcome {
    /// The median of a runtime's runs; none if one of them failed.
    pub fn median(&self, peer: Peer, metric: &str) -> Option<f64> {
        let runs = self.by_peer.get(&peer).filter(|runs| runs.failure.is_none())?;
        stats::median(&runs.values(metric))
    }
}

/// Runs the workloads on those programs that have them.
pub fn compare(workloads: &[&'static Workload], programs: &Programs, plan: Plan) -> Vec<Outcome> {
    let known: BTreeMap<Peer, Vec<String>> =
        programs.found.iter().map(|(peer, program)| (*peer, program.list().unwrap_or_default())).collect();
    let knows = |peer: &Peer, workload: &Workload| known[peer].iter().any(|name| name == workload.name);
    let turns = |workload: &Workload| -> Vec<(Peer, &Program)> {
        programs
            .found
            .iter()
            .filter(|(peer, _)| knows(peer, workload) && programs.can_run(workload))
            .map(|(peer, program)| (*peer, program))
            .collect()
    };
    let total: usize = workloads.iter().map(|workload| turns(workload).len() * plan.runs as usize).sum();
    let mut progress = Progress::new(total);
    let outcomes = workloads
        .iter()
        .map(|workload| {
            let turns = turns(workload);
            let mut by_peer: BTreeMap<Peer, Runs> =
                turns.iter().map(|(peer, _)| (*peer, Runs::default())).collect();
            for round in 0..plan.runs {
                for turn in 0..turns.len() {
                    let (peer, program) = turns[(turn + round as usize) % turns.len()];
                    progress.step(workload.name, round + 1, plan.runs, peer);
                    let runs = by_peer.get_mut(&peer).expect("every runtime that takes turns is there");
                    measure_once(workload, peer, program, programs.wrk.as_ref(), plan, runs);
                }
            }
            Outcome { workload, by_peer }
        })
        .collect();
    progress.finish();
    outcomes
}

/// One measurement. A runtime that has failed at this workload is skipped.
fn measure_once(
    workload: &Workload,
    peer: Peer,
    program: &Program,
    wrk: Option<&Wrk>,
    plan: Plan,
    runs: &mut Runs,
) {
    if runs.failure.is_some() {
        return;
    }
    let sizes = workload.sizes_for(peer, plan.scale);
    let measured = match wrk.filter(|_| workload.is_served()) {
        Some(wrk) => program.measure_served(workload.name, plan.procs, &sizes, wrk),
        None => program.measure(workload.name, plan.procs, &sizes),
    };
    match measured {
        Ok(figures) => runs.samples.push(figures),
        Err(error) => runs.failure = Some(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::WORKLOADS;

    #[test]
    fn a_runtime_that_failed_once_has_no_median() {
        let samples = vec![Figures::from([("ns".to_owned(), 5.0)])];
        let outcome = |failure| Outcome {
            workload: &WORKLOADS[0],
            by_peer: BTreeMap::from([(Peer::Go, Runs { samples: samples.clone(), failure })]),
        };
        assert_eq!(outcome(None).median(Peer::Go, "ns"), Some(5.0));
        assert_eq!(outcome(Some("it hung".into())).median(Peer::Go, "ns"), None);
    }
}
