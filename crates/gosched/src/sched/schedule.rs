//! The loop on g0, the direct switch, the pick with which both begin, and the post-switch step
//! (S10, S25, D3).
//!
//! ```text
//!            leave                        leave
//!   G ─────────────────▶ G'       G ───────────────▶ g0: schedule ──▶ execute ──▶ G'
//!      next one is known             nothing at hand
//! ```
//!
//! Invariants:
//! - Everything here runs with `in_rt` = 1, once it has entered. A goroutine that leaves gives its
//!   [`Worker`] up; the one that is switched to makes the M's next one.
//! - Every stack that is switched to begins with [`after_switch`]: until then no M can run the
//!   goroutine that left.
//! - g0 is left and returned to in one frame of [`schedule`], so its stack pointer is always the
//!   same there.
//! - A goroutine that is bound to its thread (D5) always leaves to g0, and its M then runs nothing
//!   else.
//!
//! The argument why no work is missed. Whoever queues work then looks at `idle`; if a P is idle and
//! nobody spins, it wakes an M. An M that gives up first puts its P on the idle list and takes back
//! its spinning, then looks at every queue once more. Both write before they read, in one total
//! order (SeqCst): so either the publisher sees an idle P and no spinner, or the M sees the work.
//! An M that did not spin looks again too: the spinner because of which it did not search may have
//! been only a waker's claim, which is given back (`idle.rs`). One kind of work is queued without
//! that look: a lone G in a trusted `runnext` (`policy/trust.rs`), at which the monitor looks.

use core::ptr::NonNull;

use gosched_primitives::Parked;
use gosched_rules::pick::{Local, PICK_ORDER, SEARCH_ORDER, Search};
use gosched_switch::{Gobuf, jump, switch};

use super::{QueueClass, SCHED, Sched, park, policy, stack, start};
use crate::clock::NEVER;
use crate::fatal::fatal;
use crate::g::G;
use crate::m::{G0, HasP, OwnM, Post, Worker, current};
use crate::p::{OwnedP, P, Slice};
use crate::recorder::{self, StopReason};

/// All that an M does on a thread: it takes the P that it was given and enters the loop. Returns,
/// without a P, when the thread is to end.
pub(super) fn mstart(mut worker: Worker) -> Worker {
    match worker.m().take_next_p() {
        Some(p) => worker.acquire_p(p),
        None => fatal!("m{} was started without a P", worker.m().id),
    }
    // SAFETY: a thread's first function runs on the thread's own stack.
    let mut worker = schedule(unsafe { G0::assume(worker) }).into_worker();
    if let Some(p) = worker.release_p() {
        SCHED.hand_off_p(p);
    }
    worker
}

/// The loop (S10). Every switch to g0 returns here, in this frame. Returns when the thread is to
/// end, after a goroutine that was locked to it (S51).
fn schedule(mut g0: G0) -> G0 {
    loop {
        note_loop_sp(&mut g0);
        if g0.own().ending {
            return g0;
        }
        let (g, slice) = next(&mut g0);
        SCHED.stop_spinning(g0.m());
        // SAFETY: headers are never unmapped.
        let header = unsafe { g.as_ref() };
        if let Some(bound_to) = header.locked_m()
            && !core::ptr::eq(bound_to, g0.m())
        {
            SCHED.start_locked_m(&mut g0, bound_to);
            continue;
        }
        if !stack::attach_or_set_aside(&mut g0, header) {
            continue;
        }
        let (m, p) = g0.both();
        execute(m, p, header, slice);
        g0 = run(g0, header);
    }
}

/// Switches from g0 to `g`, which `execute` made ours, and back when a goroutine on this thread
/// leaves to g0.
fn run(g0: G0, g: &'static G) -> G0 {
    let mut worker = g0.into_worker();
    let saved = worker.g0();
    let _ = worker.into_m();
    // SAFETY: the G is running now, on this M, and its stack is nobody else's; g0's buffer is this
    // M's own and is restored by whoever leaves a goroutine on this thread.
    unsafe { switch(saved, g.buf.get()) };
    // SAFETY: switched to a moment ago, back in the loop's frame.
    unsafe { G0::assume(after_switch()) }
}

/// Returns what this M runs next; sleeps until there is something.
fn next(g0: &mut G0) -> (NonNull<G>, Slice) {
    g0.m().finished();
    if let Some(bound) = g0.own().locked_g {
        SCHED.stop_locked_m(g0);
        return (bound.into(), Slice::New);
    }
    if let Some(picked) = g0.own().picked.take() {
        return picked;
    }
    if !g0.has_p() {
        SCHED.stop_m(g0);
    }
    SCHED.find_runnable(g0)
}

impl OwnM {
    /// Forgets requests to yield: they were meant for the goroutine that ran before. With
    /// `migrate=1` every goroutine that begins to run is asked to yield.
    #[inline]
    fn clear_preempt(&mut self) {
        self.owner.clear_preempt();
        self.own().asked_to_yield = SCHED.is_migrating();
    }
}

/// Makes a runnable G with a stack the running one.
#[inline(always)]
fn execute(m: &mut OwnM, p: &mut OwnedP, g: &'static G, slice: Slice) {
    g.execute(m.shared());
    m.set_cur_g(Some(g));
    m.clear_preempt();
    p.count_pick(slice);
}

/// Switches away from the running goroutine, to the next one if the P has one that can run at once,
/// else to g0. Returns when the goroutine runs again, perhaps on another thread, inside the runtime
/// and with a P.
pub(super) fn leave(worker: Worker, g: &'static G, post: Post) -> Worker {
    if is_bound(g) {
        return leave_bound(worker, g, post);
    }
    leave_unbound(worker, g, post)
}

/// As [`leave`], for a goroutine that is not bound to its thread.
#[inline(always)]
fn leave_unbound(mut worker: Worker, g: &'static G, post: Post) -> Worker {
    if recorder::is_on() {
        record_leaving(g, post);
    }
    worker.own().post = post;
    let target = match post {
        Post::Migrate(_) => to_g0(&mut worker),
        _ => next_context(&mut worker),
    };
    // SAFETY: `target` is g0's buffer or that of a G that `execute` made ours.
    unsafe { leave_for(worker, g, target) }
}

/// As [`leave`], for a goroutine that is bound to its thread: to g0, and the M runs nothing else
/// until the goroutine resumes.
#[cold]
fn leave_bound(mut worker: Worker, g: &'static G, post: Post) -> Worker {
    if recorder::is_on() {
        record_leaving(g, post);
    }
    g.set_locked_m(Some(worker.m()));
    worker.own().locked_g = Some(g);
    worker.own().post = post;
    let target = to_g0(&mut worker);
    // SAFETY: `target` is g0's buffer.
    let mut worker = unsafe { leave_for(worker, g, target) };
    worker.own().locked_g = None;
    g.set_locked_m(None);
    worker
}

/// A goroutine that is to be queued leaves its M. (For one that parks, that is recorded already.)
#[cold]
#[inline(never)]
fn record_leaving(g: &G, post: Post) {
    match post {
        Post::Nothing | Post::Park(_) | Post::FreeStack => {}
        Post::Requeue(_) => g.record_stop(StopReason::Yielded),
        Post::RequeueLast(_) => g.record_stop(StopReason::Preempted),
        Post::Migrate(_) => g.record_stop(StopReason::Migrated),
    }
}

/// Switches away from the running goroutine.
///
/// # Safety
/// `target` is g0's buffer, saved when this M last left its loop, or that of a G that `execute`
/// made ours.
#[inline(always)]
unsafe fn leave_for(worker: Worker, g: &'static G, target: *const Gobuf) -> Worker {
    let _ = worker.into_m();
    // SAFETY: `g` runs on this stack, so its buffer is ours to fill; the post-switch step publishes
    // it only after that. The target can be switched to, by contract. What follows runs when an M
    // has switched to `g` again.
    unsafe {
        switch(g.buf.get(), target);
        after_switch()
    }
}

/// As [`leave`], for a goroutine that has ended: it never resumes. Its stack, which the M owns by
/// now, goes to the next goroutine, if that has not run yet.
pub(super) fn leave_for_ever(mut worker: Worker) -> ! {
    if recorder::is_on() {
        recorder::go_end(&worker.m().recorder);
    }
    worker.own().post = Post::FreeStack;
    let target = if worker.own().ending { to_g0(&mut worker) } else { next_context(&mut worker) };
    let _ = worker.into_m();
    // SAFETY: `target` is g0's buffer or that of a G that `execute` made ours. Nothing on this
    // stack is needed any more: it goes to the cache after the switch, or belongs to that G, which
    // starts at its top.
    unsafe { jump(target) }
}

/// Whether the calling goroutine must stay on its thread: while it unwinds, because std counts its
/// panic in a thread-local (D5), or while it has locked the thread (S51).
pub(super) fn is_bound(g: &G) -> bool {
    std::thread::panicking() || g.locks() > 0
}

fn to_g0(worker: &mut Worker) -> *const Gobuf {
    worker.part_with_g();
    worker.g0()
}

/// Where a goroutine that leaves switches to: to the next one, if the P has one that can run here
/// at once, else to g0.
#[inline]
fn next_context(worker: &mut Worker) -> *const Gobuf {
    if SCHED.exceptions.is_stopping() {
        return to_g0(worker);
    }
    let Some((m, p)) = worker.split() else { return to_g0(worker) };
    let Some((g, slice)) = SCHED.pick_local(m, p) else { return to_g0(worker) };
    // SAFETY: headers are never unmapped.
    let header = unsafe { g.as_ref() };
    if header.locked_m().is_some() || (!stack::has_stack(header) && !stack::attach(m, p, header)) {
        worker.own().picked = Some((g, slice));
        return to_g0(worker);
    }
    execute(m, p, header, slice);
    header.buf.get()
}

/// The result of a second look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    /// There is work, and the M has a P again.
    Work,
    /// There is no work, or no idle P to run it with.
    Nothing,
}

/// The order that `pick_local` spells out: if the rule changes, this does not compile.
const _: () = assert!(matches!(PICK_ORDER, [Local::OwnTimers, Local::Fairness, Local::RunNext, Local::Ring]));

impl Sched {
    /// The next G by due timers, fairness tick, `runnext` and ring: what every pick looks at (S25).
    #[inline(always)]
    pub(super) fn pick_local(&self, m: &mut OwnM, p: &mut OwnedP) -> Option<(NonNull<G>, Slice)> {
        if p.timers.first() != NEVER {
            self.run_timers(m, p, p.shared());
        }
        if p.is_fairness_tick()
            && let Some(g) = self.grab_global(p, Some(1))
        {
            return Some((g, Slice::New));
        }
        if p.slice_is_over() {
            self.end_slice(p);
        }
        let (g, slice) = match self.exceptions.is_under_pressure() {
            false => p.get()?,
            true => policy::pressure::pick(self, p)?,
        };
        policy::picked(p, slice);
        Some((g, slice))
    }

    /// Goroutines that wake each other have used up their slice: the one in `runnext` goes behind
    /// all that wait, if any do (S27).
    #[cold]
    fn end_slice(&self, p: &mut OwnedP) {
        if (p.ring.is_empty() && self.runq_len() == 0) || p.next.is_empty() {
            return;
        }
        if let Some(g) = p.next.take() {
            self.put_global_one(Some(p.shared()), g, QueueClass::Woken);
            self.wake_p();
        }
    }

    /// Finds a runnable G; sleeps while there is none. The M has a P before and after, not always
    /// the same one.
    #[doc(alias = "findrunnable")]
    pub(super) fn find_runnable(&self, g0: &mut G0) -> (NonNull<G>, Slice) {
        loop {
            self.stop_here_if_asked(g0);
            let (m, p) = g0.both();
            if let Some(found) = self.pick_local(m, p) {
                return found;
            }
            if let Some(g) = self.search(m, p) {
                match policy::before_run(self, m, p, g) {
                    Some(g) => return (g, Slice::New),
                    None => continue,
                }
            }
            self.give_up_p(g0);
            if let Some(token) = g0.m().take_spinning() {
                let _ = self.idle.stop_spinning(token);
            }
            if self.look_again(g0) == Second::Nothing && !(self.keep_watch() && self.spin_again(g0)) {
                self.stop_m(g0);
            }
        }
    }

    /// What a P with empty queues looks at: the global queue, the network, then the others' rings.
    pub(super) fn search(&self, m: &mut OwnM, p: &mut OwnedP) -> Option<NonNull<G>> {
        for source in SEARCH_ORDER {
            let found = match source {
                Search::GlobalQueue => self.grab_global(p, None),
                Search::Network => self.poll_network(m, p),
                Search::Steal => self.steal_work(m, p),
            };
            if found.is_some() {
                return found;
            }
        }
        policy::after_search(self, m, p)
    }

    /// Puts the P on the idle list.
    fn give_up_p(&self, worker: &mut Worker) {
        if let Some(p) = worker.release_p() {
            self.put_idle_p(&mut self.lock.lock(), p);
        }
    }

    /// The second look of an M that has just given up its P: if there is work anywhere, and an idle
    /// P, it takes that P and searches again.
    fn look_again(&self, worker: &mut Worker) -> Second {
        if self.is_work_queued() && self.spin_again(worker) {
            return Second::Work;
        }
        Second::Nothing
    }

    /// Whether a goroutine is queued anywhere.
    pub(super) fn is_work_queued(&self) -> bool {
        self.runq_len() > 0 || self.all_p().any(P::has_work)
    }

    /// Takes an idle P, as a spinner, to search once more. `false` if no P is idle: then those that
    /// are busy look at the queues before they become idle.
    fn spin_again(&self, worker: &mut Worker) -> bool {
        let Some(p) = self.take_idle_p() else { return false };
        worker.acquire_p(p);
        worker.m().set_spinning(self.idle.start_spinning());
        true
    }
}

/// The first call on every stack that was switched to: finishes what the goroutine that left could
/// not do itself. Returns the M's worker, which that one gave up.
///
/// # Safety
/// The stack was switched to a moment ago, and this is the first call on it since.
#[inline]
pub(super) unsafe fn after_switch() -> Worker {
    let m = match current::current() {
        Some(m) => m,
        None => fatal!("a goroutine was resumed on a foreign thread"),
    };
    // SAFETY: this is the M's thread, inside the runtime. Whoever was here before the switch has
    // given its worker up (every switch follows an `into_m`), and left in `m.p` what it had: an M
    // that has lost its P forgets it before a switch.
    let mut worker = unsafe { Worker::assume(m, HasP::Yes) };
    match core::mem::replace(&mut worker.own().post, Post::Nothing) {
        Post::Nothing => {}
        Post::Park(g) => finish_parking(&mut worker, g),
        Post::Requeue(g) => requeue(&mut worker, g, QueueClass::Woken),
        Post::RequeueLast(g) => requeue(&mut worker, g, policy::class_of_preempted()),
        Post::Migrate(g) => {
            requeue(&mut worker, g, QueueClass::Woken);
            if let Some(p) = worker.release_p() {
                SCHED.hand_off_p(p);
            }
        }
        Post::FreeStack => stack::free_dead(&mut worker),
    }
    worker
}

/// The post-switch step of parking (D3).
fn finish_parking(worker: &mut Worker, g: NonNull<G>) {
    // SAFETY: headers are never unmapped.
    match unsafe { g.as_ref() }.park_m() {
        Parked::Waiting => {}
        Parked::Readied => park::enqueue_woken(Some(worker), g),
    }
}

/// The post-switch step of yielding: the goroutine goes to the tail of its class in the global
/// queue.
fn requeue(worker: &mut Worker, g: NonNull<G>, class: QueueClass) {
    // SAFETY: headers are never unmapped.
    unsafe { g.as_ref() }.gosched();
    SCHED.put_global_one(worker.p().map(|p| p.shared()), g, class);
    SCHED.wake_p();
}

/// Yields: the goroutine goes to the tail of the *global* queue (S17). A moving call. Does nothing
/// on a goroutine that is bound to its thread.
#[doc(alias = "Gosched")]
pub(crate) fn yield_now() {
    let worker = match Worker::enter_moving() {
        Ok(Some(worker)) => worker,
        Ok(None) => {
            start::refuse_after_fork();
            return std::thread::yield_now();
        }
        Err(stopped) => stopped.refuse("wait or yield"),
    };
    let g = worker.g();
    if is_bound(g) {
        return worker.finish();
    }
    leave_unbound(worker, g, Post::Requeue(g.into())).finish();
}

#[cfg(test)]
fn note_loop_sp(g0: &mut G0) {
    let sp = gosched_switch::arch::here().sp;
    let before = core::mem::replace(&mut g0.own().loop_sp, sp);
    assert!(before == 0 || before == sp, "g0's stack moved from {before:#x} to {sp:#x}");
}

#[cfg(not(test))]
#[inline(always)]
fn note_loop_sp(_: &mut G0) {}
