//! A trace from its start to its end. There is one at a time: [`ACTIVE`] says so, from
//! [`PreparedTrace::new`] to the end of its thread.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use gosched_primitives::Status;

use super::sink::TraceSink;
use super::{thread, unwind};
use crate::dump::Overview;
use crate::fatal;
use crate::recorder::{self, BORROWED, NOBODY, OTHERS, ProcRecord, TraceEntry, TraceStatus};

/// Whether there is a trace.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// Whether a trace is being recorded, or its last generation written.
static RUNNING: AtomicBool = AtomicBool::new(false);
/// Whether this is the child of a fork: it has no tracer, and what the tracer held stays held.
static FORKED: AtomicBool = AtomicBool::new(false);
/// The process is about to end by a fatal error: the trace is to be completed at once.
static LAST_MOMENT: AtomicBool = AtomicBool::new(false);
/// How long a fatal error waits for that.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the tracer and those who wait for it share.
pub(super) struct SharedSession {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Recording has begun.
    on: bool,
    /// The trace is to end.
    stop: bool,
    /// Who waits for what is kept.
    snapshots: Vec<SyncSender<Vec<u8>>>,
    /// The tracer has ended.
    result: Option<Result<(), (io::ErrorKind, String)>>,
}

/// What the tracer is to do.
pub(super) struct Wishes {
    pub(super) stop: bool,
    /// The process ends by a fatal error.
    pub(super) at_last_moment: bool,
    pub(super) snapshots: Vec<SyncSender<Vec<u8>>>,
}

impl SharedSession {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// Waits until recording has begun. `false` if it will not.
    pub(super) fn await_start(&self) -> bool {
        let waits = |state: &mut State| !state.on && !state.stop;
        self.changed.wait_while(self.state(), waits).unwrap_or_else(PoisonError::into_inner).on
    }

    /// Waits for a while, or until something is wanted.
    pub(super) fn pause(&self, pause: Duration) -> Wishes {
        let waits = |state: &mut State| !state.stop && state.snapshots.is_empty();
        let waited = self.changed.wait_timeout_while(self.state(), pause, waits);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let snapshots = core::mem::take(&mut state.snapshots);
        let at_last_moment = LAST_MOMENT.load(Ordering::Relaxed);
        Wishes { stop: state.stop || at_last_moment, at_last_moment, snapshots }
    }

    /// The tracer ends.
    pub(super) fn end(&self, result: io::Result<()>) {
        let result = result.map_err(|error| (error.kind(), error.to_string()));
        // Before anybody learns of the end: they may begin the next one at once.
        RUNNING.store(false, Ordering::Relaxed);
        // ORDERING: Release pairs with the Acquire in `TraceClaim::new`.
        ACTIVE.store(false, Ordering::Release);
        self.change(|state| {
            state.result = Some(result);
            // Those who wait learn that nobody will answer.
            state.snapshots.clear();
        });
    }
}

/// The right to be the one trace. Given back when dropped.
struct TraceClaim;

impl TraceClaim {
    fn new() -> io::Result<TraceClaim> {
        // ORDERING: Acquire pairs with the Release in `SharedSession::end`: the trace before is
        // over.
        match ACTIVE.swap(true, Ordering::Acquire) {
            false => Ok(TraceClaim),
            true => Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "gosched records a trace already: there is one at a time, a flight recorder and GOSCHED_TRACE included",
            )),
        }
    }
}

impl Drop for TraceClaim {
    fn drop(&mut self) {
        // ORDERING: as in `SharedSession::end`.
        ACTIVE.store(false, Ordering::Release);
    }
}

/// A trace that has not begun: its thread waits. Dropping it ends that.
pub(crate) struct PreparedTrace(Option<Session>);

/// A trace that is being recorded.
#[derive(Clone)]
pub(crate) struct Session(Arc<SharedSession>);

impl PreparedTrace {
    /// Makes a thread that will give a trace to `sink`. Changes nothing if it fails.
    ///
    /// # Errors
    /// If there is a trace already, or if the system has no memory or thread for one.
    pub(crate) fn new(sink: TraceSink) -> io::Result<PreparedTrace> {
        PreparedTrace::claimed(TraceClaim::new()?, sink)
    }

    /// As [`new`](PreparedTrace::new), for a file, which is not touched if there is a trace
    /// already.
    ///
    /// # Errors
    /// As for `new`, and if the file can't be created.
    pub(crate) fn with_file(path: &Path, sink: impl FnOnce(File) -> TraceSink) -> io::Result<PreparedTrace> {
        let claim = TraceClaim::new()?;
        PreparedTrace::claimed(claim, sink(File::create(path)?))
    }

    fn claimed(claim: TraceClaim, sink: TraceSink) -> io::Result<PreparedTrace> {
        if !recorder::prepare() {
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, "no memory for a trace's buffers"));
        }
        // Outside the stopped world in which the trace begins: it takes the loader's locks.
        unwind::pin_modules();
        let shared = Arc::new(SharedSession { state: Mutex::default(), changed: Condvar::new() });
        thread::spawn(shared.clone(), sink)?;
        // The thread gives it back.
        core::mem::forget(claim);
        fatal::before_end(complete_at_last_moment);
        Ok(PreparedTrace(Some(Session(shared))))
    }

    /// Begins to record. `stopper`: the goroutine that has stopped the world, if one has.
    ///
    /// Called while no goroutine changes its state: the world is stopped, or no M exists yet. What
    /// foreign threads do meanwhile is found when the goroutine next runs.
    pub(crate) fn begin(mut self, scheduler: &dyn Overview, stopper: Option<u64>) -> Session {
        recorder::choose_clock();
        recorder::forget_stacks();
        recorder::set_unwinder(unwind::unwind);
        note_state(scheduler, stopper);
        RUNNING.store(true, Ordering::Relaxed);
        recorder::switch_on();
        let session = self.0.take().unwrap_or_else(|| fatal::fatal!("a trace begins twice"));
        session.0.change(|state| state.on = true);
        session
    }
}

impl Drop for PreparedTrace {
    fn drop(&mut self) {
        if let Some(session) = &self.0 {
            session.0.change(|state| state.stop = true);
        }
    }
}

/// Notes what each M, P and goroutine is and does when recording begins.
fn note_state(scheduler: &dyn Overview, stopper: Option<u64>) {
    let before = recorder::generation_before_first();
    let reset = |record: &ProcRecord| {
        record.word.set(TraceEntry::new(TraceStatus::Idle, before, 0));
        record.set_holder(NOBODY);
    };
    reset(&BORROWED);
    scheduler.ps().for_each(|p| reset(&p.traced));
    OTHERS.reset(before, None);
    for m in scheduler.every_m() {
        let g = m.cur_g().map(|g| (g.id(), Some(g.id()) != stopper));
        m.recorder.reset(before, g);
    }
    for g in scheduler.gs() {
        let known = match g.status() {
            Status::Idle | Status::Dead => TraceStatus::Nothing,
            Status::Runnable => TraceStatus::Runnable,
            Status::Waiting => TraceStatus::Waiting,
            _ => TraceStatus::Held,
        };
        g.traced.set(TraceEntry::new(known, before, 0));
    }
}

impl Session {
    /// Ends the trace and waits until all of it is written.
    ///
    /// # Errors
    /// If it could not be written, or buffers ran out.
    pub(crate) fn stop(&self) -> io::Result<()> {
        if FORKED.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.0.change(|state| state.stop = true);
        let waited = self.0.changed.wait_while(self.0.state(), |state| state.result.is_none());
        match &waited.unwrap_or_else(PoisonError::into_inner).result {
            Some(Err((kind, text))) => Err(io::Error::new(*kind, text.clone())),
            _ => Ok(()),
        }
    }

    /// What is kept, as a trace; recording goes on.
    ///
    /// # Errors
    /// If the trace has ended.
    pub(crate) fn snapshot(&self) -> io::Result<Vec<u8>> {
        let ended = || io::Error::new(io::ErrorKind::NotFound, "the trace has ended");
        if FORKED.load(Ordering::Relaxed) {
            return Err(ended());
        }
        let (sender, receiver) = sync_channel(1);
        self.0.change(|state| {
            if state.result.is_none() {
                state.snapshots.push(sender);
            }
        });
        receiver.recv().map_err(|_| ended())
    }
}

/// A fatal error ends the process: waits until the trace is complete, but not for long. In any
/// state of the process.
fn complete_at_last_moment() {
    LAST_MOMENT.store(true, Ordering::Relaxed);
    let begun = Instant::now();
    while RUNNING.load(Ordering::Relaxed) && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// In the child of a fork there is no tracer.
pub(crate) fn forked() {
    FORKED.store(true, Ordering::Relaxed);
    RUNNING.store(false, Ordering::Relaxed);
    recorder::forked();
}
