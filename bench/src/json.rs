//! Every single measurement, for machines.

use serde_json::{Map, Value, json};

use crate::compare::{Outcome, Plan};
use crate::machine::Machine;
use crate::peer::Peer;
use crate::programs::Programs;
use crate::rows::Scale;
use crate::table::judge;

/// The whole comparison as one document. Times are in nanoseconds unless a row's title says
/// otherwise.
pub fn document(outcomes: &[Outcome], programs: &Programs, machine: &Machine, plan: Plan) -> Value {
    json!({
        "machine": { "cpu": machine.cpu, "cpus": machine.cpus, "kernel": machine.kernel, "busy_cpus_before": machine.busy },
        "plan": { "runs": plan.runs, "procs": plan.procs, "quick": plan.scale == Scale::Quick },
        "versions": object(programs.versions.iter().map(|(peer, version)| (*peer, json!(version)))),
        "notes": programs.notes,
        "workloads": outcomes.iter().map(|outcome| workload(outcome, plan.scale)).collect::<Vec<_>>(),
    })
}

fn workload(outcome: &Outcome, scale: Scale) -> Value {
    let rows: Vec<Value> = outcome
        .workload
        .rows
        .iter()
        .map(|row| {
            let medians =
                outcome.by_peer.keys().map(|peer| (*peer, json!(outcome.median(*peer, row.metric))));
            json!({
                "title": row.title,
                "metric": row.metric,
                "medians": object(medians),
                "aim": row.aim.to_string(),
                "verdict": judge(outcome, row).to_string(),
            })
        })
        .collect();
    let runs = outcome.by_peer.iter().map(|(peer, runs)| {
        let sizes: Map<_, _> = outcome
            .workload
            .sizes_for(*peer, scale)
            .into_iter()
            .map(|(name, size)| (name.to_owned(), json!(size)))
            .collect();
        (*peer, json!({ "sizes": sizes, "samples": runs.samples, "failure": runs.failure }))
    });
    json!({ "name": outcome.workload.name, "rows": rows, "runs": object(runs) })
}

fn object(entries: impl Iterator<Item = (Peer, Value)>) -> Value {
    Value::Object(entries.map(|(peer, value)| (peer.title().to_owned(), value)).collect())
}
