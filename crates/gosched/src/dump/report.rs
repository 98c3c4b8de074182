//! The reporter: a thread that makes dumps, so that nobody else has to. It sleeps until it is
//! asked.
//!
//! It is asked by threads that want the stacks, and wait for them; by the SIGQUIT handler; by the
//! deadlock detector; by the monitor, with goroutines that have held their thread too long; and by
//! the monitor and the thread that makes Ms, with warnings. All but the first leave at most a short
//! note, set a bit and wake it: they allocate nothing, and hold no lock for longer than it takes to
//! copy a line.
//!
//! It holds nothing for long that others wait for, and waits for nothing of the scheduler's. If
//! nobody reads standard error, warnings and stall reports are dropped after a second, so that it
//! can still answer; a dump at the process's end waits for its reader.

#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};
use core::fmt::Arguments;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gosched_primitives::Dormant;

use super::ask::Asker;
use super::notices::Notices;
use super::overview::{Overview, set_scheduler};
use super::schedtrace::SchedTrace;
use super::snapshot::OwnStack;
use super::stall::{Stall, Stalled, ToldPlaces};
use super::text::Dumper;
use crate::fatal::{end, offer_stderr, write_stderr};
use crate::recorder;
use crate::sys::handler::{self, Unhandled};
use crate::sys::thread::{self, Defaults};
use crate::sys::{errno, process};

/// Room to look up symbols, which needs deep stacks.
const STACK_BYTES: usize = 2 << 20;
/// How long a caller of [`stacks`] waits for its dump.
const PATIENCE: Duration = Duration::from_secs(30);

static DORMANT: Dormant = Dormant::new();
/// What the reporter is asked for: a bit for each kind.
static ASKED: AtomicU32 = AtomicU32::new(0);
const QUIT: u32 = 1;
const DEADLOCK: u32 = 2;
const DUMPS: u32 = 4;
const STALLS: u32 = 8;
const NOTICES: u32 = 16;

/// Threads that wait for a dump.
static WAITING: Mutex<Vec<DumpRequest>> = Mutex::new(Vec::new());
static STALLED: Stalled = Stalled::new();
static NOTED: Notices = Notices::new();

/// A request: the stack of the goroutine that asks, and where the answer goes.
struct DumpRequest {
    own: Option<OwnStack>,
    answer: SyncSender<String>,
}

/// Whether SIGQUIT was ignored before we handled it.
static WAS_IGNORED: AtomicBool = AtomicBool::new(false);

/// Starts the reporter, and handles SIGQUIT unless the program does: also if it is ignored, as in a
/// program that a script has started with `&` (D9).
pub(crate) fn start(defaults: &'static Defaults, scheduler: &'static dyn Overview) -> io::Result<()> {
    set_scheduler(scheduler);
    thread::spawn(STACK_BYTES, main, core::ptr::from_ref(defaults).cast_mut().cast())?;
    if let Some(before) = handler::unhandled(libc::SIGQUIT) {
        WAS_IGNORED.store(before == Unhandled::Ignored, Ordering::Relaxed);
        let _ = handler::install(libc::SIGQUIT, on_quit);
    }
    Ok(())
}

/// For the child of a fork, which has no reporter: SIGQUIT does again what it did before the
/// runtime started.
pub(crate) fn forked() {
    let ignored = WAS_IGNORED.load(Ordering::Relaxed);
    handler::remove(libc::SIGQUIT, on_quit, if ignored { Unhandled::Ignored } else { Unhandled::Default });
}

/// Sets the bits of `what` and wakes the reporter. Async-signal-safe.
fn want(what: u32) {
    // ORDERING: SeqCst, as `Dormant::wake_up` asks; partner is the load in `main`.
    ASKED.fetch_or(what, Ordering::SeqCst);
    DORMANT.wake_up();
}

/// All goroutines with their stacks. Waits for the reporter, which has been started: a call that
/// blocks its thread, but never moves a goroutine.
pub(crate) fn stacks() -> String {
    let (answer, receiver): (_, Receiver<String>) = sync_channel(1);
    let asked = DumpRequest { own: OwnStack::take(), answer };
    WAITING.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
    want(DUMPS);
    receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        format!("(no stacks: the thread that reads them gave no answer within {PATIENCE:?})\n")
    })
}

/// Reports that no goroutine can ever run again, with all of them, and ends the process (S48). May
/// be called by any thread, inside the runtime too.
pub(crate) fn deadlock() -> ! {
    want(DEADLOCK);
    process::await_end()
}

/// Reports a goroutine that has held its thread too long. By the monitor.
pub(crate) fn stall(stall: Stall) {
    recorder::raise_alarm();
    STALLED.put(stall);
    want(STALLS);
}

/// Has a warning written, for a thread that must not wait for a reader of standard error. May be
/// called inside the runtime.
pub(crate) fn warn(text: Arguments<'_>) {
    NOTED.put(text);
    want(NOTICES);
}

extern "C" fn on_quit(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    static SEEN: AtomicBool = AtomicBool::new(false);
    let errno = errno::get();
    if SEEN.swap(true, Ordering::Relaxed) {
        // A second SIGQUIT: the first dump takes too long, or nobody reads it.
        end();
    }
    want(QUIT);
    errno::set(errno);
}

extern "C" fn main(defaults: *mut c_void) -> *mut c_void {
    thread::set_name(c"gosched-report");
    // SAFETY: `start` passed this, for ever.
    unsafe { &*defaults.cast::<Defaults>() }.adopt();
    // Made at the first request: a program without one needs no memory for it.
    let mut reporter = None;
    let mut trace = SchedTrace::wanted();
    loop {
        let limit = trace.as_ref().map(SchedTrace::pause);
        // ORDERING: SeqCst: partner is the fetch_or in `want`.
        let _ = DORMANT.sleep_unless(limit, || ASKED.load(Ordering::SeqCst) != 0);
        if let Some(trace) = &mut trace {
            trace.print_if_due();
        }
        // ORDERING: Acquire pairs with the fetch_or in `want`: what was asked for is seen.
        let asked = ASKED.swap(0, Ordering::Acquire);
        if asked == 0 {
            continue;
        }
        // The libraries that read debug information may panic on it; that must not end the program.
        if catch_unwind(AssertUnwindSafe(|| reporter.get_or_insert_with(Reporter::new).serve(asked))).is_err()
        {
            offer_stderr(b"gosched: a dump failed\n");
        }
        if asked & (QUIT | DEADLOCK) != 0 {
            end();
        }
    }
}

struct Reporter {
    dumper: Dumper,
    stalls: ToldPlaces,
}

impl Reporter {
    /// Called by the reporter's thread, which keeps the one that it made.
    fn new() -> Reporter {
        // SAFETY: the only one, as said.
        Reporter { dumper: Dumper::new(unsafe { Asker::new() }), stalls: ToldPlaces::new() }
    }

    fn serve(&mut self, asked: u32) {
        if asked & QUIT != 0 {
            self.last_words("SIGQUIT: quit\n\n");
        }
        if asked & DEADLOCK != 0 {
            self.last_words("fatal error: all goroutines are asleep - deadlock!\n\n");
        }
        if asked & STALLS != 0 {
            while let Some(stall) = STALLED.take() {
                if let Some(text) = self.stalls.report(&mut self.dumper, stall) {
                    offer_stderr(text.as_bytes());
                }
            }
        }
        if asked & NOTICES != 0 {
            while let Some(message) = NOTED.take() {
                offer_stderr(message.as_bytes());
            }
        }
        if asked & DUMPS != 0 {
            let waiting = core::mem::take(&mut *WAITING.lock().unwrap_or_else(PoisonError::into_inner));
            for DumpRequest { own, answer } in waiting {
                // Whoever asked may have stopped waiting.
                let _ = answer.send(self.dumper.goroutines(own.as_ref()));
            }
        }
    }

    /// Writes the headline first: it is out even if reading the stacks fails.
    fn last_words(&mut self, headline: &str) {
        write_stderr(headline.as_bytes());
        write_stderr(self.dumper.goroutines(None).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fatal::EXIT_STATUS;
    use crate::testing::in_child;

    /// S48: the detector's message, all goroutines, status 2; also said from inside the runtime.
    #[test]
    fn a_deadlock_is_told_with_all_goroutines() {
        let name = "dump::report::tests::a_deadlock_is_told_with_all_goroutines";
        let body = || {
            let waiter =
                crate::thread::Builder::new().name("waiter".into()).spawn(crate::thread::park).unwrap();
            while !stacks().contains("\"waiter\" [park") {
                crate::yield_now();
            }
            core::mem::forget(waiter);
            let _inside = crate::m::Worker::enter();
            deadlock()
        };
        let Some(ended) = in_child(name, 2, body) else { return };
        assert_eq!(ended.status.code(), Some(EXIT_STATUS), "{}", ended.stderr);
        let start = "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [running";
        assert!(ended.stderr.starts_with(start), "{}", ended.stderr);
        // On a slow machine it has waited for a while by now.
        let waiter =
            ended.stderr.split_once("\"waiter\" [park").and_then(|(_, rest)| rest.split_once("]:\n"));
        let stack = waiter.map(|(_, stack)| stack);
        assert!(
            stack.is_some_and(|stack| stack.starts_with("gosched::thread::park(...)\n\t")),
            "{}",
            ended.stderr
        );
    }
}
