//! `summary`: where the time of goroutines and Ps went.
//!
//! A goroutine's time is counted when it changes, so memory is that of the goroutines that are
//! alive and of the groups.

use std::collections::BTreeMap;
use std::io::{self, Write};

use gosched_traceformat::decisions::{Decision, PickRule, SleepKind, TimedDecision};
use gosched_traceformat::order::{EventKind, GoState, TraceEvent};
use gosched_traceformat::read::{Generation, IdMap, Tables};
use gosched_traceformat::wire::EventType;
use serde::Serialize;

use crate::histogram::{DurationCounts, Percentiles};
use crate::people::{GroupName, People};
use crate::procs::{ProcDoing, ProcStretch, ProcsDoing};
use crate::source::Observer;
use crate::text::{TextTable, duration, percent};

/// A summary, in nanoseconds.
#[derive(Debug, Serialize)]
pub struct SummaryReport {
    /// From the first event to the last.
    pub span: u64,
    /// How many generations there are.
    pub generations: u64,
    /// How many events.
    pub events: u64,
    /// How many decisions.
    pub decisions: u64,
    /// The groups, those that ran longest first.
    pub groups: Vec<GroupSummary>,
    /// The Ps, in order.
    pub procs: Vec<ProcSummary>,
    /// How often Ps were taken from blocking calls.
    pub stolen_procs: u64,
    /// How often Ps were handed off, by reason; only from decisions.
    pub hand_offs: BTreeMap<String, u64>,
    /// How goroutines were picked, by rule; only from decisions.
    pub picks: BTreeMap<String, u64>,
    /// How long Ms stood in the poller; only from decisions.
    pub polling: u64,
}

/// One group of goroutines.
#[derive(Debug, Serialize)]
pub struct GroupSummary {
    /// Which.
    #[serde(flatten)]
    pub name: GroupName,
    /// How many goroutines.
    pub goroutines: u64,
    /// How long they ran.
    pub running: u64,
    /// How long they were runnable.
    pub runnable: u64,
    /// How long they waited, by reason.
    pub waiting: BTreeMap<String, u64>,
    /// How long they were in blocking calls, or computed without a P.
    pub syscall: u64,
    /// How long it took from runnable to running.
    pub latency: Percentiles,
}

/// One P.
#[derive(Debug, Default, Serialize)]
pub struct ProcSummary {
    /// Its number.
    pub p: u64,
    /// How long it ran goroutines.
    pub running: u64,
    /// How long its goroutine was in a blocking call.
    pub syscall: u64,
    /// How long its M was in the scheduler.
    pub scheduling: u64,
    /// Of that: how long it looked for work of others; only from decisions.
    pub spinning: u64,
    /// How long nobody held it.
    pub idle: u64,
    /// How many goroutines were stolen for it; only from decisions.
    pub steals: u64,
}

#[derive(Debug, Default)]
struct GroupCounts {
    goroutines: u64,
    running: u64,
    runnable: u64,
    waiting: BTreeMap<String, u64>,
    syscall: u64,
    latency: DurationCounts,
}

#[derive(Debug)]
struct GoStretch {
    state: GoState,
    since: i64,
    reason: String,
}

/// Sums a trace up.
#[derive(Debug, Default)]
pub struct SummaryObserver {
    people: People,
    lives: IdMap<GoStretch>,
    groups: Vec<GroupCounts>,
    doing: ProcsDoing,
    procs: BTreeMap<u64, ProcSummary>,
    spins: IdMap<i64>,
    polls: IdMap<i64>,
    first: Option<i64>,
    last: i64,
    report: Totals,
}

#[derive(Debug, Default)]
struct Totals {
    generations: u64,
    events: u64,
    decisions: u64,
    stolen_procs: u64,
    polling: u64,
    hand_offs: BTreeMap<String, u64>,
    picks: BTreeMap<String, u64>,
}

fn span(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}

impl SummaryObserver {
    /// The goroutine has been in its state until now.
    fn account(&mut self, g: u64, life: &GoStretch, until: i64, next: GoState) {
        let Some(group) = self.people.group(g) else { return };
        if group >= self.groups.len() {
            self.groups.resize_with(group + 1, GroupCounts::default);
        }
        let (counts, length) = (&mut self.groups[group], span(life.since, until));
        match life.state {
            GoState::Running => counts.running += length,
            GoState::Runnable => {
                counts.runnable += length;
                if next == GoState::Running {
                    counts.latency.add(length);
                }
            }
            GoState::Syscall => counts.syscall += length,
            GoState::Waiting => match counts.waiting.get_mut(&life.reason) {
                Some(waited) => *waited += length,
                None => drop(counts.waiting.insert(life.reason.clone(), length)),
            },
            GoState::Undetermined | GoState::NotExist => counts.goroutines += 1,
        }
    }

    fn change(&mut self, event: &TraceEvent, tables: &Tables) {
        let EventKind::GoChange { g, from, to, reason, .. } = &event.kind else { return };
        if from == to {
            return;
        }
        let life = self.lives.remove(g).unwrap_or(GoStretch {
            state: GoState::NotExist,
            since: event.time,
            reason: String::new(),
        });
        self.account(*g, &life, event.time, *to);
        if *to == GoState::NotExist {
            self.people.forget(*g);
            return;
        }
        let reason = match tables.string(*reason) {
            Some("") | None => "not said".to_owned(),
            Some(reason) => reason.to_owned(),
        };
        self.lives.insert(*g, GoStretch { state: *to, since: event.time, reason });
    }

    fn stretch(&mut self, stretch: ProcStretch) {
        let proc = self.procs.entry(stretch.p).or_default();
        let length = span(stretch.from, stretch.to);
        match stretch.doing {
            ProcDoing::Idle => proc.idle += length,
            ProcDoing::Scheduling => proc.scheduling += length,
            ProcDoing::InGoroutine(_) => proc.running += length,
            ProcDoing::InCall(_) => proc.syscall += length,
        }
    }

    /// The report, once the trace has been shown.
    #[must_use]
    pub fn finish(mut self) -> SummaryReport {
        for (g, life) in core::mem::take(&mut self.lives) {
            self.account(g, &life, self.last, GoState::NotExist);
        }
        let open: Vec<ProcStretch> = self.doing.now().collect();
        for stretch in open {
            self.stretch(ProcStretch { to: self.last, ..stretch });
        }
        let mut groups: Vec<GroupSummary> = Vec::new();
        for (number, counts) in self.groups.into_iter().enumerate() {
            groups.push(GroupSummary {
                name: self.people.name(number).clone(),
                goroutines: counts.goroutines,
                running: counts.running,
                runnable: counts.runnable,
                waiting: counts.waiting,
                syscall: counts.syscall,
                latency: counts.latency.percentiles(),
            });
        }
        groups.sort_by(|a, b| b.running.cmp(&a.running).then_with(|| a.name.function.cmp(&b.name.function)));
        let procs = self.procs.into_iter().map(|(p, proc)| ProcSummary { p, ..proc }).collect();
        let totals = self.report;
        SummaryReport {
            span: span(self.first.unwrap_or(0), self.last),
            generations: totals.generations,
            events: totals.events,
            decisions: totals.decisions,
            groups,
            procs,
            stolen_procs: totals.stolen_procs,
            hand_offs: totals.hand_offs,
            picks: totals.picks,
            polling: totals.polling,
        }
    }
}

/// What a rule is called in the summary.
fn rule_name(rule: PickRule) -> &'static str {
    match rule {
        PickRule::OwnTimer => "own timer",
        PickRule::FairnessTick => "fairness tick",
        PickRule::Runnext => "runnext",
        PickRule::Ring => "own ring",
        PickRule::GlobalQueue { .. } => "global queue",
        PickRule::NetPoll { .. } => "network poll",
        PickRule::StolenRing { .. } => "stolen from a ring",
        PickRule::StolenRunnext { .. } => "stolen from a runnext",
        PickRule::StolenTimer { .. } => "timer of another P",
        PickRule::Kept => "kept",
        PickRule::Locked => "bound to its thread",
    }
}

impl Observer for SummaryObserver {
    fn generation(&mut self, _: &Generation) {
        self.report.generations += 1;
    }

    fn decision(&mut self, decision: &TimedDecision) {
        self.report.decisions += 1;
        let (time, m) = (decision.time, decision.m.unwrap_or(u64::MAX));
        match decision.decision {
            Decision::Pick { p, rule, .. } => {
                *self.report.picks.entry(rule_name(rule).to_owned()).or_default() += 1;
                let taken = match rule {
                    PickRule::StolenRing { taken, .. } => taken,
                    PickRule::StolenRunnext { .. } => 1,
                    _ => 0,
                };
                self.procs.entry(p).or_default().steals += taken;
            }
            Decision::SpinBegin { p } => drop(self.spins.insert(p, time)),
            Decision::SpinEnd { p, .. } => {
                if let Some(begun) = self.spins.remove(&p) {
                    self.procs.entry(p).or_default().spinning += span(begun, time);
                }
            }
            Decision::SleepBegin { kind: SleepKind::InPoller } => drop(self.polls.insert(m, time)),
            Decision::SleepEnd => {
                let begun = self.polls.remove(&m);
                self.report.polling += begun.map_or(0, |begun| span(begun, time));
            }
            Decision::HandedOff { reason, .. } => {
                *self.report.hand_offs.entry(crate::explain::reason_text(reason).to_owned()).or_default() +=
                    1;
            }
            _ => {}
        }
    }

    fn event(&mut self, event: &TraceEvent, tables: &Tables) {
        self.first.get_or_insert(event.time);
        self.last = event.time;
        self.report.events += 1;
        self.report.stolen_procs += u64::from(event.wire == EventType::ProcSteal);
        if let Some(stretch) = self.doing.event(event) {
            self.stretch(stretch);
        }
        self.people.event(event, tables);
        self.change(event, tables);
    }
}

impl SummaryReport {
    /// Writes it as text.
    ///
    /// # Errors
    /// If the output can't be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{} in {} generations: {} events, {} decisions\n",
            duration(self.span),
            self.generations,
            self.events,
            self.decisions
        )?;
        self.write_groups(out)?;
        self.write_waits(out)?;
        self.write_procs(out)?;
        writeln!(out, "\nPs stolen from blocking calls: {}", self.stolen_procs)?;
        if self.decisions == 0 {
            return writeln!(out, "Rules, hand-offs and spinning are not recorded in this trace.");
        }
        writeln!(out, "Time of Ms in the poller: {}", duration(self.polling))?;
        for (what, counts) in [("Picked", &self.picks), ("Handed off", &self.hand_offs)] {
            let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
            writeln!(
                out,
                "{what}: {}",
                if counts.is_empty() { "never".to_owned() } else { counts.join(", ") }
            )?;
        }
        Ok(())
    }

    fn write_groups(&self, out: &mut dyn Write) -> io::Result<()> {
        let heads = [
            "goroutines",
            "n",
            "running",
            "runnable",
            "waiting",
            "in calls",
            "starts",
            "p50",
            "p90",
            "p99",
            "max",
        ];
        let mut table = TextTable::new(&heads);
        for group in &self.groups {
            let latency = group.latency;
            let times = [latency.p50, latency.p90, latency.p99, latency.max].map(duration);
            let waiting = group.waiting.values().sum();
            let mut row = vec![group.name.function.clone(), group.goroutines.to_string()];
            row.extend([group.running, group.runnable, waiting, group.syscall].map(duration));
            row.push(latency.count.to_string());
            row.extend(times);
            table.row(row);
        }
        table.write(out)
    }

    fn write_waits(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut table = TextTable::new(&["waiting for", "time"]);
        let mut waits: BTreeMap<&str, u64> = BTreeMap::new();
        for (reason, time) in self.groups.iter().flat_map(|group| &group.waiting) {
            *waits.entry(reason).or_default() += time;
        }
        let mut waits: Vec<(&str, u64)> = waits.into_iter().collect();
        waits.sort_by_key(|(_, time)| core::cmp::Reverse(*time));
        for (reason, time) in waits {
            table.row(vec![reason.to_owned(), duration(time)]);
        }
        writeln!(out)?;
        table.write(out)
    }

    fn write_procs(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut table =
            TextTable::new(&["P", "running", "in calls", "scheduling", "spinning", "idle", "steals"]);
        for proc in &self.procs {
            let whole = proc.running + proc.syscall + proc.scheduling + proc.idle;
            let share = |part| percent(part, whole);
            let spinning = if self.decisions == 0 { "-".to_owned() } else { share(proc.spinning) };
            let steals = if self.decisions == 0 { "-".to_owned() } else { proc.steals.to_string() };
            let mut row = vec![proc.p.to_string()];
            row.extend([proc.running, proc.syscall, proc.scheduling].map(share));
            row.extend([spinning, share(proc.idle), steals]);
            table.row(row);
        }
        writeln!(out)?;
        table.write(out)
    }
}
