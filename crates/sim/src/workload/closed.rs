//! Workloads of a fixed number of jobs that compute and wait in turn.

use super::Size;
use crate::job::{Burst, Class, Then, Workload};
use crate::random::RandomStream;
use crate::time::{MS, SECOND, Time, US};

/// Requests of each connection, if it is observed to its end.
const REQUESTS: u32 = 4;
/// CPU time of a request, on average.
const REQUEST: Time = 10 * US;

/// Connections that each send a request, wait for the answer, and think. They think as long as it
/// takes for the load.
pub(super) fn server(size: Size, connections: u32) -> Workload {
    let mut random = RandomStream::new(size.seed);
    let think = (f64::from(connections) * REQUEST as f64 / (size.load * f64::from(size.procs))) as Time;
    // Enough for the time of the observation: twice what is needed on average.
    let requests = size.horizon.map_or(REQUESTS, |horizon| (2 * horizon / think.max(1)) as u32 + 8);
    let mut workload = Workload::new("server");
    workload.from_network = true;
    let mut bursts = Vec::new();
    for _ in 0..connections {
        bursts.clear();
        for request in 1..=requests {
            let then = if request == requests { Then::Exit } else { Then::Io(random.exponential(think)) };
            bursts.push(Burst { cpu: random.exponential(REQUEST), then });
        }
        let arrival = random.below(think.max(1));
        workload.add(arrival, Class::Io, &bursts);
    }
    workload.finish()
}

/// How long the hog computes: for the others that is for ever.
const HOG: Time = 2 * SECOND;

/// `jobs` jobs that compute for 50 µs and wait, and one that only computes.
pub(super) fn hog(size: Size, jobs: u32) -> Workload {
    let mut random = RandomStream::new(size.seed);
    let cpu = 50 * US;
    let wait = (f64::from(jobs) * cpu as f64 / (0.4 * f64::from(size.procs))) as Time;
    let mut workload = Workload::new("hog");
    workload.add_single(5 * MS, Class::Long, HOG);
    let mut bursts = Vec::new();
    for _ in 0..jobs {
        bursts.clear();
        let mut span = 0;
        while span < HOG / 4 {
            let burst = Burst { cpu: random.exponential(cpu), then: Then::Io(random.exponential(wait)) };
            span += cpu + wait;
            bursts.push(burst);
        }
        bursts.push(Burst { cpu, then: Then::Exit });
        workload.add(random.below(wait.max(1)), Class::Io, &bursts);
    }
    workload.finish()
}

/// Jobs that yield 200 times, or until the end of the observation, after 2 µs each.
pub(super) fn yields(size: Size, jobs: u32) -> Workload {
    let each = f64::from(jobs) / f64::from(size.procs) * 2.0 * US as f64;
    let times = size.horizon.map_or(200, |horizon| (1.2 * horizon as f64 / each) as usize + 1);

    let mut workload = Workload::new("yields");
    let mut bursts = vec![Burst { cpu: 2 * US, then: Then::Yield }; times];
    bursts.push(Burst { cpu: 2 * US, then: Then::Exit });
    for _ in 0..jobs {
        workload.add(0, Class::Short, &bursts);
    }
    workload.finish()
}
