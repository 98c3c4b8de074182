//! Waiting for who looks: a spinner that has found nothing waits for a look at the network that will find much.
//!
//! **Problem.** One M looks at the network at a time. When it has found much it wakes another M; but the one that would help was
//! searching a moment ago, found nothing, and has just gone to sleep. That costs two futex calls and a switch by the kernel.
//!
//! **Hook**: `after_search`. A spinner waits, if somebody looks and the last look found many ([`MANY`]), for as long as the look
//! takes, and no longer than [`LOOK_PAUSES`].
//!
//! **Without it** the M gives up its P and sleeps, as in Go.

use core::ptr::NonNull;

use crate::debug::Policy;
use crate::g::G;
use crate::m::OwnM;
use crate::netpoll;
use crate::p::OwnedP;
use crate::sched::Sched;

/// So many are worth waiting for.
const MANY: usize = 16;
/// How long a spinner waits for somebody else's look at the network: about 40 µs of pauses.
const LOOK_PAUSES: u32 = 1_000;

/// A search has found nothing: waits for a look that will find much, then searches once more.
pub(in crate::sched) fn after_search(sched: &Sched, m: &mut OwnM, p: &mut OwnedP) -> Option<NonNull<G>> {
    if !Policy::AwaitLook.is_on() || !m.is_spinning() || !is_much_coming() {
        return None;
    }
    for _ in 0..LOOK_PAUSES {
        if !is_much_coming() {
            break;
        }
        core::hint::spin_loop();
    }
    match sched.grab_global(p, None) {
        None => sched.steal_work(m, p),
        found => found,
    }
}

/// Whether somebody looks, or queues what it has found, and that is probably much: as much as the last time. Only a hint.
fn is_much_coming() -> bool {
    netpoll::looker().is_some() && netpoll::last_found() >= MANY
}
