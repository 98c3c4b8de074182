//! "This thread's M, inside the runtime": [`Worker`], which owns its P. And "I run on g0": [`G0`].
//!
//! Neither is `Copy` nor `Send`. A worker is made when a call enters the runtime
//! (`sched/entry.rs`), when a goroutine or g0 is switched to (`sched/schedule.rs`), and when a
//! thread begins (`sched/template.rs`): three places, by the one unsafe function
//! [`Worker::assume`]. It is left by dropping it, which goes back to user code; or it is [given
//! up](Worker::into_m) to whoever the M is switched to.
//!
//! Invariants:
//! - On a thread there is at most one worker at a time. Whoever is switched away from has given its own up.
//! - A worker that has a P has it in `m.p`, too: as a hint for others, and for the next worker of this M to find. One
//!   without a P may have an old one there, as a memory: its word says TAKEN or BLOCKING then (`sched/README.md`), or it is on its
//!   way back from a blocking call and about to forget it.

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::Ordering;

use gosched_primitives::Intr;
use gosched_switch::Gobuf;

use super::{FirstThread, Life, M, MOwn};
use crate::fatal::fatal;
use crate::g::G;
use crate::p::{OwnedP, Resting};
use crate::sys::signal::AlternateStack;
use crate::sys::{cpu, thread};

/// This thread's M: what belongs to its thread is mine.
pub(crate) struct OwnM(&'static M, PhantomData<*mut ()>);

impl Deref for OwnM {
    type Target = M;

    #[inline]
    fn deref(&self) -> &M {
        self.0
    }
}

impl OwnM {
    /// What anybody may touch.
    #[inline]
    pub(crate) fn shared(&self) -> &'static M {
        self.0
    }

    /// What belongs to the thread.
    #[inline]
    pub(crate) fn own(&mut self) -> &mut MOwn {
        // SAFETY: an `OwnM` is part of a `Worker`, of which there is one for this M
        // (`Worker::assume`), and it is borrowed for as long.
        unsafe { &mut *self.0.own.get() }
    }

    /// Where a switch to g0 goes, and what it saves when it leaves.
    #[inline]
    pub(crate) fn g0(&mut self) -> *mut Gobuf {
        UnsafeCell::raw_get(&raw const self.own().g0)
    }
}

/// "I am inside the runtime, on this M." Leaves it when dropped.
#[must_use = "dropping it leaves the runtime"]
pub(crate) struct Worker {
    m: OwnM,
    p: Option<OwnedP>,
}

impl Worker {
    /// The worker of `m`, with its P unless it was lost.
    ///
    /// # Safety
    /// The calling thread is that of `m`, which is inside the runtime, and no other worker exists for it. If `has_p`, the P
    /// in `m.p` is the M's and can't be taken while it is inside.
    #[inline(always)]
    pub(crate) unsafe fn assume(m: &'static M, has_p: HasP) -> Worker {
        let p = match has_p {
            // SAFETY: by contract it is this M's, and the last worker has left it there.
            HasP::Yes => m.p().map(|p| unsafe { OwnedP::assume(p) }),
            HasP::No => None,
        };
        Worker { m: OwnM(m, PhantomData), p }
    }

    #[inline]
    pub(crate) fn m(&self) -> &'static M {
        self.m.0
    }

    /// What belongs to the thread.
    #[inline]
    pub(crate) fn own(&mut self) -> &mut MOwn {
        self.m.own()
    }

    /// Where a switch to g0 goes.
    #[inline]
    pub(crate) fn g0(&mut self) -> *mut Gobuf {
        self.m.g0()
    }

    /// The P, unless it was lost.
    #[inline]
    pub(crate) fn p(&mut self) -> Option<&mut OwnedP> {
        self.p.as_mut()
    }

    #[inline]
    pub(crate) fn has_p(&self) -> bool {
        self.p.is_some()
    }

    /// M and P, for those that need both; `None` without a P.
    #[inline]
    pub(crate) fn split(&mut self) -> Option<(&mut OwnM, &mut OwnedP)> {
        Some((&mut self.m, self.p.as_mut()?))
    }

    /// As [`split`](Worker::split), of a worker that has a P.
    #[inline]
    pub(crate) fn both(&mut self) -> (&mut OwnM, &mut OwnedP) {
        match &mut self.p {
            Some(p) => (&mut self.m, p),
            None => fatal!("m{} runs the scheduler without a P", self.m.id),
        }
    }

    /// The goroutine that entered.
    #[inline]
    pub(crate) fn g(&self) -> &'static G {
        self.m.cur_g().unwrap_or_else(|| fatal!("no goroutine on m{}", self.m.id))
    }

    /// The M has this P from here on.
    #[doc(alias = "acquirep")]
    pub(crate) fn acquire_p(&mut self, mut p: OwnedP) {
        p.start(self.m());
        p.note_cpu(cpu::current());
        self.m.0.set_p(Some(p.shared()));
        if self.m.owner.found() == Intr::Taken {
            self.m.owner.regain();
        }
        self.p = Some(p);
    }

    /// As [`acquire_p`](Worker::acquire_p), for the P that this M had before its blocking call, and still names.
    #[inline]
    pub(crate) fn reacquire_p(&mut self, mut p: OwnedP) {
        debug_assert!(self.m.p().is_some_and(|named| core::ptr::eq(named, p.shared())));
        p.start(self.m());
        self.p = Some(p);
    }

    /// Takes the P from the worker, which goes on without.
    #[doc(alias = "releasep")]
    pub(crate) fn release_p(&mut self) -> Option<OwnedP> {
        let mut p = self.p.take()?;
        self.m.0.set_p(None);
        p.stop();
        Some(p)
    }

    /// Lets go of the P for an announced blocking call. The M keeps its name, to ask for it first when it comes back.
    #[inline]
    pub(crate) fn lend_p(&mut self) {
        debug_assert!(self.p.is_none() || self.m.owner.intr() == Intr::Blocking);
        if let Some(p) = self.p.take() {
            p.rest(Resting::Blocking);
        }
    }

    /// Forgets a P that was taken by someone else.
    pub(crate) fn forget_p(&mut self) {
        debug_assert!(self.p.is_none());
        self.m.0.set_p(None);
    }

    /// Its thread begins; whether it is the first that this M has.
    pub(crate) fn begin(&mut self) -> FirstThread {
        let stack = &mut self.m.own().alternate_stack;
        if stack.is_none() {
            *stack = AlternateStack::new();
        }
        if let Some(stack) = stack {
            stack.adopt();
        }
        self.m.tid.store(thread::tid(), Ordering::Relaxed);
        let before = self.m.life.swap(Life::HasThread as u32, Ordering::Relaxed);
        if before == Life::New as u32 { FirstThread::Yes } else { FirstThread::No }
    }

    /// Its thread ends: the M is as new, but for what a next thread can use. It has no P.
    pub(crate) fn end(mut self) -> &'static M {
        let own = self.m.own();
        own.ending = false;
        #[cfg(test)]
        {
            own.loop_sp = 0;
        }
        self.m.life.store(Life::Ended as u32, Ordering::Relaxed);
        self.m.tid.store(0, Ordering::Relaxed);
        AlternateStack::drop_own();
        self.into_m()
    }

    /// Gives the worker up without leaving the runtime: the M goes to whoever is switched to.
    #[inline]
    pub(crate) fn into_m(self) -> &'static M {
        let m = self.m.0;
        core::mem::forget(self);
        m
    }
}

/// Whether an M that enters, or is switched to, has a P.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HasP {
    Yes,
    No,
}

impl Drop for Worker {
    #[inline]
    fn drop(&mut self) {
        self.m.owner.exit();
    }
}

/// "I run on g0": a worker in its loop.
pub(crate) struct G0(Worker);

impl G0 {
    /// The worker has come to its loop.
    ///
    /// # Safety
    /// The caller runs on the M's own stack.
    #[inline]
    pub(crate) unsafe fn assume(worker: Worker) -> G0 {
        G0(worker)
    }

    /// Leaves the loop.
    pub(crate) fn into_worker(self) -> Worker {
        self.0
    }
}

impl Deref for G0 {
    type Target = Worker;

    #[inline]
    fn deref(&self) -> &Worker {
        &self.0
    }
}

impl DerefMut for G0 {
    #[inline]
    fn deref_mut(&mut self) -> &mut Worker {
        &mut self.0
    }
}
