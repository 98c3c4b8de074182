//! Pressure: while some goroutines compute beyond their slice, those that have not run yet queue
//! behind those that were woken (D1).
//!
//! **Problem.** Any goroutine that has not run yet may turn out to compute for 10 ms. One that was
//! woken has already run and parked: it probably parks again soon. When many goroutines that
//! compute are started at once, those that are woken wait behind all of them.
//!
//! **Hooks**: the monitor's tick notes when one was last found computing beyond its slice while
//! others waited. For [`PRESSURE_LASTS`](slice::PRESSURE_LASTS) after that, a pick moves goroutines
//! without a stack to the global queue, behind the woken ones.
//!
//! **Without it** new ones keep their place, as in Go.

use core::ptr::NonNull;

use gosched_rules::slice;

use crate::debug::Policy;
use crate::g::G;
use crate::p::{OwnedP, Slice};
use crate::sched::{QueueClass, SCHED, Sched, stack};

/// What the monitor remembers of goroutines that compute beyond their slice.
pub(crate) struct Hogs {
    /// When one was last found computing beyond its slice while others waited.
    last: Option<u64>,
}

impl Hogs {
    pub(crate) const fn new() -> Hogs {
        Hogs { last: None }
    }

    /// A tick begins: tells the picks whether there is pressure, and returns it.
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

/// The next G of `runnext` and ring that has run before. Those that have not are moved to the
/// global queue, behind all that were woken.
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
