//! A group of goroutines whose end somebody awaits: the core of `scope`.
//!
//! Lives in the frame of whoever awaits it, so its last use by a goroutine must come before the owner can see the
//! count at 0. Therefore the count is read and written under the lock only: the owner that reads 0 there knows that
//! every goroutine has at least begun to unlock, and after that none of them dereferences the group (the futex of a
//! contended unlock uses its address, no more).

use gosched_primitives::Lock;

use super::{Caller, Commit, MayWait, park};
use crate::fatal::fatal;
use crate::m::Worker;
use crate::waiter::{WaitReason, Waiter};

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

    /// A member panicked, and its handle was dropped unjoined.
    pub(crate) fn note_panic(&self) {
        self.0.lock().unjoined_panic = true;
    }

    pub(crate) fn has_unjoined_panic(&self) -> bool {
        self.0.lock().unjoined_panic
    }

    /// A member is through with everything it may have borrowed. Inside the runtime; the last use of `self`.
    pub(super) fn ended(&self, worker: &mut Worker) {
        let owner = {
            let mut state = self.0.lock();
            state.running -= 1;
            if state.running == 0 { state.owner.take() } else { None }
        };
        match owner {
            None => {}
            Some(Waiter::Goroutine(g)) => park::ready(Some(worker), g),
            Some(Waiter::Thread(parker)) => parker.wake(),
            Some(Waiter::Async(_)) => fatal!("a scope waits as an async task, which it can't"),
        }
    }

    /// Whether all members have ended. By the group's owner, who alone adds some while there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().running == 0
    }

    /// Waits until all members have ended. A moving call, if it has to wait.
    pub(crate) fn await_all(&self, may_wait: &MayWait) {
        while self.0.lock().running > 0 {
            let _ = Caller::enter_by(may_wait).wait_unless(WaitReason::Join, |waiter| {
                let mut state = self.0.lock();
                if state.running == 0 {
                    return Commit::Refuse;
                }
                state.owner = Some(waiter);
                Commit::Wait
            });
        }
    }
}
