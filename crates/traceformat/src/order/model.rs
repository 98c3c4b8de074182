//! The state of all goroutines, Ps and Ms, by which events of different Ms are put in order.
//!
//! An event *advances* when the state allows it: a goroutine starts only when it is runnable, and
//! only by the number that follows its last one. What can't advance yet waits until events of other
//! Ms have; what can never happen is an error. That makes the order independent of the clocks,
//! which may differ between CPUs. The rules are those of Go's parser, which is the judge.
//!
//! Invariants: an M has at most one P and one goroutine; numbers of goroutines and Ps begin anew in
//! each generation, with their status.

use std::collections::VecDeque;
use std::rc::Rc;

use super::event::{EventKind, Origin, RangeEdge, RangeKind, Scene, TraceEvent};
use crate::read::batch::present;
use crate::read::{IdMap, RawEvent, Tables};
use crate::wire::{EventType, GoStatus, MAX_ARGS, NONE, ProcStatus};

/// What an event found: it happened, or it has to wait for another M's.
pub(super) enum Advance {
    /// With this as the M's P and goroutine from now on.
    To(Standing),
    NotYet,
}

/// Why a trace is broken.
pub(super) type Broken = String;
pub(super) type Advanced = Result<Advance, Broken>;

/// What an M has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) m: u64,
    pub(super) p: u64,
    pub(super) g: u64,
}

impl Standing {
    fn scene(self) -> Scene {
        Scene { m: present(self.m), p: present(self.p), g: present(self.g) }
    }
}

/// A number of a goroutine or a P, in a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Serial {
    pub(super) generation: u64,
    pub(super) number: u64,
}

impl Serial {
    pub(super) fn follows(self, last: Serial) -> bool {
        self.generation == last.generation && last.number.checked_add(1) == Some(self.number)
    }
}

/// Ranges that have begun: what began them, and a string.
#[derive(Debug, Default)]
pub(super) struct OpenRanges(Vec<(EventType, u64)>);

impl OpenRanges {
    pub(super) fn begin(&mut self, begun: EventType, why: u64) -> Result<(), Broken> {
        if self.0.contains(&(begun, why)) {
            return Err(format!("{begun:?} where such a range is open already"));
        }
        self.0.push((begun, why));
        Ok(())
    }

    /// It had begun before this generation: in the first one nothing is known of it.
    pub(super) fn active(&mut self, begun: EventType, is_first: bool) -> Result<(), Broken> {
        if is_first {
            return self.begin(begun, 0);
        }
        if !self.0.contains(&(begun, 0)) {
            return Err(format!("a range of {begun:?} should be open, and is not"));
        }
        Ok(())
    }

    pub(super) fn end(&mut self, begun: EventType) -> Result<u64, Broken> {
        let place = self.0.iter().position(|(event, _)| *event == begun);
        place
            .map(|place| self.0.swap_remove(place).1)
            .ok_or_else(|| format!("the end of a range that {begun:?} did not begin"))
    }
}

#[derive(Debug)]
pub(super) struct GoEntry {
    pub(super) status: GoStatus,
    pub(super) serial: Serial,
    pub(super) regions: Vec<(u64, Box<str>)>,
    pub(super) ranges: OpenRanges,
}

#[derive(Debug)]
pub(super) struct ProcEntry {
    pub(super) status: ProcStatus,
    pub(super) serial: Serial,
    pub(super) ranges: OpenRanges,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CollectorPhase {
    Undetermined,
    Off,
    On,
}

/// What is required of the M that an event stands on.
#[derive(Clone, Copy)]
pub(super) enum Need {
    Must,
    May,
    MustNot,
}

/// The state.
pub(super) struct Model {
    pub(super) gs: IdMap<GoEntry>,
    pub(super) ps: IdMap<ProcEntry>,
    /// The P and the goroutine of each M.
    pub(super) ms: IdMap<(u64, u64)>,
    pub(super) tasks: IdMap<(Rc<str>, Option<u64>)>,
    pub(super) collection: u64,
    pub(super) collector: CollectorPhase,
    /// The number of the first generation; 0 before it.
    pub(super) first: u64,
    pub(super) queue: VecDeque<TraceEvent>,
}

/// One event, and what it is tried with.
pub(super) struct Trial<'a> {
    pub(super) raw: &'a RawEvent,
    pub(super) tables: &'a Tables,
    pub(super) generation: u64,
    pub(super) standing: Standing,
}

impl Trial<'_> {
    pub(super) fn arg(&self, place: usize) -> u64 {
        self.raw.args[place]
    }

    pub(super) fn serial(&self, place: usize) -> Serial {
        Serial { generation: self.generation, number: self.raw.args[place] }
    }

    pub(super) fn fresh(&self) -> Serial {
        Serial { generation: self.generation, number: 0 }
    }

    pub(super) fn string(&self, id: u64) -> Result<&str, Broken> {
        self.tables.string(id).ok_or_else(|| format!("{:?} with string {id}: there is none", self.raw.event))
    }

    /// The M has what the event needs.
    pub(super) fn need(&self, p: Need, g: Need) -> Result<(), Broken> {
        let Standing { m, p: has_p, g: has_g } = self.standing;
        for (what, need, has) in [("an M", Need::Must, m), ("a P", p, has_p), ("a goroutine", g, has_g)] {
            match (need, has) {
                (Need::Must, NONE) => return Err(format!("{:?} on M {m} without {what}", self.raw.event)),
                (Need::MustNot, has) if has != NONE => {
                    return Err(format!("{:?} on M {m}, which has {what} already", self.raw.event));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What user code does: on an M, with a P, in a goroutine.
    pub(super) fn need_user(&self) -> Result<(), Broken> {
        self.need(Need::Must, Need::Must)
    }
}

impl Model {
    pub(super) fn new() -> Model {
        Model {
            gs: IdMap::default(),
            ps: IdMap::default(),
            ms: IdMap::default(),
            tasks: IdMap::default(),
            collection: 0,
            collector: CollectorPhase::Undetermined,
            first: 0,
            queue: VecDeque::new(),
        }
    }

    /// Tries an event of the M. If it advanced, what it means is in the queue.
    pub(super) fn advance(
        &mut self,
        raw: &RawEvent,
        tables: &Tables,
        m: u64,
        generation: u64,
    ) -> Result<bool, Broken> {
        if self.first == 0 {
            self.first = generation;
        }
        let (p, g) = if m == NONE { (NONE, NONE) } else { *self.ms.entry(m).or_insert((NONE, NONE)) };
        let trial = Trial { raw, tables, generation, standing: Standing { m, p, g } };
        match self.try_event(&trial)? {
            Advance::NotYet => Ok(false),
            Advance::To(standing) => {
                if m != NONE {
                    self.ms.insert(m, (standing.p, standing.g));
                }
                Ok(true)
            }
        }
    }

    fn try_event(&mut self, trial: &Trial<'_>) -> Advanced {
        use EventType as E;
        match trial.raw.event {
            E::ProcStart => self.proc_start(trial),
            E::ProcStop => self.proc_stop(trial),
            E::ProcSteal => self.proc_steal(trial),
            E::ProcStatus => self.proc_status(trial),
            E::GoCreate | E::GoCreateBlocked => self.go_create(trial),
            E::GoCreateSyscall => self.go_create_syscall(trial),
            E::GoStart => self.go_start(trial),
            E::GoDestroy | E::GoStop | E::GoBlock => self.go_leaves(trial),
            E::GoDestroySyscall => self.go_destroy_syscall(trial),
            E::GoUnblock => self.go_unblock(trial),
            E::GoSwitch | E::GoSwitchDestroy => self.go_switch(trial),
            E::GoSyscallBegin => self.go_syscall_begin(trial),
            E::GoSyscallEnd => self.go_syscall_end(trial),
            E::GoSyscallEndBlocked => self.go_syscall_end_blocked(trial),
            E::GoStatus | E::GoStatusStack => self.go_status(trial),
            E::STWBegin | E::GCMarkAssistBegin => self.go_range_begin(trial),
            E::STWEnd | E::GCMarkAssistEnd => self.go_range_end(trial),
            E::GCMarkAssistActive => self.go_range_active(trial),
            E::GCSweepActive => self.sweep_active(trial),
            E::GCActive => self.collector_active(trial),
            E::GCBegin => self.collector_begin(trial),
            E::GCEnd => self.collector_end(trial),
            E::GCSweepBegin => self.sweep_begin(trial),
            E::GCSweepEnd => self.sweep_end(trial),
            E::HeapAlloc | E::HeapGoal | E::ProcsChange => self.gauge(trial),
            E::GoLabel | E::UserLog => self.annotation(trial),
            E::UserTaskBegin => self.task_begin(trial),
            E::UserTaskEnd => self.task_end(trial),
            E::UserRegionBegin => self.region_begin(trial),
            E::UserRegionEnd => self.region_end(trial),
            event if event as u8 >= E::Span as u8 => {
                trial.need(Need::May, Need::May)?;
                self.push(trial, trial.standing, EventKind::Experimental);
                Ok(Advance::To(trial.standing))
            }
            event => Err(format!("{event:?} among an M's events")),
        }
    }

    /// The event happened on this standing.
    pub(super) fn push(&mut self, trial: &Trial<'_>, standing: Standing, kind: EventKind) {
        let RawEvent { event, time, args, offset } = *trial.raw;
        let stack = event.spec().stack().map_or(0, |place| args[place - 1]);
        let scene = standing.scene();
        self.queue.push_back(TraceEvent {
            time,
            scene,
            kind,
            stack,
            wire: event,
            args,
            origin: Origin::Recorded,
            offset,
        });
    }

    /// The event implies another one.
    pub(super) fn imply(&mut self, trial: &Trial<'_>, standing: Standing, wire: EventType, kind: EventKind) {
        self.queue.push_back(TraceEvent {
            time: trial.raw.time,
            scene: standing.scene(),
            kind,
            stack: 0,
            wire,
            args: [0; MAX_ARGS],
            origin: Origin::Implied,
            offset: trial.raw.offset,
        });
    }

    /// The goroutine that runs on the M, if its status is this.
    pub(super) fn current(&mut self, trial: &Trial<'_>, status: GoStatus) -> Result<&mut GoEntry, Broken> {
        let (g, event) = (trial.standing.g, trial.raw.event);
        match self.gs.get_mut(&g) {
            Some(entry) if entry.status == status => Ok(entry),
            Some(entry) => {
                Err(format!("{event:?} of goroutine {g}, which is {:?}, not {status:?}", entry.status))
            }
            None => Err(format!("{event:?} of goroutine {g}, which is not there")),
        }
    }

    /// The P that the M has.
    pub(super) fn own_p(&mut self, trial: &Trial<'_>) -> Result<&mut ProcEntry, Broken> {
        let p = trial.standing.p;
        self.ps
            .get_mut(&p)
            .ok_or_else(|| format!("{:?} with P {p}, which has no status yet", trial.raw.event))
    }

    pub(super) fn range_event(
        edge: RangeEdge,
        range: RangeKind,
        scope: super::event::RangeScope,
    ) -> EventKind {
        EventKind::Range { edge, range, scope }
    }
}
