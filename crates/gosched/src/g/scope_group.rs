//! A group of goroutines with an owner that awaits their end: the core of `scope`. Waiting and
//! waking are in `sched/scope_group.rs`.
//!
//! Lives in the frame of whoever awaits it, so its last use by a goroutine must come before the
//! owner can see the count at 0. Therefore the count is read and written under the lock only: the
//! owner that reads 0 there knows that every goroutine has at least begun to unlock, and after that
//! none of them dereferences the group (the futex of a contended unlock uses its address, no more).

use gosched_primitives::Lock;

use super::waiter::Waiter;

/// Counts its members and remembers a panic that nobody joined.
pub(crate) struct ScopeGroup(Lock<ScopeState>);

struct ScopeState {
    running: usize,
    unjoined_panic: bool,
    owner: Option<Waiter>,
}

impl ScopeGroup {
    pub(crate) const fn new() -> ScopeGroup {
        ScopeGroup(Lock::new(ScopeState { running: 0, unjoined_panic: false, owner: None }))
    }

    /// One more goroutine belongs to the group.
    pub(crate) fn add(&self) {
        self.0.lock().running += 1;
    }

    /// A member uses nothing any more that it may have borrowed: its last use of `self`. Returns
    /// the owner, if it is to be woken.
    pub(crate) fn remove(&self) -> Option<Waiter> {
        let mut state = self.0.lock();
        state.running -= 1;
        if state.running == 0 { state.owner.take() } else { None }
    }

    /// A member panicked, and its handle was dropped unjoined.
    pub(crate) fn note_panic(&self) {
        self.0.lock().unjoined_panic = true;
    }

    pub(crate) fn has_unjoined_panic(&self) -> bool {
        self.0.lock().unjoined_panic
    }

    /// Whether all members have ended. Called by the group's owner: only the owner adds members
    /// while there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().running == 0
    }

    /// Whoever removes the last member will get `owner`. `false` if all have ended already.
    pub(crate) fn await_last(&self, owner: Waiter) -> bool {
        let mut state = self.0.lock();
        let waits = state.running > 0;
        if waits {
            state.owner = Some(owner);
        }
        waits
    }
}
