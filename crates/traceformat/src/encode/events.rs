//! One M's batch of events: a method for each type of event that a recorder needs.
//!
//! Events of Go's collector and of its experiments are left out: this runtime has neither.

use super::{BatchCore, Fit};
use crate::leb128;
use crate::wire::{EventType, GoStatus, MAX_ARGS, ProcStatus};

/// The longest event: its type, its time and its arguments.
const MAX_EVENT: usize = 1 + leb128::MAX_LEN * (1 + MAX_ARGS);

/// Writes one M's events into storage that it owns or borrows.
///
/// ```
/// use gosched_traceformat::encode::{BatchWriter, Fit};
///
/// let mut storage = [0; 1024];
/// let mut batch = BatchWriter::begin(&mut storage[..], 1, 7, 1_000);
/// assert_eq!(batch.go_create(1_010, 2, 0, 0), Fit::Written);
/// let (storage, len) = batch.finish();
/// assert_eq!(storage[..4], [1, 1, 7, 0xe8]);
/// assert_eq!(storage[len - 5..len], [14, 10, 2, 0, 0]);
/// ```
#[derive(Debug)]
pub struct BatchWriter<B> {
    core: BatchCore<B>,
    last: u64,
}

impl<B: AsMut<[u8]>> BatchWriter<B> {
    /// A batch of the M of this number, in this generation (from 1 on); `time` is not after its
    /// first event.
    ///
    /// # Panics
    /// If the storage has less than [`super::MAX_HEADER`] bytes. What it has beyond
    /// [`crate::wire::MAX_BATCH`] is not used.
    pub fn begin(storage: B, generation: u64, m: u64, time: u64) -> BatchWriter<B> {
        BatchWriter { core: BatchCore::begin(storage, generation, m, time), last: time }
    }

    /// Ends the batch: the storage, and how many of its bytes are the batch, header included.
    pub fn finish(self) -> (B, usize) {
        self.core.finish()
    }

    /// Whether no event has been written yet.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.core.len() == 0
    }

    /// Writes an event of any timed type with its arguments after the time, which are as many as
    /// [`EventType::spec`] says.
    #[inline]
    pub fn event(&mut self, event: EventType, time: u64, args: &[u64]) -> Fit {
        debug_assert_eq!(args.len() + 1, event.spec().args.len(), "{event:?}");
        let delta = time.saturating_sub(self.last);
        let Some(room) = self.core.room(MAX_EVENT) else { return Fit::Full };
        room[0] = event as u8;
        let mut at = 1 + leb128::put(&mut room[1..], delta);
        for arg in args {
            at += leb128::put(&mut room[at..], *arg);
        }
        self.core.advance(at);
        self.last += delta;
        Fit::Written
    }

    /// The P of this number has this status at the start of the generation. If it is `Running` or
    /// `Syscall`, this M holds it.
    #[inline]
    pub fn proc_status(&mut self, time: u64, p: u64, status: ProcStatus) -> Fit {
        self.event(EventType::ProcStatus, time, &[p, status as u64])
    }

    /// The goroutine has this status at the start of the generation. If it is `Running`, this M
    /// runs it; `m` is the M that it is on in a blocking call, else [`crate::wire::NONE`].
    #[inline]
    pub fn go_status(&mut self, time: u64, g: u64, m: u64, status: GoStatus) -> Fit {
        self.event(EventType::GoStatus, time, &[g, m, status as u64])
    }

    /// As [`BatchWriter::go_status`], with the goroutine's stack.
    #[inline]
    pub fn go_status_stack(&mut self, time: u64, g: u64, m: u64, status: GoStatus, stack: u64) -> Fit {
        self.event(EventType::GoStatusStack, time, &[g, m, status as u64, stack])
    }
}

macro_rules! methods {
    ($($(#[$doc:meta])* $method:ident $event:ident ($($arg:ident),*);)*) => {
        impl<B: AsMut<[u8]>> BatchWriter<B> {
            $($(#[$doc])*
            #[inline]
            pub fn $method(&mut self, time: u64, $($arg: u64),*) -> Fit {
                self.event(EventType::$event, time, &[$($arg),*])
            })*
        }
    };
}

methods! {
    /// The number of Ps is now `count`; the running goroutine changed it.
    procs_change ProcsChange(count, stack);
    /// This M takes the P; `seq` is the P's last number plus one.
    proc_start ProcStart(p, seq);
    /// This M gives its P up.
    proc_stop ProcStop();
    /// This M takes the P from `m`, which is in a blocking call. Then the P is idle.
    proc_steal ProcSteal(p, seq, m);
    /// The running goroutine, or the scheduler on this M, creates `g`; `start` is the stack of
    /// where it begins.
    go_create GoCreate(g, start, stack);
    /// As `go_create`, but it waits at first.
    go_create_blocked GoCreateBlocked(g, start, stack);
    /// A goroutine appears in a blocking call on this M: a foreign thread calls in.
    go_create_syscall GoCreateSyscall(g);
    /// This M runs the goroutine; `seq` is the goroutine's last number plus one.
    go_start GoStart(g, seq);
    /// The running goroutine ends.
    go_destroy GoDestroy();
    /// The goroutine on this M ends, which is in a blocking call.
    go_destroy_syscall GoDestroySyscall();
    /// The running goroutine yields, or is preempted.
    go_stop GoStop(reason, stack);
    /// The running goroutine begins to wait.
    go_block GoBlock(reason, stack);
    /// The goroutine is woken; `seq` is its last number plus one.
    go_unblock GoUnblock(g, seq, stack);
    /// The running goroutine wakes `g`, waits itself, and `g` runs.
    go_switch GoSwitch(g, seq);
    /// The running goroutine wakes `g`, ends, and `g` runs.
    go_switch_destroy GoSwitchDestroy(g, seq);
    /// The running goroutine enters a blocking call; `seq` is the P's last number plus one.
    go_syscall_begin GoSyscallBegin(seq, stack);
    /// It comes back and still has its P.
    go_syscall_end GoSyscallEnd();
    /// It comes back and had lost its P: it is runnable.
    go_syscall_end_blocked GoSyscallEndBlocked();
    /// The running goroutine begins to stop the world.
    stw_begin STWBegin(kind, stack);
    /// The world goes on.
    stw_end STWEnd();
    /// The running goroutine has this label.
    go_label GoLabel(label);
    /// A task begins.
    task_begin UserTaskBegin(task, parent, name, stack);
    /// A task ends.
    task_end UserTaskEnd(task, stack);
    /// A region of the running goroutine begins.
    region_begin UserRegionBegin(task, name, stack);
    /// The region that began last ends.
    region_end UserRegionEnd(task, name, stack);
    /// The running goroutine logs something.
    log UserLog(task, key, value, stack);
}
