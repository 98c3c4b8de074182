//! Panic messages name their goroutine (S11). And [`InTurn`], which calls several pieces of user
//! code even if some panic.
//!
//! Rust's panic message names the OS thread, which says nothing here. A line with the goroutine's
//! id, name and origin comes before it. The hook that was there before, the user's or std's, prints
//! the message itself.
//!
//! **Line and message stay together.** They are two writes, and others may panic at the same time.
//! So a panic prints when it has its *turn*, on goroutines and foreign threads alike. (Lines that
//! are not about a panic may still come in between.)
//!
//! **Nobody waits for ever.** The hook is the user's: it may park, wait for another goroutine that
//! panics, or never return. So a turn is not a lock. A waiter waits for [`PATIENCE`] until the turn
//! is given back, and then takes it from its owner, which then gives nothing back. A panic in a
//! hook ends the process; unwinding out of a hook gives the turn back.
//!
//! Waiting blocks the thread, as std's own lock around a message does. A goroutine that panics
//! stays on its thread anyway, and must not make a moving call here, which a stopped world would
//! refuse. It may lose its P, as any goroutine that blocks its thread (S20).

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use core::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::fatal::say;
use crate::m::current;
use crate::recorder;

/// Installs our hook, which calls the one that was there. A hook that the user installs later
/// replaces both.
pub(crate) fn install_hook() {
    // std panics if the hook is changed while this thread panics; then messages do not name
    // goroutines.
    if std::thread::panicking() {
        return;
    }
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let _turn = PrintTurn::take();
        name_goroutine();
        previous(info);
        recorder::raise_alarm();
    }));
}

/// Longer than it takes to print a message with a backtrace on a busy machine, but short enough for
/// a program that hangs in its hook.
const PATIENCE: Duration = Duration::from_secs(2);

/// Calls user code and ignores its panic, which the hook has reported. The payload is leaked: its
/// destructor is user code, too.
pub(crate) fn contain(f: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(f)) {
        core::mem::forget(panic);
    }
}

/// Which panic may print.
struct Turns {
    /// The number of the turn that is taken, if one is.
    current: Option<u64>,
    /// How many were taken so far.
    taken: u64,
}

static TURNS: Mutex<Turns> = Mutex::new(Turns { current: None, taken: 0 });
static GIVEN_BACK: Condvar = Condvar::new();

/// The right to print.
struct PrintTurn(u64);

impl PrintTurn {
    fn take() -> PrintTurn {
        let mut turns = lock();
        while let Some(current) = turns.current {
            // If another panic gets the turn meanwhile, the wait begins again.
            let same = |turns: &mut Turns| turns.current == Some(current);
            let waited = GIVEN_BACK.wait_timeout_while(turns, PATIENCE, same);
            let timeout;
            (turns, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                break;
            }
        }
        turns.taken += 1;
        turns.current = Some(turns.taken);
        PrintTurn(turns.taken)
    }
}

impl Drop for PrintTurn {
    fn drop(&mut self) {
        let mut turns = lock();
        if turns.current == Some(self.0) {
            turns.current = None;
            drop(turns);
            GIVEN_BACK.notify_all();
        }
    }
}

fn lock() -> MutexGuard<'static, Turns> {
    TURNS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn name_goroutine() {
    let Some(g) = current::current().and_then(|m| m.cur_g()) else { return };
    // SAFETY: we run on the goroutine, so it is alive.
    let (name, (creator, place)) = unsafe { (g.name(), g.origin()) };
    let (open, name, close) = name.map_or(("", "", ""), |name| (" \"", name, "\""));
    match place {
        Some(place) if creator != 0 => say(format_args!(
            "goroutine {}{open}{name}{close} (created by goroutine {creator} at {place}) panicked:\n",
            g.id()
        )),
        _ => say(format_args!("goroutine {}{open}{name}{close} panicked:\n", g.id())),
    }
}

/// Calls several pieces of user code, one after the other: wakers, destructors of values. If one
/// panics, the others are still called; the first panic is resumed at the end.
#[must_use = "finish it: a panic may have been caught"]
pub(crate) struct InTurn(Option<Box<dyn Any + Send>>);

impl InTurn {
    pub(crate) const fn new() -> InTurn {
        InTurn(None)
    }

    /// Calls one. Outside the runtime.
    pub(crate) fn call(&mut self, f: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(f)) {
            match self.0 {
                None => self.0 = Some(panic),
                // Reported already. Leaked, because its destructor is user code, too.
                Some(_) => core::mem::forget(panic),
            }
        }
    }

    /// Whether one has panicked so far.
    pub(crate) fn has_panicked(&self) -> bool {
        self.0.is_some()
    }

    /// Resumes the first panic, if there was one.
    pub(crate) fn finish(self) {
        if let Some(panic) = self.0 {
            resume_unwind(panic);
        }
    }
}
