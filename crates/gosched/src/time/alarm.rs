//! A timer that wakes a `future::block_on`: what a sleeping future of ours costs, if ours is the executor too.
//!
//! Invariant: while armed, the timer neither moves nor dies, since it is in a box that disarms it first; and its waker keeps the
//! task alive that it notifies.
#![allow(unsafe_code)]

use core::pin::Pin;
use core::task::Waker;

use crate::future;
use crate::sched::{self, Visitor};
use crate::timers::{Action, Timer};

/// Wakes a task, once, at a time.
pub(crate) struct Alarm {
    timer: Timer,
    waker: Waker,
}

impl Alarm {
    /// Will wake whoever waits with this waker, at `when`; `None` if it is not one of ours.
    pub(crate) fn set(waker: &Waker, when: u64) -> Option<Pin<Box<Alarm>>> {
        let task = future::own_task(waker)?;
        let alarm = Box::pin(Alarm { timer: Timer::new(Action::Notify(task)), waker: waker.clone() });
        let _visitor = Visitor::enter();
        // SAFETY: new, so in no heap; in a box, disarmed before that goes.
        unsafe { sched::arm_here(&alarm.timer, when) };
        Some(alarm)
    }

    /// Whether it wakes whoever waits with this waker.
    pub(crate) fn wakes(&self, waker: &Waker) -> bool {
        self.waker.will_wake(waker)
    }

    /// Will wake it at `when` instead of whenever it would have.
    pub(crate) fn reset(self: Pin<&mut Alarm>, when: u64) {
        let _visitor = Visitor::enter();
        let _ = self.timer.disarm();
        // SAFETY: in no heap since just now, and nobody else can arm it; in a box, disarmed before that goes.
        unsafe { sched::arm_here(&self.timer, when) };
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        let _visitor = Visitor::enter();
        let _ = self.timer.disarm();
    }
}
