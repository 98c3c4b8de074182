//! The flight recorder: the last seconds of a trace, in memory.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{Trace, may_wait, start_prepared};
use crate::runtime;
use crate::tracer::{PreparedTrace, TraceSink};

/// Records all the time, and keeps the last part in memory, to be written when something has
/// happened. Modelled on Go's `runtime/trace.FlightRecorder`.
///
/// ```
/// use std::time::Duration;
///
/// gosched::run(|| {
///     let recorder = gosched::trace::FlightRecorder::new(Duration::from_secs(5), 32 << 20);
///     recorder.start()?;
///     gosched::go(|| ()).join().unwrap();
///     let mut trace = Vec::new();
///     let bytes = recorder.write_to(&mut trace)?;
///     assert_eq!(bytes, trace.len() as u64);
///     recorder.stop();
///     std::io::Result::Ok(())
/// })?;
/// # std::io::Result::Ok(())
/// ```
pub struct FlightRecorder {
    min_age: Duration,
    max_bytes: usize,
    running: Mutex<Option<Trace>>,
}

impl fmt::Debug for FlightRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlightRecorder")
            .field("min_age", &self.min_age)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

impl FlightRecorder {
    /// A recorder that keeps at least what is younger than `min_age`, but not more than `max_bytes`
    /// in all, which has precedence. It keeps whole generations, of about a second each, and the
    /// last one however large it is (some 16 MiB, if very much happens); the one that is being
    /// recorded comes on top, with buffers of up to 64 MiB.
    #[must_use]
    pub fn new(min_age: Duration, max_bytes: usize) -> FlightRecorder {
        FlightRecorder { min_age, max_bytes, running: Mutex::new(None) }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<Trace>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to record. A moving call.
    ///
    /// # Errors
    ///
    /// If this recorder runs already, or another trace is recorded: there is one at a time. If
    /// there is no memory or thread for it.
    ///
    /// # Panics
    ///
    /// In the closure of [`stop_the_world`](runtime::stop_the_world).
    pub fn start(&self) -> io::Result<()> {
        let may_wait = may_wait();
        let trace =
            start_prepared(PreparedTrace::new(TraceSink::ring(self.min_age, self.max_bytes))?, may_wait)?;
        *self.running() = Some(trace);
        Ok(())
    }

    /// Writes what is kept as a trace, up to this call, and returns its length in bytes; goes on
    /// recording. (In a stopped world: up to the last turn of a generation.) A moving call.
    ///
    /// # Errors
    ///
    /// If the recorder does not run, or `w` fails.
    pub fn write_to(&self, mut w: impl Write) -> io::Result<u64> {
        let session = self.running().as_ref().and_then(|trace| trace.0.clone());
        let Some(session) = session else {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the flight recorder does not run: start it",
            ));
        };
        let kept = runtime::blocking(|| session.snapshot())?;
        w.write_all(&kept)?;
        Ok(kept.len() as u64)
    }

    /// Ends the recording and forgets what was kept. A moving call. Does nothing if it does not
    /// run.
    pub fn stop(&self) {
        let trace = self.running().take();
        // Nothing is written, so nothing can fail.
        let _ = trace.map(Trace::stop);
    }
}
