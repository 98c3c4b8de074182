//! Panics name their goroutine (S11); and what becomes of a panic where several pieces of foreign code are called in turn.
//!
//! Rust's panic message names the OS thread, which says nothing here. A line with the goroutine's id, name and origin
//! goes before it; the message itself is left to whatever hook was there, the user's own or std's.
//!
//! **Together.** The line and what the hook prints are two writes, and others panic too. So a panic prints in its *turn*, on
//! goroutines and foreign threads alike. (Lines that are not about a panic may still come in between.)
//!
//! **Nobody waits for ever.** The hook is the user's: it may park, wait for a goroutine that panics as well, or never return. So
//! a turn is no lock. Who waits counts on others giving theirs back; if nobody does for [`PATIENCE`], it takes the turn
//! from whoever has it, who then has nothing to give back. A panic in a hook ends the process, and unwinding out of one gives
//! the turn back.
//!
//! It blocks the thread, as std's own lock around a message does: a goroutine that panics stays on its thread anyway, and must not
//! make a moving call here, which a stopped world would refuse. Its P is taken as from any other that is blocked (S20).

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use core::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::fatal::say;
use crate::m::current;

/// Puts our hook before the one that is there. Later hooks of the user's replace both, as is their right.
pub(crate) fn install_hook() {
    // std refuses to change hooks while a panic is under way on this thread; then the plain message must do.
    if std::thread::panicking() {
        return;
    }
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let _turn = PrintTurn::take();
        name_goroutine();
        previous(info);
    }));
}

/// Longer than any message takes to print, with a backtrace and on a crowded machine; not too long for a program that hangs in
/// its hook.
const PATIENCE: Duration = Duration::from_secs(2);

/// Calls foreign code whose panic, once it was reported, is nobody else's business. What it panicked with is leaked: its
/// destructor is foreign code, too.
pub(crate) fn contain(f: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(f)) {
        core::mem::forget(panic);
    }
}

/// Whose turn it is to print.
struct Turns {
    /// The number of the turn that is under way.
    current: Option<u64>,
    /// How many there were.
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
            // Somebody else's turn, given back or taken over, is a new one to wait for.
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

/// Foreign code that is called in turn: wakers, destructors of values. One that panics keeps nobody else from being called; the
/// first panic goes on when all are through.
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
                // It was reported; and its own destructor is foreign code, too.
                Some(_) => core::mem::forget(panic),
            }
        }
    }

    /// Whether one has panicked so far.
    pub(crate) fn has_panicked(&self) -> bool {
        self.0.is_some()
    }

    /// All were called: the first panic goes on, if there was one.
    pub(crate) fn finish(self) {
        if let Some(panic) = self.0 {
            resume_unwind(panic);
        }
    }
}
