//! The end of a group of goroutines: waiting for it, and waking whoever waits (`g/scope_group.rs`).

use super::{Caller, Commit, MayWait, park};
use crate::fatal::fatal;
use crate::g::scope_group::ScopeGroup;
use crate::g::waiter::{WaitReason, Waiter};
use crate::m::Worker;

impl ScopeGroup {
    /// A member uses nothing any more that it may have borrowed. Inside the runtime; the last use
    /// of `self`.
    pub(super) fn ended(&self, worker: &mut Worker) {
        match self.remove() {
            None => {}
            Some(Waiter::Goroutine(g)) => park::ready(Some(worker), g),
            Some(Waiter::Thread(parker)) => parker.wake(),
            Some(Waiter::Async(_)) => fatal!("a scope waits as an async task, which it can't"),
        }
    }

    /// Waits until all members have ended. A moving call, if it has to wait.
    pub(crate) fn await_all(&self, may_wait: &MayWait) {
        while !self.is_empty() {
            let _ = Caller::enter_by(may_wait).wait_unless(WaitReason::Join, |waiter| {
                match self.await_last(waiter) {
                    true => Commit::Wait,
                    false => Commit::Refuse,
                }
            });
        }
    }
}
