//! What every goroutine is doing, as text for a person, in Go's form (S48, S49).
//!
//! | file | what it does |
//! |---|---|
//! | `copy` | a copied stack and its registers |
//! | `cfi`, `unwind` | from a copy to the addresses of its frames |
//! | `names`, `symtab` | what a function is called, and whose code it is |
//! | `symbols` | from addresses to functions and lines, and which of them are shown |
//! | `stacks` | from a copy to its text, and the stacks that were seen before |
//! | `ask` | the signal that asks a computing thread for its stack |
//! | `snapshot` | a goroutine at one moment, and how each kind of stack is read |
//! | `overview` | what dumps ask the scheduler |
//! | `text` | the dump |
//! | `stall` | who has held its thread too long (`GOSCHED_DEBUG=stall=ms`) |
//! | `schedtrace` | the scheduler in a line, every so often (`GOSCHED_DEBUG=schedtrace=ms`) |
//! | `notices` | warnings of threads that must not write themselves |
//! | `report` | the reporter: the thread on which all of this happens, and the requests to it |
//!
//! Invariant: stacks are read, unwound and written down on the reporter's thread. So a request
//! needs little room on a goroutine's stack; and the monitor, signal handlers and code inside the
//! runtime allocate nothing for one. ([`all`] is the exception: its caller writes down the
//! scheduler's state, and allocates.)

mod ask;
mod cfi;
mod copy;
mod hash;
mod names;
mod notices;
mod overview;
mod report;
mod schedtrace;
mod snapshot;
mod stacks;
mod stall;
mod symbols;
mod symtab;
mod text;
mod unwind;

pub(crate) use cfi::{Base, PinnedModules, Rule, Saved};
pub(crate) use overview::{Books, Overview, scheduler};
pub(crate) use report::{deadlock, forked, stacks, stall, start, warn};
pub(crate) use stall::Stall;
pub(crate) use symbols::{StackCall, Symbols};

/// The most bytes of a stack that are copied, from its innermost frame on.
const MAX_COPIED: usize = 256 * 1024;

/// A headline, the scheduler's state (P by P and M by M), and all goroutines. Only after the
/// scheduler has started. Not inside the runtime: it allocates.
pub(crate) fn all(headline: &str) -> String {
    let scheduler = text::scheduler_state();
    format!("gosched: {headline}\n{scheduler}\n{}", stacks())
}
