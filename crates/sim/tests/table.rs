//! Every cell of S52's table, as a test.
//!
//! Seen to fail, each with a policy broken in one place. FCFS popping from the back: decision, long
//! ones. SPN keyed by `service % 1000`: decision, response, long ones, starvation. HRRN that
//! ignores the wait: decision, balance, response, starvation. RR with slices that never end: mode,
//! throughput, response, overhead, alike; with the expired one put first: decision, too. SRT that
//! does not preempt: mode, response, overhead, alike; keyed by `service`: decision. Feedback that
//! never demotes: its decision, I/O, overhead, starvation; that demotes newcomers: its decision,
//! I/O, response; whose slices don't grow: its decision.

mod common;

use common::{Checked, POLICIES, probe, run};
use gosched_sim::costs::Costs;
use gosched_sim::engine;
use gosched_sim::job::{Class, Workload};
use gosched_sim::kind::{PolicyKind, RunSettings};
use gosched_sim::measure::RunOutcome;
use gosched_sim::policy::{Fcfs, Feedback, Hrrn, Mode, Rr, Spn, Srt};
use gosched_sim::time::{MS, US};
use gosched_sim::trace::{NoTrace, Strips};
use gosched_sim::workload::{Kind, Size};

fn mixed(policy: PolicyKind) -> RunOutcome {
    run(policy, Kind::Mixed, 1, 7)
}

fn slowdown(outcome: &RunOutcome, class: Class) -> f64 {
    outcome.summary(Some(class)).slowdown.mean
}

/// Mode: the first three never interrupt, the others do; seen in what ran, not in what they say.
#[test]
fn mode() {
    let mut workload = Workload::new("two");
    workload.add_single(0, Class::Long, 50 * MS);
    workload.add_single(MS, Class::Short, 2 * MS);
    let workload = workload.finish();
    for policy in PolicyKind::TEXTBOOK {
        let mut strips = Strips::default();
        policy.run(&workload, &RunSettings::new(1, 1), &mut strips);
        let pieces = strips.0.iter().filter(|strip| strip.job == 0).count();
        let short_first = strips.0.iter().position(|strip| strip.job == 1) < Some(strips.0.len() - 1);
        match policy.character().mode {
            Mode::Cooperative => assert_eq!((pieces, short_first), (1, false), "{policy:?}"),
            Mode::Preemptive => assert!(pieces > 1 && short_first, "{policy:?}"),
        }
    }
    let preemptive = |policy: &PolicyKind| policy.character().mode == Mode::Preemptive;
    assert_eq!(
        PolicyKind::TEXTBOOK.map(|policy| preemptive(&policy)),
        [false, false, false, true, true, true]
    );
}

/// Decision function: at every pick, of all that are ready, the one that the textbook's formula
/// says.
#[test]
fn decision_function() {
    let workload = Kind::Mixed.make(Size { jobs: Some(6_000), load: 0.95, ..Size::usual(2, 3) });
    let costs = Costs::default();
    let picks = |policy: &dyn Fn() -> u64| assert!(policy() > 5_000);
    // w: waited, s: service, e: executed; smaller is better here, so maxima are negated.
    picks(&|| Checked::run(&workload, Fcfs::default(), &costs, |w, _, _| -(w as f64)));
    picks(&|| Checked::run(&workload, Spn::default(), &costs, |_, s, _| s as f64));
    picks(&|| {
        Checked::run(&workload, Hrrn::default(), &costs, |w, s, _| -((w + s) as f64 / s.max(1) as f64))
    });
    picks(&|| Checked::run(&workload, Rr::new(MS), &costs, |w, _, _| -(w as f64)));
    picks(&|| Checked::run(&workload, Srt::default(), &costs, |_, s, e| (s - e) as f64));
    // The textbook's names for them.
    let decisions = PolicyKind::TEXTBOOK.map(|policy| policy.character().decision);
    assert_eq!(
        decisions,
        ["max[w]", "min[s]", "max[(w+s)/s]", "constant", "min[s-e]", "e and priority, demotion"]
    );
}

/// Decision function of feedback: e and priority. Who has used up more slices comes after who has
/// used up fewer.
#[test]
fn decision_function_of_feedback() {
    let mut workload = Workload::new("three");
    workload.add_single(0, Class::Long, 40 * MS);
    workload.add_single(MS / 2, Class::Long, 40 * MS);
    workload.add_single(20 * MS, Class::Short, MS / 2);
    let mut strips = Strips::default();
    engine::run(&workload.finish(), Feedback::new(MS), 1, &Costs::FREE, &mut strips);
    let pieces: Vec<(u32, u64)> =
        strips.0.iter().map(|strip| (strip.job, (strip.to - strip.from) / US)).collect();
    // Each slice is twice the one before; the two go down together; the newcomer runs at the next
    // decision.
    assert_eq!(pieces[..6], [(0, 1_000), (1, 1_000), (0, 2_000), (1, 2_000), (0, 4_000), (1, 4_000)]);
    let newcomer = pieces.iter().position(|piece| *piece == (2, 500));
    assert_eq!(newcomer, Some(7), "{pieces:?}");
}

/// Throughput: in the long run the same for all while slices are long; for RR it falls with the
/// slice, by about cost/(slice + cost).
#[test]
fn throughput() {
    let mut workload = Workload::new("busy");
    (0..40).for_each(|_| _ = workload.add_single(0, Class::Long, 10 * MS));
    let workload = workload.finish();
    let rate = |policy: PolicyKind, quantum| {
        let settings = RunSettings::new(1, 1).quantum(quantum);
        policy.run(&workload, &settings, &mut NoTrace).summary(None).throughput
    };
    let best = rate(PolicyKind::Fcfs, MS);
    for policy in POLICIES {
        assert!(rate(policy, 10 * MS) > 0.97 * best, "{policy:?}");
    }
    for quantum in [1, 2, 5, 10, 100, 1_000] {
        let expected = quantum as f64 / (quantum as f64 + 2.0);
        let seen = rate(PolicyKind::Rr, quantum * US) / best;
        assert!((seen - expected).abs() < 0.01, "quantum {quantum} µs: {seen}, expected {expected}");
    }
    assert!(rate(PolicyKind::Rr, 2 * US) < 0.55 * best, "small slices lose throughput");
}

/// Response time: SRT and SPN give short ones a good one, and the best mean; FCFS the worst, where
/// lengths differ much.
#[test]
fn response_time() {
    let mean = |policy| mixed(policy).summary(None).response.mean;
    let fcfs = mean(PolicyKind::Fcfs);
    for policy in [PolicyKind::Spn, PolicyKind::Hrrn, PolicyKind::Rr, PolicyKind::Srt, PolicyKind::Mlfq] {
        assert!(mean(policy) < 0.7 * fcfs, "{policy:?}: {} beside {fcfs}", mean(policy));
    }
    assert!(mean(PolicyKind::Srt) <= mean(PolicyKind::Spn));
    assert!(mean(PolicyKind::Spn) < mean(PolicyKind::Hrrn), "HRRN pays for its fairness");
    let short = |policy| mixed(policy).summary(Some(Class::Short)).response.p50;
    assert!(short(PolicyKind::Srt) < 0.1 * short(PolicyKind::Fcfs));
}

/// Overhead: the cooperative ones never interrupt, the others do; RR's grows as its slices shrink,
/// and feedback's is less, for its slices grow.
#[test]
fn overhead() {
    let switches = |policy| {
        let switches = mixed(policy).switches;
        (switches.voluntary, switches.forced)
    };
    for policy in [PolicyKind::Fcfs, PolicyKind::Spn, PolicyKind::Hrrn] {
        assert_eq!(switches(policy).1, 0, "{policy:?}");
    }
    let forced = |policy| switches(policy).1;
    assert!(forced(PolicyKind::Srt) > 0);
    assert!(forced(PolicyKind::Rr) > forced(PolicyKind::Mlfq), "feedback's slices grow");
    let share = |quantum| {
        let workload = Kind::Mixed.make(Size { jobs: Some(3_000), ..Size::usual(1, 7) });
        PolicyKind::Rr.run(&workload, &RunSettings::new(1, 7).quantum(quantum), &mut NoTrace).overhead_share()
    };
    assert!(share(20 * US) > 5.0 * share(500 * US), "{} {}", share(20 * US), share(500 * US));
    // Ours is never interrupted either: what it pays for is waking and stealing.
    assert!(mixed(PolicyKind::Gmp).overhead_share() < 0.02);
}

/// Effect: FCFS hurts short ones and I/O-bound ones.
#[test]
fn fcfs_hurts_short_and_io_bound_ones() {
    let fcfs = mixed(PolicyKind::Fcfs);
    let (short, long, io) =
        (slowdown(&fcfs, Class::Short), slowdown(&fcfs, Class::Long), slowdown(&fcfs, Class::Io));
    assert!(short > 20.0 * long, "short {short}, long {long}");
    assert!(io > 2.0 * long, "I/O {io}, long {long}");
    let rr = mixed(PolicyKind::Rr);
    assert!(short > 5.0 * slowdown(&rr, Class::Short) && io > 2.0 * slowdown(&rr, Class::Io));
}

/// Effect: SPN and SRT hurt long ones: these wait longer than under FCFS, the short ones hardly at
/// all.
#[test]
fn spn_and_srt_hurt_long_ones() {
    let fcfs = mixed(PolicyKind::Fcfs);
    for policy in [PolicyKind::Spn, PolicyKind::Srt] {
        let outcome = mixed(policy);
        let wait = |outcome: &RunOutcome, class| outcome.summary(Some(class)).waiting;
        assert!(wait(&outcome, Class::Long).p99 > 1.3 * wait(&fcfs, Class::Long).p99, "{policy:?}");
        assert!(wait(&outcome, Class::Short).mean < 0.3 * wait(&fcfs, Class::Short).mean, "{policy:?}");
        assert!(wait(&outcome, Class::Long).mean > 3.0 * wait(&outcome, Class::Short).mean, "{policy:?}");
    }
}

/// Effect: feedback favours I/O-bound ones: they are hurt less than under RR and FCFS, and less
/// than those that compute.
#[test]
fn feedback_favours_io_bound_ones() {
    let feedback = mixed(PolicyKind::Mlfq);
    let io = slowdown(&feedback, Class::Io);
    assert!(io < slowdown(&feedback, Class::Long), "{io}");
    assert!(io < slowdown(&mixed(PolicyKind::Rr), Class::Io), "{io}");
    assert!(io < 0.5 * slowdown(&mixed(PolicyKind::Fcfs), Class::Io), "{io}");
}

/// Effect: HRRN balances: of the cooperative ones its slowdowns are the most alike, and neither
/// short nor long ones come off worst.
#[test]
fn hrrn_balances() {
    let (fcfs, spn, hrrn) = (mixed(PolicyKind::Fcfs), mixed(PolicyKind::Spn), mixed(PolicyKind::Hrrn));
    assert!(slowdown(&hrrn, Class::Short) < 0.5 * slowdown(&fcfs, Class::Short));
    let worst_long = |outcome: &RunOutcome| outcome.summary(Some(Class::Long)).waiting.max;
    assert!(worst_long(&hrrn) < 0.7 * worst_long(&spn), "{} {}", worst_long(&hrrn), worst_long(&spn));
    let long = |outcome: &RunOutcome| outcome.summary(Some(Class::Long)).slowdown.max;
    assert!(long(&hrrn) < 0.5 * long(&spn), "{} {}", long(&hrrn), long(&spn));
    let short = |outcome: &RunOutcome| outcome.summary(Some(Class::Short)).waiting.p99;
    assert!(short(&hrrn) < 1.3 * short(&spn) && short(&hrrn) < 0.5 * short(&fcfs));
}

/// Effect: RR treats all alike: jobs of every length are slowed down by about the same factor,
/// 1/(1−ρ) as under processor sharing.
#[test]
fn rr_treats_all_alike() {
    // All compute once, so that a wait for something else does not blur it; slices far below the
    // shortest job.
    let workload = Kind::Heavy.make(Size { jobs: Some(20_000), load: 0.5, ..Size::usual(1, 2) });
    let by_length = |policy: PolicyKind| -> Vec<f64> {
        let settings = RunSettings::new(1, 1).costs(Costs::FREE).quantum(20 * US);
        let outcome = policy.run(&workload, &settings, &mut NoTrace);
        let lengths = outcome.slowdown_by_length().into_iter().filter(|(_, jobs, _)| *jobs > 100);
        lengths.map(|(_, _, slowdown)| slowdown).collect()
    };
    let rr = by_length(PolicyKind::Rr);
    assert_eq!(rr.len(), 3, "from 0.1 to 100 ms");
    assert!(rr.iter().all(|slowdown| (slowdown / rr[0] - 1.0).abs() < 0.1), "{rr:?}");
    let (fcfs, srt) = (by_length(PolicyKind::Fcfs), by_length(PolicyKind::Srt));
    assert!(fcfs[0] > 20.0 * fcfs[2], "short ones come off worst: {fcfs:?}");
    assert!(srt[0] < 0.8 * srt[2], "long ones come off worst: {srt:?}");
}

/// Starvation: possible for SPN, SRT and feedback; not for FCFS, HRRN and RR, nor for ours. Beside
/// an endless row of short jobs the wait of a long one grows with the row, or it does not.
#[test]
fn starvation() {
    for policy in POLICIES {
        let starves = matches!(policy, PolicyKind::Spn | PolicyKind::Srt | PolicyKind::Mlfq);
        let (once, twice) = (probe(policy, 2_000 * MS), probe(policy, 4_000 * MS));
        assert_eq!(once.1 == 1 && twice.1 == 1, starves, "{policy:?}: {once:?} {twice:?}");
        let grows = twice.0 as f64 > 1.9 * once.0 as f64;
        assert_eq!(grows, starves, "{policy:?}: {once:?} {twice:?}");
    }
}
