//! In reach: what a spinner has found can be stolen until the next spinner is on its way.
//!
//! **Problem.** A spinner that has found a goroutine wakes the next one before it runs its own (S31). On a machine with more busy
//! threads than CPUs the kernel may run the one that was woken in the waker's place, for a tick of 4 ms; the goroutine that was
//! found waits in the waker's hand all that time.
//!
//! **Hook**: `before_run`. So the goroutine lies in `runnext` while the other one is woken.
//!
//! **Without it** the goroutine is in the M's hand, as in Go, and `schedule` wakes the next spinner.

use core::ptr::NonNull;

use crate::debug::Policy;
use crate::g::G;
use crate::m::M;
use crate::p::OwnedP;
use crate::sched::Sched;

/// A search has found `g`: ends the M's spinning with it in `runnext`. What is to be run; `None` if it was stolen meanwhile.
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
