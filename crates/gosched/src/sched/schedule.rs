//! The loop on g0, the direct switch, and what comes first after every switch (S10, D3).
//!
//! ```text
//!            leave                        leave
//!   G ─────────────────▶ G'       G ───────────────▶ g0: schedule ──▶ execute ──▶ G'
//!      next one is known             nothing at hand
//! ```
//!
//! Invariants:
//! - Everything here runs with `in_rt` = 1.
//! - Whoever is switched to begins with [`after_switch`]: until then the one that left is nobody's to run.
//! - g0 is left and returned to in one frame of [`schedule`], so its stack pointer is always the same there.
//! - A goroutine that is bound to its thread (D5) always leaves to g0, and its M then runs nothing else.

use core::ptr::NonNull;

use gosched_primitives::Status;
use gosched_switch::{Gobuf, switch};

use super::{Class, Rt, SCHED, exit, park, start, timing};
use crate::fatal::fatal;
use crate::g::G;
use crate::m::{M, Post, current};
use crate::p::{HeldP, P, Slice};

/// All that an M does on a thread: it takes the P meant for it and enters the loop. Returns without a P if the thread is to end.
pub(crate) fn mstart(m: &'static M) {
    match m.take_next_p() {
        Some(p) => m.acquire_p(p),
        None => fatal!("m{} was started without a P", m.id),
    }
    schedule(m);
    if let Some(p) = m.release_p() {
        SCHED.hand_off_p(p);
    }
}

/// The loop (S10). Every switch to g0 comes back here, in this frame. Returns if the thread is to end, with a goroutine that was locked
/// to it (S51).
fn schedule(m: &'static M) {
    loop {
        after_switch();
        note_loop_sp(m);
        if m.is_ending() {
            return;
        }
        let (g, slice) = next(m);
        SCHED.stop_spinning(m);
        // SAFETY: headers are never unmapped.
        let header = unsafe { g.as_ref() };
        if let Some(bound_to) = header.locked_m()
            && !core::ptr::eq(bound_to, m)
        {
            SCHED.start_locked_m(m, bound_to);
            continue;
        }
        let p = held_p(m);
        if !exit::attach_stack_or_set_aside(p, header) {
            continue;
        }
        execute(m, p, header, slice);
        // SAFETY: the G is running now, on this M, and its stack is nobody else's; g0's buffer is this M's own and is
        // restored by whoever leaves a goroutine on this thread.
        unsafe { switch(m.g0.get(), header.buf.get()) };
    }
}

/// What this M runs next; sleeps until there is something.
fn next(m: &'static M) -> (NonNull<G>, Slice) {
    if let Some(bound) = m.locked_g.get() {
        SCHED.stop_locked_m(m);
        return (bound.into(), Slice::New);
    }
    if let Some(picked) = m.picked.take() {
        return picked;
    }
    if m.p().is_none() {
        SCHED.stop_m(m);
    }
    SCHED.find_runnable(m)
}

/// The P of an M that has one.
pub(super) fn held_p(m: &'static M) -> HeldP<'static> {
    match m.p() {
        // SAFETY: on its own thread and inside the runtime, the M's P is the caller's.
        Some(p) => unsafe { p.held() },
        None => fatal!("m{} runs the scheduler without a P", m.id),
    }
}

/// Makes a runnable G with a stack the running one.
#[inline]
fn execute(m: &'static M, p: HeldP<'_>, g: &'static G, slice: Slice) {
    g.transition(Status::Runnable, Status::Running);
    g.set_m(m);
    m.set_cur_g(Some(g));
    m.clear_preempt();
    p.count_pick(slice);
}

/// The next G by due timers, fairness tick, `runnext` and ring: what every pick looks at (S25).
#[inline]
pub(super) fn pick_local(m: &M, p: HeldP<'_>) -> Option<(NonNull<G>, Slice)> {
    timing::run_own_timers(m, p);
    if p.is_fairness_tick()
        && let Some(g) = SCHED.grab_global(p, Some(1))
    {
        return Some((g, Slice::New));
    }
    if p.slice_is_over() {
        end_slice(p);
    }
    if SCHED.mode.is_under_pressure() {
        return pick_under_pressure(p);
    }
    p.get()
}

/// The next G by `runnext` and ring that has run before; those that have not are set behind all that were woken (D1).
#[cold]
fn pick_under_pressure(p: HeldP<'_>) -> Option<(NonNull<G>, Slice)> {
    loop {
        let (g, slice) = p.get()?;
        // SAFETY: headers are never unmapped.
        if exit::has_stack(unsafe { g.as_ref() }) {
            return Some((g, slice));
        }
        SCHED.put_global_one(Some(&p), g, Class::Fresh);
        SCHED.wake_p();
    }
}

/// Goroutines that wake each other have had their slice: the one in `runnext` goes behind everybody else (S27).
#[cold]
fn end_slice(p: HeldP<'_>) {
    if (p.ring.is_empty() && SCHED.runq_len() == 0) || p.next.is_empty() {
        return;
    }
    if let Some(g) = p.next.take() {
        SCHED.put_global_one(Some(&p), g, Class::Woken);
        SCHED.wake_p();
    }
}

/// Switches away from the running goroutine, to the next one if it is at hand, else to g0. Returns when the goroutine
/// runs again, perhaps on another thread, inside the runtime and with a P.
pub(super) fn leave(m: &'static M, g: &'static G, post: Post) {
    let bound = is_bound(g);
    if bound {
        g.set_locked_m(Some(m));
        m.locked_g.set(Some(g));
    }
    m.post.set(post);
    let to_loop = bound || matches!(post, Post::Migrate(_));
    let target = if to_loop { to_g0(m) } else { next_context(m) };
    // SAFETY: `g` runs on this stack, so its buffer is ours to fill; the post-switch step publishes it only after that.
    // `target` is g0's buffer, saved when this M last left its loop, or that of a G that `execute` made ours.
    unsafe { switch(g.buf.get(), target) };
    if bound {
        m.locked_g.set(None);
        g.set_locked_m(None);
    }
    after_switch();
}

/// Whether the goroutine must stay on its thread: while it unwinds, std counts its panic in a thread-local (D5).
pub(super) fn is_bound(g: &G) -> bool {
    std::thread::panicking() || g.locks() > 0
}

fn to_g0(m: &'static M) -> *const Gobuf {
    m.set_cur_g(None);
    m.g0.get()
}

/// Where a goroutine that leaves goes: straight to the next one, if it is at hand and can run here at once.
#[inline]
fn next_context(m: &'static M) -> *const Gobuf {
    let Some(p) = m.p().filter(|_| !SCHED.mode.is_stopping()) else { return to_g0(m) };
    // SAFETY: on its own thread and inside the runtime, the M's P is the caller's.
    let p = unsafe { p.held() };
    let Some((g, slice)) = pick_local(m, p) else { return to_g0(m) };
    // SAFETY: headers are never unmapped.
    let header = unsafe { g.as_ref() };
    if header.locked_m().is_some() || !exit::attach_stack(p, header) {
        m.picked.set(Some((g, slice)));
        return to_g0(m);
    }
    execute(m, p, header, slice);
    header.buf.get()
}

/// As [`next_context`], for a goroutine that has ended: its stack, now the M's, goes to the next one in place if that
/// one is fresh. If its thread ends with it, there is no next one.
pub(super) fn next_context_after_exit(m: &'static M) -> *const Gobuf {
    let goes_on = |_: &&P| !m.is_ending() && !SCHED.mode.is_stopping();
    let Some(p) = m.p().filter(goes_on) else { return to_g0(m) };
    // SAFETY: on its own thread and inside the runtime, the M's P is the caller's.
    let p = unsafe { p.held() };
    let Some((g, slice)) = pick_local(m, p) else { return to_g0(m) };
    // SAFETY: headers are never unmapped.
    let header = unsafe { g.as_ref() };
    if header.locked_m().is_some() || !exit::inherit_stack(m, p, header) {
        m.picked.set(Some((g, slice)));
        return to_g0(m);
    }
    execute(m, p, header, slice);
    header.buf.get()
}

/// First thing on every stack that was switched to: finishes what the goroutine that left could not do itself.
#[inline]
pub(super) fn after_switch() {
    let m = match current::current() {
        Some(m) => m,
        None => fatal!("a goroutine was resumed on a foreign thread"),
    };
    match m.post.replace(Post::Nothing) {
        Post::Nothing => {}
        Post::Park(g) => {
            let rt = Rt::resumed();
            park::finish_parking(&rt, g);
            core::mem::forget(rt);
        }
        Post::Requeue(g) => requeue(m, g, Class::Woken),
        Post::RequeueLast(g) => requeue(m, g, Class::Preempted),
        Post::Migrate(g) => {
            requeue(m, g, Class::Woken);
            if let Some(p) = m.release_p() {
                SCHED.hand_off_p(p);
            }
        }
        Post::FreeStack => exit::free_dead_stack(m),
    }
}

/// The post-switch step of yielding: the goroutine goes to the global queue's tail.
fn requeue(m: &M, g: NonNull<G>, class: Class) {
    // SAFETY: headers are never unmapped.
    unsafe { g.as_ref() }.transition(Status::Running, Status::Runnable);
    SCHED.put_global_one(m.p(), g, class);
    SCHED.wake_p();
}

/// Gives others their turn: the goroutine goes to the tail of the *global* queue (S17). A moving call.
#[doc(alias = "Gosched")]
pub(crate) fn yield_now() {
    let rt = match Rt::enter_moving() {
        Ok(Some(rt)) => rt,
        Ok(None) => {
            start::refuse_after_fork();
            return std::thread::yield_now();
        }
        Err(stopped) => stopped.refuse("wait or yield"),
    };
    let g = rt.g();
    if is_bound(g) {
        return rt.finish();
    }
    leave(rt.into_m(), g, Post::Requeue(g.into()));
    Rt::resumed().finish();
}

#[cfg(test)]
fn note_loop_sp(m: &M) {
    let sp: usize;
    // SAFETY: copies a register.
    unsafe { core::arch::asm!("mov {}, rsp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    let before = m.loop_sp.replace(sp);
    assert!(before == 0 || before == sp, "g0's stack moved from {before:#x} to {sp:#x}");
}

#[cfg(not(test))]
#[inline(always)]
fn note_loop_sp(_: &M) {}
