//! Workloads whose jobs arrive by themselves, at random (Poisson), for a given load.

use super::Size;
use crate::job::{Burst, Class, Then, Workload};
use crate::random::RandomStream;
use crate::time::{MS, SECOND, Time, US};

/// The next job: its class and its bursts.
type Draw<'d> = dyn FnMut(&mut RandomStream, &mut Vec<Burst>) -> Class + 'd;

/// `jobs` jobs, made by `draw`, whose CPU time is `mean` on average.
fn poisson(name: &'static str, size: Size, jobs: u32, mean: Time, draw: &mut Draw<'_>) -> Workload {
    let root = RandomStream::new(size.seed);
    let (mut gaps, mut shapes) = (root.fork(1), root.fork(2));
    let gap = (mean as f64 / (size.load * f64::from(size.procs))).round() as Time;
    let mut workload = Workload::new(name);
    let mut bursts = Vec::new();
    let mut at = 0;
    for _ in 0..jobs {
        at += gaps.exponential(gap);
        bursts.clear();
        let class = draw(&mut shapes, &mut bursts);
        workload.add(at, class, &bursts);
    }
    workload.finish()
}

fn single(bursts: &mut Vec<Burst>, cpu: Time) {
    bursts.push(Burst { cpu, then: Then::Exit });
}

/// `rounds` times a CPU burst and a wait; the last burst ends the job.
fn rounds(
    random: &mut RandomStream,
    bursts: &mut Vec<Burst>,
    rounds: u32,
    cpu: Time,
    wait: &dyn Fn(&mut RandomStream) -> Then,
) {
    for round in 1..=rounds {
        let then = if round == rounds { Then::Exit } else { wait(random) };
        bursts.push(Burst { cpu: random.exponential(cpu), then });
    }
}

pub(super) fn short(size: Size, jobs: u32) -> Workload {
    poisson("short", size, jobs, 100 * US, &mut |random, bursts| {
        single(bursts, 20 * US + random.exponential(80 * US));
        Class::Short
    })
}

pub(super) fn long(size: Size, jobs: u32) -> Workload {
    poisson("long", size, jobs, 30 * MS, &mut |random, bursts| {
        single(bursts, random.between(10 * MS, 50 * MS));
        Class::Long
    })
}

fn network(random: &mut RandomStream) -> Then {
    Then::Io(random.exponential(2 * MS))
}

pub(super) fn io(size: Size, jobs: u32) -> Workload {
    poisson("io", size, jobs, 20 * 200 * US, &mut |random, bursts| {
        rounds(random, bursts, 20, 200 * US, &network);
        Class::Io
    })
}

pub(super) fn mixed(size: Size, jobs: u32) -> Workload {
    let mean = (7 * 200 * US + 2 * 10 * 200 * US + 20 * MS) / 10;
    poisson("mixed", size, jobs, mean, &mut |random, bursts| match random.below(10) {
        0..7 => {
            single(bursts, random.between(50 * US, 350 * US));
            Class::Short
        }
        7..9 => {
            rounds(random, bursts, 10, 200 * US, &network);
            Class::Io
        }
        _ => {
            single(bursts, random.between(10 * MS, 30 * MS));
            Class::Long
        }
    })
}

/// Index of the tail: without the cut even the mean would nearly be infinite.
const ALPHA: f64 = 1.1;

pub(super) fn heavy(size: Size, jobs: u32) -> Workload {
    let (least, most) = (100 * US, SECOND);
    // The mean of a Pareto distribution that is cut off at `most`.
    let (l, h) = (least as f64, most as f64);
    let mean = (ALPHA * l - l.powf(ALPHA) * h.powf(1.0 - ALPHA)) / (ALPHA - 1.0);
    poisson("heavy", size, jobs, mean as Time, &mut |random, bursts| {
        let cpu = random.pareto(least, ALPHA, most);
        single(bursts, cpu);
        if cpu < MS { Class::Short } else { Class::Long }
    })
}

pub(super) fn blocking(size: Size, jobs: u32) -> Workload {
    poisson("blocking", size, jobs, 5 * 300 * US, &mut |random, bursts| {
        rounds(random, bursts, 5, 300 * US, &|random| Then::Block(random.exponential(3 * MS)));
        Class::Io
    })
}
