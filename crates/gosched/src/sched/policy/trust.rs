//! Trust: a goroutine that is alone in `runnext` wakes no idle M, on a P that has earned it (D9).
//!
//! **Problem.** Goroutines that pass a token to and fro need one P: the one that wakes the other
//! parks right after. Waking a second M for that costs a futex call, and that M finds nothing to
//! do.
//!
//! **Hooks**: `queue_woken`, `picked`, `runnext_waits`, and the monitor's tick. A P that has itself
//! run the last [`ENOUGH`](trust::ENOUGH) goroutines in its `runnext` is trusted to run the next
//! one too. It loses the trust as soon as one had to wait: it was stolen, or the monitor found it
//! still there, or the goroutine that woke it began a blocking call.
//!
//! Such a G is queued as any other: thieves find it, and so does an M that looks once more before
//! it sleeps. The monitor looks at each tick, so while a P is idle the G waits for a tick at most.
//! The monitor looks at trusted Ps only. That is enough: a thief that ends the trust is a spinner,
//! whose success wakes the next one, and all others who end it wake an M afterwards; so a G that
//! was put there meanwhile is found too.
//!
//! **Without it** no P ever gains trust, and every wake-up looks for an idle P to wake, as in Go.

use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use gosched_rules::trust;

use crate::debug::Policy;
use crate::g::G;
use crate::p::{OwnedP, P, Slice};
use crate::sched::{Sched, steal};

/// Whether the P is trusted. The count is written by the owner, and by those who end the trust; a
/// write that is lost between them does not matter.
#[inline]
fn is_given(p: &P) -> bool {
    trust::is_given(p.trust.load(Ordering::Relaxed))
}

/// A goroutine was woken by a caller with a P: puts it in `runnext` if the P is trusted and nothing
/// else is queued here. Returns whether it did: then no M need be woken for it.
#[inline]
pub(in crate::sched) fn queue_woken(p: &mut OwnedP, g: NonNull<G>) -> bool {
    let alone = is_given(p) && p.next.peek().is_none() && p.ring.is_empty();
    if alone {
        // Only the owner fills it, so nobody is kicked out.
        let _ = p.next.replace(g);
    }
    alone
}

/// A pick has found a goroutine in `runnext` or the ring; if it is from `runnext`, the owner runs
/// it itself. Whether the policy is on is asked only until the P is trusted.
#[inline]
pub(in crate::sched) fn picked(p: &OwnedP, slice: Slice) {
    if slice != Slice::Inherited {
        return;
    }
    let count = p.trust.load(Ordering::Relaxed);
    if !trust::is_given(count) && Policy::Trust.is_on() {
        p.trust.store(trust::gained(count), Ordering::Relaxed);
    }
}

/// A goroutine in the P's `runnext` was not run soon: the P is trusted no more.
pub(in crate::sched) fn runnext_waits(p: &P) {
    p.trust.store(trust::NONE, Ordering::Relaxed);
}

impl Sched {
    /// For the monitor: while a P is idle, wakes an M for each G that has to wait in a trusted
    /// `runnext`, and ends that trust.
    pub(crate) fn end_trust(&self) {
        let idle = self.idle_snapshot();
        if idle.idle_ps == 0 || idle.spinning > 0 {
            return;
        }
        for p in self.all_p().filter(|p| is_given(p) && steal::waits_in_runnext(p)) {
            runnext_waits(p);
            self.wake_p();
        }
    }
}
