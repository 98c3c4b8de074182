//! Into the runtime and out again (D1).
//!
//! Invariant: while a [`Worker`] lives, `in_rt` is 1 and its P cannot be taken. (The exception is
//! one without a P that waits at the gate of a stopped world: there `in_rt` is 0.) A worker is
//! dropped before any user code runs. A call that may move the goroutine to another thread consumes
//! its worker, and returns that of the thread on which it resumes.

use gosched_primitives::{Entered, Intr, Settled};

use super::stop_world::thread_has_stopped;
use super::{SCHED, StoppedWorld, blocking, schedule};
use crate::fatal::fatal;
use crate::g::G;
use crate::m::{HasP, M, Post, Worker, current};

impl Worker {
    /// Enters for a call that never moves the goroutine. `None` on a thread that is not ours.
    #[inline]
    pub(crate) fn enter() -> Option<Worker> {
        let m = current::current()?;
        match m.owner.enter() {
            // SAFETY: this M's thread has just entered; the word was NONE, so it has its P.
            Entered::Fast => Some(unsafe { Worker::assume(m, HasP::Yes) }),
            Entered::Slow => Some(Worker::enter_slow(m)),
            Entered::Nested => nested(),
        }
    }

    /// Keeps a request to yield for the next moving call, unless the monitor insists: then hands
    /// off the P. If the P was lost, takes an idle one, if there is one: that moves nobody. Else
    /// the call has no P, as on a foreign thread.
    #[cold]
    fn enter_slow(m: &'static M) -> Worker {
        let (has_p, asked) = match m.owner.found() {
            Intr::None | Intr::Preempt => (HasP::Yes, false),
            Intr::Taken | Intr::Blocking => (HasP::No, false),
            Intr::Retaking => match m.owner.settle() {
                Settled::Kept => (HasP::Yes, false),
                Settled::Preempted => (HasP::Yes, true),
                Settled::Lost | Settled::Blocking => (HasP::No, false),
            },
        };
        // SAFETY: this M's thread has just entered, and the word says whether it has its P.
        let mut worker = unsafe { Worker::assume(m, has_p) };
        if asked {
            worker.own().asked_to_yield = true;
        }
        match has_p {
            HasP::Yes => SCHED.keep_p(&mut worker),
            HasP::No => {
                SCHED.wait_at_gate(&worker);
                if m.owner.found() == Intr::Taken
                    && let Some(p) = SCHED.take_idle_p()
                {
                    SCHED.count_found_again(m);
                    worker.acquire_p(p);
                }
            }
        }
        worker
    }

    /// Enters for a call in which the goroutine may change threads: honours a request to yield
    /// (S39), and gets a P if its own was lost. `None` on a thread that is not ours. An error for
    /// whoever has stopped the world, who does not enter.
    #[inline(always)]
    pub(crate) fn enter_moving() -> Result<Option<Worker>, StoppedWorld> {
        let Some(m) = current::current() else {
            return if thread_has_stopped() { Err(StoppedWorld::found()) } else { Ok(None) };
        };
        match m.owner.enter() {
            Entered::Fast => {
                // SAFETY: as in `enter`.
                let mut worker = unsafe { Worker::assume(m, HasP::Yes) };
                if !worker.own().asked_to_yield {
                    return Ok(Some(worker));
                }
                let _ = worker.into_m();
            }
            Entered::Slow => {}
            Entered::Nested => nested(),
        }
        match Worker::enter_moving_slow(m) {
            Some(worker) => Ok(Some(worker)),
            None => Err(StoppedWorld::found()),
        }
    }

    /// `None` for whoever has stopped the world; it has left the runtime then. (The result is two
    /// words, returned in registers.)
    #[cold]
    fn enter_moving_slow(m: &'static M) -> Option<Worker> {
        if m.has_stopped_world() {
            m.owner.exit();
            return None;
        }
        let settled = m.owner.settle();
        let has_p = match settled {
            Settled::Kept | Settled::Preempted => HasP::Yes,
            Settled::Lost | Settled::Blocking => HasP::No,
        };
        // SAFETY: this M's thread has just entered, and the word says whether it has its P.
        let mut worker = unsafe { Worker::assume(m, has_p) };
        let g = worker.g();
        if has_p == HasP::No {
            SCHED.wait_at_gate(&worker);
        }
        let asked = core::mem::replace(&mut worker.own().asked_to_yield, SCHED.is_migrating());
        Some(match settled {
            Settled::Kept if !asked => worker,
            Settled::Kept | Settled::Preempted if schedule::is_bound(g) => worker,
            Settled::Kept | Settled::Preempted => {
                let post = match SCHED.is_migrating() {
                    true => Post::Migrate(g.into()),
                    false => Post::RequeueLast(g.into()),
                };
                schedule::leave(worker, g, post)
            }
            Settled::Lost => {
                SCHED.count_found_again(m);
                regain(worker, g)
            }
            Settled::Blocking => blocking::leave(worker, g),
        })
    }

    /// Ends a moving call: returns to user code, and to the blocking call from which it was made,
    /// if any (D1).
    #[inline(always)]
    pub(crate) fn finish(self) {
        if self.g().blocking_depth() > 0 {
            self.reenter_blocking();
        }
    }

    #[cold]
    fn reenter_blocking(self) {
        blocking::reenter(self);
    }
}

/// Gets a P for a goroutine that has lost its own: an idle one, or else the goroutine queues
/// globally until an M with a P picks it (D1).
fn regain(mut worker: Worker, g: &'static G) -> Worker {
    worker.forget_p();
    match SCHED.take_idle_p() {
        Some(p) => {
            worker.acquire_p(p);
            worker
        }
        None => schedule::leave(worker, g, Post::RequeueLast(g.into())),
    }
}

#[cold]
fn nested() -> ! {
    fatal!(
        "gosched was called from inside gosched: an allocator, a signal handler or a waker uses the library; \
         such code must not call it"
    )
}
