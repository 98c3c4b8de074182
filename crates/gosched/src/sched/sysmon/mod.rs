//! The monitor (S34–S38): a thread without a P that sees to it that nobody holds one too long.
//!
//! Every tick it looks at each P. One whose M is in an announced blocking call is taken by one CAS:
//! after a tick if it has work, or if no other M would look for new work; if work waits, when its
//! goroutine has used its slice up in several calls; else when a call has lasted 10 ms. One whose
//! goroutine has not come back to the scheduler is taken by the ownership protocol (D1): at once if
//! the thread is blocked in the kernel; if it computes, after its time slice, and only after it was
//! asked to yield. The goroutine continues undisturbed, without a P; the P goes to another M.
//!
//! Two clocks measure a slice. A goroutine is *asked* to yield when it has held its P for 10 ms by
//! the wall clock: that is what the others have waited, and yielding at a moving call costs nobody
//! anything. Its P is *taken* when its thread has computed for 10 ms: a thread that loses its P is
//! one more for the kernel to run (D1). On a machine that is busy with other processes the two are
//! far apart. (A loop of sends beside four busy threads on 2 CPUs, 2026-11-18: asked by its
//! thread's time, it yielded every 40 ms, at most 125; asked by the wall clock, every 11 ms, at
//! most 35.)
//!
//! Invariants: it allocates nothing, takes no lock that user code may hold, runs no user code, and
//! never blocks on standard error (the reporter writes what it reports). Exceptions are two ends of
//! the process, whose messages it writes itself: the world is not started again (with a dump), or
//! there are no stacks. It takes a P that runs a goroutine only while work waits for a P; from an
//! announced blocking call also when none does, once the call has lasted 10 ms. What it remembers
//! of a P is in `p/seen.rs`, of an M in `m/stint.rs`; others touch neither, except that the
//! reporter notes there which stints it has reported.

mod housekeeping;
mod stint;

use core::ffi::c_void;
use core::time::Duration;
use std::io;

use gosched_primitives::{Dormant, TakerToken, Wake};
use gosched_rules::limit::{self, SLOW_HAND_OFF, SLOW_START};
use gosched_rules::pace::{DeadlockPatience, Tick};
use gosched_rules::slice::{self, Asked, BlockingVerdict, Look, RunningVerdict, TakeReason};

use super::policy::pressure::Hogs;
use super::policy::time_slices::{self, TimeSlice};
use super::policy::{self, timer_slack};
use super::{Candidate, Deadlock, LONGEST_STOP, RETRY_STACKLESS, SCHED, SOFT_LIMIT};
use crate::clock::now;
use crate::debug;
use crate::dump;
use crate::fatal::{fatal, write_stderr};
use crate::g::since;
use crate::m::{M, Taken};
use crate::p::{P, PStatus};
use crate::sys::clock;
use crate::sys::thread::{self, Defaults};
use housekeeping::Housekeeping;

const STACK_BYTES: usize = 128 * 1024;

/// Where the monitor sleeps while all Ps are idle (S33, S34).
static DORMANT: Dormant = Dormant::new();

/// Starts the monitor.
pub(super) fn start(defaults: &'static Defaults) -> io::Result<()> {
    thread::spawn(STACK_BYTES, main, core::ptr::from_ref(defaults).cast_mut().cast())
}

/// A P has become busy: the monitor must be awake. Called after the idle count has changed.
#[inline]
pub(super) fn wake_up() {
    DORMANT.wake_up_after(|| since::set_clock(now()));
}

/// Whether the monitor sleeps until it is needed. For those who only look.
pub(super) fn is_asleep() -> bool {
    DORMANT.is_asleep()
}

extern "C" fn main(defaults: *mut c_void) -> *mut c_void {
    thread::set_name(c"gosched-sysmon");
    // SAFETY: `start` passed this reference, which is `'static`.
    unsafe { &*defaults.cast::<Defaults>() }.adopt();
    let _slack = timer_slack::for_thread();
    time_slices::ask(0, TimeSlice::Shortest);
    let mut pace = policy::pace::new();
    let mut monitor = Monitor::new();
    let mut patience = DeadlockPatience::new();
    let stall_limit = debug::get().stall.map(|limit| limit.as_nanos() as u64);
    let mut housekeeping = Housekeeping::new(now());
    loop {
        housekeeping.step(now());
        if pace.is_idle_for_long() {
            let retry = (SCHED.stackless() > 0).then_some(RETRY_STACKLESS);
            let look = || {
                let limits = [look_for_deadlock(&mut patience), housekeeping.pause(now()), retry];
                limits.into_iter().flatten().min()
            };
            match sleep_after(look, &DORMANT) {
                Wake::TimedOut => {
                    monitor.help_stackless(now());
                    continue;
                }
                Wake::Woken => {
                    pace = policy::pace::new();
                    patience = DeadlockPatience::new();
                    housekeeping.renew();
                }
            }
        }
        std::thread::sleep(Duration::from_nanos(pace.pause()));
        if SCHED.is_stopped() {
            await_start();
            continue;
        }
        let began = now();
        since::set_clock(began);
        let tick = monitor.tick(began);
        let stalls = stall_limit.map_or(Tick::Idle, |limit| stint::look(limit, began));
        pace.note(tick.max(stalls));
        if pace.is_costly() {
            pace.charge(clock::own_cpu(), now());
        }
    }
}

/// Looks, then sleeps at `place` for as long as the look says, unless the monitor is needed: a P is
/// busy, or what the look found may be out of date.
///
/// The evidence is taken before the look and again after the monitor has announced that it sleeps.
/// A ring that comes earlier finds the monitor awake, which does nothing; but what it rings for has
/// changed the evidence by then: a P was taken (and may be idle again), or a foreign thread has
/// begun to wait. (`dead.rs` has the argument.)
fn sleep_after(look: impl FnOnce() -> Option<Duration>, place: &Dormant) -> Wake {
    let before = SCHED.evidence();
    let limit = look();
    place.sleep_unless(limit, || before.is_none() || SCHED.evidence() != before || SCHED.held_back() > 0)
}

/// Ends the process if no goroutine can ever run again. Else returns how long to sleep before the
/// next look, if one is needed: while only foreign threads could still wake a goroutine (S48).
fn look_for_deadlock(patience: &mut DeadlockPatience) -> Option<Duration> {
    match SCHED.check_dead() {
        Deadlock::No => None,
        Deadlock::ThreadsInTheWay => Some(Duration::from_nanos(patience.wait())),
        Deadlock::Yes => dump::deadlock(),
        Deadlock::OutOfStacks => {
            SCHED.end_out_of_stacks();
            None
        }
    }
}

/// Sleeps while the world is stopped. If that lasts too long, ends the process (API).
fn await_start() {
    if SCHED.await_start(LONGEST_STOP) {
        let headline = "fatal error: the closure of stop_the_world does not end; all goroutines:";
        write_stderr(dump::all(headline).as_bytes());
        fatal!(
            "the world stood still for {LONGEST_STOP:?}: the closure of stop_the_world must not wait for anybody"
        );
    }
}

struct Monitor {
    slow_hand_off: Slow,
    slow_start: Slow,
    warned: bool,
    warned_of_stacks: bool,
    /// When goroutines that wait for a stack were last let try.
    stacks_tried_at: u64,
    /// When the last tick was.
    ticked_at: u64,
    hogs: Hogs,
}

impl Monitor {
    fn new() -> Monitor {
        let slow = |every| Slow { every, last: 0 };
        Monitor {
            slow_hand_off: slow(SLOW_HAND_OFF),
            slow_start: slow(SLOW_START),
            warned: false,
            warned_of_stacks: false,
            stacks_tried_at: 0,
            ticked_at: 0,
            hogs: Hogs::new(),
        }
    }

    fn tick(&mut self, now: u64) -> Tick {
        let mut tick = Tick::Quiet;
        let pause = now.saturating_sub(core::mem::replace(&mut self.ticked_at, now));
        let pressure = self.hogs.look(now);
        if SCHED.held_back() > 0 {
            self.let_go(now);
            tick = Tick::Busy;
        } else if SCHED.all_idle() {
            return Tick::Idle;
        }
        self.help_stackless(now);
        if SCHED.poll_overdue_network(now) || pressure {
            tick = Tick::Busy;
        }
        let waiting = SCHED.work_waits(now);
        if waiting {
            SCHED.end_trust();
        }
        let mut takes = SCHED.takes();
        for p in SCHED.all_p() {
            match p.status() {
                PStatus::Idle | PStatus::Stopped | PStatus::Dead => {}
                PStatus::Blocking => tick = tick.max(retake_blocking(p, now, waiting)),
                PStatus::Running => {
                    let moved = p.seen.has_moved(p.sched_tick());
                    tick = tick.max(if moved { Tick::Calm } else { Tick::Busy });
                    let Some(m) = p.m().filter(|_| waiting) else { continue };
                    match self.look(p, m, now, pause, takes.taker()) {
                        RunningVerdict::Leave | RunningVerdict::Ask(_) | RunningVerdict::Insist => {}
                        RunningVerdict::Suspect => tick = tick.max(Tick::Suspect),
                        // The others wait for the next tick.
                        RunningVerdict::Take(_) if takes.is_full() => break,
                        RunningVerdict::Take(TakeReason::Blocked) => {
                            takes.begin(Candidate { p, m, why: Taken::Blocked })
                        }
                        RunningVerdict::Take(TakeReason::Computing) => {
                            takes.begin(Candidate { p, m, why: Taken::Computing })
                        }
                    }
                }
            }
        }
        takes.finish(|from, taken| match taken {
            Some(p) => {
                if from.why == Taken::Computing {
                    time_slices::ask(from.m.tid(), TimeSlice::Long);
                } else {
                    tick = Tick::HandedOff;
                }
                SCHED.hand_off_p(p);
            }
            None if from.why == Taken::Computing => from.p.insist(),
            None => {}
        });
        tick
    }

    /// Judges a P that runs on `m`, `pause` after the last tick. Sends requests (to yield, to give
    /// the P up) itself.
    fn look(&mut self, p: &P, m: &'static M, now: u64, pause: u64, taker: &mut TakerToken) -> RunningVerdict {
        let verdict = judge(p, m, now, pause);
        match verdict {
            RunningVerdict::Ask(asked) => {
                if asked == Asked::Computing {
                    self.hogs.found(now);
                }
                let _ = m.owner.request_preempt(taker);
            }
            RunningVerdict::Insist => {
                p.insist();
                let _ = m.owner.request_preempt(taker);
            }
            RunningVerdict::Take(TakeReason::Blocked) if !self.may_hand_off(m, now) => {
                return RunningVerdict::Leave;
            }
            _ => {}
        }
        verdict
    }

    /// Whether the P of a blocked thread may be handed off now. Beyond the soft limit that is rare
    /// (D1).
    fn may_hand_off(&mut self, m: &M, now: u64) -> bool {
        if !limit::is_reached(SCHED.lost_to_blocking(), SOFT_LIMIT) {
            return true;
        }
        if !self.warned {
            self.warned = true;
            let (id, place) = m.cur_g().map_or((0, None), |g| (g.id(), g.place_hint()));
            let place = place.map_or("an unknown place", |place| place.file());
            dump::warn(format_args!(
                "gosched: {SOFT_LIMIT} threads are blocked in calls that were not announced, the last by goroutine {id} \
                 (created in {place}); new goroutines and hand-offs wait. Wrap such calls in runtime::blocking, use \
                 gosched's own locks, or bound them.\n"
            ));
        }
        self.slow_hand_off.is_due(now)
    }

    /// From time to time, lets goroutines that wait for a stack try again.
    fn help_stackless(&mut self, now: u64) {
        let pause = u128::from(now.saturating_sub(self.stacks_tried_at));
        if SCHED.stackless() == 0 || pause < RETRY_STACKLESS.as_nanos() {
            return;
        }
        self.stacks_tried_at = now;
        if !core::mem::replace(&mut self.warned_of_stacks, true) {
            SCHED.say_out_of_stacks();
        }
        SCHED.retry_stackless();
    }

    /// Starts goroutines that were held back: as many as threads are missing to the limit, or one
    /// from time to time.
    fn let_go(&mut self, now: u64) {
        let room = limit::room_to_start(SCHED.lost_to_blocking(), SOFT_LIMIT);
        if room > 0 {
            SCHED.let_go(room as usize);
        } else if self.slow_start.is_due(now) {
            SCHED.let_go(1);
        }
    }
}

/// Something that is done rarely: the more threads are blocked, the more rarely. The blocked
/// threads need CPU time, not more threads beside them.
struct Slow {
    every: u64,
    last: u64,
}

impl Slow {
    fn is_due(&mut self, now: u64) -> bool {
        let interval = limit::slow_interval(self.every, SCHED.lost_to_blocking(), SOFT_LIMIT);
        let due = now.saturating_sub(self.last) >= interval;
        if due {
            self.last = now;
        }
        due
    }
}

/// Takes a P from an announced blocking call, if it is time (S36).
fn retake_blocking(p: &'static P, now: u64, work_waits: bool) -> Tick {
    let verdict = slice::judge_blocking(&slice::BlockingLook {
        waited: p.seen.blocking_for(p.blocking_tick(), now),
        unchanged_for: p.seen.unchanged_for(None, p.sched_tick(), now),
        has_work: p.has_work(),
        nobody_would_look: SCHED.nobody_would_find_work(),
        work_waits,
    });
    if verdict == BlockingVerdict::Leave {
        return Tick::Busy;
    }
    let Some(p) = SCHED.take_from_blocking(p) else { return Tick::Busy };
    SCHED.hand_off_p(p);
    if verdict == BlockingVerdict::Wanted { Tick::HandedOff } else { Tick::Busy }
}

/// What to do with a P that runs on `m` while work waits. Notes when it is asked to yield.
fn judge(p: &P, m: &'static M, now: u64, pause: u64) -> RunningVerdict {
    let unchanged_for = p.seen.unchanged_for(Some(m), p.sched_tick(), now);
    let look = Look {
        unchanged_for,
        pause,
        inside: m.owner.in_runtime(),
        asked_at: p.seen.asked_at(),
        quantum: policy::quantum::now(),
    };
    let is_blocked = || m.probe.is_blocked(m.tid());
    let computed = || p.seen.computed(clock::cpu_of(m.tid()), unchanged_for);
    let verdict = slice::judge(&look, is_blocked, computed);
    if let RunningVerdict::Ask(_) = verdict {
        p.seen.set_asked_at(unchanged_for);
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::g::waiter::ThreadParker;
    use crate::runtime;
    use crate::testing::succeeds_in_child;

    /// S48: what happens between the look for a deadlock and the sleep is not missed, though its
    /// ring finds the monitor awake: a foreign thread begins to wait; a P is taken, and is idle
    /// again. (The monitor here is a thread with a place of its own to sleep.) Seen to fail when
    /// `sleep_after` asked only whether all Ps are idle, and with either of the two left out of the
    /// evidence.
    #[test]
    fn the_monitor_does_not_sleep_on_an_old_look() {
        const BRIEFLY: Option<Duration> = Some(Duration::from_millis(20));
        let name = "sched::sysmon::tests::the_monitor_does_not_sleep_on_an_old_look";
        succeeds_in_child(name, 2, || {
            runtime::blocking(|| {
                let place = Dormant::new();
                let await_calm = || while sleep_after(|| BRIEFLY, &place) != Wake::TimedOut {};
                let foreign = ThreadParker::current();
                for _ in 0..3 {
                    await_calm();
                    let counts_in = || {
                        assert!(foreign.count_in());
                        BRIEFLY
                    };
                    assert_eq!(sleep_after(counts_in, &place), Wake::Woken);
                    foreign.unpark();
                    foreign.sleep_counted();
                    await_calm();
                    let takes_a_p = || {
                        let p = SCHED.take_idle_p().expect("all are idle");
                        SCHED.put_idle_p_last(p);
                        BRIEFLY
                    };
                    assert_eq!(sleep_after(takes_a_p, &place), Wake::Woken);
                }
            });
        });
    }
}
