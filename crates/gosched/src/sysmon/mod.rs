//! The monitor (S34–S38): a thread without a P that sees to it that nobody holds one too long.
//!
//! Every tick it looks at each P. One whose M has been in an announced blocking call for a tick is taken by one CAS. One
//! whose goroutine has not come back to the scheduler is taken by the ownership protocol (D1): at once if the thread
//! is blocked in the kernel, after its time slice if it computes, and then only after it was asked. The goroutine goes
//! on undisturbed, without a P; the P goes to another M.
//!
//! Two clocks measure a slice. A goroutine is *asked* to yield when it has held its P for 10 ms by the wall clock: that is what
//! the others have waited, and yielding at a moving call costs nobody anything. Its P is *taken* when its thread has computed
//! for 10 ms: whoever loses it is one more thread for the kernel to run (D1). On a machine that is busy with others the two are
//! far apart. (A loop of sends beside four busy threads on 2 CPUs, 2026-11-18: it gave way every 40 ms, 125 at most, when it
//! was asked by its thread's time; every 11, 35 at most, since.)
//!
//! Invariants: it allocates nothing, takes no lock that user code may hold, waits for no reader of what it has to say (the
//! reporter says it), and runs nothing of the user's. It takes a P only
//! while work waits for one. What it remembers of a P is in [`Seen`], which nobody else touches.

mod pace;
mod probe;
mod seen;
mod stall;
mod tidy;

use core::ffi::c_void;
use core::sync::atomic::Ordering;
use core::time::Duration;
use std::io;

use gosched_primitives::{Dormant, Retaking, TakerToken, Wake};

use crate::dump;
use crate::fatal::{fatal, write_stderr};
use crate::g::since;
use crate::m::{M, Taken};
use crate::p::{P, PStatus};
use crate::runtime::debug;
use crate::sched::{Deadlock, LONGEST_STOP, RETRY_STACKLESS, SCHED, SOFT_LIMIT, heavy_barrier};
use crate::sys::thread::{self, Defaults, TightTimerSlack, TimeSlice};
use crate::timers::{self, now};
use pace::{Pace, Patience};
use tidy::Housekeeping;

pub(crate) use probe::Probe;
pub(crate) use seen::Seen;
pub(crate) use stall::Held;

/// How long a goroutine may hold its P while others wait, before it is asked to yield: by the wall clock, since that is what the
/// others wait by. And how long it may compute, by its thread's own time, before its P is taken (S37).
const TIME_SLICE: u64 = 10_000_000;
/// How long it may keep its P by the wall clock, if the kernel does not let it use its slice up.
const LONGEST_HOLD: u64 = 100_000_000;
/// How long it may go on computing after it was asked to yield, and how long by the wall clock.
const ANSWER_WITHIN: u64 = 1_000_000;
const LONGEST_ANSWER: u64 = 20_000_000;
/// How long a P may be out of touch before its thread is asked whether it is blocked (D2).
const OUT_OF_TOUCH: u64 = 100_000;
/// After a longer pause than this, a P that has moved may have been blocked for long, too.
const LONG_PAUSE: u64 = 2_000_000;
/// How long a P may sit in an announced blocking call when nobody wants it (S36).
const BLOCKING_UNWANTED: u64 = 10_000_000;
/// Beyond the soft limit, one hand-off of a blocked thread in this time; beyond twice the limit in twice this time, and so
/// on.
const SLOW_HAND_OFF: u64 = 1_000_000;
/// As `SLOW_HAND_OFF`, for goroutines that were held back: each may cost another thread, and the wait of the others be long.
const SLOW_START: u64 = 50_000_000;
/// The most doublings of those times.
const SLOWEST: u32 = 8;
/// How long new goroutines stand behind woken ones after one was found computing beyond its slice.
const PRESSURE_LASTS: u64 = 100_000_000;
const STACK_BYTES: usize = 128 * 1024;

/// Whom a request to yield is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// One that has computed for most of its slice.
    Computing,
    /// One that has held its P for that long; but the kernel ran others, too.
    Held,
}

/// What is to be done with a P that runs.
enum Verdict {
    Leave,
    /// Look again soon: it is blocked, but perhaps only just.
    Suspect,
    /// Ask its goroutine to yield.
    Ask(Asked),
    /// It would be taken, but its M is inside the runtime: tell it to give the P up itself.
    Insist,
    /// Take it from this M.
    Take(&'static M, Taken),
}

/// A retake that was begun.
struct Begun {
    p: &'static P,
    m: &'static M,
    kind: Taken,
    retaking: Retaking,
}

/// Where the monitor sleeps while all Ps are idle (S33, S34).
static DORMANT: Dormant = Dormant::new();

/// Starts the monitor.
pub(crate) fn start(defaults: &'static Defaults) -> io::Result<()> {
    thread::spawn(STACK_BYTES, main, core::ptr::from_ref(defaults).cast_mut().cast())
}

/// A P has become busy: the monitor must be awake. Called after the idle count has changed.
#[inline]
pub(crate) fn wake_up() {
    DORMANT.wake_up_after(|| since::set_clock(now()));
}

extern "C" fn main(defaults: *mut c_void) -> *mut c_void {
    thread::set_name(c"gosched-sysmon");
    // SAFETY: `start` passed this, for ever.
    unsafe { &*defaults.cast::<Defaults>() }.adopt();
    let _slack = TightTimerSlack::begin();
    thread::set_time_slice(0, TimeSlice::Shortest);
    let mut pace = Pace::new();
    let mut monitor = Monitor::new();
    let mut patience = Patience::new();
    let stall_limit = debug::get().stall.map(|limit| limit.as_nanos() as u64);
    let mut housekeeping = Housekeeping::new(now());
    loop {
        housekeeping.step(now());
        if pace.is_idle_for_long() {
            let retry = (SCHED.stackless() > 0).then_some(RETRY_STACKLESS);
            let limits = [look_for_deadlock(&mut patience), housekeeping.pause(now()), retry];
            let limit = limits.into_iter().flatten().min();
            match DORMANT.sleep_unless(limit, || !SCHED.all_idle() || SCHED.held_back() > 0) {
                Wake::TimedOut => {
                    monitor.help_stackless(now());
                    continue;
                }
                Wake::Woken => {
                    pace = Pace::new();
                    patience = Patience::new();
                    housekeeping.renew();
                }
            }
        }
        std::thread::sleep(pace.pause());
        if SCHED.is_stopped() {
            await_start();
            continue;
        }
        let now = now();
        since::set_clock(now);
        let tick = monitor.tick(now);
        let stalls = stall_limit.map_or(Tick::Idle, |limit| stall::look(limit, now));
        pace.note(tick.max(stalls));
        if pace.is_costly() {
            pace.charge(probe::own_cpu_time(), timers::now());
        }
    }
}

/// Ends the process if no goroutine can ever run again; else says how long to sleep before the next look, if one is needed:
/// while only threads that are not ours stand in the way (S48).
fn look_for_deadlock(patience: &mut Patience) -> Option<Duration> {
    match SCHED.check_dead() {
        Deadlock::No => None,
        Deadlock::ThreadsInTheWay => Some(patience.next()),
        Deadlock::Yes => dump::deadlock(),
        Deadlock::OutOfStacks => {
            SCHED.end_out_of_stacks();
            None
        }
    }
}

/// Sleeps while the world stands still; for too long, and the process ends (API).
fn await_start() {
    if SCHED.await_start(LONGEST_STOP) {
        let headline = "fatal error: the closure of stop_the_world does not end; all goroutines:";
        write_stderr(dump::all(headline).as_bytes());
        fatal!(
            "the world stood still for {LONGEST_STOP:?}: the closure of stop_the_world must not wait for anybody"
        );
    }
}

/// What a tick came to, for the pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tick {
    /// All Ps are idle.
    Idle,
    /// A P is busy, but with no goroutine.
    Quiet,
    /// Goroutines run, and every P has been back in the scheduler since the last tick.
    Calm,
    /// A goroutine runs on, or is in a blocking call with its P.
    Busy,
    /// A P is blocked, but perhaps only just.
    Suspect,
    /// A P was taken from a thread that is blocked: more will follow.
    HandedOff,
}

struct Monitor {
    slow_hand_off: Slow,
    slow_start: Slow,
    warned: bool,
    warned_of_stacks: bool,
    /// When those who wait for a stack last tried.
    stacks_tried_at: u64,
    /// When the last tick was.
    ticked_at: u64,
    /// When a goroutine was last found computing beyond its slice while others waited.
    hogged_at: Option<u64>,
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
            hogged_at: None,
        }
    }

    fn tick(&mut self, now: u64) -> Tick {
        let mut tick = Tick::Quiet;
        let pause = now.saturating_sub(core::mem::replace(&mut self.ticked_at, now));
        let pressure = self.hogged_at.is_some_and(|at| now.saturating_sub(at) < PRESSURE_LASTS);
        SCHED.set_under_pressure(pressure);
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
        let mut taker = SCHED.taker.lock();
        let mut begun: [Option<Begun>; MAX_AT_ONCE] = [const { None }; MAX_AT_ONCE];
        let mut places = begun.iter_mut();
        for p in SCHED.all_p() {
            match p.status() {
                PStatus::Idle | PStatus::Stopped | PStatus::Dead => {}
                PStatus::Blocking => tick = tick.max(retake_blocking(p, now, waiting)),
                PStatus::Running => {
                    let moved = p.seen.has_moved(p.sched_tick());
                    tick = tick.max(if moved { Tick::Calm } else { Tick::Busy });
                    if !waiting {
                        continue;
                    }
                    match self.look(p, now, pause, &mut taker) {
                        Verdict::Leave | Verdict::Ask(_) | Verdict::Insist => {}
                        Verdict::Suspect => tick = tick.max(Tick::Suspect),
                        Verdict::Take(m, kind) => {
                            let Some(place) = places.next() else { break };
                            *place = begin(p, m, kind, &mut taker);
                        }
                    }
                }
            }
        }
        if begun.iter().any(Option::is_some) {
            heavy_barrier();
        }
        for begun in begun.into_iter().flatten() {
            if finish(begun, &mut taker) == Some(Taken::Blocked) {
                tick = Tick::HandedOff;
            }
        }
        tick
    }

    /// Judges a P that runs, `pause` after the last tick. Asks by itself.
    fn look(&mut self, p: &'static P, now: u64, pause: u64, taker: &mut TakerToken) -> Verdict {
        let Some(m) = p.m() else { return Verdict::Leave };
        let verdict = judge(p, m, now, pause);
        match verdict {
            Verdict::Ask(asked) => {
                if asked == Asked::Computing {
                    self.hogged_at = Some(now);
                    SCHED.set_under_pressure(true);
                }
                let _ = m.owner.request_preempt(taker);
            }
            Verdict::Insist => {
                p.insist();
                let _ = m.owner.request_preempt(taker);
            }
            Verdict::Take(_, Taken::Blocked) if !self.may_hand_off(m, now) => return Verdict::Leave,
            _ => {}
        }
        verdict
    }

    /// Beyond the soft limit, hand-offs of blocked threads are few and far between (D1).
    fn may_hand_off(&mut self, m: &M, now: u64) -> bool {
        if SCHED.lost_to_blocking() < SOFT_LIMIT {
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

    /// Once in a while, those who wait for a stack try again.
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

    /// Lets goroutines go that were held back: as many as threads came free, or one once in a while.
    fn let_go(&mut self, now: u64) {
        let room = SOFT_LIMIT.saturating_sub(SCHED.lost_to_blocking());
        if room > 0 {
            SCHED.let_go(room as usize);
        } else if self.slow_start.is_due(now) {
            SCHED.let_go(1);
        }
    }
}

/// Something that is done rarely: the more threads are blocked, the more rarely. What holds them up needs time more than
/// company.
struct Slow {
    every: u64,
    last: u64,
}

impl Slow {
    fn is_due(&mut self, now: u64) -> bool {
        let excess = SCHED.lost_to_blocking().saturating_sub(SOFT_LIMIT) / SOFT_LIMIT;
        let due = now.saturating_sub(self.last) >= self.every << excess.min(SLOWEST);
        if due {
            self.last = now;
        }
        due
    }
}

/// Retakes tried in one tick; the others wait for the next.
const MAX_AT_ONCE: usize = 16;

/// Takes a P from an announced blocking call: at the next tick if somebody wants it, else after 10 ms (S36). From a goroutine
/// that makes one short call after the other, at the end of its slice if work `is_waiting`: it can't be asked inside a call.
fn retake_blocking(p: &'static P, now: u64, is_waiting: bool) -> Tick {
    let waited = p.seen.blocking_for(p.blocking_tick(), now);
    let slice_is_over = p.seen.unchanged_for(None, p.sched_tick(), now) >= TIME_SLICE;
    let wanted =
        (waited > 0 && (p.has_work() || SCHED.nobody_would_find_work())) || (is_waiting && slice_is_over);
    if !(wanted || waited > BLOCKING_UNWANTED) || !SCHED.take_from_blocking(p, PStatus::Idle) {
        return Tick::Busy;
    }
    SCHED.hand_off_p(p);
    if wanted { Tick::HandedOff } else { Tick::Busy }
}

fn judge(p: &P, m: &'static M, now: u64, pause: u64) -> Verdict {
    let unchanged = p.seen.unchanged_for(Some(m), p.sched_tick(), now);
    let in_touch = unchanged < OUT_OF_TOUCH;
    if in_touch && pause < LONG_PAUSE {
        return Verdict::Leave;
    }
    // One that is inside can be asked, but neither is it blocked, nor can its P be taken.
    let inside = m.owner.in_runtime();
    if !inside && m.probe.is_blocked(m.tid()) {
        return if in_touch { Verdict::Suspect } else { Verdict::Take(m, Taken::Blocked) };
    }
    if in_touch {
        return Verdict::Leave;
    }
    let computed = p.seen.computed(probe::cpu_time(m.tid()), unchanged);
    match p.seen.asked_at.load(Ordering::Relaxed) {
        0 if unchanged < TIME_SLICE => Verdict::Leave,
        0 => {
            p.seen.asked_at.store(unchanged, Ordering::Relaxed);
            Verdict::Ask(if 2 * computed >= unchanged { Asked::Computing } else { Asked::Held })
        }
        asked_at if !has_had_its_time(computed, unchanged, unchanged - asked_at) => Verdict::Leave,
        _ if inside => Verdict::Insist,
        _ => Verdict::Take(m, Taken::Computing),
    }
}

/// Whether a goroutine that computes loses its P, `asked` after it was asked to yield. On a machine that is busy with others
/// it is given the time to use its slice up, and to answer.
fn has_had_its_time(computed: u64, unchanged: u64, asked: u64) -> bool {
    let slice = TIME_SLICE * u64::from((SCHED.computing_without_p() / (4 * SCHED.procs())).max(1));
    if computed < slice {
        return unchanged >= LONGEST_HOLD + LONGEST_ANSWER;
    }
    asked >= LONGEST_ANSWER || (asked >= ANSWER_WITHIN && computed >= slice + ANSWER_WITHIN)
}

fn begin(p: &'static P, m: &'static M, kind: Taken, taker: &mut TakerToken) -> Option<Begun> {
    let retaking = m.owner.begin_retake(taker)?;
    SCHED.count_taken(m, kind);
    Some(Begun { p, m, kind, retaking })
}

/// Takes the P if the M is still in user code, and hands it to somebody else.
fn finish(begun: Begun, taker: &mut TakerToken) -> Option<Taken> {
    let Begun { p: looked_at, m, kind, retaking } = begun;
    match m.owner.finish_retake_with(taker, retaking, || m.p()) {
        Some(Some(p)) => {
            p.stop();
            m.probe.close();
            if kind == Taken::Computing {
                thread::set_time_slice(m.tid(), TimeSlice::Long);
            }
            SCHED.hand_off_p(p);
            Some(kind)
        }
        _ => {
            if kind == Taken::Computing {
                looked_at.insist();
            }
            SCHED.count_kept(m);
            None
        }
    }
}
