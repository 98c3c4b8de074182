//! What accompanies goroutines and Ps: ranges, tasks, regions, numbers.

use std::rc::Rc;

use super::event::{EventKind, GaugeKind, RangeEdge, RangeKind, RangeScope};
use super::model::{Advance, Advanced, CollectorPhase, Model, Need, Trial};
use crate::wire::EventType;

/// The task that all are in: for regions it stands for itself, for tasks for none.
const BACKGROUND: u64 = 0;

impl Model {
    pub(super) fn gauge(&mut self, trial: &Trial<'_>) -> Advanced {
        let gauge = match trial.raw.event {
            EventType::HeapAlloc => GaugeKind::HeapAlloc,
            EventType::HeapGoal => GaugeKind::HeapGoal,
            _ => GaugeKind::Procs,
        };
        trial.need(Need::Must, if gauge == GaugeKind::Procs { Need::Must } else { Need::May })?;
        self.push(trial, trial.standing, EventKind::Gauge { gauge, value: trial.arg(0) });
        Ok(Advance::To(trial.standing))
    }

    pub(super) fn annotation(&mut self, trial: &Trial<'_>) -> Advanced {
        trial.need_user()?;
        let kind = match trial.raw.event {
            EventType::GoLabel => EventKind::Label { label: trial.arg(0) },
            _ => EventKind::Log { task: trial.arg(0), key: trial.arg(1), value: trial.arg(2) },
        };
        self.push(trial, trial.standing, kind);
        Ok(Advance::To(trial.standing))
    }

    pub(super) fn go_range_begin(&mut self, trial: &Trial<'_>) -> Advanced {
        trial.need_user()?;
        let (event, g) = (trial.raw.event, trial.standing.g);
        let (why, range) = match event {
            EventType::STWBegin => (trial.arg(0), RangeKind::StoppedWorld { why: trial.arg(0) }),
            _ => (0, RangeKind::MarkAssist),
        };
        let Some(entry) = self.gs.get_mut(&g) else {
            return Err(format!("{event:?} in goroutine {g}, which is not there"));
        };
        entry.ranges.begin(event, why)?;
        self.push(trial, trial.standing, Model::range_event(RangeEdge::Begin, range, RangeScope::OfG(g)));
        Ok(Advance::To(trial.standing))
    }

    pub(super) fn go_range_end(&mut self, trial: &Trial<'_>) -> Advanced {
        trial.need_user()?;
        let (event, g) = (trial.raw.event, trial.standing.g);
        let Some(entry) = self.gs.get_mut(&g) else {
            return Err(format!("{event:?} in goroutine {g}, which is not there"));
        };
        let range = match event {
            EventType::STWEnd => RangeKind::StoppedWorld { why: entry.ranges.end(EventType::STWBegin)? },
            _ => {
                entry.ranges.end(EventType::GCMarkAssistBegin)?;
                RangeKind::MarkAssist
            }
        };
        self.push(trial, trial.standing, Model::range_event(RangeEdge::End, range, RangeScope::OfG(g)));
        Ok(Advance::To(trial.standing))
    }

    /// Said of any goroutine, by any M.
    pub(super) fn go_range_active(&mut self, trial: &Trial<'_>) -> Advanced {
        let (g, is_first) = (trial.arg(0), trial.generation == self.first);
        let Some(entry) = self.gs.get_mut(&g) else {
            return Err(format!("{:?} of goroutine {g}, which is not there", trial.raw.event));
        };
        entry.ranges.active(EventType::GCMarkAssistBegin, is_first)?;
        let kind = Model::range_event(RangeEdge::Active, RangeKind::MarkAssist, RangeScope::OfG(g));
        self.push(trial, trial.standing, kind);
        Ok(Advance::To(trial.standing))
    }

    /// Said of any P, by any M.
    pub(super) fn sweep_active(&mut self, trial: &Trial<'_>) -> Advanced {
        let (p, is_first) = (trial.arg(0), trial.generation == self.first);
        let Some(entry) = self.ps.get_mut(&p) else {
            return Err(format!("{:?} of P {p}, which has no status yet", trial.raw.event));
        };
        entry.ranges.active(EventType::GCSweepBegin, is_first)?;
        let kind = Model::range_event(RangeEdge::Active, RangeKind::Sweep, RangeScope::OfP(p));
        self.push(trial, trial.standing, kind);
        Ok(Advance::To(trial.standing))
    }

    pub(super) fn sweep_begin(&mut self, trial: &Trial<'_>) -> Advanced {
        trial.need(Need::Must, Need::May)?;
        let p = trial.standing.p;
        self.own_p(trial)?.ranges.begin(EventType::GCSweepBegin, 0)?;
        self.push(
            trial,
            trial.standing,
            Model::range_event(RangeEdge::Begin, RangeKind::Sweep, RangeScope::OfP(p)),
        );
        Ok(Advance::To(trial.standing))
    }

    pub(super) fn sweep_end(&mut self, trial: &Trial<'_>) -> Advanced {
        trial.need(Need::Must, Need::May)?;
        let p = trial.standing.p;
        self.own_p(trial)?.ranges.end(EventType::GCSweepBegin)?;
        self.push(
            trial,
            trial.standing,
            Model::range_event(RangeEdge::End, RangeKind::Sweep, RangeScope::OfP(p)),
        );
        Ok(Advance::To(trial.standing))
    }

    fn collector(&mut self, trial: &Trial<'_>, edge: RangeEdge, phase: CollectorPhase) -> Advanced {
        (self.collection, self.collector) = (trial.arg(0), phase);
        self.push(trial, trial.standing, Model::range_event(edge, RangeKind::Collection, RangeScope::All));
        Ok(Advance::To(trial.standing))
    }

    /// Whether this is the event that follows the last one of the collector.
    fn is_next_of_collector(&self, trial: &Trial<'_>) -> bool {
        self.collection.wrapping_add(1) == trial.arg(0)
    }

    pub(super) fn collector_active(&mut self, trial: &Trial<'_>) -> Advanced {
        if trial.generation == self.first {
            if self.collector != CollectorPhase::Undetermined {
                return Err("GCActive in the first generation is not the collector's first event".to_owned());
            }
        } else {
            if !self.is_next_of_collector(trial) {
                return Ok(Advance::NotYet);
            }
            if self.collector != CollectorPhase::On {
                return Err("GCActive while the collector is not active".to_owned());
            }
            trial.need_user()?;
        }
        self.collector(trial, RangeEdge::Active, CollectorPhase::On)
    }

    pub(super) fn collector_begin(&mut self, trial: &Trial<'_>) -> Advanced {
        if self.collector != CollectorPhase::Undetermined {
            if !self.is_next_of_collector(trial) {
                return Ok(Advance::NotYet);
            }
            if self.collector == CollectorPhase::On {
                return Err("GCBegin while the collector is active".to_owned());
            }
            trial.need_user()?;
        }
        self.collector(trial, RangeEdge::Begin, CollectorPhase::On)
    }

    pub(super) fn collector_end(&mut self, trial: &Trial<'_>) -> Advanced {
        if !self.is_next_of_collector(trial) {
            return Ok(Advance::NotYet);
        }
        if self.collector != CollectorPhase::On {
            return Err("GCEnd while the collector is not known to be active".to_owned());
        }
        trial.need_user()?;
        self.collector(trial, RangeEdge::End, CollectorPhase::Off)
    }

    pub(super) fn task_begin(&mut self, trial: &Trial<'_>) -> Advanced {
        let (task, parent) = (trial.arg(0), trial.arg(1));
        let name: Rc<str> = trial.string(trial.arg(2))?.into();
        let parent = (parent != BACKGROUND).then_some(parent);
        if self.tasks.insert(task, (name.clone(), parent)).is_some() {
            return Err(format!("task {task} begins, but it has begun already"));
        }
        trial.need_user()?;
        self.push(trial, trial.standing, EventKind::TaskBegin { task, parent, name });
        Ok(Advance::To(trial.standing))
    }

    pub(super) fn task_end(&mut self, trial: &Trial<'_>) -> Advanced {
        let task = trial.arg(0);
        let (name, parent) = self.tasks.remove(&task).unwrap_or_else(|| ("".into(), None));
        trial.need_user()?;
        self.push(trial, trial.standing, EventKind::TaskEnd { task, parent, name });
        Ok(Advance::To(trial.standing))
    }

    pub(super) fn region_begin(&mut self, trial: &Trial<'_>) -> Advanced {
        trial.need_user()?;
        let (task, name, g) = (trial.arg(0), trial.arg(1), trial.standing.g);
        let text = trial.string(name)?.into();
        let Some(entry) = self.gs.get_mut(&g) else {
            return Err(format!("a region in goroutine {g}, which is not there"));
        };
        entry.regions.push((task, text));
        self.push(trial, trial.standing, EventKind::Region { edge: RangeEdge::Begin, task, name });
        Ok(Advance::To(trial.standing))
    }

    pub(super) fn region_end(&mut self, trial: &Trial<'_>) -> Advanced {
        trial.need_user()?;
        let (task, name, g) = (trial.arg(0), trial.arg(1), trial.standing.g);
        let text = trial.string(name)?;
        let Some(entry) = self.gs.get_mut(&g) else {
            return Err(format!("a region in goroutine {g}, which is not there"));
        };
        // Without any: it began before the trace.
        if let Some((last, begun)) = entry.regions.pop()
            && (last != task || &*begun != text)
        {
            return Err(format!("region {text:?} ends in goroutine {g} within region {begun:?}"));
        }
        self.push(trial, trial.standing, EventKind::Region { edge: RangeEdge::End, task, name });
        Ok(Advance::To(trial.standing))
    }
}
