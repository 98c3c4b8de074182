//! The wire format: the types of events, their arguments, and the limits, as Go 1.26 and later have
//! them.
//!
//! One table says it all; what is derived from it (which argument is a string, which a stack)
//! follows from the names of the arguments, as in Go's own table. `tests/wire_table.rs` compares
//! the two.
//!
//! Invariant: numbers are never given twice; Go only adds to them, so the table serves the older
//! versions as well.

/// The first bytes of a trace of the version that is written here.
pub const HEADER: [u8; 16] = *b"go 1.26 trace\0\0\0";
/// The largest batch, without its header when it is read, with it when it is written.
pub const MAX_BATCH: usize = 64 << 10;
/// The longest string, in bytes.
pub const MAX_STRING: usize = 1 << 10;
/// The most frames of a stack.
pub const MAX_FRAMES: usize = 128;
/// The most arguments of a timed event beside its time.
pub const MAX_ARGS: usize = 4;
/// In the place of an M, a P or a G: there is none.
pub const NONE: u64 = u64::MAX;
/// The only experiment that Go's parser knows. It passes the batches of this one on unread, and it
/// fails at any other.
pub const EXPERIMENT: u8 = 1;

/// Where events of a type stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventClass {
    /// In an M's batch, with a time.
    Timed,
    /// Part of the structure: batches, tables.
    Structural,
    /// In an M's batch, with a time; of an experiment of Go's runtime.
    Experimental,
}

/// What is known of a type of events.
#[derive(Clone, Copy, Debug)]
pub struct EventSpec {
    /// Go's name.
    pub name: &'static str,
    /// Where it stands.
    pub class: EventClass,
    /// The names of its arguments, in order.
    pub args: &'static [&'static str],
    /// If this ends a range of time: what began it.
    pub begun_by: Option<EventType>,
}

impl EventSpec {
    /// Whether the argument of this number (the time being 0) is a string's number.
    #[must_use]
    pub fn is_string(&self, arg: usize) -> bool {
        self.args.get(arg).is_some_and(|name| name.ends_with("_string"))
    }

    /// Whether the argument of this number (the time being 0) is a stack's number.
    #[must_use]
    pub fn is_stack(&self, arg: usize) -> bool {
        self.args.get(arg).is_some_and(|name| matches!(*name, "stack" | "new_stack"))
    }

    /// Which argument (the time being 0) is the stack of whoever made the event.
    #[must_use]
    pub fn stack(&self) -> Option<usize> {
        self.args.iter().position(|name| *name == "stack")
    }

    /// Whether it is read from an M's batch.
    #[must_use]
    pub const fn is_timed(&self) -> bool {
        !matches!(self.class, EventClass::Structural)
    }
}

macro_rules! events {
    ($($number:literal $name:ident $class:ident [$($arg:literal)*] $(ends $begun:ident)?;)*) => {
        /// A type of events, by its number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the names are Go's; the table says what they carry")]
        #[repr(u8)]
        pub enum EventType {
            $($name = $number,)*
        }

        impl EventType {
            /// All types, in the order of their numbers.
            pub const ALL: &[EventType] = &[$(EventType::$name,)*];

            /// The type of this number.
            #[must_use]
            pub const fn from_byte(byte: u8) -> Option<EventType> {
                match byte {
                    $($number => Some(EventType::$name),)*
                    _ => None,
                }
            }

            /// What is known of it.
            #[must_use]
            pub const fn spec(self) -> &'static EventSpec {
                match self {
                    $(EventType::$name => &EventSpec {
                        name: stringify!($name),
                        class: EventClass::$class,
                        args: &[$($arg),*],
                        begun_by: events!(@begun $($begun)?),
                    },)*
                }
            }
        }
    };
    (@begun) => { None };
    (@begun $name:ident) => { Some(EventType::$name) };
}

#[rustfmt::skip]
events! {
    1 EventBatch Structural ["gen" "m" "time" "size"];
    2 Stacks Structural [];
    3 Stack Structural ["id" "nframes"];
    4 Strings Structural [];
    5 String Structural ["id"];
    6 CPUSamples Structural [];
    7 CPUSample Structural ["time" "m" "p" "g" "stack"];
    8 Frequency Structural ["freq"];
    9 ProcsChange Timed ["dt" "procs_value" "stack"];
    10 ProcStart Timed ["dt" "p" "p_seq"];
    11 ProcStop Timed ["dt"];
    12 ProcSteal Timed ["dt" "p" "p_seq" "m"];
    13 ProcStatus Timed ["dt" "p" "pstatus"];
    14 GoCreate Timed ["dt" "new_g" "new_stack" "stack"];
    15 GoCreateSyscall Timed ["dt" "new_g"];
    16 GoStart Timed ["dt" "g" "g_seq"];
    17 GoDestroy Timed ["dt"];
    18 GoDestroySyscall Timed ["dt"];
    19 GoStop Timed ["dt" "reason_string" "stack"];
    20 GoBlock Timed ["dt" "reason_string" "stack"];
    21 GoUnblock Timed ["dt" "g" "g_seq" "stack"];
    22 GoSyscallBegin Timed ["dt" "p_seq" "stack"];
    23 GoSyscallEnd Timed ["dt"] ends GoSyscallBegin;
    24 GoSyscallEndBlocked Timed ["dt"] ends GoSyscallBegin;
    25 GoStatus Timed ["dt" "g" "m" "gstatus"];
    26 STWBegin Timed ["dt" "kind_string" "stack"];
    27 STWEnd Timed ["dt"] ends STWBegin;
    28 GCActive Timed ["dt" "gc_seq"] ends GCBegin;
    29 GCBegin Timed ["dt" "gc_seq" "stack"];
    30 GCEnd Timed ["dt" "gc_seq"] ends GCBegin;
    31 GCSweepActive Timed ["dt" "p"] ends GCSweepBegin;
    32 GCSweepBegin Timed ["dt" "stack"];
    33 GCSweepEnd Timed ["dt" "swept_value" "reclaimed_value"] ends GCSweepBegin;
    34 GCMarkAssistActive Timed ["dt" "g"] ends GCMarkAssistBegin;
    35 GCMarkAssistBegin Timed ["dt" "stack"];
    36 GCMarkAssistEnd Timed ["dt"] ends GCMarkAssistBegin;
    37 HeapAlloc Timed ["dt" "heapalloc_value"];
    38 HeapGoal Timed ["dt" "heapgoal_value"];
    39 GoLabel Timed ["dt" "label_string"];
    40 UserTaskBegin Timed ["dt" "task" "parent_task" "name_string" "stack"];
    41 UserTaskEnd Timed ["dt" "task" "stack"];
    42 UserRegionBegin Timed ["dt" "task" "name_string" "stack"];
    43 UserRegionEnd Timed ["dt" "task" "name_string" "stack"] ends UserRegionBegin;
    44 UserLog Timed ["dt" "task" "key_string" "value_string" "stack"];
    45 GoSwitch Timed ["dt" "g" "g_seq"];
    46 GoSwitchDestroy Timed ["dt" "g" "g_seq"];
    47 GoCreateBlocked Timed ["dt" "new_g" "new_stack" "stack"];
    48 GoStatusStack Timed ["dt" "g" "m" "gstatus" "stack"];
    49 ExperimentalBatch Structural ["exp" "gen" "m" "time"];
    50 Sync Structural [];
    51 ClockSnapshot Timed ["dt" "mono" "sec" "nsec"];
    52 EndOfGeneration Structural [];
    128 Span Experimental ["dt" "id" "npages_value" "kindclass"];
    129 SpanAlloc Experimental ["dt" "id" "npages_value" "kindclass"];
    130 SpanFree Experimental ["dt" "id"];
    131 HeapObject Experimental ["dt" "id" "type"];
    132 HeapObjectAlloc Experimental ["dt" "id" "type"];
    133 HeapObjectFree Experimental ["dt" "id"];
    134 GoroutineStack Experimental ["dt" "id" "order"];
    135 GoroutineStackAlloc Experimental ["dt" "id" "order"];
    136 GoroutineStackFree Experimental ["dt" "id"];
}

/// What a goroutine does, as `GoStatus` and `GoStatusStack` say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum GoStatus {
    /// Go's code for a status that should not occur; its parser accepts it.
    Bad = 0,
    /// Could run.
    Runnable = 1,
    /// Runs on an M that has a P.
    Running = 2,
    /// Is in a blocking call, or computes without a P.
    Syscall = 3,
    /// Waits to be woken.
    Waiting = 4,
}

impl GoStatus {
    /// The status of this code.
    #[must_use]
    pub const fn from_code(code: u64) -> Option<GoStatus> {
        Some(match code {
            0 => GoStatus::Bad,
            1 => GoStatus::Runnable,
            2 => GoStatus::Running,
            3 => GoStatus::Syscall,
            4 => GoStatus::Waiting,
            _ => return None,
        })
    }
}

/// What a P does, as `ProcStatus` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ProcStatus {
    /// Go's code for a status that should not occur; its parser accepts it.
    Bad = 0,
    /// An M holds it and runs.
    Running = 1,
    /// No M holds it.
    Idle = 2,
    /// Its M is in a blocking call, and it can be taken.
    Syscall = 3,
    /// As `Syscall`, but of which M is not known: it is about to be stolen.
    Abandoned = 4,
}

impl ProcStatus {
    /// The status of this code.
    #[must_use]
    pub const fn from_code(code: u64) -> Option<ProcStatus> {
        Some(match code {
            0 => ProcStatus::Bad,
            1 => ProcStatus::Running,
            2 => ProcStatus::Idle,
            3 => ProcStatus::Syscall,
            4 => ProcStatus::Abandoned,
            _ => return None,
        })
    }
}
