//! Whatever the bytes are, reading ends, without a panic, and with little memory.
//!
//! Seen to fail: with `rest[..len]` in `BatchData::data`, and with no limit to the length that a
//! batch promises.

mod common;

use common::Dice;
use common::parsed::ours;
use gosched_traceformat::decisions::{Decision, DecisionsWriter, PickRule, read_decisions};
use gosched_traceformat::encode::{
    BatchWriter, ClockReading, END_OF_GENERATION, Fit, StackFrame, StacksWriter, StringsWriter, put_sync,
};
use gosched_traceformat::read::TraceReader;
use gosched_traceformat::wire::{EventType, GoStatus, HEADER, ProcStatus};

/// A trace with a bit of everything, of two generations.
fn trace() -> Vec<u8> {
    let mut trace = HEADER.to_vec();
    let mut storage = vec![0; 4096];
    for generation in 1..3 {
        let time = generation * 1000;
        let mut batch = BatchWriter::begin(&mut storage[..], generation, 1, time);
        let fits = [
            batch.proc_status(time, 0, ProcStatus::Running),
            batch.go_status(time, 1, 1, GoStatus::Running),
            batch.go_create(time + 1, 10 + generation, 1, 1),
            batch.go_syscall_begin(time + 2, 1, 1),
            batch.go_syscall_end(time + 3),
            batch.log(time + 4, 0, 1, 2, 1),
        ];
        assert_eq!(fits, [Fit::Written; 6]);
        let (bytes, len) = batch.finish();
        trace.extend(&bytes[..len]);
        let mut batch = StringsWriter::begin(&mut storage[..], generation, time);
        assert_eq!([batch.string(1, "one"), batch.string(2, "two")], [Fit::Written; 2]);
        let (bytes, len) = batch.finish();
        trace.extend(&bytes[..len]);
        let mut batch = StacksWriter::begin(&mut storage[..], generation, time);
        assert_eq!(batch.stack(1, &[StackFrame { pc: 1, function: 1, file: 2, line: 3 }]), Fit::Written);
        let (bytes, len) = batch.finish();
        trace.extend(&bytes[..len]);
        let mut batch = DecisionsWriter::begin(&mut storage[..], generation, 1, time);
        let pick = Decision::Pick { p: 0, g: 1, tick: 3, rule: PickRule::Ring };
        assert_eq!(batch.decision(time, pick), Fit::Written);
        let (bytes, len) = batch.finish();
        trace.extend(&bytes[..len]);
        let (bytes, len) = put_sync(&mut storage[..], generation, 1_000_000_000, ClockReading::default());
        trace.extend(&bytes[..len]);
        trace.extend(END_OF_GENERATION);
    }
    assert!(ours(&trace).is_ok());
    trace
}

#[test]
fn mutated_traces() {
    let (trace, mut dice, mut refused) = (trace(), Dice(1), 0);
    for _ in 0..60_000 {
        let mut mutated = dice.mutate(&trace);
        for _ in 0..dice.below(3) {
            if !mutated.is_empty() {
                mutated = dice.mutate(&mutated);
            }
        }
        refused += usize::from(ours(&mutated).is_err());
    }
    assert!(refused > 10_000, "only {refused} were refused");
}

#[test]
fn traces_that_end_anywhere() {
    let trace = trace();
    let ends: Vec<usize> = (0..=trace.len()).filter(|end| ours(&trace[..*end]).is_ok()).collect();
    // After the header, each generation, and the tables and decisions that can stand before the
    // events of the next: none.
    assert_eq!(ends.len(), 3, "{ends:?}");
}

#[test]
fn random_bytes() {
    let mut dice = Dice(7);
    for round in 0..20_000 {
        let mut bytes = format!("go 1.{} trace\0\0\0", [22, 23, 25, 26][round % 4]).into_bytes();
        // So that some begin as batches do.
        bytes.extend([[1, 1, 1, 1, 30], [49, 1, 1, 1, 1], [1, 1, 1, 1, 5], [52, 1, 1, 1, 1]][dice.below(4)]);
        for _ in 0..dice.below(60) {
            bytes.push(dice.below([256, 60][round % 2]) as u8);
        }
        let _ = ours(&bytes);
    }
}

#[test]
fn random_decisions() {
    let mut dice = Dice(9);
    for _ in 0..20_000 {
        let mut bytes = b"gosched\x01".to_vec();
        for _ in 0..dice.below(30) {
            bytes.push(dice.below([256, 12][dice.0 as usize % 2]) as u8);
        }
        let _ = read_decisions(&bytes, 5);
    }
}

/// What is wrong, and where.
#[test]
fn errors_tell_the_place() {
    let mut bytes = HEADER.to_vec();
    bytes.extend([EventType::GoStart as u8, 1, 2]);
    let error = TraceReader::new(&bytes[..]).unwrap().next_generation().unwrap_err();
    assert_eq!(error.to_string(), "byte 16: a batch should begin here, not 16");
    assert_eq!(
        TraceReader::new(&b"hello"[..]).map(|_| ()).unwrap_err().to_string(),
        "byte 0: this is no Go execution trace"
    );
    let old = TraceReader::new(&b"go 1.19 trace\0\0\0"[..]).map(|_| ()).unwrap_err().to_string();
    assert!(old.contains("Go 1.21 or before"), "{old}");
}

/// A batch that promises 64 KiB and has nothing takes no memory; one that promises more is refused.
#[test]
fn promises_take_no_memory() {
    let mut bytes = HEADER.to_vec();
    bytes.extend([1, 1, 1, 1, 0x80, 0x80, 0x04]);
    let error = TraceReader::new(&bytes[..]).unwrap().next_generation().unwrap_err();
    assert!(error.message.contains("ends after 0 of 65536"), "{error}");
    *bytes.last_mut().unwrap() = 0x05;
    let error = TraceReader::new(&bytes[..]).unwrap().next_generation().unwrap_err();
    assert!(error.message.contains("at most 65536"), "{error}");
}
