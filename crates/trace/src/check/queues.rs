//! What the decisions promise: the order of the global queue, the fairness tick, and that what
//! starts was picked.

use std::collections::BTreeMap;

use gosched_traceformat::decisions::{Decision, PickRule, PutPlace, TimedDecision};
use gosched_traceformat::order::{EventKind, GoState, Origin, TraceEvent};
use gosched_traceformat::read::IdMap;

use super::CheckReport;
use crate::explain::ordinal;

/// Each so manieth pick looks at the global queue first.
pub(super) const FAIRNESS: u64 = 61;

/// For how long, in nanoseconds, something must have been in the global queue to be seen by a P
/// that looks: the look takes no lock, and times of two CPUs differ.
const SEEN_AFTER: i64 = 100_000;

/// One queue of the global one.
#[derive(Debug, Default)]
struct QueueModel {
    /// Who was put in as the k-th, and when; until it is taken.
    inside: BTreeMap<u64, (u64, i64)>,
    taken: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct QueueCheck {
    has_decisions: bool,
    queues: IdMap<QueueModel>,
    /// Who was picked for each P and has not started yet.
    picked: IdMap<u64>,
}

impl QueueCheck {
    /// Without decisions in a generation nothing is known of the queues after it.
    pub(super) fn generation(&mut self, has_decisions: bool) {
        if !has_decisions {
            self.queues.clear();
            self.picked.clear();
        }
        self.has_decisions = has_decisions;
    }

    pub(super) fn decision(&mut self, decision: &TimedDecision, report: &mut CheckReport) {
        match decision.decision {
            Decision::Put { g, place: PutPlace::InGlobal { queue, order } } => {
                let queue = self.queues.entry(queue).or_default();
                // It may have been taken by a CPU whose clock is ahead.
                if queue.taken.is_none_or(|taken| order > taken) {
                    queue.inside.insert(order, (g, decision.time));
                }
            }
            Decision::Take { p, g, queue, order } => self.take(decision.time, p, g, queue, order, report),
            Decision::Pick { p, g, tick, rule } => {
                self.pick(decision.time, p, tick, rule, report);
                self.picked.insert(p, g);
            }
            _ => {}
        }
    }

    fn take(&mut self, time: i64, p: u64, g: u64, number: u64, order: u64, report: &mut CheckReport) {
        let queue = self.queues.entry(number).or_default();
        if let Some((put, _)) = queue.inside.remove(&order)
            && put != g
        {
            let nth = ordinal(order);
            let message = format!(
                "P {p} took goroutine {g} out of queue {number} as the {nth}, but goroutine {put} was put in as \
                 the {nth}"
            );
            report.add("fifo", time, message);
        }
        queue.taken = Some(queue.taken.unwrap_or(0).max(order));
    }

    fn pick(&mut self, time: i64, p: u64, tick: u64, rule: PickRule, report: &mut CheckReport) {
        let is_turn = tick > 0 && tick.is_multiple_of(FAIRNESS);
        if rule == PickRule::FairnessTick && !is_turn {
            let message = format!("P {p} looked at the global queue first at its pick {tick}");
            report.add("fairness", time, message);
        }
        let should_look = match rule {
            PickRule::Runnext
            | PickRule::Ring
            | PickRule::NetPoll { .. }
            | PickRule::StolenRing { .. }
            | PickRule::StolenRunnext { .. } => is_turn,
            _ => false,
        };
        let waiting =
            self.queues.values().flat_map(|queue| queue.inside.values()).min_by_key(|(_, put)| *put);
        if let Some((g, put)) = waiting
            && should_look
            && time - put > SEEN_AFTER
        {
            let message = format!(
                "P {p} passed over the global queue at its pick {tick}, though goroutine {g} had been there"
            );
            report.add("fairness", time, message);
        }
    }

    pub(super) fn event(&mut self, event: &TraceEvent, report: &mut CheckReport) {
        let EventKind::GoChange { g, from: GoState::Runnable, to: GoState::Running, .. } = event.kind else {
            return;
        };
        let (Some(p), Origin::Recorded, true) = (event.scene.p, event.origin, self.has_decisions) else {
            return;
        };
        match self.picked.remove(&p) {
            Some(picked) if picked == g => {}
            Some(picked) => {
                let message = format!("P {p} picked goroutine {picked}, but goroutine {g} started");
                report.add("picked", event.time, message);
            }
            None => {
                let message = format!("goroutine {g} started on P {p}, but nothing picked it");
                report.add("picked", event.time, message);
            }
        }
    }
}
