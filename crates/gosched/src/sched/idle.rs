//! Who sleeps and who is woken (S29–S32), and where a P without an M goes (S38).
//!
//! Invariants:
//! - A P on the idle list has no owner, and whoever takes it off becomes its one owner. The count
//!   in `idle` changes with the list, under the lock.
//! - An M on the idle list holds no P and sleeps on its note, or is about to; whoever takes it off
//!   the list gives it a P and wakes it, once.
//! - An M whose thread has ended, or was refused, is on the list of spare ones. A thread ends only
//!   with a goroutine that is locked to it when it ends: no other may find the state that this one
//!   left in the thread. The M's P is handed off before.
//! - "Spinning" is one token per searching M. It is made by whoever starts the search (perhaps for
//!   an M that is still asleep) and given back when the search ends, or when no M can be started.

use core::ptr::NonNull;
use core::sync::atomic::{Ordering, fence};

use gosched_primitives::{Idle, LastSpinner, Spinning};
use gosched_rules::wake::{HandOff, TakenP, are_all_idle, hand_off, nobody_would_look};

use super::{IdleLists, Sched, sysmon, template};
use crate::clock::{NEVER, now};
use crate::fatal::fatal;
use crate::m::{G0, M, Worker};
use crate::p::OwnedP;

impl Sched {
    /// How many Ps are idle and how many Ms search.
    pub(crate) fn idle_snapshot(&self) -> Idle {
        self.idle.snapshot()
    }

    /// Whether every P is idle.
    pub(crate) fn all_idle(&self) -> bool {
        are_all_idle(self.idle.snapshot().idle_ps, self.procs())
    }

    /// Whether anything waits for a P: queued goroutines, or a timer that is due.
    pub(crate) fn work_waits(&self, now: u64) -> bool {
        self.is_work_queued() || self.first_timer() <= now
    }

    /// Whether new work would find neither an idle P nor a searching M.
    pub(crate) fn nobody_would_find_work(&self) -> bool {
        let idle = self.idle.snapshot();
        nobody_would_look(idle.idle_ps, idle.spinning)
    }

    /// Puts a P on the idle list; or, if the world is to be stopped, counts it as stopped.
    #[doc(alias = "pidleput")]
    pub(super) fn put_idle_p(&self, shared: &mut IdleLists, p: OwnedP) {
        if self.exceptions.is_stopping() {
            return self.count_stopped(p);
        }
        shared.idle_ps.push_front(p);
        let _ = self.idle.p_idle();
    }

    /// As [`put_idle_p`](Sched::put_idle_p), behind the others.
    pub(super) fn put_idle_p_last(&self, p: OwnedP) {
        let mut shared = self.lock.lock();
        if self.exceptions.is_stopping() {
            return self.count_stopped(p);
        }
        shared.idle_ps.push_back(p);
        let _ = self.idle.p_idle();
    }

    /// Takes a P off the idle list.
    #[doc(alias = "pidleget")]
    pub(super) fn get_idle_p(&self, shared: &mut IdleLists) -> Option<OwnedP> {
        let p = shared.idle_ps.pop_front()?;
        shared.idle_ps_taken += 1;
        let _ = self.idle.p_busy();
        sysmon::wake_up();
        Some(p)
    }

    /// An idle P for the caller, if there is one.
    pub(super) fn take_idle_p(&self) -> Option<OwnedP> {
        if self.idle.snapshot().idle_ps == 0 {
            return None;
        }
        self.get_idle_p(&mut self.lock.lock())
    }

    /// Work has appeared: wakes one M for it, if a P is idle and nobody is searching (S31).
    #[doc(alias = "wakep")]
    #[inline]
    pub(crate) fn wake_p(&self) {
        if let Some(token) = self.idle.try_claim_spinner() {
            self.wake_p_with(token);
        }
    }

    /// While the place of the spinner was claimed, others relied on it. So a waker that has to give
    /// it back, because the idle P is gone after all, looks whether there is another by now.
    #[cold]
    fn wake_p_with(&self, token: Spinning) {
        let mut token = Some(token);
        while let Some(claimed) = token {
            let mut shared = self.lock.lock();
            if let Some(p) = self.get_idle_p(&mut shared) {
                let m = shared.idle_ms.pop_front();
                drop(shared);
                return self.start_m(m, p, Some(claimed));
            }
            drop(shared);
            let _ = self.idle.stop_spinning(claimed);
            token = self.idle.try_claim_spinner();
        }
    }

    /// The search is over, with success: the last spinner wakes the next one (S31).
    #[doc(alias = "resetspinning")]
    pub(super) fn stop_spinning(&self, m: &M) {
        if let Some(token) = m.take_spinning()
            && self.idle.stop_spinning(token) == LastSpinner::Yes
        {
            self.wake_p();
        }
    }

    /// Starts an M with `p`: the sleeping one given, else a new one.
    #[doc(alias = "startm")]
    pub(super) fn start_m(&self, sleeping: Option<NonNull<M>>, p: OwnedP, spinning: Option<Spinning>) {
        match sleeping {
            // SAFETY: Ms are never freed.
            Some(m) => wake_with(unsafe { m.as_ref() }, p, spinning),
            None => self.new_m(p, spinning),
        }
    }

    /// Starts an M with `p`: one that sleeps, else a new one.
    fn start_any_m(&self, p: OwnedP, spinning: Option<Spinning>) {
        let sleeping = self.lock.lock().idle_ms.pop_front();
        self.start_m(sleeping, p, spinning);
    }

    /// A new M with a thread of its own (S32).
    #[doc(alias = "newm")]
    fn new_m(&self, p: OwnedP, spinning: Option<Spinning>) {
        let number = self.m_count.fetch_add(1, Ordering::Relaxed);
        let limit = self.max_threads.load(Ordering::Relaxed);
        if number >= limit {
            fatal!(
                "thread exhaustion: the program exceeds {limit} threads. Too many goroutines sit in blocking calls; \
                 bound them, or raise the limit with Config::max_threads"
            );
        }
        template::start_m(p, spinning);
    }

    /// A thread was refused: its P and spinner's place go to an M that sleeps; without one, the P
    /// becomes idle and the place is given back.
    pub(crate) fn take_back_p(&self, p: OwnedP, spinning: Option<Spinning>) {
        self.m_count.fetch_sub(1, Ordering::Relaxed);
        let mut shared = self.lock.lock();
        let Some(m) = shared.idle_ms.pop_front() else {
            self.put_idle_p(&mut shared, p);
            drop(shared);
            if let Some(token) = spinning {
                let _ = self.idle.stop_spinning(token);
            }
            // The keeper is not on the list of idle Ms, but can run this too.
            return self.rouse_keeper();
        };
        drop(shared);
        // SAFETY: Ms are never freed.
        wake_with(unsafe { m.as_ref() }, p, spinning);
    }

    /// An idle P to ask for a thread with once more, if work waits and no M is on the idle list.
    pub(crate) fn claim_for_new_m(&self) -> Option<OwnedP> {
        if !self.work_waits(now()) {
            return None;
        }
        let mut shared = self.lock.lock();
        if !shared.idle_ms.is_empty() {
            drop(shared);
            self.wake_p();
            return None;
        }
        let p = self.get_idle_p(&mut shared)?;
        drop(shared);
        self.m_count.fetch_add(1, Ordering::Relaxed);
        Some(p)
    }

    /// Adds a new M to the list of all.
    pub(crate) fn list_m(&self, m: &'static M) {
        let mut first = self.all_m.load(Ordering::Relaxed);
        loop {
            m.all_link.store(first, Ordering::Relaxed);
            // ORDERING: Release pairs with the Acquire in `all_m`: a listed M is whole.
            match self.all_m.compare_exchange_weak(
                first,
                core::ptr::from_ref(m).cast_mut(),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(now) => first = now,
            }
        }
        // ORDERING: SeqCst pairs with the fences in `recorder`: the tracer, which has begun a new
        // generation, sees this M, or the M sees that generation.
        fence(Ordering::SeqCst);
    }

    /// The thread of the worker's M ends (S51): the M is kept for another one. Called by that
    /// thread, which must not touch the M afterwards. The P was handed off before.
    pub(crate) fn end_m(&self, worker: Worker) {
        let m = {
            // A monitor that is looking at this M has finished when the lock is free; the next look
            // finds the M without a thread.
            let _taker = self.taker.lock();
            worker.m().probe.close();
            worker.end()
        };
        self.m_count.fetch_sub(1, Ordering::Relaxed);
        self.put_spare_m(m);
    }

    /// Keeps an M without a thread.
    pub(crate) fn put_spare_m(&self, m: &'static M) {
        // SAFETY: Ms are never freed. This one is on no list: it was taken out, or made, for the
        // thread that has ended or was refused.
        unsafe { self.lock.lock().spare_ms.push_front(NonNull::from(m)) };
    }

    /// An M without a thread, if there is one.
    pub(crate) fn take_spare_m(&self) -> Option<&'static M> {
        // SAFETY: Ms are never freed.
        self.lock.lock().spare_ms.pop_front().map(|m| unsafe { m.as_ref() })
    }

    /// Sleeps until this M is given a P. It has none now.
    #[doc(alias = "stopm")]
    pub(super) fn stop_m(&self, g0: &mut G0) {
        // SAFETY: Ms are never freed; this one runs, so it is on no list.
        unsafe { self.lock.lock().idle_ms.push_front(NonNull::from(g0.m())) };
        sleep_for_p(g0);
    }

    /// Finds a use for a P whose M can't go on (S38).
    #[doc(alias = "handoffp")]
    pub(crate) fn hand_off_p(&self, p: OwnedP) {
        let first = p.timers.first();
        let idle = self.idle.snapshot();
        match hand_off(&TakenP {
            has_work: p.has_work(),
            global: self.runq_len(),
            is_timer_due: first != NEVER && first <= now(),
            idle_ps: idle.idle_ps,
            spinning: idle.spinning,
        }) {
            HandOff::Start => return self.start_any_m(p, None),
            HandOff::Spin => {
                if let Some(token) = self.idle.try_claim_last_busy() {
                    return self.start_any_m(p, Some(token));
                }
            }
            HandOff::Idle => {}
        }
        self.put_idle_p(&mut self.lock.lock(), p);
        // A second look at the queues, as by every M that gives up a P.
        if self.is_work_queued() {
            self.wake_p();
        }
        if first != NEVER {
            self.watch_for(first);
        }
        if self.all_idle() {
            self.watch_network();
        }
    }

    /// For an M whose goroutine is bound to it and can't run: gives up the P and sleeps until it is
    /// given one, by whoever picked that goroutine from a queue (D5).
    #[doc(alias = "stoplockedm")]
    pub(super) fn stop_locked_m(&self, g0: &mut G0) {
        if let Some(p) = g0.release_p() {
            self.hand_off_p(p);
        }
        sleep_for_p(g0);
    }

    /// Gives this M's P to the M that a picked goroutine is bound to, then sleeps.
    #[doc(alias = "startlockedm")]
    pub(super) fn start_locked_m(&self, g0: &mut G0, bound_to: &'static M) {
        if let Some(p) = g0.release_p() {
            wake_with(bound_to, p, None);
        }
        self.stop_m(g0);
    }
}

/// Wakes an M that sleeps for a P, or is about to.
fn wake_with(m: &M, p: OwnedP, spinning: Option<Spinning>) {
    m.give(p, spinning);
    m.note.wake();
}

/// Sleeps on the M's note, then takes the P it was given.
fn sleep_for_p(g0: &mut G0) {
    let m = g0.m();
    m.note.sleep();
    m.note.clear();
    match m.take_next_p() {
        Some(p) => g0.acquire_p(p),
        None => fatal!("m{} was woken without a P", m.id),
    }
}
