//! Panics name their goroutine (S11).
//!
//! Rust's panic message names the OS thread, which says nothing here. A line with the goroutine's id, name and origin
//! goes before it; the message itself is left to whatever hook was there, the user's own or std's.

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
