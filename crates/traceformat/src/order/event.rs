//! Events in order, with what they mean.

use std::rc::Rc;

use crate::wire::{EventType, GoStatus, MAX_ARGS, ProcStatus};

/// What a goroutine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GoState {
    /// Not known yet: the trace begins.
    Undetermined,
    /// It is not there, yet or any more.
    NotExist,
    /// It could run.
    Runnable,
    /// It runs.
    Running,
    /// It waits to be woken.
    Waiting,
    /// It is in a blocking call, or computes without a P.
    Syscall,
}

impl From<GoStatus> for GoState {
    fn from(status: GoStatus) -> GoState {
        match status {
            GoStatus::Bad => GoState::Undetermined,
            GoStatus::Runnable => GoState::Runnable,
            GoStatus::Running => GoState::Running,
            GoStatus::Syscall => GoState::Syscall,
            GoStatus::Waiting => GoState::Waiting,
        }
    }
}

/// What a P does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProcState {
    /// Not known yet: the trace begins.
    Undetermined,
    /// It is not there yet.
    NotExist,
    /// An M holds it.
    Running,
    /// No M holds it.
    Idle,
}

impl From<ProcStatus> for ProcState {
    fn from(status: ProcStatus) -> ProcState {
        match status {
            ProcStatus::Bad => ProcState::Undetermined,
            ProcStatus::Running | ProcStatus::Syscall => ProcState::Running,
            ProcStatus::Idle | ProcStatus::Abandoned => ProcState::Idle,
        }
    }
}

/// Where an event happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scene {
    /// On which M.
    pub m: Option<u64>,
    /// With which P.
    pub p: Option<u64>,
    /// In which goroutine.
    pub g: Option<u64>,
}

/// What lasts for some time besides the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RangeKind {
    /// The collector is active.
    Collection,
    /// A P sweeps.
    Sweep,
    /// A goroutine helps the collector.
    MarkAssist,
    /// A goroutine stops the world; the string says why.
    StoppedWorld {
        /// A string's number.
        why: u64,
    },
}

/// To what a range belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeScope {
    /// To all.
    All,
    /// To a P.
    OfP(u64),
    /// To a goroutine.
    OfG(u64),
}

/// A part of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeEdge {
    /// It begins.
    Begin,
    /// It had begun before the trace or the generation.
    Active,
    /// It ends.
    End,
}

/// A number that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GaugeKind {
    /// The number of Ps.
    Procs,
    /// Bytes of the heap.
    HeapAlloc,
    /// At how many bytes the collector ends.
    HeapGoal,
}

/// What happened. Strings and stacks are numbers of the generation's tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A generation begins, or the trace ends. Counted from 1.
    Sync {
        /// The how manieth.
        number: u64,
    },
    /// A P changes.
    ProcChange {
        /// Which.
        p: u64,
        /// What it did before.
        from: ProcState,
        /// What it does now.
        to: ProcState,
    },
    /// A goroutine changes.
    GoChange {
        /// Which.
        g: u64,
        /// What it did before.
        from: GoState,
        /// What it does now.
        to: GoState,
        /// Why: a string's number.
        reason: u64,
        /// Where the goroutine stands: a stack's number.
        stack: u64,
    },
    /// A range begins or ends.
    Range {
        /// Which of these.
        edge: RangeEdge,
        /// Which range.
        range: RangeKind,
        /// Whose.
        scope: RangeScope,
    },
    /// A number has changed.
    Gauge {
        /// Which.
        gauge: GaugeKind,
        /// Its value now.
        value: u64,
    },
    /// The running goroutine has a label: a string's number.
    Label {
        /// The label.
        label: u64,
    },
    /// A task begins.
    TaskBegin {
        /// Its number.
        task: u64,
        /// That of the task that it is a part of, if of any.
        parent: Option<u64>,
        /// Its name.
        name: Rc<str>,
    },
    /// A task ends; its name is empty if its begin was not seen.
    TaskEnd {
        /// Its number.
        task: u64,
        /// That of the task that it is a part of, if that is known.
        parent: Option<u64>,
        /// Its name.
        name: Rc<str>,
    },
    /// A region begins or ends.
    Region {
        /// Which of these; never `Active`.
        edge: RangeEdge,
        /// Of which task, 0 being none in particular.
        task: u64,
        /// Its name: a string's number.
        name: u64,
    },
    /// Something is logged.
    Log {
        /// Of which task, 0 being none in particular.
        task: u64,
        /// What it is about: a string's number.
        key: u64,
        /// The text: a string's number.
        value: u64,
    },
    /// The scene's M was seen to run this event's stack.
    CpuSample,
    /// Of an experiment of Go's runtime.
    Experimental,
}

/// An event in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Nanoseconds; later than that of the event before.
    pub time: i64,
    /// Where it happened: as it was before it.
    pub scene: Scene,
    /// What happened.
    pub kind: EventKind,
    /// The stack of whoever made the event; 0 is none.
    pub stack: u64,
    /// The type that it was read as.
    pub wire: EventType,
    /// The arguments that it was read with.
    pub args: [u64; MAX_ARGS],
    /// One that stands for itself, or one that another one implies.
    pub origin: Origin,
    /// How many bytes of the trace stand before it; of an implied one: before what implies it.
    pub offset: u64,
}

/// Whether an event stands in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It does.
    Recorded,
    /// It follows from one that does.
    Implied,
}
