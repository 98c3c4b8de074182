//! Pressure: while some compute beyond their slice, goroutines that have not run yet stand behind those that were woken (D1).
//!
//! **Problem.** Any goroutine that has not run yet may turn out to compute for 10 ms. One that was woken has run, and parked: it
//! probably does so again soon. When many are started at once that compute, those that were woken wait behind all of them.
//!
//! **Hooks**: the monitor's tick notes when one was last found computing beyond its slice while others waited; for
//! [`PRESSURE_LASTS`](slice::PRESSURE_LASTS) after that a pick sets those aside that have no stack yet.
//!
//! **Without it** new ones keep their place, as in Go.

use core::ptr::NonNull;

use gosched_rules::slice;

use crate::debug::Policy;
use crate::g::G;
use crate::p::{OwnedP, Slice};
use crate::sched::{QueueClass, SCHED, Sched, stack};

/// What the monitor remembers of those that compute.
pub(crate) struct Hogs {
    /// When one was last found computing beyond its slice while others waited.
    last: Option<u64>,
}

impl Hogs {
    pub(crate) const fn new() -> Hogs {
        Hogs { last: None }
    }

    /// A tick begins: whether there is pressure, of which the picks are told.
    pub(crate) fn look(&self, now: u64) -> bool {
        let pressure = slice::has_pressure(self.last, now);
        SCHED.set_under_pressure(pressure);
        pressure
    }

    /// One was found computing beyond its slice.
    pub(crate) fn found(&mut self, now: u64) {
        if Policy::Pressure.is_on() {
            self.last = Some(now);
            SCHED.set_under_pressure(true);
        }
    }
}

/// The next G by `runnext` and ring that has run before; those that have not are set behind all that were woken.
#[cold]
pub(in crate::sched) fn pick(sched: &Sched, p: &mut OwnedP) -> Option<(NonNull<G>, Slice)> {
    loop {
        let (g, slice) = p.get()?;
        // SAFETY: headers are never unmapped.
        if stack::has_stack(unsafe { g.as_ref() }) {
            return Some((g, slice));
        }
        sched.put_global_one(Some(p.shared()), g, QueueClass::Fresh);
        sched.wake_p();
    }
}
