//! CSV and JSON.

use serde::Serialize;

use crate::costs::Costs;
use crate::job::Class;
use crate::measure::Summary;
use crate::scale::Point;
use crate::study::RunFigures;
use crate::table::Row;

/// All figures of a call.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// What things cost, ns.
    pub costs: Costs,
    /// The textbook's table.
    pub table: Vec<Row>,
    /// The runs.
    pub runs: Vec<RunFigures>,
    /// The scaling study.
    pub scale: Vec<Point>,
}

/// All of it.
///
/// # Errors
///
/// If a figure can't be written as JSON: a bug.
pub fn json(report: &Report) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(report).map(|text| text + "\n")
}

const COLUMNS: [&str; 27] = [
    "policy",
    "workload",
    "procs",
    "class",
    "jobs",
    "done",
    "throughput_per_s",
    "response_mean_ns",
    "response_p50_ns",
    "response_p99_ns",
    "response_max_ns",
    "waiting_mean_ns",
    "waiting_p50_ns",
    "waiting_p99_ns",
    "waiting_max_ns",
    "latency_p50_ns",
    "latency_p99_ns",
    "slowdown_mean",
    "slowdown_p99",
    "slowdown_max",
    "jain",
    "longest_wait_ns",
    "starved",
    "switches_voluntary",
    "switches_forced",
    "overhead_share",
    "utilisation",
];

/// The runs: a line for all jobs of each, and for each class that there is.
#[must_use]
pub fn csv(runs: &[RunFigures]) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for run in runs {
        text += &csv_line(run, "all", &run.all);
        for class in Class::ALL {
            let summary = &run.by_class[class as usize];
            if summary.jobs > 0 {
                text += &csv_line(run, class.name(), summary);
            }
        }
    }
    text
}

fn csv_line(run: &RunFigures, class: &str, of: &Summary) -> String {
    let Summary { response, waiting, slowdown, .. } = of;
    let mut cells =
        vec![run.policy.name().into(), run.workload.name().into(), run.procs.to_string(), class.into()];
    cells.extend([of.jobs.to_string(), of.done.to_string(), format!("{:.3}", of.throughput)]);
    cells.extend([response, waiting].iter().flat_map(|spread| {
        [spread.mean, spread.p50, spread.p99, spread.max].map(|value| format!("{value:.0}"))
    }));
    cells.extend([of.latency_p50, of.latency_p99].map(|value| format!("{value:.0}")));
    cells.extend([slowdown.mean, slowdown.p99, slowdown.max, of.jain].map(|value| format!("{value:.4}")));
    cells.extend([format!("{:.0}", of.longest_wait), of.starved.to_string()]);
    cells.extend([run.switches.voluntary.to_string(), run.switches.forced.to_string()]);
    cells.extend([run.overhead, run.utilisation].map(|value| format!("{value:.6}")));
    debug_assert_eq!(cells.len(), COLUMNS.len());
    cells.join(",") + "\n"
}
