//! What the attribute macros expand to. Not part of the API.

use core::panic::Location;
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::dump;
use crate::fatal::write_stderr;
use crate::thread;

/// `#[gosched::main]`.
pub fn main(f: impl FnOnce() -> ExitCode + Send + 'static) -> ExitCode {
    crate::run(f)
}

/// `#[gosched::test]`: as [`main`], but after `limit` all goroutines are dumped and the test fails.
///
/// The watch is kept by the test's own thread, by means of std alone: it must work when the scheduler does not.
#[track_caller]
pub fn test(name: &str, limit: Duration, f: impl FnOnce() -> ExitCode + Send + 'static) -> ExitCode {
    let ended = Arc::new((Mutex::new(false), Condvar::new()));
    let at_end = Signal(Arc::clone(&ended));
    let handle = thread::spawn_main(
        move || {
            let _at_end = at_end;
            f()
        },
        Location::caller(),
    );
    let (flag, bell) = &*ended;
    let flag = flag.lock().unwrap_or_else(PoisonError::into_inner);
    let (flag, _) =
        bell.wait_timeout_while(flag, limit, |ended| !*ended).unwrap_or_else(PoisonError::into_inner);
    if !*flag {
        drop(flag);
        write_stderr(
            dump::all(&format!("test {name} did not end within {limit:?}; all goroutines:")).as_bytes(),
        );
        // Not a panic: a test that should panic would pass by it.
        return ExitCode::FAILURE;
    }
    drop(flag);
    match handle.join() {
        Ok(code) => code,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Rings when dropped: at the end of the closure, however it ends.
struct Signal(Arc<(Mutex<bool>, Condvar)>);

impl Drop for Signal {
    fn drop(&mut self) {
        let (flag, bell) = &*self.0;
        *flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
        bell.notify_all();
    }
}
