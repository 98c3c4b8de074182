//! What tests of traces share: where a trace goes, and how it is read.
#![allow(dead_code)] // Each test binary uses its own part.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use gosched_traceformat::order::{EventKind, OrderedTrace, TraceEvent};
use gosched_traceformat::wire::{EventType, HEADER};

/// A trace in memory.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Memory {
    /// What has been written.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Gives each event to `see`; an error says at which byte the trace is broken.
pub fn read_with(bytes: &[u8], mut see: impl FnMut(&TraceEvent)) -> Result<(), String> {
    let mut trace = OrderedTrace::new(bytes).map_err(|error| error.to_string())?;
    while let Some(event) = trace.next_event().map_err(|error| error.to_string())? {
        see(&event);
    }
    Ok(())
}

/// How many events there are, but for those that every trace has, an empty one too.
pub fn read(bytes: &[u8]) -> Result<u64, String> {
    let mut events = 0;
    read_with(bytes, |event| events += u64::from(!matches!(event.kind, EventKind::Sync { .. })))?;
    Ok(events)
}

/// Where each generation ends.
fn ends(bytes: &[u8]) -> Vec<usize> {
    let mut trace = OrderedTrace::new(bytes).unwrap();
    let mut ends = Vec::new();
    while let Some(event) = trace.next_event().unwrap() {
        if matches!(event.kind, EventKind::Sync { .. }) {
            ends.push(trace.offset() as usize);
        }
    }
    ends.dedup();
    ends
}

/// Reads each generation as if it were a trace of its own; returns how many there are.
pub fn read_each_generation(bytes: &[u8]) -> usize {
    let ends = ends(bytes);
    let mut begin = HEADER.len();
    let mut read_alone = 0;
    for end in ends {
        if end <= begin {
            continue;
        }
        let alone = [&HEADER[..], &bytes[begin..end]].concat();
        if let Err(error) = read(&alone) {
            panic!("generation {} alone: {error}", read_alone + 1);
        }
        read_alone += 1;
        begin = end;
    }
    read_alone
}

/// How often events of this type were recorded.
pub fn count(bytes: &[u8], wanted: EventType) -> usize {
    let mut found = 0;
    read_with(bytes, |event| found += usize::from(event.wire == wanted)).unwrap();
    found
}
