//! What each P does, at every moment: idle, in a goroutine, in a blocking call, or in the
//! scheduler.
//!
//! Go's events say when a P is held; what its holder does follows from the goroutine's changes on
//! that P.

use gosched_traceformat::order::{EventKind, GoState, ProcState, TraceEvent};
use gosched_traceformat::read::IdMap;

/// What a P does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcDoing {
    /// Nobody holds it.
    Idle,
    /// Its holder looks for a goroutine, or is just between two.
    Scheduling,
    /// It runs this goroutine.
    InGoroutine(u64),
    /// This goroutine is in a blocking call and has the P still.
    InCall(u64),
}

/// A stretch of time in which a P did one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcStretch {
    /// Which P.
    pub p: u64,
    /// What it did.
    pub doing: ProcDoing,
    /// Since when.
    pub from: i64,
    /// Until when.
    pub to: i64,
}

/// What all Ps do.
#[derive(Debug, Default)]
pub struct ProcsDoing {
    now: IdMap<(ProcDoing, i64)>,
}

impl ProcsDoing {
    /// To be shown every event. Gives the stretch that ends with it, if one does.
    pub fn event(&mut self, event: &TraceEvent) -> Option<ProcStretch> {
        let (p, doing) = match &event.kind {
            EventKind::ProcChange { p, from, to } if from != to => match to {
                ProcState::Running => (*p, ProcDoing::Scheduling),
                _ => (*p, ProcDoing::Idle),
            },
            EventKind::GoChange { g, from, to, .. } if from != to => {
                let p = event.scene.p?;
                match (from, to) {
                    (_, GoState::Running) => (p, ProcDoing::InGoroutine(*g)),
                    (GoState::Running | GoState::Undetermined, GoState::Syscall)
                        if self.is_here(event, *g) =>
                    {
                        (p, ProcDoing::InCall(*g))
                    }
                    (GoState::Running, _) => (p, ProcDoing::Scheduling),
                    _ => return None,
                }
            }
            _ => return None,
        };
        let last = self.now.insert(p, (doing, event.time));
        last.map(|(doing, from)| ProcStretch { p, doing, from, to: event.time })
    }

    /// Whether a status names the goroutine on this M, and not one that is in a call elsewhere.
    fn is_here(&self, event: &TraceEvent, g: u64) -> bool {
        event.scene.g.is_none_or(|here| here == g)
    }

    /// What each P does now, and since when.
    pub fn now(&self) -> impl Iterator<Item = ProcStretch> + '_ {
        self.now.iter().map(|(p, (doing, from))| ProcStretch { p: *p, doing: *doing, from: *from, to: *from })
    }
}
