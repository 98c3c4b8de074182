//! A timer that wakes a `future::block_on`: used by the sleeps of `future::hyper` that `block_on`
//! polls.
//!
//! Most sleeps are time-outs that are dropped long before they end, one after the other in the same
//! task. So a sleep that is dropped leaves its alarm armed, as its task's [`Spare`], and the task's
//! next sleep takes it over. If it rings too early, the sleep sees that it is not over and sets it
//! again. So of many such time-outs only the first arms a timer, unless a later one is to end
//! earlier or the alarm has rung.
//!
//! Invariants: while armed, the timer neither moves nor is freed: it is in a box whose drop disarms
//! it. The alarm's waker keeps the task that it notifies alive. A task's spare alarm is a reference
//! cycle, which is broken when `block_on` closes the place.

use core::pin::Pin;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::Waker;

use gosched_primitives::Lock;

use super::task::own_task;
use super::{Visitor, arm_here};
use crate::timers::{Action, TimerNode};

/// Wakes a task, once, at a given time or earlier.
pub(crate) struct Alarm {
    timer: TimerNode,
    /// When it rings, if it is armed.
    when: AtomicU64,
    waker: Waker,
}

impl Alarm {
    /// An alarm that will wake the task of this waker, at `when` or earlier; `None` if it is not a
    /// waker of `block_on`.
    pub(crate) fn set(waker: &Waker, when: u64) -> Option<Pin<Box<Alarm>>> {
        let task = own_task(waker)?;
        // SAFETY: the task lives as long as the waker.
        let task = unsafe { task.as_ref() };
        if let Some(mut spare) = task.spare.take() {
            spare.as_mut().ring_by(when);
            return Some(spare);
        }
        let alarm = Box::pin(Alarm {
            timer: TimerNode::new(Action::Notify(NonNull::from(&task.bell))),
            when: AtomicU64::new(when),
            waker: waker.clone(),
        });
        let _visitor = Visitor::enter();
        // SAFETY: new, so in no heap; in a box whose drop disarms it first.
        unsafe { arm_here(&alarm.timer, when) };
        Some(alarm)
    }

    /// Whether it wakes the task of this waker.
    pub(crate) fn wakes(&self, waker: &Waker) -> bool {
        self.waker.will_wake(waker)
    }

    /// Sets it to ring at `when` or earlier.
    pub(crate) fn ring_by(self: Pin<&mut Alarm>, when: u64) {
        if self.timer.is_armed() && self.when.load(Ordering::Relaxed) <= when {
            return;
        }
        let _visitor = Visitor::enter();
        let _ = self.timer.disarm();
        self.when.store(when, Ordering::Relaxed);
        // SAFETY: just disarmed, so in no heap, and nobody else can arm it; it is in a box whose
        // drop disarms it first.
        unsafe { arm_here(&self.timer, when) };
    }

    /// Leaves it to the task's next sleep.
    pub(crate) fn spare(self: Pin<Box<Alarm>>) {
        if let Some(task) = own_task(&self.waker) {
            // SAFETY: the task lives as long as the waker, which the alarm keeps. One that is
            // refused is dropped after this.
            drop(unsafe { task.as_ref() }.spare.put(self));
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        let _visitor = Visitor::enter();
        let _ = self.timer.disarm();
    }
}

/// A task's place for an alarm that no sleep uses.
pub(crate) struct Spare(Lock<SpareState>);

enum SpareState {
    Empty,
    Kept(Pin<Box<Alarm>>),
    /// The task has ended.
    Closed,
}

impl Spare {
    pub(crate) const fn new() -> Spare {
        Spare(Lock::new(SpareState::Empty))
    }

    fn take(&self) -> Option<Pin<Box<Alarm>>> {
        let _visitor = Visitor::enter();
        let mut place = self.0.lock();
        match core::mem::replace(&mut *place, SpareState::Empty) {
            SpareState::Kept(alarm) => Some(alarm),
            other => {
                *place = other;
                None
            }
        }
    }

    /// Keeps an alarm; returns it if there is one already, or if the place is closed.
    fn put(&self, alarm: Pin<Box<Alarm>>) -> Option<Pin<Box<Alarm>>> {
        let _visitor = Visitor::enter();
        let mut place = self.0.lock();
        match *place {
            SpareState::Empty => {
                *place = SpareState::Kept(alarm);
                None
            }
            SpareState::Kept(_) | SpareState::Closed => Some(alarm),
        }
    }

    /// Drops the alarm that is there, and keeps none from now on.
    pub(crate) fn close(&self) {
        let last = {
            let _visitor = Visitor::enter();
            core::mem::replace(&mut *self.0.lock(), SpareState::Closed)
        };
        // Only now, outside the runtime: this enters it, and frees.
        drop(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::NEVER;
    use crate::future::block_on;
    use crate::sched::SCHED;
    use crate::testing::succeeds_in_child;

    async fn current_waker() -> Waker {
        core::future::poll_fn(|cx| core::task::Poll::Ready(cx.waker().clone())).await
    }

    fn armed() -> usize {
        SCHED.all_p().map(|p| p.timers.len()).sum()
    }

    /// One alarm serves a task's sleeps, and is armed again only for an earlier time; with the task
    /// it is gone.
    #[test]
    fn serves_again() {
        succeeds_in_child("sched::alarm::tests::serves_again", 2, || {
            block_on(async {
                let waker = current_waker().await;
                let set = |when| {
                    let alarm = Alarm::set(&waker, NEVER - when).expect("a waker of ours");
                    let seen = (core::ptr::from_ref(&*alarm), NEVER - alarm.when.load(Ordering::Relaxed));
                    assert_eq!(armed(), 1);
                    alarm.spare();
                    seen
                };
                let (first, when) = set(1_000);
                assert_eq!(when, 1_000);
                assert_eq!(set(500), (first, 1_000));
                assert_eq!(set(2_000), (first, 2_000));
                assert_eq!(armed(), 1);
                let [one, two] = [3_000, 4_000].map(|when| Alarm::set(&waker, NEVER - when).unwrap());
                assert_eq!(armed(), 2);
                one.spare();
                two.spare();
                assert_eq!(armed(), 1, "one is enough");
            });
            assert_eq!(armed(), 0);
        });
    }

    /// An alarm that comes back when the task has ended is not kept.
    #[test]
    fn is_not_kept_by_a_task_that_has_ended() {
        succeeds_in_child("sched::alarm::tests::is_not_kept_by_a_task_that_has_ended", 2, || {
            let alarm = block_on(async { Alarm::set(&current_waker().await, NEVER - 1) });
            assert_eq!(armed(), 1);
            alarm.unwrap().spare();
            assert_eq!(armed(), 0);
        });
    }
}
