//! Trust: a lone goroutine in `runnext` goes without waking an idle M, on a P that has earned it (D9).
//!
//! **Problem.** Goroutines that pass a token to and fro need one P: the one that wakes the other parks right after. To wake a
//! second M for that costs a futex call, and that M finds nothing to do.
//!
//! **Hooks**: `queue_woken`, `picked`, `runnext_waits`, and the monitor's tick. A P on which the last such Gs were all run by
//! itself, [`ENOUGH`](trust::ENOUGH) in a row, is trusted with the next one too. Trust is lost at once when one had to wait: it was
//! stolen, or the monitor found it still there, or the goroutine that woke it went into a blocking call.
//!
//! A G that waits in trust is queued as any other: thieves find it, and so does an M that looks once more before it sleeps. The
//! monitor looks at each tick, so it waits for a tick at most while a P is idle. It looks at trusted Ps only: whoever
//! takes trust away is an M that searches, whose success wakes the next one, or wakes one after that; so a G that was put there
//! meanwhile is found too.
//!
//! **Without it** no P ever gains trust, and every wake-up looks for an idle P to wake, as in Go.

use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use gosched_rules::trust;

use crate::debug::Policy;
use crate::g::G;
use crate::p::{OwnedP, P, Slice};
use crate::sched::{Sched, find};

/// Whether the P is trusted. The count is written by the owner, and by those who find the trust broken; one that is lost between
/// them does not matter.
#[inline]
fn is_given(p: &P) -> bool {
    trust::is_given(p.trust.load(Ordering::Relaxed))
}

/// A goroutine was woken by one with a P: puts it in `runnext` if it will be all that is queued here, and is trusted to be run soon.
/// Returns whether it was: then nobody else need be woken for it.
#[inline]
pub(in crate::sched) fn queue_woken(p: &mut OwnedP, g: NonNull<G>) -> bool {
    let alone = is_given(p) && p.next.peek().is_none() && p.ring.is_empty();
    if alone {
        // Only the owner fills it, so nobody is kicked out.
        let _ = p.next.replace(g);
    }
    alone
}

/// A pick has found a goroutine at hand; if it is from `runnext`, the owner runs it itself. The switch is asked only while trust is
/// still to be earned.
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

/// A goroutine in the P's `runnext` was not run as soon as was hoped for.
pub(in crate::sched) fn runnext_waits(p: &P) {
    p.trust.store(trust::NONE, Ordering::Relaxed);
}

impl Sched {
    /// For the monitor, while a P is idle: a G that waits in another's `runnext` after all gets an M.
    pub(crate) fn end_trust(&self) {
        let idle = self.idle_snapshot();
        if idle.idle_ps == 0 || idle.spinning > 0 {
            return;
        }
        for p in self.all_p().filter(|p| is_given(p) && find::waits_in_runnext(p)) {
            runnext_waits(p);
            self.wake_p();
        }
    }
}
