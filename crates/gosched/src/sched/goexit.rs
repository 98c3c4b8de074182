//! A goroutine's last steps (S9).
//!
//! The order at the end, and why: first, outside the runtime, all user code: destructors of
//! goroutine-locals, and of its context if nobody else has it. Then, inside the runtime, the G is
//! detached from the M: it is *dead*, no longer the M's current one, and the M owns its stack. Only
//! then `JoinWord::finish`, after which the header may have another owner at once; what still runs
//! needs only the M and the stack under it. If finishing turns out to need user code (a result
//! nobody wants, a waker), the G is reattached for that long.

use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gosched_primitives::{Finish, Header, List};

use super::{SCHED, park, schedule};
use crate::fatal::fatal;
use crate::g::G;
use crate::g::locals::Locals;
use crate::g::scope_group::ScopeGroup;
use crate::g::task::{self, Ending};
use crate::g::waiter::BoxedWaiter;
use crate::m::Worker;
use crate::panics::contain;

/// What is left to do with a header.
enum Last {
    /// Say that the result is there.
    Finish,
    /// Say that the waiter has been woken.
    FinishWaking,
    /// The result and the handle are gone, but this waiter is to be woken.
    WakeOrphan(NonNull<BoxedWaiter>),
    /// The header is ours to free.
    Free,
}

/// Ends the calling goroutine, whose closure has returned.
#[doc(alias = "goexit0")]
pub(super) fn goexit(g: &'static G) -> ! {
    Locals::destroy(g);
    let mut last = Last::Finish;
    if g.join.is_detached() {
        last = drop_unwanted(g);
    }
    // SAFETY: we are the goroutine. User code that still runs (a waker, the destructor of a result
    // that becomes unwanted at the last moment) sees a goroutine without a name.
    drop(unsafe { g.retire_name() });
    drop_context(g);
    let mut counted = false;
    // SAFETY: used for the last time in `leave_for_ever`, which counts this goroutine out of the
    // group.
    let group = unsafe { g.group() };
    loop {
        // User code that ran since may have made new ones.
        Locals::destroy(g);
        let mut worker = enter(g);
        if !core::mem::replace(&mut counted, true) {
            count_ended(&mut worker);
        }
        detach_from_m(&mut worker, g);
        match last {
            Last::Finish => match g.join.finish() {
                Finish::Done => leave_for_ever(worker, group),
                Finish::WakePeer(joiner) => {
                    park::ready(Some(&mut worker), joiner);
                    leave_for_ever(worker, group)
                }
                Finish::Detached => {
                    reattach_to_m(worker, g);
                    last = drop_unwanted(g);
                }
                Finish::WakeBoxed(waiter) => {
                    reattach_to_m(worker, g);
                    // SAFETY: the word gave us the box that the handle had put there.
                    let waiter = unsafe { Box::from_raw(waiter.as_ptr()) };
                    // A waker is foreign code: its panic is reported, and does not end the
                    // goroutine's last steps.
                    contain(move || waiter.wake());
                    last = Last::FinishWaking;
                }
            },
            Last::FinishWaking => {
                if g.join.finish_waking() == Header::Yours {
                    free_header(Some(&mut worker), g);
                }
                leave_for_ever(worker, group)
            }
            Last::WakeOrphan(waiter) => {
                reattach_to_m(worker, g);
                // SAFETY: the word gave us the box that the handle had left there, and is not asked
                // again.
                let waiter = unsafe { Box::from_raw(waiter.as_ptr()) };
                // As above.
                contain(move || waiter.wake());
                last = Last::Free;
            }
            Last::Free => {
                free_header(Some(&mut worker), g);
                leave_for_ever(worker, group)
            }
        }
    }
}

/// Drops the goroutine's count of its context; with the last count the context's values are
/// dropped.
fn drop_context(g: &'static G) {
    let Some(context) = g.context.take() else { return };
    if catch_unwind(AssertUnwindSafe(move || drop(context))).is_err() {
        fatal!("a value of a context panicked when it was dropped");
    }
}

/// Drops the result of a goroutine whose handle is gone.
fn drop_unwanted(g: &'static G) -> Last {
    // SAFETY: nobody wants the result, so it is ours; the group outlives its members.
    unsafe {
        if task::drop_result(g) == Ending::Panic
            && let Some(group) = g.group()
        {
            group.note_panic();
        }
    }
    g.join.orphan().map_or(Last::Free, Last::WakeOrphan)
}

/// Before anybody can learn of the end: a joiner that asks `num_goroutine` must not find it still
/// counted.
fn count_ended(worker: &mut Worker) {
    match worker.p() {
        Some(p) => p.count_ended(),
        None => SCHED.count_ended_without_p(),
    }
}

/// Enters without moving the goroutine, with or without a P. It runs on one of our threads, so this
/// can't fail.
fn enter(g: &G) -> Worker {
    Worker::enter().unwrap_or_else(|| fatal!("goroutine {} ended on a foreign thread", g.id()))
}

/// Makes the G dead and the M the owner of its stack, on which the caller still runs. If the G is
/// locked to its thread, marks the M: the thread ends with it.
fn detach_from_m(worker: &mut Worker, g: &'static G) {
    if g.locks() > 0 {
        worker.own().ending = true;
    }
    g.destroy();
    worker.part_with_g();
    // SAFETY: the G ran on this M until now; its stack passes to the M, whose thread this is.
    worker.own().dead_stack = unsafe { (*g.stack.get()).take() };
}

/// Undoes [`detach_from_m`] and leaves the runtime: user code has to run once more as `g`.
fn reattach_to_m(mut worker: Worker, g: &'static G) {
    // SAFETY: nobody else had the G meanwhile: its join word still says that it is ours.
    unsafe { *g.stack.get() = worker.own().dead_stack.take() };
    worker.m().set_cur_g(Some(g));
    worker.own().ending = false;
    g.revive(worker.m());
}

/// Counts itself out of its group, then goes to the next goroutine or to g0, never to come back.
fn leave_for_ever(mut worker: Worker, group: Option<&ScopeGroup>) -> ! {
    if let Some(group) = group {
        group.ended(&mut worker);
    }
    if !worker.has_p() {
        SCHED.count_found_again(worker.m());
        worker.forget_p();
    }
    schedule::leave_for_ever(worker)
}

/// Frees a header that nobody needs any more. Called by the goroutine, by the join handle if that
/// came last, or for a goroutine that was never started.
pub(crate) fn free_header(worker: Option<&mut Worker>, g: &'static G) {
    match worker.and_then(Worker::p) {
        Some(p) => p.free_g(g.into()),
        None => {
            let mut list = List::new();
            // SAFETY: dead and in no list.
            unsafe { list.push_front(NonNull::from(g)) };
            SCHED.free_many(list);
        }
    }
}
