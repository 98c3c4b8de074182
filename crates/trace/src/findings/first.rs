//! The first reading: everything but what ran during the delays.

use std::collections::BTreeMap;

use gosched_traceformat::decisions::TimedDecision;
use gosched_traceformat::order::{EventKind, GoState, TraceEvent};
use gosched_traceformat::read::{Generation, IdMap, Tables};

use super::report::{BlockedProc, DelayFinding, FindingsReport, ForgottenGroup, WaitFinding, WaitPlace};
use crate::people::{People, UNKNOWN, place};
use crate::procs::{ProcDoing, ProcStretch, ProcsDoing};
use crate::source::Observer;
use crate::text::duration;

/// Shorter stretches of one goroutine on a P are as they should be.
const SLICE: u64 = 10_000_000;
/// Blocking calls that hold a P for less are as they should be.
const CALL: u64 = 100_000;
/// Waits for these are for one another; others (sleeps, sockets) are for something outside.
const MUTUAL: [&str; 10] =
    ["chan", "select", "sync", "sema", "mutex", "lock", "barrier", "join", "cond", "wait for"];

#[derive(Debug)]
struct GoHistory {
    state: GoState,
    since: i64,
    place: Option<WaitPlace>,
    reason: String,
    readied_by: Option<u64>,
}

#[derive(Debug, Default)]
struct WaitCounts {
    count: u64,
    total: u64,
    max: u64,
    wakers: BTreeMap<(String, String), u64>,
}

/// What the first reading finds.
#[derive(Debug)]
pub(super) struct FirstReading {
    top: usize,
    people: People,
    lives: IdMap<GoHistory>,
    doing: ProcsDoing,
    /// Where the goroutine in a call of each P entered it.
    calls: IdMap<Option<(String, String)>>,
    report: FindingsReport,
    waits: BTreeMap<WaitPlace, WaitCounts>,
    first: Option<i64>,
    last: i64,
    last_generation: u64,
    lost: u64,
    has_stacks: bool,
    has_samples: bool,
    has_decisions: bool,
}

fn span(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}

/// Keeps the `top` largest.
fn keep<T>(list: &mut Vec<T>, top: usize, item: T, size: impl Fn(&T) -> u64) {
    let at = list.partition_point(|other| size(other) >= size(&item));
    if at < top {
        list.insert(at, item);
        list.truncate(top);
    }
}

impl FirstReading {
    pub(super) fn new(top: usize) -> FirstReading {
        FirstReading {
            top,
            people: People::default(),
            lives: IdMap::default(),
            doing: ProcsDoing::default(),
            calls: IdMap::default(),
            report: FindingsReport::default(),
            waits: BTreeMap::new(),
            first: None,
            last: 0,
            last_generation: 0,
            lost: 0,
            has_stacks: false,
            has_samples: false,
            has_decisions: false,
        }
    }

    fn since_first(&self, time: i64) -> u64 {
        span(self.first.unwrap_or(time), time)
    }

    /// A P has done one thing until now.
    fn stretch(&mut self, stretch: ProcStretch, event: &TraceEvent, tables: &Tables) {
        let time = span(stretch.from, stretch.to);
        let (goroutine, how) = match stretch.doing {
            ProcDoing::InCall(g) if time >= CALL => (g, "in a blocking call"),
            ProcDoing::InGoroutine(g) if time >= SLICE => (g, "which computed"),
            _ => return,
        };
        let place = match stretch.doing {
            ProcDoing::InCall(_) => self.calls.remove(&stretch.p).flatten(),
            _ => place(tables, event.stack),
        };
        let held = BlockedProc {
            p: stretch.p,
            goroutine,
            function: self.people.function(goroutine).to_owned(),
            how,
            since: self.since_first(stretch.from),
            time,
            place,
        };
        keep(&mut self.report.held, self.top, held, |held| held.time);
    }

    fn waited(&mut self, life: &GoHistory, event: &TraceEvent, tables: &Tables) {
        let Some(at) = &life.place else { return };
        let waited = span(life.since, event.time);
        let counts = match self.waits.get_mut(at) {
            Some(counts) => counts,
            None => self.waits.entry(at.clone()).or_default(),
        };
        counts.count += 1;
        counts.total += waited;
        counts.max = counts.max.max(waited);
        if let Some(waker) = place(tables, event.stack) {
            *counts.wakers.entry(waker).or_default() += waited;
        }
    }

    fn started(&mut self, g: u64, life: &GoHistory, time: i64) {
        let delay = span(life.since, time);
        let last = self.report.delays.last().map_or(0, |delay| delay.delay);
        if self.report.delays.len() == self.top && delay <= last {
            return;
        }
        let finding = DelayFinding {
            goroutine: g,
            function: self.people.function(g).to_owned(),
            since: self.since_first(life.since),
            delay,
            readied_by: life.readied_by,
            meanwhile: Vec::new(),
            span: (life.since, time),
        };
        keep(&mut self.report.delays, self.top, finding, |delay| delay.delay);
    }

    fn change(&mut self, event: &TraceEvent, tables: &Tables) {
        let EventKind::GoChange { g, from, to, reason, stack } = event.kind else { return };
        if from == to {
            return;
        }
        let old = self.lives.remove(&g);
        match (&old, from, to) {
            (Some(life), GoState::Runnable, GoState::Running) => self.started(g, life, event.time),
            (Some(life), GoState::Waiting, _) => self.waited(life, event, tables),
            (_, GoState::Running, GoState::Syscall) => {
                if let Some(p) = event.scene.p {
                    self.calls.insert(p, place(tables, event.stack));
                }
            }
            _ => {}
        }
        if to == GoState::NotExist {
            self.people.forget(g);
            return;
        }
        let reason = tables.string(reason).unwrap_or_default();
        let is_mutual = MUTUAL.iter().any(|word| reason.to_lowercase().contains(word));
        let waits = to == GoState::Waiting && is_mutual;
        let place = waits.then(|| {
            let unknown = || (UNKNOWN.to_owned(), UNKNOWN.to_owned());
            let (function, place) = place(tables, stack).unwrap_or_else(unknown);
            WaitPlace { reason: reason.to_owned(), function, place }
        });
        let readied_by = event.scene.g.filter(|by| *by != g);
        let reason = reason.to_owned();
        self.lives.insert(g, GoHistory { state: to, since: event.time, place, reason, readied_by });
    }

    /// Goroutines that are runnable at the end, or have waited for half of the trace for one
    /// another.
    fn forgotten(&self) -> Vec<ForgottenGroup> {
        let whole = self.since_first(self.last);
        let mut groups: BTreeMap<(String, String), ForgottenGroup> = BTreeMap::new();
        for (g, life) in &self.lives {
            let time = span(life.since, self.last);
            let state = match life.state {
                GoState::Runnable if time >= SLICE => "runnable".to_owned(),
                GoState::Waiting if life.place.is_some() && time > whole / 2 => {
                    format!("waiting ({})", life.reason)
                }
                _ => continue,
            };
            let function = self.people.function(*g).to_owned();
            let group = groups.entry((function.clone(), state.clone())).or_insert(ForgottenGroup {
                function,
                state,
                count: 0,
                longest: 0,
                example: *g,
            });
            group.count += 1;
            if time > group.longest {
                (group.longest, group.example) = (time, *g);
            }
        }
        let mut groups: Vec<ForgottenGroup> = groups.into_values().collect();
        // Who could run and did not, is worse than who waits.
        groups.sort_by_key(|group| (group.state != "runnable", core::cmp::Reverse(group.longest)));
        groups.truncate(self.top);
        groups
    }

    fn unmeasured(&self) -> Vec<String> {
        let mut unmeasured = Vec::new();
        if !self.has_stacks {
            unmeasured.push("places: the trace has no stacks".to_owned());
        }
        if !self.has_samples {
            unmeasured
                .push("what code ran while nothing was recorded: the trace has no CPU samples".to_owned());
        }
        if !self.has_decisions {
            unmeasured.push("by which rule goroutines were picked: the trace has no decisions".to_owned());
        }
        if self.lost > 0 {
            let whole = duration(self.since_first(self.last));
            unmeasured.push(format!("{} generations were lost in these {whole}", self.lost));
        }
        unmeasured.push("what happened before the trace began and after it ended".to_owned());
        unmeasured
    }

    pub(super) fn finish(mut self) -> FindingsReport {
        self.report.forgotten = self.forgotten();
        self.report.unmeasured = self.unmeasured();
        for (place, counts) in self.waits {
            let woken_by = counts.wakers.into_iter().max_by_key(|(_, time)| *time).map(|(waker, _)| waker);
            let WaitCounts { count, total, max, .. } = WaitCounts { wakers: BTreeMap::new(), ..counts };
            let wait = WaitFinding { place, count, total, max, woken_by };
            keep(&mut self.report.waits, self.top, wait, |wait| wait.total);
        }
        self.report
    }
}

impl Observer for FirstReading {
    fn generation(&mut self, generation: &Generation) {
        if self.last_generation > 0 {
            self.lost += generation.number.saturating_sub(self.last_generation + 1);
        }
        self.last_generation = generation.number;
        self.has_stacks |= generation.tables.has_stacks();
        self.has_samples |= !generation.samples.is_empty();
    }

    fn decision(&mut self, _: &TimedDecision) {
        self.has_decisions = true;
    }

    fn event(&mut self, event: &TraceEvent, tables: &Tables) {
        self.first.get_or_insert(event.time);
        self.last = event.time;
        if let Some(stretch) = self.doing.event(event) {
            self.stretch(stretch, event, tables);
        }
        self.people.event(event, tables);
        self.change(event, tables);
    }
}
