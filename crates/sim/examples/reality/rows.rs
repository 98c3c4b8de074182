//! The rows that are compared: three of `bench/`, each on the real scheduler and as a workload of
//! the simulator.
//!
//! | row | real | leans on |
//! |---|---|---|
//! | `yield` | 200 goroutines that do nothing but yield | the global queue and its locks |
//! | `pingpong` | two that park and unpark each other | `runnext`, trust |
//! | `fib` | parallel fib: a spawn and a join per call | spawning, stealing, joining |
//!
//! `p50`: of a goroutine's round (yield), of ten round trips (ping-pong), of a subtree of 376
//! goroutines, from its spawn to its end (fib).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use gosched::thread;
use gosched_sim::costs::Costs;
use gosched_sim::job::{Burst, Class, JobId, NO_JOB, Spec, Then, Workload};
use gosched_sim::kind::{PolicyKind, RunSettings};
use gosched_sim::measure::RunOutcome;
use gosched_sim::time::{NEVER, Time};
use gosched_sim::trace::{Strip, Trace};

use crate::{cpu_time, median, on_procs};

/// What a row comes to, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Time per operation.
    pub wall: f64,
    /// CPU time of the whole process per operation.
    pub cpu: f64,
    /// The median.
    pub p50: f64,
}

/// A row: on the real scheduler with so many Ps, in this process; and in the simulator.
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// With so many Ps.
    pub real: fn(usize) -> Figure,
    /// With so many Ps and these costs.
    pub simulated: fn(u32, &Costs) -> Figure,
}

/// All of them.
pub const ROWS: [Row; 3] = [
    Row { name: "yield", real: yields, simulated: simulated_yields },
    Row { name: "pingpong", real: ping_pong, simulated: simulated_ping_pong },
    Row { name: "fib", real: fib, simulated: simulated_fib },
];

/// When a row began.
struct Start {
    wall: Instant,
    cpu: f64,
}

impl Start {
    fn now() -> Start {
        Start { cpu: cpu_time(), wall: Instant::now() }
    }

    /// Time and CPU time of each of so many operations.
    fn per_operation(&self, operations: f64) -> (f64, f64) {
        let wall = self.wall.elapsed().as_nanos() as f64;
        (wall / operations, (cpu_time() - self.cpu) / operations)
    }
}

const TASKS: u32 = 200;
const YIELDS: u32 = 5_000;
const ROUND_TRIPS: u32 = 200_000;
/// Round trips from one look at the clock to the next.
const STRIDE: u32 = 10;
/// Deep enough for stealing. Over and over, so that most stacks have been used before, as in a run
/// of seconds.
const DEPTH: u32 = 20;
const TIMES: u32 = 20;
/// The depth of the subtrees whose time is taken.
const TIMED_DEPTH: u32 = 13;

fn yields(procs: usize) -> Figure {
    on_procs(procs, || {
        let start = Start::now();
        let timed = gosched::go(|| {
            let mut rounds = Vec::with_capacity(YIELDS as usize);
            let mut before = Instant::now();
            for _ in 0..YIELDS {
                thread::yield_now();
                let now = Instant::now();
                rounds.push((now - before).as_nanos() as f64);
                before = now;
            }
            rounds
        });
        let others: Vec<_> =
            (1..TASKS).map(|_| gosched::go(|| (0..YIELDS).for_each(|_| thread::yield_now()))).collect();
        others.into_iter().for_each(|handle| handle.join().expect("no goroutine panics"));
        let rounds = timed.join().expect("no goroutine panics");
        let (wall, cpu) = start.per_operation(f64::from(TASKS * YIELDS));
        Figure { wall, cpu, p50: median(rounds) }
    })
}

fn ping_pong(procs: usize) -> Figure {
    fn wait_for(turn: &AtomicBool, mine: bool) {
        // ORDERING: Acquire pairs with the other's Release, as in `bench/`.
        while turn.load(Ordering::Acquire) != mine {
            thread::park();
        }
    }
    on_procs(procs, || {
        let (turn, main) = (Arc::new(AtomicBool::new(false)), thread::current());
        let other = gosched::go({
            let turn = Arc::clone(&turn);
            move || {
                for _ in 0..ROUND_TRIPS {
                    wait_for(&turn, true);
                    // ORDERING: Release pairs with `wait_for`.
                    turn.store(false, Ordering::Release);
                    main.unpark();
                }
            }
        });
        let peer = other.thread().clone();
        let mut times = Vec::new();
        let start = Start::now();
        let mut before = start.wall;
        for trip in 1..=ROUND_TRIPS {
            // ORDERING: Release pairs with `wait_for`.
            turn.store(true, Ordering::Release);
            peer.unpark();
            wait_for(&turn, false);
            if trip % STRIDE == 0 {
                let now = Instant::now();
                times.push((now - before).as_nanos() as f64);
                before = now;
            }
        }
        let (wall, cpu) = start.per_operation(f64::from(ROUND_TRIPS));
        other.join().expect("no goroutine panics");
        Figure { wall, cpu, p50: median(times) }
    })
}

fn fib(procs: usize) -> Figure {
    static TOOK: Mutex<Vec<f64>> = Mutex::new(Vec::new());
    fn fib(n: u32) -> u64 {
        if n < 2 {
            return u64::from(n);
        }
        let left = if n - 1 == TIMED_DEPTH {
            let spawned = Instant::now();
            gosched::go(move || {
                let result = fib(n - 1);
                let took = spawned.elapsed().as_nanos() as f64;
                TOOK.lock().expect("nobody panics").push(took);
                result
            })
        } else {
            gosched::go(move || fib(n - 1))
        };
        let right = fib(n - 2);
        left.join().expect("no goroutine panics") + right
    }
    on_procs(procs, || {
        let start = Start::now();
        for _ in 0..TIMES {
            assert_eq!(fib(DEPTH), spawns(DEPTH - 1) + 1);
        }
        let (wall, cpu) = start.per_operation(all_spawns());
        Figure { wall, cpu, p50: median(std::mem::take(&mut TOOK.lock().expect("nobody panics"))) }
    })
}

/// The goroutines that parallel fib creates: fib(n + 1) - 1.
fn spawns(n: u32) -> u64 {
    (0..n).fold((0u64, 1), |(a, b), _| (b, a + b)).1 - 1
}

fn all_spawns() -> f64 {
    (u64::from(TIMES) * spawns(DEPTH)) as f64
}

/// When the bursts of one job ended.
struct Ends(JobId, Vec<Time>);

impl Trace for Ends {
    fn ran(&mut self, strip: Strip) {
        if strip.job == self.0 {
            self.1.push(strip.to);
        }
    }
}

impl Ends {
    /// The median time from one end to the one `stride` later.
    fn p50(&self, stride: usize) -> f64 {
        let marks: Vec<Time> = self.1.iter().copied().step_by(stride).collect();
        median(marks.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect())
    }
}

fn simulate(workload: &Workload, procs: u32, costs: &Costs, trace: &mut impl Trace) -> RunOutcome {
    workload.check();
    let settings = RunSettings::new(procs, 1).costs(costs.clone());
    PolicyKind::Gmp.run(workload, &settings, trace)
}

/// A simulated row of so many operations.
fn figure(outcome: &RunOutcome, operations: f64, p50: f64) -> Figure {
    let cpu = (outcome.useful + outcome.overhead) as f64;
    Figure { wall: outcome.end as f64 / operations, cpu: cpu / operations, p50 }
}

fn burst(then: Then) -> Burst {
    Burst { cpu: 0, then }
}

/// A job that another one creates.
fn child(workload: &mut Workload, parent: JobId, bursts: &[Burst]) {
    let first = workload.bursts.len() as u32;
    workload.jobs.push(Spec { arrival: NEVER, class: Class::Short, first, parent });
    workload.bursts.extend_from_slice(bursts);
}

fn simulated_yields(procs: u32, costs: &Costs) -> Figure {
    let mut workload = Workload::new("yield");
    let create = burst(Then::Fork { first: 1, count: TASKS });
    workload.add(0, Class::Long, &[create, burst(Then::Join), burst(Then::Exit)]);
    let mut bursts = vec![burst(Then::Yield); YIELDS as usize];
    bursts.push(burst(Then::Exit));
    (0..TASKS).for_each(|_| child(&mut workload, 0, &bursts));
    let mut ends = Ends(1, Vec::new());
    let outcome = simulate(&workload.finish(), procs, costs, &mut ends);
    figure(&outcome, f64::from(TASKS * YIELDS), ends.p50(1))
}

fn simulated_ping_pong(procs: u32, costs: &Costs) -> Figure {
    let trips = |first: Then, second: Then| {
        let pair = [burst(first), burst(second)];
        let mut bursts: Vec<Burst> = pair.into_iter().cycle().take(2 * ROUND_TRIPS as usize).collect();
        bursts.push(burst(Then::Exit));
        bursts
    };
    let mut workload = Workload::new("ping-pong");
    let mut main = vec![burst(Then::Fork { first: 1, count: 1 })];
    main.extend(trips(Then::Signal(1), Then::Await));
    workload.add(0, Class::Long, &main);
    child(&mut workload, 0, &trips(Then::Await, Then::Signal(0)));
    let mut ends = Ends(0, Vec::new());
    let outcome = simulate(&workload.finish(), procs, costs, &mut ends);
    figure(&outcome, f64::from(ROUND_TRIPS), ends.p50(2 * STRIDE as usize))
}

fn simulated_fib(procs: u32, costs: &Costs) -> Figure {
    /// What a call does in its goroutine; the children are numbered from `next` on and put down in
    /// `children`.
    fn call(n: u32, own: JobId, children: &mut Vec<(JobId, u32)>, bursts: &mut Vec<Burst>) {
        if n < 2 {
            return;
        }
        children.push((own, n - 1));
        let left = children.len() as JobId;
        bursts.push(burst(Then::Fork { first: left, count: 1 }));
        call(n - 2, own, children, bursts);
        bursts.push(burst(Then::JoinOf(left)));
    }
    let mut workload = Workload::new("fib");
    let mut children = Vec::new();
    let mut bursts = Vec::new();
    (0..TIMES).for_each(|_| call(DEPTH, 0, &mut children, &mut bursts));
    bursts.push(burst(Then::Exit));
    workload.add(0, Class::Long, &bursts);
    let mut next = 0;
    while let Some(&(parent, n)) = children.get(next) {
        next += 1;
        bursts.clear();
        call(n, next as JobId, &mut children, &mut bursts);
        bursts.push(burst(Then::Exit));
        child(&mut workload, parent, &bursts);
    }
    assert_eq!((children.len() as u64, workload.jobs[0].parent), (u64::from(TIMES) * spawns(DEPTH), NO_JOB));
    let outcome = simulate(&workload.finish(), procs, costs, &mut gosched_sim::trace::NoTrace);
    let timed = children.iter().zip(&outcome.jobs[1..]).filter(|(child, _)| child.1 == TIMED_DEPTH);
    let p50 = median(timed.filter_map(|(_, job)| job.response()).map(|time| time as f64).collect());
    figure(&outcome, all_spawns(), p50)
}
