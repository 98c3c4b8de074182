//! Awaiting a look: a spinner that has found nothing waits for another M's look at the network that
//! will probably find much.
//!
//! **Problem.** One M looks at the network at a time. When it has found much it wakes another M.
//! But the M that would help was searching a moment ago, found nothing, and has just gone to sleep.
//! That costs two futex calls and a switch by the kernel.
//!
//! **Hook**: `after_search`. If an M or the monitor is looking, and the last look found many
//! goroutines ([`MANY`]), a spinner waits until that look is over, for [`LOOK_PAUSES`] at most.
//!
//! **Without it** the M gives up its P and sleeps, as in Go.

use core::ptr::NonNull;

use crate::debug::Policy;
use crate::g::G;
use crate::m::OwnM;
use crate::netpoll;
use crate::p::OwnedP;
use crate::sched::Sched;

/// A look that finds this many goroutines is worth waiting for.
const MANY: usize = 16;
/// How long a spinner waits for another M's look at the network, in pauses: some tens of µs.
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

/// Whether somebody looks at the network, or queues what it has found, and that is probably much,
/// because the last look found much. A hint.
fn is_much_coming() -> bool {
    netpoll::looker().is_some() && netpoll::last_found() >= MANY
}
