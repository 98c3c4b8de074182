//! In reach: what a spinner has found can be stolen until the next spinner is on its way.
//!
//! **Problem.** A spinner that has found a goroutine wakes the next one before it runs its own
//! (S31). On a machine with more busy threads than CPUs the kernel may run the woken one in place
//! of its waker, for a tick of 4 ms. The goroutine that the waker has found waits all that time,
//! and can't be stolen.
//!
//! **Hook**: `before_run`. The goroutine is put in `runnext` while the next spinner is woken, and
//! taken out again.
//!
//! **Without it** only the M knows of the goroutine, as in Go, and `schedule` wakes the next
//! spinner.

use core::ptr::NonNull;

use crate::debug::Policy;
use crate::g::G;
use crate::m::M;
use crate::p::OwnedP;
use crate::sched::Sched;

/// A search has found `g`: ends the M's spinning while `g` is in `runnext`. Returns what is to be
/// run; `None` if it was stolen meanwhile.
pub(in crate::sched) fn before_run(
    sched: &Sched,
    m: &M,
    p: &mut OwnedP,
    g: NonNull<G>,
) -> Option<NonNull<G>> {
    if !Policy::InReach.is_on() || !m.is_spinning() || p.next.peek().is_some() {
        return Some(g);
    }
    // Only the owner fills it, so nobody is kicked out.
    let _ = p.next.replace(g);
    sched.stop_spinning(m);
    p.next.take()
}
