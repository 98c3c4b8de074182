//! Is a P idle while somebody is runnable? Does anybody wait too long?
//!
//! Invariant: `runnable` and `idle` hold who is so now and since when, ordered by that, so the one
//! that matters, the first, is found at once. A pair is looked at when either ends.

use std::collections::BTreeSet;

use gosched_traceformat::order::{
    EventKind, GaugeKind, GoState, ProcState, RangeEdge, RangeKind, TraceEvent,
};
use gosched_traceformat::read::IdMap;

use super::{Bounds, CheckReport};
use crate::text::duration;

/// Who is so, ordered by since when.
#[derive(Debug, Default)]
struct SinceOrder {
    order: BTreeSet<(i64, u64)>,
    times: IdMap<i64>,
}

impl SinceOrder {
    fn begin(&mut self, id: u64, time: i64) {
        if self.times.insert(id, time).is_none() {
            self.order.insert((time, id));
        }
    }

    fn end(&mut self, id: u64) -> Option<i64> {
        let time = self.times.remove(&id)?;
        self.order.remove(&(time, id));
        Some(time)
    }
}

#[derive(Debug)]
pub(super) struct IdleCheck {
    bounds: Bounds,
    runnable: SinceOrder,
    idle: SinceOrder,
    /// Stopped worlds that are open.
    stops: u64,
    /// Before this, the world was stopped.
    free_since: i64,
    /// Ps from this number on are left out.
    procs: u64,
    last: i64,
}

fn span(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}

impl IdleCheck {
    pub(super) fn new(bounds: Bounds) -> IdleCheck {
        IdleCheck {
            bounds,
            runnable: SinceOrder::default(),
            idle: SinceOrder::default(),
            stops: 0,
            free_since: 0,
            procs: u64::MAX,
            last: 0,
        }
    }

    pub(super) fn last(&self) -> i64 {
        self.last
    }

    pub(super) fn event(&mut self, event: &TraceEvent, report: &mut CheckReport) {
        self.last = event.time;
        match &event.kind {
            EventKind::GoChange { g, from, to, .. } if from != to => {
                if *to == GoState::Runnable {
                    self.runnable.begin(*g, event.time);
                } else if let Some(since) = self.runnable.end(*g) {
                    self.runnable_ends(*g, since, report);
                }
            }
            EventKind::ProcChange { p, from, to } if from != to => {
                if *to == ProcState::Idle {
                    self.idle.begin(*p, event.time);
                } else if let Some(since) = self.idle.end(*p) {
                    self.idle_ends(*p, since, report);
                }
            }
            EventKind::Gauge { gauge: GaugeKind::Procs, value } => self.procs = *value,
            EventKind::Range { edge, range: RangeKind::StoppedWorld { .. }, .. } => {
                match edge {
                    RangeEdge::End => self.stops = self.stops.saturating_sub(1),
                    _ => self.stops += 1,
                }
                self.free_since = event.time;
            }
            _ => {}
        }
    }

    fn runnable_ends(&mut self, g: u64, since: i64, report: &mut CheckReport) {
        let waited = span(since.max(self.free_since), self.last);
        if self.stops == 0 && waited > self.bounds.latency {
            let message = format!("goroutine {g} was runnable for {}", duration(waited));
            report.add("latency", self.last, message);
        }
        let first = self.idle.order.iter().find(|(_, p)| *p < self.procs);
        if let Some((idle, p)) = first {
            self.pair(*p, *idle, g, since, report);
        }
    }

    fn idle_ends(&mut self, p: u64, since: i64, report: &mut CheckReport) {
        if p >= self.procs {
            return;
        }
        if let Some((runnable, g)) = self.runnable.order.first() {
            self.pair(p, since, *g, *runnable, report);
        }
    }

    /// The P was idle and the goroutine runnable until now.
    fn pair(&self, p: u64, idle: i64, g: u64, runnable: i64, report: &mut CheckReport) {
        let both = span(idle.max(runnable).max(self.free_since), self.last);
        if self.stops == 0 && both > self.bounds.idle {
            let message = format!("P {p} was idle for {} while goroutine {g} was runnable", duration(both));
            report.add("idle", self.last, message);
        }
    }

    /// The trace ends: what is so still, has been so until now.
    pub(super) fn finish(&mut self, report: &mut CheckReport) {
        if let Some((since, g)) = self.runnable.order.first().copied() {
            self.runnable_ends(g, since, report);
        }
    }
}
