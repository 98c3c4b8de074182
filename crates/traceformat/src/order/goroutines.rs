//! What may happen to a goroutine.

use super::event::{EventKind, GoState, ProcState};
use super::model::{Advance, Advanced, Broken, GoEntry, Model, Need, OpenRanges, Standing, Trial};
use crate::wire::{EventType, GoStatus, NONE, ProcStatus};

/// A change without a reason.
fn change(g: u64, from: GoState, to: GoState) -> EventKind {
    EventKind::GoChange { g, from, to, reason: 0, stack: 0 }
}

impl Model {
    fn new_goroutine(&mut self, trial: &Trial<'_>, g: u64, status: GoStatus) -> Result<(), Broken> {
        let entry =
            GoEntry { status, serial: trial.fresh(), regions: Vec::new(), ranges: OpenRanges::default() };
        match self.gs.insert(g, entry) {
            None => Ok(()),
            Some(_) => Err(format!("goroutine {g} is created, but it is there already")),
        }
    }

    pub(super) fn go_status(&mut self, trial: &Trial<'_>) -> Advanced {
        let (g, m, code) = (trial.arg(0), trial.arg(1), trial.arg(2));
        let Some(status) = GoStatus::from_code(code) else {
            return Err(format!("goroutine {g} has the status {code}: there is no such status"));
        };
        let mut from = GoState::from(status);
        match self.gs.get_mut(&g) {
            Some(entry) if entry.status != status => {
                return Err(format!(
                    "goroutine {g} should be {:?}, but its status is {status:?}",
                    entry.status
                ));
            }
            Some(entry) => entry.serial = trial.fresh(),
            None if trial.generation == self.first => {
                self.new_goroutine(trial, g, status)?;
                from = GoState::Undetermined;
            }
            None => return Err(format!("goroutine {g} has a status, but it was never created")),
        }
        let (mut scene, mut next) = (trial.standing, trial.standing);
        match status {
            GoStatus::Running => next.g = g,
            GoStatus::Syscall if m == NONE => {
                return Err(format!("goroutine {g} is in a blocking call, but on no M"));
            }
            GoStatus::Syscall if m == trial.standing.m => {
                if trial.generation != self.first && trial.standing.g != g {
                    return Err(format!(
                        "goroutine {g} is in a blocking call on M {m}, which has another one"
                    ));
                }
                next.g = g;
            }
            GoStatus::Syscall => {
                // On another M, where it has been for the whole generation.
                match self.ms.get(&m) {
                    Some((_, has)) if *has != g => {
                        return Err(format!(
                            "goroutine {g} is in a blocking call on M {m}, which has another one"
                        ));
                    }
                    Some(_) => scene.g = g,
                    None => {
                        self.ms.insert(m, (NONE, g));
                    }
                }
                scene.m = m;
            }
            _ => {}
        }
        let stack = if trial.raw.event == EventType::GoStatusStack { trial.arg(3) } else { 0 };
        self.push(trial, scene, EventKind::GoChange { g, from, to: status.into(), reason: 0, stack });
        Ok(Advance::To(next))
    }

    pub(super) fn go_create(&mut self, trial: &Trial<'_>) -> Advanced {
        trial.need(Need::Must, Need::May)?;
        if self.gs.get(&trial.standing.g).is_some_and(|entry| entry.status != GoStatus::Running) {
            return Err(format!("goroutine {} creates another one, but it does not run", trial.standing.g));
        }
        let g = trial.arg(0);
        let (status, to) = match trial.raw.event {
            EventType::GoCreateBlocked => (GoStatus::Waiting, GoState::Waiting),
            _ => (GoStatus::Runnable, GoState::Runnable),
        };
        self.new_goroutine(trial, g, status)?;
        let kind = EventKind::GoChange { g, from: GoState::NotExist, to, reason: 0, stack: trial.arg(1) };
        self.push(trial, trial.standing, kind);
        Ok(Advance::To(trial.standing))
    }

    pub(super) fn go_create_syscall(&mut self, trial: &Trial<'_>) -> Advanced {
        trial.need(Need::May, Need::MustNot)?;
        let g = trial.arg(0);
        self.new_goroutine(trial, g, GoStatus::Syscall)?;
        self.push(trial, trial.standing, change(g, GoState::NotExist, GoState::Syscall));
        Ok(Advance::To(Standing { g, ..trial.standing }))
    }

    pub(super) fn go_start(&mut self, trial: &Trial<'_>) -> Advanced {
        let (g, serial) = (trial.arg(0), trial.serial(1));
        let Some(entry) = self.gs.get_mut(&g) else { return Ok(Advance::NotYet) };
        if entry.status != GoStatus::Runnable || !serial.follows(entry.serial) {
            return Ok(Advance::NotYet);
        }
        trial.need(Need::Must, Need::MustNot)?;
        (entry.status, entry.serial) = (GoStatus::Running, serial);
        self.push(trial, trial.standing, change(g, GoState::Runnable, GoState::Running));
        Ok(Advance::To(Standing { g, ..trial.standing }))
    }

    /// It ends, yields or waits.
    pub(super) fn go_leaves(&mut self, trial: &Trial<'_>) -> Advanced {
        trial.need_user()?;
        let g = trial.standing.g;
        let entry = self.current(trial, GoStatus::Running)?;
        let (reason, stack) = (trial.arg(0), trial.arg(1));
        let kind = match trial.raw.event {
            EventType::GoDestroy => {
                self.gs.remove(&g);
                change(g, GoState::Running, GoState::NotExist)
            }
            EventType::GoStop => {
                entry.status = GoStatus::Runnable;
                EventKind::GoChange { g, from: GoState::Running, to: GoState::Runnable, reason, stack }
            }
            _ => {
                entry.status = GoStatus::Waiting;
                EventKind::GoChange { g, from: GoState::Running, to: GoState::Waiting, reason, stack }
            }
        };
        self.push(trial, trial.standing, kind);
        Ok(Advance::To(Standing { g: NONE, ..trial.standing }))
    }

    pub(super) fn go_unblock(&mut self, trial: &Trial<'_>) -> Advanced {
        let (g, serial) = (trial.arg(0), trial.serial(1));
        let Some(entry) = self.gs.get_mut(&g) else { return Ok(Advance::NotYet) };
        if entry.status != GoStatus::Waiting || !serial.follows(entry.serial) {
            return Ok(Advance::NotYet);
        }
        (entry.status, entry.serial) = (GoStatus::Runnable, serial);
        self.push(trial, trial.standing, change(g, GoState::Waiting, GoState::Runnable));
        Ok(Advance::To(trial.standing))
    }

    /// Three things at once: another one is woken, the running one waits or ends, the other one
    /// runs.
    pub(super) fn go_switch(&mut self, trial: &Trial<'_>) -> Advanced {
        trial.need_user()?;
        self.current(trial, GoStatus::Running)?;
        let (g, serial, old) = (trial.arg(0), trial.serial(1), trial.standing.g);
        let Some(entry) = self.gs.get_mut(&g) else { return Ok(Advance::NotYet) };
        if entry.status != GoStatus::Waiting || !serial.follows(entry.serial) {
            return Ok(Advance::NotYet);
        }
        (entry.status, entry.serial) = (GoStatus::Running, serial);
        self.push(trial, trial.standing, change(g, GoState::Waiting, GoState::Runnable));
        if trial.raw.event == EventType::GoSwitch {
            self.current(trial, GoStatus::Running)?.status = GoStatus::Waiting;
            let kind = change(old, GoState::Running, GoState::Waiting);
            self.imply(trial, trial.standing, EventType::GoBlock, kind);
        } else {
            self.gs.remove(&old);
            let kind = change(old, GoState::Running, GoState::NotExist);
            self.imply(trial, trial.standing, EventType::GoDestroy, kind);
        }
        let without = Standing { g: NONE, ..trial.standing };
        self.imply(trial, without, EventType::GoStart, change(g, GoState::Runnable, GoState::Running));
        Ok(Advance::To(Standing { g, ..trial.standing }))
    }

    pub(super) fn go_syscall_begin(&mut self, trial: &Trial<'_>) -> Advanced {
        trial.need_user()?;
        self.current(trial, GoStatus::Running)?.status = GoStatus::Syscall;
        let (serial, p) = (trial.serial(0), trial.standing.p);
        let proc = self.own_p(trial)?;
        proc.status = ProcStatus::Syscall;
        if !serial.follows(proc.serial) {
            let last = proc.serial.number;
            return Err(format!(
                "a blocking call with P {p}'s number {}, after its number {last}",
                serial.number
            ));
        }
        proc.serial = serial;
        let (g, stack) = (trial.standing.g, trial.arg(1));
        let kind = EventKind::GoChange { g, from: GoState::Running, to: GoState::Syscall, reason: 0, stack };
        self.push(trial, trial.standing, kind);
        Ok(Advance::To(trial.standing))
    }

    pub(super) fn go_syscall_end(&mut self, trial: &Trial<'_>) -> Advanced {
        trial.need_user()?;
        self.current(trial, GoStatus::Syscall)?.status = GoStatus::Running;
        let proc = self.own_p(trial)?;
        if proc.status != ProcStatus::Syscall {
            let (p, status) = (trial.standing.p, proc.status);
            return Err(format!("a blocking call ends with P {p}, but it is {status:?}"));
        }
        proc.status = ProcStatus::Running;
        self.push(trial, trial.standing, change(trial.standing.g, GoState::Syscall, GoState::Running));
        Ok(Advance::To(trial.standing))
    }

    pub(super) fn go_syscall_end_blocked(&mut self, trial: &Trial<'_>) -> Advanced {
        // It tells that its P was lost: so that must happen first.
        if trial.standing.p != NONE && self.own_p(trial)?.status == ProcStatus::Syscall {
            return Ok(Advance::NotYet);
        }
        trial.need(Need::May, Need::Must)?;
        self.current(trial, GoStatus::Syscall)?.status = GoStatus::Runnable;
        self.push(trial, trial.standing, change(trial.standing.g, GoState::Syscall, GoState::Runnable));
        Ok(Advance::To(Standing { g: NONE, ..trial.standing }))
    }

    pub(super) fn go_destroy_syscall(&mut self, trial: &Trial<'_>) -> Advanced {
        trial.need(Need::May, Need::Must)?;
        self.current(trial, GoStatus::Syscall)?;
        let Standing { p, g, .. } = trial.standing;
        self.gs.remove(&g);
        if p != NONE {
            // The thread may come back under the same number, and even steal this P from itself: so
            // it has lost it.
            let proc = self.own_p(trial)?;
            if proc.status != ProcStatus::Syscall {
                return Err(format!(
                    "a goroutine ends in a blocking call with P {p}, which is {:?}",
                    proc.status
                ));
            }
            proc.status = ProcStatus::Abandoned;
            let kind = EventKind::ProcChange { p, from: ProcState::Running, to: ProcState::Idle };
            self.imply(trial, trial.standing, EventType::ProcSteal, kind);
        }
        self.push(trial, trial.standing, change(g, GoState::Syscall, GoState::NotExist));
        Ok(Advance::To(Standing { g: NONE, p: NONE, ..trial.standing }))
    }
}
