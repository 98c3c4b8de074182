//! The second reading: what ran on the Ps during the longest delays.

use std::collections::BTreeMap;

use gosched_traceformat::order::{EventKind, GoState, TraceEvent};
use gosched_traceformat::read::Tables;

use super::report::{DelayFinding, MeanwhileShare};
use crate::people::People;
use crate::procs::{ProcDoing, ProcStretch, ProcsDoing};
use crate::source::Observer;

/// So many are said of each delay.
const SHARES: usize = 4;

/// What ran, by P and what.
type Shares = BTreeMap<(u64, String), u64>;

pub(super) struct SecondReading {
    /// The delays, and what ran during each.
    delays: Vec<((i64, i64), Shares)>,
    people: People,
    doing: ProcsDoing,
    end: i64,
}

impl SecondReading {
    pub(super) fn new(delays: &[DelayFinding]) -> SecondReading {
        SecondReading {
            end: delays.iter().map(|delay| delay.span.1).max().unwrap_or(i64::MIN),
            delays: delays.iter().map(|delay| (delay.span, Shares::new())).collect(),
            people: People::default(),
            doing: ProcsDoing::default(),
        }
    }

    fn stretch(&mut self, stretch: ProcStretch) {
        for ((from, to), shares) in &mut self.delays {
            let both = stretch.to.min(*to) - stretch.from.max(*from);
            if both > 0 {
                let what = match stretch.doing {
                    ProcDoing::Idle => "idle".to_owned(),
                    ProcDoing::Scheduling => "in the scheduler".to_owned(),
                    ProcDoing::InGoroutine(g) => self.people.function(g).to_owned(),
                    ProcDoing::InCall(g) => format!("held by a blocking call of {}", self.people.function(g)),
                };
                *shares.entry((stretch.p, what)).or_default() += both as u64;
            }
        }
    }

    pub(super) fn finish(mut self, delays: &mut [DelayFinding]) {
        let open: Vec<ProcStretch> = self.doing.now().collect();
        for stretch in open {
            self.stretch(ProcStretch { to: self.end, ..stretch });
        }
        for (delay, (_, shares)) in delays.iter_mut().zip(self.delays) {
            let mut shares: Vec<MeanwhileShare> =
                shares.into_iter().map(|((p, what), time)| MeanwhileShare { p, what, time }).collect();
            shares.sort_by_key(|share| core::cmp::Reverse(share.time));
            shares.truncate(SHARES);
            delay.meanwhile = shares;
        }
    }
}

impl Observer for SecondReading {
    fn event(&mut self, event: &TraceEvent, tables: &Tables) {
        if let Some(stretch) = self.doing.event(event) {
            self.stretch(stretch);
        }
        self.people.event(event, tables);
        if let EventKind::GoChange { g, to: GoState::NotExist, .. } = event.kind {
            self.people.forget(g);
        }
    }

    fn has_enough(&self) -> bool {
        // Stretches that are open then are ended by `finish`.
        self.doing.now().all(|stretch| stretch.from > self.end) && self.doing.now().next().is_some()
    }
}
