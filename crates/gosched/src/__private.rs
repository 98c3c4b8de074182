//! What the attribute macros expand to, and a question that a test asks. Not part of the API.

// The names that the expansion uses. It can't name `std` or `core`: a crate may have neither, or
// others of that name.
pub use core::prelude::v1::test as plain_test;
pub use core::{compile_error, concat, module_path};
pub use std::process::{ExitCode, Termination};
pub use std::time::Duration;

use core::fmt;
use core::panic::Location;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::dump;
use crate::fatal::write_stderr;
use crate::sched::ensure_started;
use crate::thread;

/// `#[gosched::main]`.
#[track_caller]
pub fn main(f: impl FnOnce() -> ExitCode + Send + 'static) -> ExitCode {
    crate::run(f)
}

/// Writes the scheduler's state and all goroutines to standard error, under a headline.
pub fn dump(headline: &str) {
    ensure_started();
    write_stderr(dump::all(headline).as_bytes());
}

/// Whether the calling thread is one of ours and inside the runtime: for an allocator that watches
/// where it is called from. Enters nothing, allocates nothing.
pub fn is_inside_runtime() -> bool {
    crate::m::current::current().is_some_and(|m| m.owner.in_runtime())
}

/// How long a test may take to begin: long enough for the most crowded machine.
const BEGIN_WITHIN: Duration = Duration::from_secs(60);

/// How far a test has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Waiting,
    Begun,
    Ended,
}

/// `#[gosched::test]`: as [`main`], but if `f` has not ended `limit` after it began, all goroutines
/// are dumped and the test fails.
///
/// The test's own thread keeps watch, and uses only std's primitives for it: it must work when the
/// scheduler does not.
#[track_caller]
pub fn test(name: &str, limit: Duration, f: impl FnOnce() -> ExitCode + Send + 'static) -> TestResult {
    let progress = Arc::new(MainProgress { phase: Mutex::new(Phase::Waiting), bell: Condvar::new() });
    let at_end = ReachEnd(Arc::clone(&progress));
    let handle = thread::spawn_main(
        move || {
            at_end.0.reach(Phase::Begun);
            let _at_end = at_end;
            f()
        },
        Location::caller(),
    );
    for (phase, limit, what) in [(Phase::Begun, BEGIN_WITHIN, "begin"), (Phase::Ended, limit, "end")] {
        if progress.wait_for(phase, limit) < phase {
            dump(&format!("test {name} did not {what} within {limit:?}; all goroutines:"));
            // Not a panic: a test marked `should_panic` would pass.
            return Err(TestFailed);
        }
    }
    match handle.join() {
        Ok(code) if code == ExitCode::SUCCESS => Ok(()),
        Ok(_) => Err(TestFailed),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// What the function returns that the harness calls. A `Result`: other attributes of a test, like
/// `#[serial]`, know what to do with that.
pub type TestResult = Result<(), TestFailed>;

/// Why has been said already.
pub struct TestFailed;

/// The harness shows it.
impl fmt::Debug for TestFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("the test has failed, as said above")
    }
}

/// The phase, and a bell that rings when the next one is reached.
struct MainProgress {
    phase: Mutex<Phase>,
    bell: Condvar,
}

impl MainProgress {
    fn reach(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
        self.bell.notify_all();
    }

    /// Waits for `phase`, but no longer than `limit`; returns how far it has come.
    fn wait_for(&self, phase: Phase, limit: Duration) -> Phase {
        let now = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        *self
            .bell
            .wait_timeout_while(now, limit, |now| *now < phase)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }
}

/// Notes the end of the closure, even by a panic, when dropped.
struct ReachEnd(Arc<MainProgress>);

impl Drop for ReachEnd {
    fn drop(&mut self) {
        self.0.reach(Phase::Ended);
    }
}
