//! A function that a timer runs in a new goroutine: the core of `Timer::after_func`.
//!
//! Until it is due this costs a goroutine's header and a timer in a box, no stack. The prepared
//! goroutine of an armed timer keeps the [`TimerFunc`] alive. So a timer whose handle was dropped
//! still fires, and one that is stopped leaves nothing behind.
//!
//! Invariants: `armed` is used under its lock, inside the runtime; that lock is taken before a
//! timer heap's. If a timer was disarmed in time, the caller may arm it again or discard it. If
//! not, it has started its goroutine, and only its box is left.
#![allow(unsafe_code)]

use core::panic::Location;
use core::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use gosched_primitives::Lock;

use crate::context::Context;
use crate::g::Prepared;
use crate::m::Worker;
use crate::sched;
use crate::timers::{Action, Disarmed, TimerNode};

/// The function and what runs it.
pub(super) struct TimerFunc {
    armed: Lock<Option<NonNull<ArmedFunc>>>,
    runs: Mutex<Runs>,
    /// The context of its goroutines: the one that was current when the timer was made.
    context: Context,
    place: &'static Location<'static>,
}

// SAFETY: what is armed is passed on under the lock, and a boxed `ArmedFunc` belongs to no thread.
unsafe impl Sync for TimerFunc {}
// SAFETY: as above.
unsafe impl Send for TimerFunc {}

/// A timer and the goroutine that it starts.
struct ArmedFunc {
    timer: TimerNode,
    goroutine: Prepared,
}

/// The function does not run twice at the same time: a second goroutine adds to `owed`, and the
/// first one runs it once more.
struct Runs {
    /// `None` while it runs, and after a panic.
    f: Option<Box<dyn FnMut() + Send>>,
    /// How many more times the goroutine that runs it must run it.
    owed: usize,
}

/// Whether a timer was armed when it was stopped or reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Was {
    /// It was, and will not fire at that time.
    Waiting,
    /// It had fired or was stopped.
    Over,
}

impl TimerFunc {
    /// Will run `f` at `when`.
    pub(super) fn new(
        when: u64,
        context: Context,
        place: &'static Location<'static>,
        f: Box<dyn FnMut() + Send>,
    ) -> Arc<TimerFunc> {
        let runs = Mutex::new(Runs { f: Some(f), owed: 0 });
        let func = Arc::new(TimerFunc { armed: Lock::new(None), runs, context, place });
        let _ = func.reset(when);
        func
    }

    /// Will run it at `when`, and no more at the time that was set before.
    pub(super) fn reset(self: &Arc<TimerFunc>, when: u64) -> Was {
        if self.reset_waiting(when) == Was::Waiting {
            return Was::Waiting;
        }
        let fresh = self.prepare();
        let before = {
            let _inside = Worker::enter();
            let mut armed = self.armed.lock();
            let before = armed.replace(fresh);
            // SAFETY: in a box, and in no heap; it is disarmed before its box is freed.
            unsafe { sched::arm_here(&fresh.as_ref().timer, when) };
            // SAFETY: what was in `armed` is alive, and belongs to this call now.
            before.map(|before| (before, unsafe { before.as_ref() }.timer.disarm()))
        };
        // SAFETY: it has left `armed`, and was disarmed as said.
        before.map_or(Was::Over, |(before, disarmed)| unsafe { free(before, disarmed) })
    }

    /// Changes the time of what is armed, if anything is.
    fn reset_waiting(&self, when: u64) -> Was {
        let _inside = Worker::enter();
        let armed = self.armed.lock();
        let Some(armed) = *armed else { return Was::Over };
        // SAFETY: what is in `armed` is alive while the lock is held.
        let timer = unsafe { &armed.as_ref().timer };
        match timer.disarm() {
            Disarmed::NotArmed => Was::Over,
            Disarmed::InTime => {
                // SAFETY: just disarmed, so in no heap; in a box, and disarmed before its box is
                // freed.
                unsafe { sched::arm_here(timer, when) };
                Was::Waiting
            }
        }
    }

    /// Will not run it.
    pub(super) fn stop(&self) -> Was {
        let stopped = {
            let _inside = Worker::enter();
            let armed = self.armed.lock().take();
            // SAFETY: it has left `armed` and is ours.
            armed.map(|armed| (armed, unsafe { armed.as_ref() }.timer.disarm()))
        };
        // SAFETY: ours, and disarmed as said.
        stopped.map_or(Was::Over, |(armed, disarmed)| unsafe { free(armed, disarmed) })
    }

    /// A goroutine that will run it, and a timer that will start the goroutine.
    fn prepare(self: &Arc<TimerFunc>) -> NonNull<ArmedFunc> {
        let func = Arc::clone(self);
        let goroutine = sched::prepare(self.place, self.context.shared(), move || func.run());
        let armed = ArmedFunc { timer: TimerNode::new(Action::Start(goroutine)), goroutine };
        NonNull::from(Box::leak(Box::new(armed)))
    }

    /// Runs the function, unless it runs already. In the goroutine that the timer has started.
    fn run(&self) {
        let Some(mut f) = self.begin() else { return };
        loop {
            f();
            let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            if runs.owed == 0 {
                runs.f = Some(f);
                return;
            }
            runs.owed -= 1;
        }
    }

    /// Takes the function; `None` if it runs now: then that goroutine will run it once more. (Or if
    /// it has panicked.)
    fn begin(&self) -> Option<Box<dyn FnMut() + Send>> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let f = runs.f.take();
        if f.is_none() {
            runs.owed += 1;
        }
        f
    }
}

impl Drop for TimerFunc {
    /// Nothing is armed, since that would keep it alive; but the box of a timer that has fired may
    /// be left.
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// Frees what was armed, and returns whether it was still waiting. Not inside the runtime.
///
/// # Safety
/// `armed` belongs to the caller, and `disarmed` is the result of disarming it.
unsafe fn free(armed: NonNull<ArmedFunc>, disarmed: Disarmed) -> Was {
    // SAFETY: made by `prepare`, and nobody else knows it: it is in no heap.
    let armed = unsafe { Box::from_raw(armed.as_ptr()) };
    match disarmed {
        Disarmed::NotArmed => Was::Over,
        Disarmed::InTime => {
            // SAFETY: disarmed in time, so it was not started, and nobody else has it.
            unsafe { armed.goroutine.discard() };
            Was::Waiting
        }
    }
}
