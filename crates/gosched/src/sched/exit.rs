//! A goroutine's last steps (S9), and the stacks that go from one to the next.
//!
//! The order at the end, and why: destructors of goroutine-locals, and of its context if nobody else has it, as user
//! code. Then, inside the runtime, the G is laid down: *dead*, no longer the M's current one, its stack in the M's
//! hands. Only then `JoinWord::finish`, after which the header may be somebody else's at once; what still runs needs
//! only the M and the stack under it. If finishing turns out to need user code (a result nobody wants, a waker), the G
//! is taken up again for that long.

use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gosched_primitives::{Finish, Header, List, Status};
use gosched_switch::{OutOfStacks, Stack, jump};

use super::{Group, Rt, SCHED, park, schedule, spawn};
use crate::fatal::fatal;
use crate::g::G;
use crate::g::locals::Locals;
use crate::g::task::{self, Ending};
use crate::m::{M, Post};
use crate::p::HeldP;
use crate::panics::contain;
use crate::waiter::BoxedWaiter;

/// What is left to do with a header.
enum Last {
    /// Say that the result is there.
    Finish,
    /// Say that the waiter has been woken.
    FinishWaking,
    /// The result is gone, and so is the handle; but this one is to be told of the end.
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
    // SAFETY: we are the goroutine. What user code still runs (a waker, a result that is unwanted at the last moment) sees
    // a goroutine without a name.
    drop(unsafe { g.retire_name() });
    drop_context(g);
    let mut counted = false;
    // SAFETY: used for the last time in `leave_for_ever`, which counts this goroutine out of the group.
    let group = unsafe { g.group() };
    loop {
        // User code that ran since may have made new ones.
        Locals::destroy(g);
        let rt = enter(g);
        if !core::mem::replace(&mut counted, true) {
            count_ended(&rt);
        }
        lay_down(&rt, g);
        match last {
            Last::Finish => match g.join.finish() {
                Finish::Done => leave_for_ever(rt, group),
                Finish::WakePeer(joiner) => {
                    park::ready(Some(&rt), joiner);
                    leave_for_ever(rt, group)
                }
                Finish::Detached => {
                    take_up(rt, g);
                    last = drop_unwanted(g);
                }
                Finish::WakeBoxed(waiter) => {
                    take_up(rt, g);
                    // SAFETY: the word gave us the box that the handle had put there.
                    let waiter = unsafe { Box::from_raw(waiter.as_ptr()) };
                    // A waker is somebody's code: its panic, once reported, is not the goroutine's.
                    contain(move || waiter.wake());
                    last = Last::FinishWaking;
                }
            },
            Last::FinishWaking => {
                if g.join.finish_waking() == Header::Yours {
                    free_header(Some(&rt), g);
                }
                leave_for_ever(rt, group)
            }
            Last::WakeOrphan(waiter) => {
                take_up(rt, g);
                // SAFETY: the word gave us the box that the handle had left there, and is not asked again.
                let waiter = unsafe { Box::from_raw(waiter.as_ptr()) };
                // As above.
                contain(move || waiter.wake());
                last = Last::Free;
            }
            Last::Free => {
                free_header(Some(&rt), g);
                leave_for_ever(rt, group)
            }
        }
    }
}

/// Drops what the goroutine held of its context; if it was the last to, the context's values go.
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

/// Before anybody can learn of the end: a joiner that asks `num_goroutine` must not find it still counted.
fn count_ended(rt: &Rt) {
    match rt.p() {
        Some(p) => p.count_ended(),
        None => SCHED.count_ended_without_p(),
    }
}

/// The goroutine's own thread is one of ours, so this can't fail. It does not move here, with or without a P.
fn enter(g: &G) -> Rt {
    Rt::enter().unwrap_or_else(|| fatal!("goroutine {} ended on a foreign thread", g.id()))
}

/// The G is dead to all but the caller; its stack, on which the caller runs, is the M's. If it is locked to the thread, that one ends
/// with it.
fn lay_down(rt: &Rt, g: &'static G) {
    if g.locks() > 0 {
        rt.m.set_ending(true);
    }
    g.transition(Status::Running, Status::Dead);
    rt.m.set_cur_g(None);
    g.set_m(core::ptr::null());
    // SAFETY: the G ran on this M until now; its stack passes to the M, whose thread this is.
    unsafe { *rt.m.dead_stack.get() = (*g.stack.get()).take() };
}

/// Undoes [`lay_down`] and leaves the runtime: user code has to run once more as `g`.
fn take_up(rt: Rt, g: &'static G) {
    // SAFETY: nobody got to see the G meanwhile: its join word keeps it ours.
    unsafe { *g.stack.get() = (*rt.m.dead_stack.get()).take() };
    g.set_m(rt.m);
    rt.m.set_cur_g(Some(g));
    rt.m.set_ending(false);
    g.transition(Status::Dead, Status::Running);
}

/// Counts itself out of its group, then goes to the next goroutine or to g0, never to come back.
fn leave_for_ever(rt: Rt, group: Option<&Group>) -> ! {
    if let Some(group) = group {
        group.ended(&rt);
    }
    if rt.p().is_none() {
        SCHED.count_found_again(rt.m);
        rt.m.forget_p();
    }
    let m = rt.into_m();
    m.post.set(Post::FreeStack);
    let target = schedule::next_context_after_exit(m);
    // SAFETY: `target` is g0's buffer or that of a G that `execute` made ours. Nothing on this stack is needed any
    // more: it goes to the cache after the switch, or belongs to that G, which starts at its top.
    unsafe { jump(target) }
}

/// Frees a header whose life is over: by the goroutine, or by the join handle when that came last.
pub(crate) fn free_header(rt: Option<&Rt>, g: &'static G) {
    match rt.and_then(Rt::p) {
        Some(p) => p.free_g(g.into()),
        None => {
            let mut list = List::new();
            // SAFETY: dead and in no list.
            unsafe { list.push_front(NonNull::from(g)) };
            SCHED.free_many(list);
        }
    }
}

/// The post-switch step after an exit: the stack that was left goes to the cache.
pub(super) fn free_dead_stack(m: &'static M) {
    // SAFETY: the M's own cell, on its thread.
    let Some(stack) = (unsafe { (*m.dead_stack.get()).take() }) else { return };
    match m.p() {
        // SAFETY: on its own thread and inside the runtime, the M's P is the caller's.
        Some(p) => unsafe { p.held() }.own(|own| own.stacks.push(stack, &SCHED.stacks)),
        None => SCHED.stacks.free(stack),
    }
    if SCHED.stackless() > 0 {
        pass_stack_on(m);
    }
}

/// Somebody waits for a stack, and one was freed: gives what the P has cached to the pool, and lets one try.
#[cold]
fn pass_stack_on(m: &'static M) {
    if let Some(p) = m.p() {
        // SAFETY: as in `free_dead_stack`.
        unsafe { p.held() }.own(|own| own.stacks.drain(&SCHED.stacks));
    }
    SCHED.let_stackless_try(1);
}

/// Sees to it that a runnable G has a stack, if it may start and one is at hand in the P's cache or the pool.
#[inline]
pub(super) fn attach_stack(p: HeldP<'_>, g: &'static G) -> bool {
    has_stack(g) || (!SCHED.must_wait_to_start() && new_stack(p, g).is_ok())
}

/// As [`attach_stack`], taking the dead goroutine's stack, still hot, when it has the right size.
pub(super) fn inherit_stack(m: &'static M, p: HeldP<'_>, g: &'static G) -> bool {
    if has_stack(g) {
        return true;
    }
    if SCHED.must_wait_to_start() {
        return false;
    }
    // SAFETY: the M's own cell, on its thread.
    let dead = unsafe { &mut *m.dead_stack.get() };
    if dead.as_ref().is_none_or(|stack| stack.class() != g.class()) {
        return new_stack(p, g).is_ok();
    }
    if let Some(stack) = dead.take() {
        put_on(g, stack);
    }
    m.post.set(Post::Nothing);
    true
}

/// Whether a G that the caller took from a queue has run before.
#[inline]
pub(super) fn has_stack(g: &G) -> bool {
    // SAFETY: the caller took the G from a queue, so its fields are the caller's.
    unsafe { (*g.stack.get()).is_some() }
}

/// The G starts on `stack`.
#[inline]
fn put_on(g: &G, stack: Stack) {
    spawn::fresh_context(g, stack.top());
    // SAFETY: as in `has_stack`.
    unsafe { *g.stack.get() = Some(stack) };
}

fn new_stack(p: HeldP<'_>, g: &G) -> Result<(), OutOfStacks> {
    let class = g.class();
    let stack = p.own(|own| {
        if own.stacks.class() == class { own.stacks.pop(&SCHED.stacks) } else { SCHED.stacks.alloc(class) }
    })?;
    put_on(g, stack);
    Ok(())
}

/// On g0: a stack for `g`; or it is set aside until one is freed. Beyond the soft limit of blocked threads, so is one that has
/// not run yet.
pub(super) fn attach_stack_or_set_aside(p: HeldP<'_>, g: &'static G) -> bool {
    if has_stack(g) {
        return true;
    }
    if SCHED.must_wait_to_start() {
        SCHED.hold_back(g.into());
        return false;
    }
    let mut found = new_stack(p, g).is_ok();
    if !found && SCHED.stackless() == 0 {
        // The first one looks into the caches of idle Ps, too.
        SCHED.gather_stacks();
        found = new_stack(p, g).is_ok();
    }
    if !found {
        SCHED.await_stack(g.into());
    }
    found
}
