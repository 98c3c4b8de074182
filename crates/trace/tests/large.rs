//! A long trace is read in little memory: 200 MB, in which half a million goroutines come and go.
//!
//! Seen to fail: with `forget` of `people.rs` doing nothing and with all generations kept.

mod common;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use common::Scratch;
use gosched_traceformat::encode::{
    BatchWriter, ClockReading, END_OF_GENERATION, Fit, StringsWriter, put_sync,
};
use gosched_traceformat::wire::{EventType as E, GoStatus, HEADER, ProcStatus};

const GENERATIONS: u64 = 100;
const GOROUTINES: u64 = 5_000;
/// In each generation, beside the events.
const STRINGS: u64 = 1_900;
/// What a command may need: a generation has 2 MB, and the largest thing beside is the table of
/// groups.
const MEMORY_KB: u64 = 20_000;

fn write_trace(path: &Path) {
    let mut out = BufWriter::new(File::create(path).unwrap());
    out.write_all(&HEADER).unwrap();
    let mut storage = vec![0; 65_536];
    let mut next = 2;
    for generation in 1..=GENERATIONS {
        let mut time = generation * 1_000_000_000;
        let mut batch = BatchWriter::begin(storage, generation, 1, time);
        let put = |batch: &mut BatchWriter<Vec<u8>>, out: &mut BufWriter<File>, time, event, args: &[u64]| {
            if batch.event(event, time, args) == Fit::Full {
                let full = std::mem::replace(batch, BatchWriter::begin(vec![0; 65_536], generation, 1, time));
                let (bytes, len) = full.finish();
                out.write_all(&bytes[..len]).unwrap();
                assert_eq!(batch.event(event, time, args), Fit::Written);
            }
        };
        put(&mut batch, &mut out, time, E::ProcStatus, &[0, ProcStatus::Running as u64]);
        put(&mut batch, &mut out, time, E::GoStatus, &[1, 1, GoStatus::Running as u64]);
        let mut seq = 0;
        for g in next..next + GOROUTINES {
            time += 2_000;
            seq += 1;
            for (event, args) in [
                (E::GoCreate, &[g, 0, 0][..]),
                (E::GoStop, &[1, 0]),
                (E::GoStart, &[g, 1]),
                (E::GoDestroy, &[]),
                (E::GoStart, &[1, seq]),
            ] {
                put(&mut batch, &mut out, time, event, args);
                time += 100;
            }
        }
        next += GOROUTINES;
        let (bytes, len) = batch.finish();
        out.write_all(&bytes[..len]).unwrap();
        storage = bytes;
        write_strings(&mut out, generation, time);
    }
    out.flush().unwrap();
}

fn write_strings(out: &mut BufWriter<File>, generation: u64, time: u64) {
    let begin = || StringsWriter::begin(vec![0; 65_536], generation, time);
    let mut strings = begin();
    for id in 1..=STRINGS {
        let text = format!("{generation} {id} {}", "x".repeat(1000));
        if strings.string(id, &text) == Fit::Full {
            let (bytes, len) = std::mem::replace(&mut strings, begin()).finish();
            out.write_all(&bytes[..len]).unwrap();
            assert_eq!(strings.string(id, &text), Fit::Written);
        }
    }
    let (bytes, len) = strings.finish();
    out.write_all(&bytes[..len]).unwrap();
    let (bytes, len) = put_sync(vec![0; 128], generation, 1_000_000_000, ClockReading::default());
    out.write_all(&bytes[..len]).unwrap();
    out.write_all(&END_OF_GENERATION).unwrap();
}

/// The most memory that a command had, in kilobytes, as seen while it ran.
fn peak_of(args: &[&str]) -> u64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gosched-trace"));
    let mut child = command.args(args).stdout(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let seen = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
        peak = peak.max(seen.unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{args:?}: {status}");
            return peak;
        }
        std::thread::yield_now();
    }
}

#[test]
fn long_traces_need_little_memory() {
    let scratch = Scratch::new("large");
    let (file, output) = (scratch.file("large.trace"), scratch.file("output"));
    write_trace(&file);
    let length = std::fs::metadata(&file).unwrap().len();
    assert!(length > 180_000_000, "{length} bytes");
    let (file, output) = (file.to_str().unwrap(), output.to_str().unwrap());
    for args in [
        &["summary", file][..],
        &["findings", file],
        &["check", file],
        &["explain", file],
        &["cut", file, "--from", "50s", "-o", output],
        &["perfetto", file, "-o", output],
    ] {
        let peak = peak_of(args);
        eprintln!("{}: {peak} kB for {} MB", args[0], length / 1_000_000);
        assert!(peak > 1_000, "{}: its memory was not seen", args[0]);
        assert!(peak < MEMORY_KB, "{}: {peak} kB", args[0]);
    }
}
