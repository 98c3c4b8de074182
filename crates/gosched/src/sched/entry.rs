//! Into the runtime and out again (D1).
//!
//! Invariant: while an [`Rt`] lives, `in_rt` is 1 and the P it names cannot be taken. It is dropped before any user
//! code runs. A call that may move the goroutine to another thread consumes its `Rt`: the one that belongs to
//! the thread it wakes up on is a new one.

use core::marker::PhantomData;

use gosched_primitives::{Entered, Intr, Settled};

use super::world::thread_has_stopped;
use super::{SCHED, StoppedWorld, blocking, schedule};
use crate::fatal::fatal;
use crate::g::G;
use crate::m::{M, Post, current};
use crate::p::{HeldP, P};

/// "I am inside the runtime, on this M." Leaves it when dropped.
#[must_use]
pub(crate) struct Rt {
    pub(crate) m: &'static M,
    p: Option<&'static P>,
    /// Belongs to the thread it was made on.
    not_send: PhantomData<*mut ()>,
}

impl Rt {
    /// Enters for a call that never moves the goroutine. `None` on a thread that is not ours.
    #[inline]
    pub(crate) fn enter() -> Option<Rt> {
        let m = current::current()?;
        match m.owner.enter() {
            Entered::Fast => Some(Rt { m, p: m.p(), not_send: PhantomData }),
            Entered::Slow(_) => Some(Rt::enter_slow(m)),
            Entered::Nested => nested(),
        }
    }

    /// A request to yield stays for the next moving call, unless the monitor insists: then the P goes. For a lost P an idle
    /// one is taken, if there is one: that moves nobody. Else the call does without, as a foreign thread's would.
    #[cold]
    fn enter_slow(m: &'static M) -> Rt {
        if matches!(m.owner.intr(), Intr::Taken | Intr::Blocking) {
            SCHED.wait_at_gate(m);
        }
        let p = match m.owner.intr() {
            Intr::Taken => SCHED.take_idle_p().inspect(|p| {
                SCHED.count_found_again(m);
                m.acquire_p(p);
            }),
            Intr::Blocking => None,
            Intr::None | Intr::Preempt => SCHED.keep_p(m),
            Intr::Retaking => match m.owner.settle() {
                Settled::Kept => m.p(),
                Settled::Preempted => {
                    m.set_asked_to_yield(true);
                    m.p()
                }
                Settled::Lost | Settled::Blocking => {
                    SCHED.wait_at_gate(m);
                    None
                }
            },
        };
        Rt { m, p, not_send: PhantomData }
    }

    /// Enters for a call in which the goroutine may change threads: honours a request to yield (S39), gets a P back
    /// if it was lost. `None` on a thread that is not ours. Whoever has stopped the world does not enter.
    #[inline(always)]
    pub(crate) fn enter_moving() -> Result<Option<Rt>, StoppedWorld> {
        let Some(m) = current::current() else {
            return if thread_has_stopped() { Err(StoppedWorld::found()) } else { Ok(None) };
        };
        match m.owner.enter() {
            Entered::Fast if !m.asked_to_yield() => Ok(Some(Rt { m, p: m.p(), not_send: PhantomData })),
            Entered::Nested => nested(),
            _ => match Rt::enter_moving_slow(m) {
                Some(rt) => Ok(Some(rt)),
                None => Err(StoppedWorld::found()),
            },
        }
    }

    /// `None` for whoever has stopped the world, which is not inside then. (Two words, returned in registers.)
    #[cold]
    fn enter_moving_slow(m: &'static M) -> Option<Rt> {
        if m.has_stopped_world() {
            m.owner.exit();
            return None;
        }
        let g = running(m);
        let settled = m.owner.settle();
        if matches!(settled, Settled::Lost | Settled::Blocking) {
            SCHED.wait_at_gate(m);
        }
        let asked = m.asked_to_yield();
        m.set_asked_to_yield(SCHED.is_migrating());
        match settled {
            Settled::Kept if !asked => {}
            Settled::Kept | Settled::Preempted => {
                if !schedule::is_bound(g) {
                    let post = match SCHED.is_migrating() {
                        true => Post::Migrate(g.into()),
                        false => Post::RequeueLast(g.into()),
                    };
                    schedule::leave(m, g, post);
                }
            }
            Settled::Lost => {
                SCHED.count_found_again(m);
                regain(m, g);
            }
            Settled::Blocking => blocking::leave(m, g),
        }
        Some(Rt::resumed())
    }

    /// Ends a moving call: back to user code, and back into the blocking call that it was made from, if any (D1).
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

    /// The token for a goroutine that has just been switched to: its M is inside the runtime, with a P.
    pub(crate) fn resumed() -> Rt {
        let m = current::current().unwrap_or_else(|| fatal!("a goroutine was resumed on a foreign thread"));
        Rt { m, p: m.p(), not_send: PhantomData }
    }

    /// The P, unless it was lost.
    #[inline]
    pub(crate) fn p(&self) -> Option<HeldP<'static>> {
        // SAFETY: while `in_rt` is 1 nobody takes the P from this M, which owned it on entry.
        self.p.map(|p| unsafe { p.held() })
    }

    /// The goroutine that entered.
    #[inline]
    pub(crate) fn g(&self) -> &'static G {
        running(self.m)
    }

    /// Gives up the token without leaving the runtime: the goroutine is about to be switched out.
    #[inline]
    pub(crate) fn into_m(self) -> &'static M {
        let m = self.m;
        core::mem::forget(self);
        m
    }
}

impl Drop for Rt {
    #[inline]
    fn drop(&mut self) {
        self.m.owner.exit();
    }
}

/// The goroutine that runs on `m`.
#[inline]
fn running(m: &'static M) -> &'static G {
    m.cur_g().unwrap_or_else(|| fatal!("no goroutine on m{}", m.id))
}

/// Gets a P for a goroutine that has none: an idle one, or its turn in the global queue (D1).
fn regain(m: &'static M, g: &'static G) {
    m.forget_p();
    match SCHED.take_idle_p() {
        Some(p) => m.acquire_p(p),
        None => schedule::leave(m, g, Post::RequeueLast(g.into())),
    }
}

#[cold]
fn nested() -> ! {
    fatal!(
        "gosched was called from inside gosched: an allocator, a signal handler or a waker uses the library; \
         such code must not call it"
    )
}
