//! What ends a context at its deadline: a timer that starts a goroutine, which was made for it beforehand and costs no
//! more than its header until then. The goroutine knows the context weakly: a context that nobody has any more goes away at
//! once, and its alarm with it.
#![allow(unsafe_code)]

use core::panic::Location;
use std::sync::Weak;
use std::time::Instant;

use super::end::Why;
use super::node::Node;
use crate::sched::{self, Prepared, Rt};
use crate::timers::{Action, Disarmed, Timer, when_at};

pub(super) struct Alarm {
    timer: Timer,
    ringer: Prepared,
}

impl Alarm {
    pub(super) fn new(context: Weak<Node>) -> Alarm {
        let ringer = sched::prepare(Location::caller(), None, move || {
            if let Some(node) = context.upgrade() {
                node.end(&Why::DeadlineExceeded);
            }
        });
        Alarm { timer: Timer::new(Action::Start(ringer)), ringer }
    }

    /// Sets it to ring at `deadline`, once.
    ///
    /// # Safety
    /// It stays where it is, and is silenced before it goes.
    pub(super) unsafe fn set(&self, deadline: Instant) {
        let when = when_at(deadline);
        let _rt = Rt::enter();
        // SAFETY: by contract.
        unsafe { sched::arm_here(&self.timer, when) };
    }

    /// It rings no more. Not inside the runtime.
    pub(super) fn silence(&self) {
        let disarmed = {
            let _rt = Rt::enter();
            self.timer.disarm()
        };
        if disarmed == Disarmed::InTime {
            // SAFETY: disarmed in time, which happens once: the goroutine was not started, and nobody else knows it.
            unsafe { self.ringer.discard() };
        }
    }
}
