//! What a task of `future::block_on` waits on: timers, the poller and the task's wakers ring it.
//!
//! Invariant: a ring between two waits is remembered; several count as one. Whoever rings takes the
//! waiter, once.

use gosched_primitives::Lock;

use super::waiter::Waiter;

/// Whether it has rung since the last wait, and who waits for that. Used inside the runtime, or on
/// a foreign thread.
pub(crate) struct TaskBell(Lock<BellState>);

enum BellState {
    Idle,
    Notified,
    Waiting(Waiter),
}

impl TaskBell {
    pub(crate) const fn new() -> TaskBell {
        TaskBell(Lock::new(BellState::Idle))
    }

    /// Rings; returns the waiter to wake, if there is one.
    pub(crate) fn notify(&self) -> Option<Waiter> {
        let mut state = self.0.lock();
        match core::mem::replace(&mut *state, BellState::Idle) {
            BellState::Waiting(waiter) => Some(waiter),
            _ => {
                *state = BellState::Notified;
                None
            }
        }
    }

    /// The next ring wakes `waiter`. Returns `false` if it has rung since the last wait: that ring
    /// is used up, and there is nothing to wait for.
    pub(crate) fn await_ring(&self, waiter: Waiter) -> bool {
        let mut state = self.0.lock();
        match *state {
            BellState::Notified => {
                *state = BellState::Idle;
                false
            }
            _ => {
                *state = BellState::Waiting(waiter);
                true
            }
        }
    }

    /// Takes a ring since the last wait, if there was one.
    pub(crate) fn take_notification(&self) -> Option<()> {
        let mut state = self.0.lock();
        match *state {
            BellState::Notified => {
                *state = BellState::Idle;
                Some(())
            }
            _ => None,
        }
    }
}
