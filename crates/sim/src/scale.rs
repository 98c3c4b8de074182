//! G-M-P from 1 to 1,024 Ps: where it stops scaling, what the limit is, and what would change it.
//!
//! Four scenarios, each leaning on another part: yields on the global queue, a fork-join tree on
//! stealing and waking, a server on the poller, sparse short jobs on the idle word. The work grows
//! with the number of Ps, so that a perfect scheduler has the same efficiency everywhere.

use clap::ValueEnum;
use serde::Serialize;

use crate::costs::Costs;
use crate::gmp::{Counters, MAX_PROCS, Stealing, Variant};
use crate::kind::{PolicyKind, RunSettings};
use crate::time::{MS, Time};
use crate::trace::NoTrace;
use crate::workload::{Kind, Size};

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    /// Eight goroutines for each P that yield after 2 µs.
    Yields,
    /// A tree with 800 nodes for each P, leaves of 20 µs.
    Tree,
    /// 100 connections for each P, requests of 10 µs.
    Server,
    /// Short jobs of 100 µs from outside, for half of the Ps.
    Sparse,
}

impl Scenario {
    /// All of them.
    pub const ALL: [Scenario; 4] = [Scenario::Yields, Scenario::Tree, Scenario::Server, Scenario::Sparse];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scenario::Yields => "yields",
            Scenario::Tree => "tree",
            Scenario::Server => "server",
            Scenario::Sparse => "sparse",
        }
    }

    fn kind_and_size(self, procs: u32, seed: u64) -> (Kind, Size) {
        let (kind, each, load, horizon) = match self {
            Scenario::Yields => (Kind::Yields, 8, 1.0, Some(20 * MS)),
            Scenario::Tree => (Kind::Tree, 800, 1.0, None),
            Scenario::Server => (Kind::Server, 100, 0.9, Some(10 * MS)),
            Scenario::Sparse => (Kind::Short, 200, 0.5, None),
        };
        (kind, Size { jobs: Some(each * procs), procs, load, horizon, seed })
    }
}

/// A change to the library, tried here first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// None.
    Library,
    /// Thieves ask their own node in the first two rounds.
    NodeFirst,
    /// An idle word, list and lock for every 64 Ps.
    IdleWords,
    /// A poller for every 64 Ps.
    Pollers,
    /// A lock of the global queue for every 8 Ps, instead of 8 in all.
    GlobalShards,
    /// Pollers and idle words for every 64 Ps.
    PollersAndIdleWords,
    /// All of these.
    All,
}

impl Change {
    /// All of them.
    pub const ALL: [Change; 7] = [
        Change::Library,
        Change::NodeFirst,
        Change::IdleWords,
        Change::Pollers,
        Change::GlobalShards,
        Change::PollersAndIdleWords,
        Change::All,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Change::Library => "library",
            Change::NodeFirst => "NUMA-aware stealing",
            Change::IdleWords => "sharded idle word",
            Change::Pollers => "several pollers",
            Change::GlobalShards => "more global shards",
            Change::PollersAndIdleWords => "pollers and idle words",
            Change::All => "all four",
        }
    }

    /// The settings for so many Ps.
    #[must_use]
    pub fn variant(self, procs: u32) -> Variant {
        let per_node = procs.div_ceil(64);
        let shards = (procs / 8).max(8);
        let library = Variant::LIBRARY;
        match self {
            Change::Library => library,
            Change::NodeFirst => Variant { stealing: Stealing::NodeFirst, ..library },
            Change::IdleWords => Variant { idle_words: per_node, ..library },
            Change::Pollers => Variant { pollers: per_node, ..library },
            Change::GlobalShards => Variant { global_shards: shards, ..library },
            Change::PollersAndIdleWords => Variant { pollers: per_node, idle_words: per_node, ..library },
            Change::All => Variant {
                stealing: Stealing::NodeFirst,
                idle_words: per_node,
                pollers: per_node,
                global_shards: shards,
            },
        }
    }
}

/// A point of a curve.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// What was simulated.
    pub scenario: Scenario,
    /// With which change.
    pub change: Change,
    /// Ps.
    pub procs: u32,
    /// Ps that did useful work, on average.
    pub speedup: f64,
    /// The same, of what the load allows: 1 is perfect.
    pub efficiency: f64,
    /// Median and 99 % of the latency, ns.
    pub latency: [f64; 2],
    /// The part of all Ps' time that each possible cause took.
    pub lost: Vec<(&'static str, f64)>,
    /// How busy each thing was that serves one at a time.
    pub busy: Vec<(&'static str, f64)>,
    /// What keeps it from being perfect: what is nearly always busy, else what took most time; a
    /// dash if that is little.
    pub limit: &'static str,
}

/// Powers of two up to `most`.
#[must_use]
pub fn counts(most: u32) -> Vec<u32> {
    (0..=10).map(|k| 1 << k).filter(|procs| *procs <= most.min(MAX_PROCS)).collect()
}

/// One point.
#[must_use]
pub fn point(scenario: Scenario, change: Change, procs: u32, costs: &Costs, seed: u64) -> Point {
    let (kind, size) = scenario.kind_and_size(procs, seed);
    let workload = kind.make(size);
    let settings =
        RunSettings { variant: change.variant(procs), costs: costs.clone(), ..RunSettings::new(procs, seed) };
    let outcome = PolicyKind::Gmp.run(&workload, &settings, &mut NoTrace);
    let all = outcome.summary(None);
    let speedup = outcome.useful as f64 / outcome.end.max(1) as f64;
    let counters = outcome.gmp.unwrap_or_default();
    let lost = losses(&counters, outcome.end * Time::from(procs));
    let busy = busy(&counters, outcome.end);
    let limit = limit(&lost, &busy);
    Point {
        scenario,
        change,
        procs,
        speedup,
        efficiency: speedup / (f64::from(procs) * size.load),
        latency: [all.latency_p50, all.latency_p99],
        lost,
        busy,
        limit,
    }
}

/// What took which part of all time.
fn losses(gmp: &Counters, time: Time) -> Vec<(&'static str, f64)> {
    let part = |spent: Time| spent as f64 / time.max(1) as f64;
    vec![
        ("global queue", part(gmp.global_lock)),
        ("idle word", part(gmp.idle_word)),
        ("idle lists' lock", part(gmp.idle_lock)),
        ("poller", part(gmp.polling)),
        ("stealing", part(gmp.stealing)),
        ("waking", part(gmp.waking)),
        ("woken too slowly", part(gmp.idle_while_work)),
    ]
}

/// What serves one at a time: the part of the time in which it was busy.
fn busy(gmp: &Counters, time: Time) -> Vec<(&'static str, f64)> {
    let part = |spent: Time| spent as f64 / time.max(1) as f64;
    vec![
        ("global queue", part(gmp.global_busy)),
        ("idle word", part(gmp.word_busy)),
        ("idle lists' lock", part(gmp.list_busy)),
        ("poller", part(gmp.poller_busy)),
    ]
}

/// What is busy for more of the time than this lets others wait.
const SATURATED: f64 = 0.85;
/// Losses below this don't count.
const LITTLE: f64 = 0.02;

fn limit(lost: &[(&'static str, f64)], busy: &[(&'static str, f64)]) -> &'static str {
    let most = |parts: &[(&'static str, f64)]| parts.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    match (most(busy), most(lost)) {
        (Some((name, part)), _) if part > SATURATED => name,
        (_, Some((name, part))) if part > LITTLE => name,
        _ => "–",
    }
}

/// How many points [`run`] makes.
#[must_use]
pub fn total(most: u32) -> usize {
    Scenario::ALL.len() * (counts(most).len() * 2 + Change::ALL.len() - 2)
}

/// The library and all changes together over all numbers of Ps, and each change at the largest.
pub fn run(most: u32, costs: &Costs, seed: u64, mut step: impl FnMut(&str)) -> Vec<Point> {
    let counts = counts(most);
    let mut points = Vec::new();
    for scenario in Scenario::ALL {
        for &procs in &counts {
            for change in Change::ALL {
                let at_end = counts.last() == Some(&procs);
                if at_end || matches!(change, Change::Library | Change::All) {
                    step(&format!("{} on {procs} Ps, {}", scenario.name(), change.name()));
                    points.push(point(scenario, change, procs, costs, seed));
                }
            }
        }
    }
    points
}
