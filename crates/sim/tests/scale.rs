//! What the scaling study says: where the limits are, and that what is meant to change them does.
//!
//! Seen to fail: with `looked_at_until` never set, so that several look at once (the poller); with
//! `CacheLine::write` not waiting for `free_at` (nearly all); with all groups on the first idle
//! word (the poller, waking); with node-first stealing that asks everybody (thieves).

use gosched_sim::costs::Costs;
use gosched_sim::gmp::{GmpConfig, Variant, run};
use gosched_sim::scale::{self, Change, Point, Scenario};
use gosched_sim::trace::NoTrace;
use gosched_sim::workload::{Kind, Size};

fn point(scenario: Scenario, change: Change, procs: u32, seed: u64) -> Point {
    scale::point(scenario, change, procs, &Costs::default(), seed)
}

/// Up to 64 Ps the library as it is keeps nearly all Ps busy, but for those that do nothing but
/// yield.
#[test]
fn sixty_four_are_fine() {
    for scenario in [Scenario::Tree, Scenario::Server, Scenario::Sparse] {
        let efficiency = point(scenario, Change::Library, 64, 1).efficiency;
        assert!(efficiency > 0.9, "{scenario:?}: {efficiency}");
    }
}

fn part(of: &[(&str, f64)], name: &str) -> f64 {
    of.iter().find(|part| part.0 == name).map_or(0.0, |part| part.1)
}

/// A server beyond some 90 Ps is limited by the one poller and the one idle word, which are busy
/// all the time: more Ps serve no more requests; pollers and idle words for each node do.
#[test]
fn one_poller_and_one_idle_word_limit_a_server() {
    let (less, more) =
        (point(Scenario::Server, Change::Library, 256, 1), point(Scenario::Server, Change::Library, 512, 1));
    for name in ["poller", "idle word"] {
        assert!(part(&less.busy, name) > 0.85 && part(&more.busy, name) > 0.85, "{name}");
    }
    assert!((more.speedup / less.speedup - 1.0).abs() < 0.1, "{} {}", less.speedup, more.speedup);
    let changed = point(Scenario::Server, Change::All, 256, 1);
    assert!(changed.efficiency > 2.0 * less.efficiency && changed.efficiency > 0.9, "{}", changed.efficiency);
    assert!(changed.latency[0] < less.latency[0] / 5.0);
}

/// Goroutines that yield all the time are limited by the global queue's locks; more of them help.
#[test]
fn the_global_queue_limits_those_that_yield() {
    let library = point(Scenario::Yields, Change::Library, 256, 1);
    assert_eq!(library.limit, "global queue");
    let sharded = point(Scenario::Yields, Change::GlobalShards, 256, 1);
    assert!(sharded.speedup > 2.0 * library.speedup, "{} {}", library.speedup, sharded.speedup);
}

/// Waking one at a time takes long with a thousand Ps: most of what a tree loses there is Ps that
/// are idle while work is queued. An idle word for each node takes load off the word, but the chain
/// of wake-ups stays.
#[test]
fn waking_one_at_a_time_takes_long() {
    let library = point(Scenario::Tree, Change::Library, 512, 1);
    assert_eq!(library.limit, "woken too slowly");
    let sharded = point(Scenario::Tree, Change::IdleWords, 512, 1);
    assert!(part(&sharded.lost, "idle word") < 0.5 * part(&library.lost, "idle word"));
    assert!(sharded.efficiency > library.efficiency);
}

/// Thieves that ask their own node first go to others less often, and lose less time on it.
#[test]
fn thieves_stay_at_home() {
    let time = |change: Change| {
        let workload = Kind::Tree.make(Size { jobs: Some(50_000), ..Size::usual(256, 1) });
        let config = GmpConfig { variant: change.variant(256), ..GmpConfig::new(256, 1) };
        run(&workload, &config, &mut NoTrace).gmp.map_or(0, |gmp| gmp.stealing)
    };
    assert!(
        time(Change::NodeFirst) < time(Change::Library),
        "{} {}",
        time(Change::NodeFirst),
        time(Change::Library)
    );
    assert_eq!(Change::Library.variant(256), Variant::LIBRARY);
}
