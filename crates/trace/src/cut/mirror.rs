//! What every goroutine, P and M does now, so that it can be said anew where a generation begins.

use std::collections::BTreeMap;
use std::io::{self, Write};

use gosched_traceformat::order::{EventKind, GoState, Origin, RangeEdge, RangeKind, TraceEvent};
use gosched_traceformat::read::IdMap;
use gosched_traceformat::wire::{EventType, GoStatus, MAX_ARGS, NONE, ProcStatus};

use super::writer::GenerationWriter;

/// The P and the goroutine of an M.
#[derive(Clone, Copy, Debug, Default)]
struct Holding {
    p: Option<u64>,
    g: Option<u64>,
}

/// What everything does.
#[derive(Debug, Default)]
pub(super) struct Mirror {
    gs: IdMap<GoState>,
    ps: BTreeMap<u64, ProcStatus>,
    ms: BTreeMap<u64, Holding>,
    /// Whether the collector is active.
    pub(super) collects: bool,
}

impl Mirror {
    /// To be shown every event, after it was written.
    pub(super) fn event(&mut self, event: &TraceEvent) {
        match &event.kind {
            EventKind::ProcChange { p, .. } => self.proc(event, *p),
            EventKind::GoChange { g, from, to, .. } => self.goroutine(event, *g, *from, *to),
            EventKind::Range { edge, range: RangeKind::Collection, .. } => {
                self.collects = *edge != RangeEdge::End;
            }
            _ => {}
        }
    }

    fn holding(&mut self, m: Option<u64>) -> Option<&mut Holding> {
        Some(self.ms.entry(m?).or_default())
    }

    fn proc(&mut self, event: &TraceEvent, p: u64) {
        let m = event.scene.m;
        match (event.wire, event.origin) {
            (EventType::ProcStatus, _) => {
                let status = ProcStatus::from_code(event.args[1]).unwrap_or(ProcStatus::Idle);
                // Known better already: see the same place of `order`.
                if status == ProcStatus::Abandoned && self.ps.get(&p) == Some(&ProcStatus::Syscall) {
                    return;
                }
                self.ps.insert(p, status);
                if let (ProcStatus::Running | ProcStatus::Syscall, Some(holding)) = (status, self.holding(m))
                {
                    holding.p = Some(p);
                }
            }
            (EventType::ProcStart, _) => {
                self.ps.insert(p, ProcStatus::Running);
                if let Some(holding) = self.holding(m) {
                    holding.p = Some(p);
                }
            }
            (EventType::ProcSteal, Origin::Recorded) => {
                if self.ps.insert(p, ProcStatus::Idle) != Some(ProcStatus::Abandoned)
                    && let Some(holding) = self.holding(Some(event.args[2]))
                {
                    holding.p = None;
                }
            }
            (wire, _) => {
                // It is given up, or lost by a thread that leaves.
                let is_lost = wire == EventType::ProcSteal;
                self.ps.insert(p, if is_lost { ProcStatus::Abandoned } else { ProcStatus::Idle });
                if let Some(holding) = self.holding(m) {
                    holding.p = None;
                }
            }
        }
    }

    fn goroutine(&mut self, event: &TraceEvent, g: u64, from: GoState, to: GoState) {
        let at_m = |state| matches!(state, GoState::Running | GoState::Syscall);
        if let Some(holding) = self.holding(event.scene.m) {
            if at_m(to) {
                holding.g = Some(g);
            } else if at_m(from) && holding.g == Some(g) {
                holding.g = None;
            }
        }
        if to == GoState::NotExist {
            self.gs.remove(&g);
        } else {
            self.gs.insert(g, to);
        }
        let status = match event.wire {
            EventType::GoSyscallBegin => ProcStatus::Syscall,
            EventType::GoSyscallEnd => ProcStatus::Running,
            _ => return,
        };
        if let Some(p) = event.scene.p {
            self.ps.insert(p, status);
        }
    }

    /// Says what everything does.
    pub(super) fn write_statuses(
        &self,
        writer: &mut GenerationWriter,
        time: i64,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut status = |m: Option<u64>, wire, args: [u64; 3]| {
            let mut all = [0; MAX_ARGS];
            all[..3].copy_from_slice(&args);
            writer.event(m, wire, time, all, out)
        };
        for (m, holding) in &self.ms {
            if let Some((p, of_p)) = holding.p.and_then(|p| Some((p, *self.ps.get(&p)?))) {
                status(Some(*m), EventType::ProcStatus, [p, of_p as u64, 0])?;
            }
            if let Some((g, state)) = holding.g.and_then(|g| Some((g, *self.gs.get(&g)?))) {
                status(Some(*m), EventType::GoStatus, [g, *m, code(state) as u64])?;
            }
        }
        for (p, of_p) in &self.ps {
            if matches!(of_p, ProcStatus::Idle | ProcStatus::Abandoned) {
                status(None, EventType::ProcStatus, [*p, *of_p as u64, 0])?;
            }
        }
        let mut gs: Vec<(u64, GoState)> = self.gs.iter().map(|(g, state)| (*g, *state)).collect();
        gs.sort_unstable_by_key(|(g, _)| *g);
        for (g, state) in gs {
            if matches!(state, GoState::Runnable | GoState::Waiting) {
                status(None, EventType::GoStatus, [g, NONE, code(state) as u64])?;
            }
        }
        Ok(())
    }
}

fn code(state: GoState) -> GoStatus {
    match state {
        GoState::Running => GoStatus::Running,
        GoState::Runnable => GoStatus::Runnable,
        GoState::Waiting => GoStatus::Waiting,
        GoState::Syscall => GoStatus::Syscall,
        GoState::Undetermined | GoState::NotExist => GoStatus::Bad,
    }
}
