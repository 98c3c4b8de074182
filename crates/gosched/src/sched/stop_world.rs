//! Stopping and starting the world (S42, S43).
//!
//! A counter starts at the number of Ps and falls with every P that is stopped; whoever brings it
//! to 0 wakes the stopper:
//!
//! | a P that | is stopped by |
//! |---|---|
//! | is the stopper's | the stopper, at once |
//! | is idle | the stopper, off the idle list |
//! | is in an announced blocking call | the stopper, by the CAS that decides who gets it |
//! | runs user code | the stopper, by the ownership protocol (D1): no waiting time applies |
//! | is with an M inside the runtime | that M, when it comes to g0: every way from one goroutine to the next looks at the flag |
//! | is handed over, or given up | whoever puts it on the idle list: under the lock, and with the flag set, that counts it |
//!
//! Every 100 µs the stopper looks again at those that are left. What has no P continues: computing
//! goroutines, those in blocking calls, foreign threads. The first two wait where they next enter
//! the library (`Worker::enter`), in place; goroutines that foreign threads make runnable wait on
//! the global queue.
//!
//! The argument why nobody is inside meanwhile. An M without a P sets `in_rt`, then looks at the
//! flag; the stopper sets the flag, then, after a heavy barrier, looks at `in_rt` of every M with a
//! goroutine: one of them sees the other, and the stopper waits for those it sees. An M whose
//! goroutine leaves it for g0, or ends, marks itself (`Worker::part_with_g`) until that one is
//! queued and its joiner is woken; the stopper waits for the mark to go. An M that had a P has
//! given it up: it is asleep on g0, or is now an M without a P.
//!
//! The stopper's goroutine keeps its thread but has no P: its ownership word says TAKEN, so that
//! calls from the closure take the slow path. They act as on a foreign thread, and wait for nothing
//! (`may_wait.rs`).
//!
//! Invariants: at most one stopper (`turn.rs`). While the flag is set, the idle list is empty.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use gosched_primitives::{Note, Wake};

use super::resize::MadePs;
use super::take::{AT_ONCE, Candidate};
use super::turn::Turn;
use super::{MayWait, SCHED, Sched, heavy_barrier, sysmon};
use crate::clock::NEVER;
use crate::g::G;
use crate::g::waiter::WaitReason;
use crate::m::{G0, M, Taken, Worker};
use crate::p::{OwnedP, P, PList, PStatus, Resting};
use crate::recorder;

/// How long the stopper waits before it looks again at the Ps that are left.
const ASK_AGAIN: Duration = Duration::from_micros(100);
/// How long the world may stand still (API).
pub(crate) const LONGEST_STOP: Duration = Duration::from_secs(10);

/// What stop-the-world needs.
pub(super) struct WorldState {
    /// Ps that are not stopped yet.
    running: AtomicU32,
    /// Woken when that comes to 0.
    note: Note,
    /// Odd while the world is stopped, or about to be. Written under the mutex.
    stops: AtomicU64,
    gate: Mutex<()>,
    opened: Condvar,
}

impl WorldState {
    pub(super) const fn new() -> WorldState {
        WorldState {
            running: AtomicU32::new(0),
            note: Note::new(),
            stops: AtomicU64::new(0),
            gate: Mutex::new(()),
            opened: Condvar::new(),
        }
    }
}

thread_local! {
    /// Whether this thread, which is not ours, has stopped the world.
    static HAS_STOPPED: Cell<bool> = const { Cell::new(false) };
}

/// "The world is stopped, and I have stopped it." Starts it again when dropped, also by a panic.
#[must_use]
pub(crate) struct Stopped {
    m: Option<&'static M>,
    own: Option<&'static P>,
    /// The new number of Ps, if it changes.
    change: Option<MadePs>,
    /// Whether a trace has its beginning.
    recorded: bool,
    /// Whether a trace is to be told the number of Ps.
    says_procs: bool,
    /// Dropped, and so passed on, after the world was started.
    _turn: Turn,
}

impl Stopped {
    /// Stops the world. A moving call.
    ///
    /// # Panics
    ///
    /// If the caller has stopped it already.
    pub(crate) fn begin() -> Stopped {
        let may_wait = MayWait::ask().unwrap_or_else(|stopped| stopped.refuse("stop it again"));
        let turn = Turn::take(&may_wait);
        // Before the gate is closed: entering may wait for a P, which may need the monitor, and
        // that sleeps while the gate is closed.
        let mut worker = may_wait.enter();
        let recorded = worker.as_ref().is_some_and(record_begin);
        SCHED.close_gate();
        let own = SCHED.stop_the_world(worker.as_mut());
        match &worker {
            Some(worker) => {
                worker.m().set_stopped_world(true);
                worker.g().set_reason(WaitReason::StopTheWorld);
            }
            None => HAS_STOPPED.set(true),
        }
        let m = worker.as_ref().map(Worker::m);
        Stopped { m, own, change: None, recorded, says_procs: false, _turn: turn }
    }

    /// The id of the goroutine that has stopped it; `None` on a foreign thread.
    pub(crate) fn stopper(&self) -> Option<u64> {
        self.m.and_then(M::cur_g).map(|g| g.id())
    }

    /// Starts the world with this many Ps.
    pub(crate) fn start_with(mut self, made: MadePs) {
        self.change = Some(made);
        self.says_procs = true;
    }

    /// Starts the world, in which a trace has begun.
    pub(crate) fn start_traced(mut self) {
        self.says_procs = true;
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        HAS_STOPPED.set(false);
        // This worker has no P: the word says TAKEN, and no P is idle, until `start_the_world`
        // gives the M one.
        let mut worker = self.m.and_then(|_| Worker::enter());
        if let Some(m) = self.m {
            m.set_stopped_world(false);
        }
        SCHED.start_the_world(self.change.as_ref(), worker.as_mut(), self.own);
        if let Some(worker) = worker {
            // Within the stop, as in Go: readers judge idle Ps only outside of stops.
            if self.says_procs && recorder::is_on() {
                recorder::procs_change(&worker.m().recorder, SCHED.procs(), G::traced_stack());
            }
            if self.recorded {
                recorder::stop_world_end(&worker.m().recorder);
                recorder::note_stopped_world(false);
            }
            worker.finish();
        }
    }
}

/// Records that a goroutine stops the world, if anything is recorded. Returns whether it did.
fn record_begin(worker: &Worker) -> bool {
    if !recorder::is_on() {
        return false;
    }
    recorder::note_stopped_world(true);
    let recorded = recorder::stop_world_begin(&worker.m().recorder, G::traced_stack());
    recorder::note_stopped_world(recorded);
    recorded
}

/// Whether the calling thread, which is not ours, has stopped the world.
#[inline]
pub(super) fn thread_has_stopped() -> bool {
    HAS_STOPPED.try_with(Cell::get).unwrap_or(false)
}

impl Sched {
    /// Stops every P. Returns the caller's own, if it had one; its M has none from here on.
    #[doc(alias = "stopTheWorldWithSema")]
    fn stop_the_world(&self, mut worker: Option<&mut Worker>) -> Option<&'static P> {
        let own = {
            let mut shared = self.lock.lock();
            self.world.running.store(self.procs(), Ordering::Relaxed);
            // The flag is set under this lock, so a P that is given up after it is released is
            // counted.
            while let Some(p) = self.get_idle_p(&mut shared) {
                self.count_stopped(p);
            }
            self.exceptions.set_stopping(true);
            worker.as_mut().and_then(|worker| worker.release_p()).map(|p| {
                let own = p.shared();
                self.count_stopped(p);
                own
            })
        };
        if let Some(worker) = &worker {
            worker.m().owner.surrender(&mut self.taker.lock());
        }
        loop {
            self.stop_those_left();
            if self.world.note.sleep_timeout(ASK_AGAIN) == Wake::Woken {
                break;
            }
        }
        self.world.note.clear();
        self.await_those_inside(worker.map(|worker| worker.m()));
        own
    }

    /// Counts a P as stopped. Called by its owner; it is the stopper's from here on.
    pub(super) fn count_stopped(&self, p: OwnedP) {
        p.rest(Resting::Stopped);
        // ORDERING: AcqRel pairs with the other calls here: the last one has acquired what all of
        // them did to their Ps, and wakes the stopper.
        if self.world.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.world.note.wake();
        }
    }

    /// Takes Ps from blocking calls and from user code; asks Ms inside the runtime to yield.
    fn stop_those_left(&self) {
        for first in (0..self.procs()).step_by(AT_ONCE) {
            self.stop_some(first..first + AT_ONCE as u32);
        }
    }

    fn stop_some(&self, ids: core::ops::Range<u32>) {
        let mut takes = self.takes();
        for p in ids.filter_map(|id| self.p(id)) {
            match p.status() {
                PStatus::Blocking => {
                    if let Some(p) = self.take_from_blocking(p) {
                        p.count_blocking();
                        self.count_stopped(p);
                    }
                }
                PStatus::Running => {
                    if let Some(m) = p.m() {
                        takes.begin(Candidate { p, m, why: Taken::Computing });
                    }
                }
                PStatus::Idle | PStatus::Stopped | PStatus::Dead => {}
            }
        }
        takes.finish(|_, taken| {
            if let Some(p) = taken {
                self.count_stopped(p);
            }
        });
    }

    /// Waits until no goroutine without a P is inside the runtime. Those that enter later wait at
    /// the gate.
    fn await_those_inside(&self, stopper: Option<&M>) {
        loop {
            heavy_barrier();
            let inside = self
                .all_m()
                .filter(|m| !stopper.is_some_and(|stopper| core::ptr::eq(*m, stopper)))
                .any(M::is_busy_inside);
            if !inside {
                return;
            }
            std::thread::sleep(Duration::from_micros(20));
        }
    }

    /// For an M on g0 that has a P: if the world is to be stopped, gives it up for that and sleeps
    /// until it has another.
    #[doc(alias = "gcstopm")]
    #[inline]
    pub(super) fn stop_here_if_asked(&self, g0: &mut G0) {
        while self.exceptions.is_stopping() {
            self.stop_here(g0);
        }
    }

    #[cold]
    fn stop_here(&self, g0: &mut G0) {
        if let Some(token) = g0.m().take_spinning() {
            let _ = self.idle.stop_spinning(token);
        }
        {
            let shared = self.lock.lock();
            if !self.exceptions.is_stopping() {
                return;
            }
            if let Some(p) = g0.release_p() {
                self.count_stopped(p);
            }
            drop(shared);
        }
        self.stop_m(g0);
    }

    /// Gives all Ps back, after changing their number if asked to: those with work to Ms, the
    /// others to the idle list. If the caller is a goroutine, it gets one: its own, unless that is
    /// dead now.
    #[doc(alias = "startTheWorldWithSema")]
    fn start_the_world(&self, change: Option<&MadePs>, worker: Option<&mut Worker>, own: Option<&'static P>) {
        if let Some(made) = change {
            self.resize(made);
        }
        let procs = self.procs();
        let own = worker.as_ref().and_then(|_| own.filter(|p| p.id < procs).or_else(|| self.p(0)));
        let own = own.and_then(|p| p.win(Resting::Stopped));
        let mut busy = PList::new();
        {
            let mut shared = self.lock.lock();
            self.exceptions.set_stopping(false);
            for id in (0..procs).rev() {
                let Some(p) = self.p(id).and_then(|p| p.win(Resting::Stopped)) else { continue };
                if p.has_work() {
                    busy.push_front(p);
                } else {
                    self.put_idle_p(&mut shared, p);
                }
            }
        }
        self.open_gate();
        if let (Some(worker), Some(own)) = (worker, own) {
            worker.acquire_p(own);
        }
        while let Some(p) = busy.pop_front() {
            let sleeping = self.lock.lock().idle_ms.pop_front();
            self.start_m(sleeping, p, None);
        }
        self.wake_p();
        let first = self.first_timer();
        if first != NEVER {
            self.watch_for(first);
        }
        sysmon::wake_up();
    }

    fn close_gate(&self) {
        let _gate = self.world.gate.lock().unwrap_or_else(PoisonError::into_inner);
        self.world.stops.fetch_add(1, Ordering::Relaxed);
    }

    fn open_gate(&self) {
        let _gate = self.world.gate.lock().unwrap_or_else(PoisonError::into_inner);
        self.world.stops.fetch_add(1, Ordering::Relaxed);
        self.world.opened.notify_all();
    }

    /// Waits, for `limit` at most, until the world is started. Returns whether it is still stopped
    /// by the same stopper.
    pub(crate) fn await_start(&self, limit: Duration) -> bool {
        let gate = self.world.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let stop = self.world.stops.load(Ordering::Relaxed);
        if stop.is_multiple_of(2) {
            return false;
        }
        let same = |_: &mut ()| self.world.stops.load(Ordering::Relaxed) == stop;
        let waited = self.world.opened.wait_timeout_while(gate, limit, same);
        waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Ps that do not stand still yet; 0 unless the world is to be stopped. For those who only
    /// look.
    pub(super) fn still_running(&self) -> u32 {
        self.world.running.load(Ordering::Relaxed)
    }

    /// Whether the world is stopped, or about to be.
    pub(crate) fn is_stopped(&self) -> bool {
        !self.world.stops.load(Ordering::Relaxed).is_multiple_of(2)
    }

    /// For a goroutine without a P that enters: if the world is to be stopped, leaves the runtime
    /// and waits, on its thread, until it is started.
    #[inline(always)]
    pub(super) fn wait_at_gate(&self, worker: &Worker) {
        if self.exceptions.is_stopping() {
            self.wait_for_start(worker.m());
        }
    }

    #[cold]
    fn wait_for_start(&self, m: &'static M) {
        while self.exceptions.is_stopping() && !m.has_stopped_world() {
            m.owner.exit();
            if !self.await_start(LONGEST_STOP) {
                std::thread::sleep(Duration::from_micros(20));
            }
            let _ = m.owner.enter();
        }
    }
}
