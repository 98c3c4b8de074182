//! Fork and join: a job creates eight, waits for all of them, and each of them does the same, down
//! to the leaves.

use super::Size;
use crate::job::{Burst, Class, JobId, Spec, Then, Workload};
use crate::time::{NEVER, Time, US};

/// Children of each node.
const FAN_OUT: u32 = 8;
/// What a leaf computes.
const LEAF: Time = 20 * US;
/// What a node computes before and after its children.
const NODE: Time = 2 * US;

/// A tree of about `jobs` nodes, filled from the root: the children of node i are 8i+1 to 8i+8.
pub(super) fn tree(_size: Size, jobs: u32) -> Workload {
    let mut workload = Workload::new("tree");
    let inner = jobs.saturating_sub(2) / FAN_OUT + 1;
    let nodes = inner * FAN_OUT + 1;
    for id in 0..nodes {
        let parent = if id == 0 { crate::job::NO_JOB } else { (id - 1) / FAN_OUT };
        let arrival = if id == 0 { 0 } else { NEVER };
        let class = if id < inner { Class::Long } else { Class::Short };
        workload.jobs.push(Spec { arrival, class, first: workload.bursts.len() as u32, parent });
        if id < inner {
            let first: JobId = id * FAN_OUT + 1;
            workload.bursts.extend([
                Burst { cpu: NODE, then: Then::Fork { first, count: FAN_OUT } },
                Burst { cpu: NODE, then: Then::Join },
                Burst { cpu: NODE, then: Then::Exit },
            ]);
        } else {
            workload.bursts.push(Burst { cpu: LEAF, then: Then::Exit });
        }
    }
    workload.finish()
}
