//! Panics name their goroutine (S11); and what becomes of a panic where several pieces of foreign code are called in turn.
//!
//! Rust's panic message names the OS thread, which says nothing here. A line with the goroutine's id, name and origin
//! goes before it; the message itself is left to whatever hook was there, the user's own or std's.

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
        name_goroutine();
        previous(info);
    }));
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
