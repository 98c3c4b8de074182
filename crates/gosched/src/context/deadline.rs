//! What ends a context at its deadline: a timer that starts a goroutine, which is prepared
//! beforehand and costs only its header until then. The goroutine has a weak reference to the
//! context: a context without owners is dropped at once, and its timer with it.
#![allow(unsafe_code)]

use core::panic::Location;
use std::sync::Weak;
use std::time::Instant;

use super::end::EndReason;
use super::node::ContextNode;
use crate::clock::when_at;
use crate::g::Prepared;
use crate::m::Worker;
use crate::sched;
use crate::timers::{Action, Disarmed, TimerNode};

pub(super) struct DeadlineTimer {
    timer: TimerNode,
    ender: Prepared,
}

impl DeadlineTimer {
    pub(super) fn new(context: Weak<ContextNode>) -> DeadlineTimer {
        let ender = sched::prepare(Location::caller(), None, move || {
            if let Some(node) = context.upgrade() {
                node.end(&EndReason::DeadlineExceeded);
            }
        });
        DeadlineTimer { timer: TimerNode::new(Action::Start(ender)), ender }
    }

    /// Sets it to end the context at `deadline`, once.
    ///
    /// # Safety
    /// It is not moved, and is cancelled before it is dropped.
    pub(super) unsafe fn set(&self, deadline: Instant) {
        let when = when_at(deadline);
        let _inside = Worker::enter();
        // SAFETY: by contract.
        unsafe { sched::arm_here(&self.timer, when) };
    }

    /// Stops the timer, and drops the goroutine if that was not started. Not inside the runtime.
    pub(super) fn cancel(&self) {
        let disarmed = {
            let _inside = Worker::enter();
            self.timer.disarm()
        };
        if disarmed == Disarmed::InTime {
            // SAFETY: disarmed in time, which happens once: the goroutine was not started, and
            // nobody else has it.
            unsafe { self.ender.discard() };
        }
    }
}
