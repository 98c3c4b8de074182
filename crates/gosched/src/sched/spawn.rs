//! A goroutine's first steps (S8): a header, a closure in it, a place in `runnext`. Its stack comes when it first
//! runs (D4), on whichever M that is.

use core::panic::Location;
use core::ptr::NonNull;

use gosched_queue::Status;
use gosched_switch::{Gobuf, StackClass};

use super::{Group, Rt, SCHED, exit, park, schedule, start};
use crate::g::{Birth, G, Name, task};

/// How a goroutine is to be born.
pub(crate) struct Spawn {
    pub(crate) name: Option<Name>,
    /// `None`: the configured default.
    pub(crate) class: Option<StackClass>,
    pub(crate) role: Role,
    /// The group it counts in, and which outlives it.
    pub(crate) group: Option<NonNull<Group>>,
    /// How often it has locked its thread from the beginning (S51).
    pub(crate) locks: u32,
    pub(crate) place: &'static Location<'static>,
}

/// Which id a goroutine gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The next one.
    Ordinary,
    /// A closure of `run`: 1 for the first (S7).
    Main,
}

/// Creates a goroutine that runs `f`, and queues it. Never moves the caller.
///
/// # Safety
/// Everything that `f` and `T` borrow outlives the goroutine's end and the taking of its result; so does the group.
#[doc(alias = "newproc")]
pub(crate) unsafe fn spawn<F, T>(how: Spawn, f: F) -> NonNull<G>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let room = task::Room::<F, T>::new();
    let rt = Rt::enter();
    if rt.is_none() {
        start::ensure_started();
    }
    let p = rt.as_ref().and_then(Rt::p);
    let g = match p {
        Some(p) => {
            p.count_created();
            p.new_g()
        }
        None => {
            SCHED.count_created_without_p();
            match &rt {
                Some(rt) => rt.m.new_g_without_p(),
                None => SCHED.new_g(),
            }
        }
    };
    let id = match (how.role, p) {
        (Role::Main, _) => SCHED.main_id(),
        (Role::Ordinary, Some(p)) => p.new_id(),
        (Role::Ordinary, None) => SCHED.new_ids(1),
    };
    let birth = Birth {
        id,
        creator: rt.as_ref().map_or(0, |rt| rt.g().id()),
        place: how.place,
        name: how.name,
        class: how.class.unwrap_or_else(start::default_class),
        group: how.group,
        locks: how.locks,
    };
    // SAFETY: a header from a cache of dead or fresh ones is ours alone, and its slot is empty; that the closure's
    // borrows live long enough is the caller's promise.
    unsafe {
        g.begin(birth);
        room.store(g, f);
    }
    g.transition(g.status.get(), Status::Runnable);
    park::enqueue(rt.as_ref(), g.into());
    g.into()
}

/// The first function on a goroutine's stack.
pub(super) unsafe extern "sysv64" fn goroutine_main(_: usize) -> ! {
    schedule::after_switch();
    let g = {
        let rt = Rt::resumed();
        rt.g()
    };
    // SAFETY: we run as `g`, whose closure nobody has run yet.
    unsafe { task::run_closure(g) };
    exit::goexit(g)
}

/// A context that starts `g` on the stack whose top this is.
pub(super) fn fresh_context(g: &G, top: usize) {
    // SAFETY: a runnable G without a stack was never switched to; its buffer is the executor's.
    unsafe { (*g.buf.get()).set(Gobuf::fresh(top, goroutine_main, 0)) };
}
