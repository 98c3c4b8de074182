//! What may happen to a P.

use super::event::{EventKind, ProcState};
use super::model::{Advance, Advanced, Model, Need, OpenRanges, ProcEntry, Standing, Trial};
use crate::wire::{NONE, ProcStatus};

impl Model {
    pub(super) fn proc_status(&mut self, trial: &Trial<'_>) -> Advanced {
        let (p, code) = (trial.arg(0), trial.arg(1));
        let Some(status) = ProcStatus::from_code(code) else {
            return Err(format!("P {p} has the status {code}: there is no such status"));
        };
        let serial = trial.fresh();
        let mut scene = trial.standing;
        let (mut from, mut to) = (ProcState::from(status), ProcState::from(status));
        match self.ps.get_mut(&p) {
            None => {
                self.ps.insert(p, ProcEntry { status, serial, ranges: OpenRanges::default() });
                from = if trial.generation == self.first {
                    ProcState::Undetermined
                } else {
                    ProcState::NotExist
                };
            }
            Some(entry) if status == ProcStatus::Abandoned && entry.status == ProcStatus::Syscall => {
                // Said by whoever is about to steal it, but nothing was lost: its M is known.
                entry.serial = serial;
                (from, to) = (ProcState::Running, ProcState::Running);
                let holder = self.ms.iter().find(|(_, (has, _))| *has == p);
                let Some((m, (_, g))) = holder else {
                    return Err(format!("P {p} is about to be stolen, but no M has it"));
                };
                scene = Standing { m: *m, p, g: *g };
            }
            Some(entry) if entry.status != status => {
                return Err(format!("P {p} should be {:?}, but its status is {status:?}", entry.status));
            }
            Some(entry) => entry.serial = serial,
        }
        let mut next = trial.standing;
        if matches!(status, ProcStatus::Running | ProcStatus::Syscall) {
            next.p = p;
        }
        self.push(trial, scene, EventKind::ProcChange { p, from, to });
        Ok(Advance::To(next))
    }

    pub(super) fn proc_start(&mut self, trial: &Trial<'_>) -> Advanced {
        let (p, serial) = (trial.arg(0), trial.serial(1));
        let Some(entry) = self.ps.get_mut(&p) else { return Ok(Advance::NotYet) };
        // An M that has a P still is in a blocking call, and will be seen to lose it.
        let has_p = trial.standing.p != NONE;
        if entry.status != ProcStatus::Idle || !serial.follows(entry.serial) || has_p {
            return Ok(Advance::NotYet);
        }
        trial.need(Need::MustNot, Need::May)?;
        (entry.status, entry.serial) = (ProcStatus::Running, serial);
        self.push(
            trial,
            trial.standing,
            EventKind::ProcChange { p, from: ProcState::Idle, to: ProcState::Running },
        );
        Ok(Advance::To(Standing { p, ..trial.standing }))
    }

    pub(super) fn proc_stop(&mut self, trial: &Trial<'_>) -> Advanced {
        let p = trial.standing.p;
        let entry = self.own_p(trial)?;
        if !matches!(entry.status, ProcStatus::Running | ProcStatus::Syscall) {
            return Err(format!("P {p} stops, but it is {:?}", entry.status));
        }
        trial.need(Need::Must, Need::May)?;
        entry.status = ProcStatus::Idle;
        self.push(
            trial,
            trial.standing,
            EventKind::ProcChange { p, from: ProcState::Running, to: ProcState::Idle },
        );
        Ok(Advance::To(Standing { p: NONE, ..trial.standing }))
    }

    pub(super) fn proc_steal(&mut self, trial: &Trial<'_>) -> Advanced {
        let (p, serial, victim) = (trial.arg(0), trial.serial(1), trial.arg(2));
        let Some(entry) = self.ps.get_mut(&p) else { return Ok(Advance::NotYet) };
        let before = entry.status;
        let may_be_stolen = matches!(before, ProcStatus::Syscall | ProcStatus::Abandoned);
        if !may_be_stolen || !serial.follows(entry.serial) {
            return Ok(Advance::NotYet);
        }
        trial.need(Need::May, Need::May)?;
        (entry.status, entry.serial) = (ProcStatus::Idle, serial);
        let mut next = trial.standing;
        let from = if before == ProcStatus::Abandoned {
            // Its M may have gone on: nothing is known of it.
            ProcState::Idle
        } else {
            let own = victim == trial.standing.m;
            let has = if own { Some(next.p) } else { self.ms.get(&victim).map(|(p, _)| *p) };
            if has != Some(p) {
                return Err(format!("P {p} is stolen from M {victim}, which does not have it"));
            }
            if own {
                next.p = NONE;
            } else if let Some(has) = self.ms.get_mut(&victim) {
                has.0 = NONE;
            }
            ProcState::Running
        };
        self.push(trial, trial.standing, EventKind::ProcChange { p, from, to: ProcState::Idle });
        Ok(Advance::To(next))
    }
}
