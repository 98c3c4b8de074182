//! "I am this thread's M, inside the runtime": [`Worker`], which owns the M's P. And "I run on g0":
//! [`G0`].
//!
//! Neither is `Copy` nor `Send`. A worker is made when a call enters the runtime
//! (`sched/entry.rs`), when a goroutine or g0 is switched to (`sched/schedule.rs`), and when a
//! thread begins (`sched/template.rs`): three places, by the one unsafe function
//! [`Worker::assume`]. Dropping it returns to user code; before a switch it is
//! [given up](Worker::into_m) to the stack that is switched to.
//!
//! Invariants:
//! - On a thread there is at most one worker at a time: code that switches away gives its own up
//!   first.
//! - The P of a worker is in `m.p`, too: as a hint for others, and for the M's next worker. If the
//!   worker has none, `m.p` may still be the one that it lost: then the ownership word says TAKEN
//!   or BLOCKING (`sched/README.md`), or the M is on its way back from a blocking call and about to
//!   forget it.

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
use crate::recorder::{self, Goroutine, TakeAttempt};
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
    /// What anybody may use.
    #[inline]
    pub(crate) fn shared(&self) -> &'static M {
        self.0
    }

    /// What belongs to the thread.
    #[inline]
    pub(crate) fn own(&mut self) -> &mut MOwn {
        // SAFETY: an `OwnM` is part of a `Worker`, of which there is one for this M
        // (`Worker::assume`), and it is mutably borrowed for as long as the result.
        unsafe { &mut *self.0.own.get() }
    }

    /// The saved registers of g0: a switch to g0 restores them, a switch from it saves them.
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
    /// The calling thread is that of `m`, which is inside the runtime, and no other worker exists
    /// for it. If `has_p`, the P in `m.p` is the M's and can't be taken while it is inside.
    #[inline(always)]
    pub(crate) unsafe fn assume(m: &'static M, has_p: HasP) -> Worker {
        let p = match has_p {
            // SAFETY: by contract it is this M's, and the M's last worker has left it there.
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

    /// The saved registers of g0.
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

    /// M and P, for functions that need both; `None` without a P.
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
        if recorder::is_on() {
            self.record_acquire_p(&p);
        }
        p.note_cpu(cpu::current());
        self.m.0.set_p(Some(p.shared()));
        if self.m.owner.found() == Intr::Taken {
            self.m.owner.regain();
        }
        self.p = Some(p);
    }

    /// Tries to get back the P that this M had before its blocking call, and that `m.p` still
    /// names. Returns whether it did.
    #[inline(always)]
    pub(crate) fn reacquire_p(&mut self) -> bool {
        if recorder::is_on() {
            return self.reacquire_recorded_p();
        }
        let Some(mut p) = self.m.p().and_then(|p| p.win(Resting::Blocking)) else { return false };
        p.start(self.m());
        self.p = Some(p);
        true
    }

    /// As [`reacquire_p`](Worker::reacquire_p), while a trace is recorded.
    #[cold]
    #[inline(never)]
    fn reacquire_recorded_p(&mut self) -> bool {
        let attempt = TakeAttempt::from_call(&self.m().recorder);
        let Some(mut p) = self.m.p().and_then(|p| p.win(Resting::Blocking)) else { return false };
        p.start(self.m());
        if let Some(attempt) = attempt {
            recorder::call_end(attempt, p.id, &p.shared().traced, self.traced_g());
        }
        self.p = Some(p);
        true
    }

    #[cold]
    #[inline(never)]
    fn record_acquire_p(&self, p: &OwnedP) {
        recorder::proc_start(&self.m.recorder, p.id, &p.shared().traced, self.traced_g());
    }

    /// Takes the P from the worker, which then has none.
    #[doc(alias = "releasep")]
    pub(crate) fn release_p(&mut self) -> Option<OwnedP> {
        let mut p = self.p.take()?;
        self.m.0.set_p(None);
        p.stop();
        if recorder::is_on() {
            recorder::proc_stop(&self.m.recorder);
        }
        Some(p)
    }

    /// The goroutine on this M, for a trace.
    fn traced_g(&self) -> Option<Goroutine<'static>> {
        self.m.cur_g().map(G::as_traced)
    }

    /// Lets go of the P for an announced blocking call. `m.p` still names it, so that the M tries
    /// it first on its way out.
    #[inline]
    pub(crate) fn lend_p(&mut self) {
        debug_assert!(self.p.is_none() || self.m.owner.intr() == Intr::Blocking);
        if let Some(p) = self.p.take() {
            p.rest(Resting::Blocking);
        }
    }

    /// Forgets a P that was taken.
    pub(crate) fn forget_p(&mut self) {
        debug_assert!(self.p.is_none());
        self.m.0.set_p(None);
    }

    /// The M's thread begins. Returns whether it is the M's first one.
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

    /// The M's thread ends: the M is as new, except for what the next thread can use. It has no P.
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

    /// The M runs no goroutine from here on. Without a P nobody but this mark tells the stopper of
    /// the world that something is still to be done for the one that it ran.
    #[inline]
    pub(crate) fn part_with_g(&mut self) {
        if !self.has_p() {
            self.m.0.finishing.store(true, Ordering::Relaxed);
        }
        self.m.0.set_cur_g(None);
    }

    /// Gives the worker up without leaving the runtime: the stack that is switched to makes the M's
    /// next one.
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
    /// The worker runs on g0.
    ///
    /// # Safety
    /// The caller runs on the M's own stack.
    #[inline]
    pub(crate) unsafe fn assume(worker: Worker) -> G0 {
        G0(worker)
    }

    /// Gives up the evidence of running on g0.
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
