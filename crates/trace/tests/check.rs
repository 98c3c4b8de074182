//! `check` finds nothing in a sound trace, and in each seeded mistake what was seeded.
//!
//! Seen to fail: each mistake with its check taken out of `src/check.rs` or the files in its
//! folder; what is allowed for a reason, with stopped worlds and the number of Ps not looked at.

mod common;

use common::{STACK, Scratch, Script, run, trace};
use gosched_traceformat::decisions::{Decision, PickRule, PutPlace};
use gosched_traceformat::wire::{EventType as E, GoStatus, NONE, ProcStatus};

const MS: u64 = 1_000_000;

/// Two Ps. Goroutine 1 creates 2 and 3, which run on P 1 out of the global queue, and wakes 2 once
/// more.
fn sound() -> Script {
    let mut script = Script::default();
    let global = |order| PutPlace::InGlobal { queue: 0, order };
    script
        .add(1, 1000, E::ProcStatus, &[0, ProcStatus::Running as u64])
        .add(1, 1000, E::GoStatus, &[1, 1, GoStatus::Running as u64])
        .add(1, 1000, E::ProcStatus, &[1, ProcStatus::Idle as u64])
        .add(1, 2000, E::GoCreate, &[2, STACK, 2])
        .add(1, 3000, E::GoCreate, &[3, STACK, 2])
        .add(2, 4000, E::ProcStart, &[1, 1])
        .add(2, 5000, E::GoStart, &[2, 1])
        .add(2, 6000, E::GoBlock, &[1, STACK])
        .add(1, 7000, E::GoUnblock, &[2, 2, 2])
        .add(2, 2 * MS, E::GoStart, &[3, 1])
        .add(2, 3 * MS, E::GoDestroy, &[])
        .add(2, 3 * MS + 10, E::GoStart, &[2, 3])
        .add(2, 4 * MS, E::GoDestroy, &[])
        .add(2, 4 * MS + 10, E::ProcStop, &[]);
    script
        .decide(1, 2000, Decision::Put { g: 2, place: global(1) })
        .decide(1, 3000, Decision::Put { g: 3, place: global(2) })
        .decide(2, 4500, Decision::Take { p: 1, g: 2, queue: 0, order: 1 })
        .decide(
            2,
            4600,
            Decision::Pick { p: 1, g: 2, tick: 1, rule: PickRule::GlobalQueue { taken: 1, of: 2 } },
        )
        .decide(1, 7000, Decision::Put { g: 2, place: global(3) })
        .decide(2, MS, Decision::Take { p: 1, g: 3, queue: 0, order: 2 })
        .decide(2, MS, Decision::Pick { p: 1, g: 3, tick: 61, rule: PickRule::FairnessTick })
        .decide(2, 3 * MS, Decision::Take { p: 1, g: 2, queue: 0, order: 3 })
        .decide(
            2,
            3 * MS,
            Decision::Pick { p: 1, g: 2, tick: 62, rule: PickRule::GlobalQueue { taken: 1, of: 1 } },
        );
    script
}

/// Runs `check` with these arguments; its status and what it said.
fn check(bytes: &[u8], name: &str, args: &[&str]) -> (Option<i32>, String) {
    let scratch = Scratch::new(name);
    let file = scratch.file("check.trace");
    std::fs::write(&file, bytes).unwrap();
    let mut all = vec!["check", file.to_str().unwrap()];
    all.extend(args);
    let output = run(&all);
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// The mistake is found, by this check, in these words; and nothing else is.
fn assert_found(bytes: &[u8], args: &[&str], which: &str, words: &str) {
    let (status, said) = check(bytes, which, args);
    assert_eq!(status, Some(1), "{said}");
    let is_it = |line: &str| line.starts_with(&format!("{which}: ")) && line.contains(words);
    assert!(said.lines().any(is_it), "no {which} with {words:?} in\n{said}");
    let others = said.lines().filter(|line| line.contains(": at ") && !line.starts_with(which)).count();
    assert_eq!(others, 0, "{said}");
}

#[test]
fn a_sound_trace_has_no_violations() {
    let (status, said) = check(&trace(&[sound()]), "sound", &[]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("0 violations in 14 events and 9 decisions"), "{said}");
}

#[test]
fn a_wake_up_is_dropped() {
    let script = sound().without(|_, _, event, _| event == E::GoUnblock);
    assert_found(&trace(&[script]), &[], "order", "GoStart(2, 3");
}

#[test]
fn a_goroutine_runs_twice() {
    let mut script = sound();
    script.add(3, 5500, E::ProcStatus, &[2, ProcStatus::Running as u64]).add(3, 5600, E::GoStart, &[2, 1]);
    assert_found(&trace(&[script]), &[], "order", "GoStart(2, 1");
}

#[test]
fn two_goroutines_run_on_one_p() {
    let script = sound().without(|_, time, event, _| event == E::GoDestroy && time == 3 * MS);
    assert_found(&trace(&[script]), &[], "order", "has a goroutine already");
}

#[test]
fn a_start_has_no_cause() {
    let script = sound().without(|_, _, event, args| event == E::GoCreate && args[0] == 3);
    assert_found(&trace(&[script]), &[], "order", "GoStart(3, 1");
}

#[test]
fn a_p_is_idle_beside_queued_work() {
    let mut script = sound();
    script.add(1, 5 * MS, E::GoCreate, &[9, STACK, 2]).add(1, 40 * MS, E::GoLabel, &[1]);
    assert_found(&trace(&[script]), &[], "idle", "P 1 was idle for 35.0 ms while goroutine 9 was runnable");
}

/// The same is right while the world is stopped, and with a bound that allows it, and if GOMAXPROCS
/// leaves that P out.
#[test]
fn a_p_may_be_idle_for_a_reason() {
    let waits = |before: (E, &[u64])| {
        let mut script = sound();
        script.add(1, 5 * MS, E::GoCreate, &[9, STACK, 2]).add(1, 5 * MS + 1, before.0, before.1);
        script.add(1, 40 * MS, E::GoLabel, &[1]);
        trace(&[script])
    };
    for (bytes, args) in [
        (waits((E::STWBegin, &[1, STACK])), &[][..]),
        (waits((E::ProcsChange, &[1, STACK])), &[]),
        (waits((E::GoLabel, &[1])), &["--idle-bound", "50ms"]),
    ] {
        let (status, said) = check(&bytes, "reason", args);
        assert_eq!(status, Some(0), "{said}");
    }
}

#[test]
fn somebody_waits_too_long() {
    let bytes = trace(&[sound()]);
    assert_found(&bytes, &["--latency-bound", "2.5ms"], "latency", "goroutine 2 was runnable for 2.99 ms");
}

#[test]
fn a_clock_goes_back() {
    let (first, mut second) = (sound(), Script::default());
    second.add(1, 5 * MS, E::ProcStatus, &[0, ProcStatus::Running as u64]);
    second.add(1, 5 * MS, E::GoStatus, &[1, 1, GoStatus::Running as u64]);
    let mut bytes = trace(&[first.clone(), second]);
    let (status, said) = check(&bytes, "clock", &[]);
    assert_eq!(status, Some(0), "{said}");
    // A second batch of the same M in the same generation, which begins before the first one has
    // ended.
    let mut early = gosched_traceformat::encode::BatchWriter::begin(vec![0; 100], 1, 2, 2 * MS);
    let fit = early.proc_start(2 * MS + 5, 1, 2);
    assert_eq!(fit, gosched_traceformat::encode::Fit::Written);
    let (batch, len) = early.finish();
    let end = trace(&[first]).len() - 1;
    bytes.splice(end..end, batch[..len].iter().copied());
    let (status, said) = check(&bytes, "clock", &[]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("time: ") && said.contains("the clock of M 2 goes back by 2.00 ms"), "{said}");
}

#[test]
fn the_global_queue_is_not_first_come_first_served() {
    let mut script = sound();
    for (_, _, decision) in &mut script.decisions {
        *decision = match *decision {
            Decision::Take { p, g: 2, queue, order: 1 } => Decision::Take { p, g: 2, queue, order: 2 },
            Decision::Take { p, g: 3, queue, order: 2 } => Decision::Take { p, g: 3, queue, order: 1 },
            other => other,
        };
    }
    assert_found(&trace(&[script]), &[], "fifo", "but goroutine 3 was put in as the 2nd");
}

/// Replaces the rule of the 61st pick, or its number.
fn with_pick(tick: u64, rule: PickRule) -> Vec<u8> {
    let mut script = sound();
    for (_, _, decision) in &mut script.decisions {
        if let Decision::Pick { p, g, tick: 61, .. } = *decision {
            *decision = Decision::Pick { p, g, tick, rule };
        }
    }
    trace(&[script])
}

#[test]
fn the_fairness_tick_is_forgotten() {
    assert_found(
        &with_pick(61, PickRule::Ring),
        &[],
        "fairness",
        "passed over the global queue at its pick 61",
    );
}

#[test]
fn the_fairness_tick_comes_early() {
    assert_found(&with_pick(60, PickRule::FairnessTick), &[], "fairness", "first at its pick 60");
}

#[test]
fn another_one_starts_than_was_picked() {
    let mut script = sound();
    script.decisions.retain(|(_, _, decision)| !matches!(decision, Decision::Pick { tick: 62, .. }));
    assert_found(
        &trace(&[script.clone()]),
        &[],
        "picked",
        "goroutine 2 started on P 1, but nothing picked it",
    );
    script.decide(2, 3 * MS, Decision::Pick { p: 1, g: NONE - 1, tick: 62, rule: PickRule::Ring });
    assert_found(&trace(&[script]), &[], "picked", "but goroutine 2 started");
}

#[test]
fn a_report_as_json() {
    let (status, said) = check(&with_pick(60, PickRule::FairnessTick), "json", &["--json"]);
    assert_eq!(status, Some(1));
    let report: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(report["total"], 1);
    assert_eq!(report["violations"][0]["check"], "fairness");
}

/// What is no trace, breaks no promise: that is a status of its own.
#[test]
fn no_trace_is_no_violation() {
    let (status, _) = check(b"hello, this is no trace", "none", &[]);
    assert_eq!(status, Some(2));
}
