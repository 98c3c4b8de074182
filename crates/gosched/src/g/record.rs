//! What is recorded of a goroutine's changes while a trace is recorded. Called by `transitions.rs`;
//! each function is out of line, so that a change costs a load and a branch while nothing is.

use super::G;
use crate::m::{M, current};
use crate::recorder::{self, Goroutine, StopReason};

impl G {
    /// Its number and what the trace knows of it.
    pub(crate) fn as_traced(&self) -> Goroutine<'_> {
        Goroutine { id: self.id(), word: &self.traced }
    }

    /// The number of the calling goroutine's stack in a trace; 0 on other stacks.
    #[cold]
    pub(crate) fn traced_stack() -> u64 {
        let Some(g) = current::current().and_then(M::cur_g) else { return 0 };
        // SAFETY: the stack of the goroutine that runs on this thread.
        unsafe { (*g.stack.get()).as_ref() }.map_or(0, |stack| recorder::stack_in(stack.limit()..stack.top()))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn record_create(&self) {
        let begins = self.created_at.get().map_or(0, recorder::stack_of_place);
        recorder::go_create(current::recorder(), self.as_traced(), begins, G::traced_stack());
    }

    #[cold]
    #[inline(never)]
    pub(super) fn record_execute(&self, m: &'static M) {
        recorder::go_start(&m.recorder, self.as_traced());
    }

    #[cold]
    #[inline(never)]
    pub(super) fn record_park(&self) {
        recorder::go_block(current::recorder(), &self.traced, self.reason().string(), G::traced_stack());
    }

    #[cold]
    #[inline(never)]
    pub(super) fn record_stay(&self) {
        recorder::go_unblock(current::recorder(), self.as_traced(), 0);
        recorder::go_start(current::recorder(), self.as_traced());
    }

    #[cold]
    #[inline(never)]
    pub(super) fn record_ready(&self) {
        recorder::go_unblock(current::recorder(), self.as_traced(), G::traced_stack());
    }

    #[cold]
    #[inline(never)]
    pub(super) fn record_enter_syscall(&self) {
        recorder::call_begin(current::recorder(), G::traced_stack());
    }

    #[cold]
    #[inline(never)]
    pub(super) fn record_destroy(&self) {
        recorder::go_detach(current::recorder(), &self.traced);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn record_revive(&self, m: &'static M) {
        recorder::go_revive(&m.recorder, &self.traced);
    }

    /// The goroutine leaves its M, to be queued. Called by the goroutine while anything is
    /// recorded; [`gosched`](G::gosched) follows, when its registers are saved.
    #[cold]
    #[inline(never)]
    pub(crate) fn record_stop(&self, reason: StopReason) {
        recorder::go_stop(current::recorder(), &self.traced, reason, G::traced_stack());
    }
}
