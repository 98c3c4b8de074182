//! A goroutine's first steps (S8): a header, a closure in it, a place in a queue. It gets its stack
//! when it first runs (D4), from the M that runs it.

use core::panic::Location;
use core::ptr::NonNull;

use gosched_primitives::Detach;
use gosched_switch::{Gobuf, StackClass};

use super::{SCHED, goexit, park, schedule, start};
use crate::g::scope_group::ScopeGroup;
use crate::g::slot::{ContextSlot, SharedContext, with_slot_of};
use crate::g::task::Argument;
use crate::g::waiter::BoxedWaiter;
use crate::g::{Birth, G, Name, Prepared, task};
use crate::m::{M, Worker, current};

/// How a goroutine is to be born.
pub(crate) struct Spawn {
    pub(crate) name: Option<Name>,
    /// `None`: the configured default.
    pub(crate) class: Option<StackClass>,
    pub(crate) role: Role,
    /// The group that counts it, and outlives it.
    pub(crate) group: Option<NonNull<ScopeGroup>>,
    /// How often it has locked its thread from the beginning (S51).
    pub(crate) locks: u32,
    pub(crate) place: &'static Location<'static>,
}

/// What kind of goroutine it is, and which id it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The next one.
    Ordinary,
    /// A closure of `run`: 1 for the first (S7).
    Main,
    /// The next one, for a goroutine of the library itself: it is not counted, has no context, and
    /// is hidden (S4, `G::hide`).
    System,
}

impl Role {
    fn is_system(self) -> bool {
        !matches!(self, Role::Ordinary | Role::Main)
    }
}

/// Creates a goroutine that runs `f`, and queues it. Never moves the caller, and never unwinds once
/// it has `f`.
///
/// # Safety
/// Everything that `f` and `T` borrow outlives the goroutine's end and the taking of its result; so
/// does the group.
#[doc(alias = "newproc")]
pub(crate) unsafe fn spawn<F, T>(how: Spawn, f: Argument<F>) -> NonNull<G>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let room = task::ClosureRoom::<F, T>::new();
    let mut worker = Worker::enter();
    if worker.is_none() {
        start::ensure_started();
    }
    let context = if how.role.is_system() {
        None
    } else {
        count_created(worker.as_mut());
        inherited(worker.as_ref())
    };
    // SAFETY: by contract.
    let g = unsafe { make_goroutine(worker.as_mut(), how, context, room, f) };
    g.create();
    park::enqueue(worker.as_mut(), g.into());
    g.into()
}

/// The context that a goroutine created now inherits.
#[inline]
fn inherited(worker: Option<&Worker>) -> Option<SharedContext> {
    with_slot_of(worker.map(Worker::g), ContextSlot::share)
}

#[inline]
fn count_created(worker: Option<&mut Worker>) {
    match worker.and_then(Worker::p) {
        Some(p) => p.count_created(),
        None => SCHED.count_created_without_p(),
    }
}

/// As [`spawn`], but the goroutine is neither queued nor counted: a timer that is due starts it, or
/// [`Prepared::start`] does, under `context`. Nobody joins it.
pub(crate) fn prepare<F>(place: &'static Location<'static>, context: Option<SharedContext>, f: F) -> Prepared
where
    F: FnOnce() + Send + 'static,
{
    let room = task::ClosureRoom::<F, ()>::new();
    let mut worker = Worker::enter();
    if worker.is_none() {
        start::ensure_started();
    }
    let how = Spawn { name: None, class: None, role: Role::Ordinary, group: None, locks: 0, place };
    // SAFETY: `f` borrows nothing, and is forgotten below.
    let g = unsafe { make_goroutine(worker.as_mut(), how, context, room, Argument::new(&f)) };
    core::mem::forget(f);
    let _: Detach<G, BoxedWaiter> = g.join.detach();
    Prepared(g.into())
}

/// Starts a goroutine of the library itself, which is not counted, is hidden, and has no context.
#[track_caller]
pub(crate) fn go_system(f: impl FnOnce() + Send + 'static) {
    let f = move || {
        let _counted = CountedAtEnd;
        f();
    };
    let room = task::ClosureRoom::<_, ()>::new();
    let mut worker = Worker::enter();
    if worker.is_none() {
        start::ensure_started();
    }
    let place = Location::caller();
    let how = Spawn { name: None, class: None, role: Role::System, group: None, locks: 0, place };
    // SAFETY: `f` borrows nothing, and is forgotten below.
    let g = unsafe { make_goroutine(worker.as_mut(), how, None, room, Argument::new(&f)) };
    core::mem::forget(f);
    let _: Detach<G, BoxedWaiter> = g.join.detach();
    g.create();
    park::enqueue(worker.as_mut(), g.into());
}

/// Hides the calling goroutine, one of the library itself, from lists of goroutines for the user;
/// or shows it, while it runs foreign code.
pub(crate) fn hide_current(hidden: bool) {
    if let Some(g) = current::current().and_then(M::cur_g) {
        g.hide(hidden);
    }
}

/// In the frame of a goroutine of the library itself, which was not counted when it was made. Its
/// end is counted as any other, so its birth is counted here, just before.
struct CountedAtEnd;

impl Drop for CountedAtEnd {
    fn drop(&mut self) {
        count_created(Worker::enter().as_mut());
    }
}

impl Prepared {
    /// Starts the goroutine. Never moves the caller.
    ///
    /// # Safety
    /// It was not started and will not be: no timer knows it. Called once, and not after `discard`.
    pub(crate) unsafe fn start(self) {
        // SAFETY: headers are never unmapped, and this one is the caller's.
        let g: &'static G = unsafe { self.0.as_ref() };
        let mut worker = Worker::enter();
        count_created(worker.as_mut());
        g.create();
        park::enqueue(worker.as_mut(), self.0);
    }

    /// Frees it instead of starting it, and drops its closure, which is user code: outside the
    /// runtime.
    ///
    /// # Safety
    /// It was not started and will not be: no timer knows it any more. Called once.
    pub(crate) unsafe fn discard(self) {
        // SAFETY: headers are never unmapped, and this one is the caller's.
        let g: &'static G = unsafe { self.0.as_ref() };
        drop(g.context.take());
        // SAFETY: never started, so the closure is there.
        unsafe { task::drop_unrun(g) };
        goexit::free_header(Worker::enter().as_mut(), g);
    }
}

/// Makes a goroutine: a header with everything it needs except a place in a queue.
///
/// # Safety
/// As for [`spawn`].
unsafe fn make_goroutine<F, T>(
    worker: Option<&mut Worker>,
    how: Spawn,
    context: Option<SharedContext>,
    room: task::ClosureRoom<F, T>,
    f: Argument<F>,
) -> &'static G
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let creator = worker.as_ref().map_or(0, |worker| worker.g().id());
    let is_main = how.role == Role::Main;
    let (g, id) = match worker {
        None => (SCHED.new_g(), if is_main { SCHED.main_id() } else { SCHED.new_ids(1) }),
        Some(worker) => match worker.p() {
            Some(p) => (p.new_g(), if is_main { SCHED.main_id() } else { p.new_id() }),
            None => (worker.new_g_without_p(), if is_main { SCHED.main_id() } else { SCHED.new_ids(1) }),
        },
    };
    let birth = Birth {
        id,
        creator,
        place: how.place,
        name: how.name,
        class: how.class.unwrap_or_else(start::default_class),
        group: how.group,
        locks: how.locks,
        context,
    };
    // SAFETY: a header from a cache of dead or fresh ones is ours alone, and its slot is empty;
    // that the closure's borrows live long enough is the caller's promise.
    unsafe {
        g.begin(birth);
        room.store(g, f);
    }
    if how.role.is_system() {
        g.hide(true);
    }
    g
}

/// The first function on a goroutine's stack.
///
/// # Safety
/// Never called: the first switch to a new stack begins here, by an M whose `execute` made the
/// goroutine the running one.
pub(super) unsafe extern "C" fn goroutine_main(_: usize) -> ! {
    // SAFETY: the first thing on a stack that was switched to.
    let g = unsafe { schedule::after_switch() }.g();
    // SAFETY: we run as `g`, whose closure nobody has run yet.
    unsafe { task::run_closure(g) };
    goexit::goexit(g)
}

/// Sets the saved registers of `g` so that it starts on the stack with this `top`.
pub(super) fn fresh_context(g: &G, top: usize) {
    // SAFETY: a runnable G without a stack was never switched to; its buffer is the executor's.
    unsafe { (*g.buf.get()).set(Gobuf::fresh(top, goroutine_main, 0)) };
}
