//! Tracks, and what is drawn on them. A track is described before it is first used.
//!
//! Invariant: what is ended was begun: an end on an empty track is left out, for the trace may
//! begin in the middle of it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use gosched_traceformat::read::IdMap;

use super::proto::ProtoMessage;

/// Numbers of the fields of Perfetto's messages.
mod field {
    pub(super) const PACKET: u64 = 1;
    pub(super) const TIMESTAMP: u64 = 8;
    pub(super) const SEQUENCE: u64 = 10;
    pub(super) const TRACK_EVENT: u64 = 11;
    pub(super) const SEQUENCE_FLAGS: u64 = 13;
    pub(super) const TRACK_DESCRIPTOR: u64 = 60;
    /// Of a track's description.
    pub(super) const UUID: u64 = 1;
    pub(super) const NAME: u64 = 2;
    pub(super) const PARENT: u64 = 5;
    pub(super) const COUNTER: u64 = 8;
    /// Of an event on a track.
    pub(super) const TYPE: u64 = 9;
    pub(super) const TRACK: u64 = 11;
    pub(super) const EVENT_NAME: u64 = 23;
    pub(super) const COUNTER_VALUE: u64 = 30;
    pub(super) const FLOWS: u64 = 47;
    pub(super) const ENDED_FLOWS: u64 = 48;
}

/// Types of events on tracks.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// Which track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TrackKind {
    Group(&'static str),
    P(u64),
    M(u64),
    Goroutine(u64),
    Regions(u64),
    Task(u64),
    World,
    Outside,
    Runnable,
    HeldPs,
}

/// All tracks.
pub(super) struct Tracks<'a> {
    out: &'a mut dyn Write,
    /// The number of each, and how many slices are open on it.
    known: BTreeMap<TrackKind, (u64, u64)>,
    names: IdMap<String>,
    next: u64,
    is_first: bool,
}

impl<'a> Tracks<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Tracks<'a> {
        Tracks { out, known: BTreeMap::new(), names: IdMap::default(), next: 1, is_first: true }
    }

    fn packet(&mut self, packet: &mut ProtoMessage) -> io::Result<()> {
        packet.number(field::SEQUENCE, 1);
        if core::mem::take(&mut self.is_first) {
            packet.number(field::SEQUENCE_FLAGS, 1);
        }
        let mut whole = ProtoMessage::default();
        whole.message(field::PACKET, packet);
        self.out.write_all(whole.as_bytes())
    }

    /// The goroutine's track is to have this name.
    pub(super) fn name_goroutine(&mut self, g: u64, name: &str) {
        self.names.entry(g).or_insert_with(|| name.to_owned());
    }

    fn name(&self, kind: TrackKind) -> String {
        match kind {
            TrackKind::Group(name) => name.to_owned(),
            TrackKind::P(p) => format!("P{p}"),
            TrackKind::M(m) => format!("M{m}"),
            TrackKind::Goroutine(g) => self.names.get(&g).cloned().unwrap_or_else(|| format!("G{g}")),
            TrackKind::Regions(g) => format!("G{g} regions"),
            TrackKind::Task(task) => format!("task {task}"),
            TrackKind::World => "world".to_owned(),
            TrackKind::Outside => "outside".to_owned(),
            TrackKind::Runnable => "runnable goroutines".to_owned(),
            TrackKind::HeldPs => "running Ps".to_owned(),
        }
    }

    /// The track's number; it is described if it is new.
    fn track(&mut self, kind: TrackKind) -> io::Result<u64> {
        if let Some((uuid, _)) = self.known.get(&kind) {
            return Ok(*uuid);
        }
        let parent = match kind {
            TrackKind::P(_) => Some(TrackKind::Group("Ps")),
            TrackKind::M(_) => Some(TrackKind::Group("Ms")),
            TrackKind::Goroutine(_) => Some(TrackKind::Group("goroutines")),
            TrackKind::Regions(g) => Some(TrackKind::Goroutine(g)),
            TrackKind::Task(_) => Some(TrackKind::Group("tasks")),
            _ => None,
        };
        let parent = parent.map(|parent| self.track(parent)).transpose()?;
        let uuid = self.next;
        self.next += 1;
        self.known.insert(kind, (uuid, 0));
        let mut descriptor = ProtoMessage::default();
        descriptor.number(field::UUID, uuid).text(field::NAME, &self.name(kind));
        if let Some(parent) = parent {
            descriptor.number(field::PARENT, parent);
        }
        if matches!(kind, TrackKind::Runnable | TrackKind::HeldPs) {
            descriptor.message(field::COUNTER, &ProtoMessage::default());
        }
        let mut packet = ProtoMessage::default();
        self.packet(packet.message(field::TRACK_DESCRIPTOR, &descriptor))?;
        Ok(uuid)
    }

    fn event(&mut self, time: i64, event: &ProtoMessage) -> io::Result<()> {
        let mut packet = ProtoMessage::default();
        packet.number(field::TIMESTAMP, u64::try_from(time).unwrap_or(0));
        self.packet(packet.message(field::TRACK_EVENT, event))
    }

    pub(super) fn begin(
        &mut self,
        time: i64,
        kind: TrackKind,
        name: &str,
        flow: Option<u64>,
    ) -> io::Result<()> {
        let track = self.track(kind)?;
        if let Some((_, open)) = self.known.get_mut(&kind) {
            *open += 1;
        }
        let mut event = ProtoMessage::default();
        event.number(field::TYPE, SLICE_BEGIN).number(field::TRACK, track).text(field::EVENT_NAME, name);
        if let Some(flow) = flow {
            event.fixed(field::ENDED_FLOWS, flow);
        }
        self.event(time, &event)
    }

    pub(super) fn end(&mut self, time: i64, kind: TrackKind) -> io::Result<()> {
        let Some((track, open)) = self.known.get_mut(&kind).filter(|(_, open)| *open > 0) else {
            return Ok(());
        };
        *open -= 1;
        let mut event = ProtoMessage::default();
        event.number(field::TYPE, SLICE_END).number(field::TRACK, *track);
        self.event(time, &event)
    }

    pub(super) fn instant(&mut self, time: i64, kind: TrackKind, name: &str, flow: u64) -> io::Result<()> {
        let track = self.track(kind)?;
        let mut event = ProtoMessage::default();
        event.number(field::TYPE, INSTANT).number(field::TRACK, track).text(field::EVENT_NAME, name);
        event.fixed(field::FLOWS, flow);
        self.event(time, &event)
    }

    pub(super) fn count(&mut self, time: i64, kind: TrackKind, value: i64) -> io::Result<()> {
        let track = self.track(kind)?;
        let mut event = ProtoMessage::default();
        event.number(field::TYPE, COUNTER).number(field::TRACK, track);
        event.number(field::COUNTER_VALUE, value as u64);
        self.event(time, &event)
    }

    /// The goroutine is gone: what is known of its tracks is too.
    pub(super) fn drop_goroutine(&mut self, time: i64, g: u64) -> io::Result<()> {
        for kind in [TrackKind::Goroutine(g), TrackKind::Regions(g)] {
            while self.known.get(&kind).is_some_and(|(_, open)| *open > 0) {
                self.end(time, kind)?;
            }
            self.known.remove(&kind);
        }
        self.names.remove(&g);
        Ok(())
    }

    /// The task has ended, for all that is known.
    pub(super) fn drop_task(&mut self, time: i64, task: u64) -> io::Result<()> {
        self.end(time, TrackKind::Task(task))?;
        self.known.remove(&TrackKind::Task(task));
        Ok(())
    }

    /// The trace ends.
    pub(super) fn end_all(&mut self, time: i64) -> io::Result<()> {
        let open: Vec<(TrackKind, u64)> = self.known.iter().map(|(kind, (_, open))| (*kind, *open)).collect();
        for (kind, open) in open {
            for _ in 0..open {
                self.end(time, kind)?;
            }
        }
        Ok(())
    }
}
