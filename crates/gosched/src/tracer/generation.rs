//! A generation that is being put together: the batches that streams have filled, then the status
//! of all that nobody has touched, then the tables.

use gosched_traceformat::encode::{ClockReading, END_OF_GENERATION, put_sync};
use std::time::{SystemTime, UNIX_EPOCH};

use super::tables::TraceTables;
use crate::dump;
use crate::recorder::{self, BORROWED, BORROWED_P, FullBuffer, OTHERS};

/// Room for what the clocks read.
const SYNC_BYTES: usize = 96;

pub(super) struct OpenGeneration {
    number: u64,
    bytes: Vec<u8>,
    tables: TraceTables,
    /// What both clocks read when the first generation began: the longer ago, the better is known
    /// how long a tick is.
    first: (u64, u64),
}

impl OpenGeneration {
    pub(super) fn new(number: u64) -> OpenGeneration {
        OpenGeneration {
            number,
            bytes: Vec::new(),
            tables: TraceTables::new(),
            first: recorder::read_clocks(),
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Begins the next one.
    pub(super) fn renew(&mut self, number: u64) {
        self.number = number;
        self.bytes.clear();
    }

    /// Adds a batch.
    pub(super) fn add(&mut self, full: FullBuffer) {
        self.bytes.extend_from_slice(&full.buffer[..full.len]);
        recorder::give_back(full.buffer);
    }

    /// The generation is over: has all streams complete it, and says in it what nobody has touched.
    pub(super) fn visit_all(&mut self) {
        let Some(scheduler) = dump::scheduler() else { return };
        OTHERS.visit(self.number);
        for m in scheduler.every_m() {
            m.recorder.visit(self.number);
        }
        recorder::collect(self.number, &BORROWED.word, || BORROWED_P);
        for p in scheduler.ps() {
            recorder::collect(self.number, &p.traced.word, || u64::from(p.id));
        }
        for g in scheduler.gs() {
            recorder::collect(self.number, &g.traced, || g.id());
        }
        recorder::complete(self.number);
    }

    /// Adds the tables and the end.
    pub(super) fn finish(&mut self) {
        let (ticks, mono) = recorder::read_clocks();
        self.tables.add_to(&mut self.bytes, self.number, ticks);
        let mut storage = [0; SYNC_BYTES];
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let clocks = ClockReading {
            trace: ticks,
            mono,
            seconds: wall.as_secs(),
            nanos: u64::from(wall.subsec_nanos()),
        };
        let (bytes, len) = put_sync(&mut storage[..], self.number, self.frequency(ticks, mono), clocks);
        self.bytes.extend_from_slice(&bytes[..len]);
        self.bytes.extend_from_slice(&END_OF_GENERATION);
    }

    /// Ticks of a second.
    fn frequency(&self, ticks: u64, mono: u64) -> u64 {
        let ticks = u128::from(ticks.wrapping_sub(self.first.0));
        let nanos = u128::from(mono.saturating_sub(self.first.1)).max(1);
        u64::try_from(ticks * 1_000_000_000 / nanos).unwrap_or(u64::MAX).max(1)
    }
}
