//! The message when a goroutine overflows its stack (S14).

use crate::fatal::{self, say};
use crate::m::current;

/// Reports a stack overflow and ends the process. Called by the fault handler on the M's alternate
/// stack. Returns if the address is not in the guard of the goroutine that runs on this thread:
/// then it was no overflow.
pub(crate) fn on_fault(address: usize) {
    let Some(g) = current::current().and_then(|m| m.cur_g()) else { return };
    // SAFETY: the goroutine runs on this thread, interrupted by this very fault, so its stack is
    // not being changed.
    let Some(stack) = (unsafe { (*g.stack.get()).as_ref() }) else { return };
    if !stack.guard().contains(&address) {
        return;
    }
    // SAFETY: we run on the goroutine's thread, so it is alive.
    let name = unsafe { g.name() }.map_or("", |name| name);
    let limit = stack.size();
    say(format_args!(
        "fatal error: stack overflow\n\ngoroutine {}{}{}{}: exceeded its stack limit of {limit} bytes ({} KiB).\n\
         Give it more with thread::Builder::stack_size, or all of them with Config::stack_size or GOSCHED_STACK.\n",
        g.id(),
        if name.is_empty() { "" } else { " \"" },
        name,
        if name.is_empty() { "" } else { "\"" },
        limit / 1024,
    ));
    fatal::end()
}
