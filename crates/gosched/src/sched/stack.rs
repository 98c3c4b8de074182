//! A goroutine's stack: attached when it first runs (D4), and after its end freed, or left to the
//! next goroutine while it is hot.
//!
//! A runnable G without a stack has not run yet. It gets one from the P's cache or from the pool;
//! or, from a goroutine that has just ended on this M, the one on which that still runs. On g0, a G
//! that finds none is set aside (`stackless.rs`), and so is one that may not start yet
//! (`held_back.rs`).

use gosched_switch::{OutOfStacks, Stack};

use super::{SCHED, spawn};
use crate::g::G;
use crate::m::{G0, OwnM, Post, Worker};
use crate::p::OwnedP;

/// Whether a G that the caller took from a queue has run before.
#[inline]
pub(super) fn has_stack(g: &G) -> bool {
    // SAFETY: the caller took the G from a queue, so its fields are the caller's.
    unsafe { (*g.stack.get()).is_some() }
}

/// Gives a G that has not run yet a stack, if it may start and one is at hand: the one that a
/// goroutine has left under [`Post::FreeStack`], still hot, when it has the right size; else from
/// the P's cache or the pool.
#[inline]
pub(super) fn attach(m: &mut OwnM, p: &mut OwnedP, g: &'static G) -> bool {
    if SCHED.must_wait_to_start() {
        return false;
    }
    let own = m.own();
    let Some(stack) = own.dead_stack.take_if(|stack| stack.class() == g.class()) else {
        return attach_new(p, g).is_ok();
    };
    put_on(g, stack);
    own.post = Post::Nothing;
    true
}

fn attach_new(p: &mut OwnedP, g: &G) -> Result<(), OutOfStacks> {
    let class = g.class();
    let cache = &mut p.own().stacks;
    let stack = if cache.class() == class { cache.pop(&SCHED.stacks) } else { SCHED.stacks.alloc(class) }?;
    put_on(g, stack);
    Ok(())
}

/// The G starts on `stack`.
#[inline]
fn put_on(g: &G, stack: Stack) {
    spawn::fresh_context(g, stack.top());
    // SAFETY: as in `has_stack`.
    unsafe { *g.stack.get() = Some(stack) };
}

/// On g0: gives `g` a stack if it has none, or sets it aside until one is freed. Beyond the soft
/// limit of blocked threads, a G that has not run yet is set aside, too. Returns whether it has a
/// stack.
pub(super) fn attach_or_set_aside(g0: &mut G0, g: &'static G) -> bool {
    if has_stack(g) {
        return true;
    }
    if SCHED.must_wait_to_start() {
        SCHED.hold_back(g.into());
        return false;
    }
    let (_, p) = g0.both();
    let mut found = attach_new(p, g).is_ok();
    if !found && SCHED.stackless() == 0 {
        // The first one looks into the caches of idle Ps, too.
        SCHED.gather_stacks();
        found = attach_new(p, g).is_ok();
    }
    if !found {
        SCHED.await_stack(g.into());
    }
    found
}

/// The post-switch step after an exit: the stack that was left goes to the cache.
pub(super) fn free_dead(worker: &mut Worker) {
    let Some(stack) = worker.own().dead_stack.take() else { return };
    match worker.p() {
        Some(p) => p.own().stacks.push(stack, &SCHED.stacks),
        None => SCHED.stacks.free(stack),
    }
    if SCHED.stackless() > 0 {
        pass_on(worker);
    }
}

/// A goroutine waits for a stack, and one was freed: gives what the P has cached to the pool, and
/// lets one goroutine try.
#[cold]
fn pass_on(worker: &mut Worker) {
    if let Some(p) = worker.p() {
        p.own().stacks.drain(&SCHED.stacks);
    }
    SCHED.let_stackless_try(1);
}
