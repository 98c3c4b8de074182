//! Execution traces in Go's format: who ran when and where, who woke whom, why it waited. Modelled
//! on Go's `runtime/trace`.
//!
//! ```
//! use gosched::{go, trace};
//!
//! let file = std::env::temp_dir().join(format!("gosched-{}.trace", std::process::id()));
//! gosched::run(|| {
//!     let trace = trace::start(&file)?;
//!     go(|| trace::region("sum", || (1..=1000).sum::<u64>())).join().unwrap();
//!     trace.stop()
//! })?;
//! assert!(std::fs::metadata(&file)?.len() > 16);
//! # std::fs::remove_file(&file)?;
//! # std::io::Result::Ok(())
//! ```
//!
//! `GOSCHED_TRACE=file` traces the whole run without a change to the program; `%p` in the name is
//! the process id. [`FlightRecorder`] keeps the last seconds in memory, and so does
//! `GOSCHED_TRACE=flight:10s:file`, which writes them when something goes wrong.
//!
//! # Reading a trace
//!
//! `go tool trace file` shows timelines, goroutines with their latencies, and what blocked them;
//! `gosched-trace` (a package of its own) needs no Go: `summary`, `findings`, `explain`, `check`,
//! `cut`, and `perfetto` for ui.perfetto.dev.
//!
//! What looks different from a trace of a Go program:
//!
//! - A goroutine that continues without its P, because it computes or blocks its thread for long,
//!   is shown as in a blocking call, from the moment when the P was taken until it has one again:
//!   the format has no word for one that runs without a P.
//! - Goroutines are grouped by the place where they were created (`go at src/main.rs:12`).
//! - P number 1000000 is none of the scheduler's: with it goroutines are created by threads that
//!   have no P, such as the one that calls [`run`](crate::run). Number 4294967296 in the place of
//!   a thread stands for all threads that are not the scheduler's.
//! - The number of Ps is in the trace when a goroutine begins it, and when a goroutine changes that
//!   number; not when another thread does, and not again in the later parts of a trace.
//!
//! # What it costs
//!
//! While nothing is recorded, a load and a branch at each change of a goroutine. While a trace is
//! recorded, some tens of nanoseconds for each event, and about as much again for its stack. At
//! most 64 MiB of buffers wait for the writer, which is called by a thread of the library's; if it
//! is too slow for that, the trace ends with what was complete, and [`Trace::stop`] says so.

#![deny(unsafe_code)]

mod flight;
mod task;

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::dump;
use crate::runtime;
use crate::sched::{self, MayWait, Stopped};
use crate::tracer::{PreparedTrace, Session, TraceSink};

pub use flight::FlightRecorder;
pub use task::{Task, log, region};

/// A trace that is being recorded. Dropping it ends the trace as [`stop`](Trace::stop) does, but
/// tells nobody what went wrong.
#[must_use = "dropping it ends the trace"]
pub struct Trace(Option<Session>);

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace { .. }")
    }
}

/// Begins to record a trace into a file, which is created, or made empty.
///
/// A moving call: the world stands still for a moment.
///
/// # Errors
///
/// If the file can't be created; if a trace is being recorded already
/// ([`AlreadyExists`](io::ErrorKind::AlreadyExists)), by a [`FlightRecorder`] or `GOSCHED_TRACE`
/// too; if there is no memory or thread for it.
///
/// # Panics
///
/// In the closure of [`stop_the_world`](runtime::stop_the_world).
///
/// ```
/// let file = std::env::temp_dir().join(format!("gosched-start-{}.trace", std::process::id()));
/// let trace = gosched::trace::start(&file)?;
/// assert!(gosched::trace::start(&file).is_err());
/// trace.stop()?;
/// # std::fs::remove_file(&file)?;
/// # std::io::Result::Ok(())
/// ```
pub fn start(path: impl AsRef<Path>) -> io::Result<Trace> {
    let may_wait = may_wait();
    start_prepared(PreparedTrace::with_file(path.as_ref(), |file: File| TraceSink::of(file))?, may_wait)
}

/// As [`start`], for any writer. It is called, and in the end dropped, by a thread of the
/// library's: it may block, but not wait for the trace to end.
///
/// # Errors
///
/// As for [`start`].
///
/// # Panics
///
/// As [`start`].
///
/// ```
/// let trace = gosched::trace::start_to(std::io::sink())?;
/// trace.stop()?;
/// # std::io::Result::Ok(())
/// ```
pub fn start_to(w: impl Write + Send + 'static) -> io::Result<Trace> {
    let may_wait = may_wait();
    start_prepared(PreparedTrace::new(TraceSink::of(w))?, may_wait)
}

/// Refuses in a stopped world, before anything is changed.
fn may_wait() -> MayWait {
    MayWait::ask().unwrap_or_else(|stopped| stopped.refuse("start a trace"))
}

fn start_prepared(prepared: PreparedTrace, _: MayWait) -> io::Result<Trace> {
    sched::ensure_started();
    let stopped = Stopped::begin();
    let scheduler = dump::scheduler().ok_or_else(|| io::Error::other("the scheduler has not started"))?;
    let session = prepared.begin(scheduler, stopped.stopper());
    stopped.start_traced();
    Ok(Trace(Some(session)))
}

impl Trace {
    /// Ends the trace, and waits until all of it is written. A moving call, which announces that it
    /// blocks its thread.
    ///
    /// # Errors
    ///
    /// If writing has failed: the first error. If the writer was too slow: then the trace is whole
    /// but ends early.
    pub fn stop(mut self) -> io::Result<()> {
        self.0.take().map_or(Ok(()), |session| runtime::blocking(|| session.stop()))
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if let Some(session) = self.0.take() {
            let _ = session.stop();
        }
    }
}
