//! The state of the simulated scheduler, and the loop over events.
//!
//! Invariants:
//! - a P is idle, waking (an M is on its way to it), searching, running a goroutine, or in a
//!   blocking call with one;
//! - `clock` counts those that compute: Ps that search or run, and goroutines without a P;
//! - `rings` and `nexts` count the Ps whose ring or `runnext` is not empty;
//! - what a P does between two bursts happens at one event; its costs add up in a local time `t`,
//!   at which the next burst begins.

use gosched_primitives::{IdleWord, Spinning};
use gosched_rules::steal::{StealIter, StealOrder};
use gosched_rules::trust;

use super::global::{Global, Rank};
use super::lines::{CacheLine, FOREIGN, Nodes};
use super::monitor::{Monitor, Seen};
use super::poller::Poller;
use super::ring::Ring;
use super::{Counters, GmpConfig, clock::Clock};
use crate::events::Events;
use crate::job::{JobId, NO_JOB, WaitsFor, Workload};
use crate::measure::{Histogram, JobResult, RunOutcome, Switches, blank_results};
use crate::random::RandomStream;
use crate::time::{NEVER, Time};
use crate::trace::{Place, Strip, Trace};

/// More events than this without time going on are a loop.
const MOST_AT_ONCE: u64 = 20_000_000;

/// Events: what in the top four bits, whom it is about in the others.
const KIND: u32 = 28;
const ABOUT: u32 = (1 << KIND) - 1;
pub(super) const BURST_ENDS: u32 = 0 << KIND;
pub(super) const STEP: u32 = 1 << KIND;
pub(super) const IO_DONE: u32 = 2 << KIND;
pub(super) const CALL_DONE: u32 = 3 << KIND;
pub(super) const AWAKE: u32 = 4 << KIND;
pub(super) const TICK: u32 = 5 << KIND;
pub(super) const KEEPER: u32 = 6 << KIND;

/// Where a goroutine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// In a queue, or waiting, or not there.
    Rest,
    /// Running on a P, or in a call from it.
    P(u32),
    /// Running without a P.
    WithoutP,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct G {
    pub(super) burst: u32,
    pub(super) children: u32,
    pub(super) waits_for: WaitsFor,
    /// Whether it was signalled while it did not wait for that.
    pub(super) is_signalled: bool,
    /// Whether its burst is over and it waits for a P to do what comes then.
    pub(super) wants_p: bool,
    pub(super) at: At,
    /// The poller in which it waits.
    pub(super) poller: u16,
    /// The P that has last run it, or has created it: in that CPU's cache it is.
    pub(super) last_p: u32,
    /// Which pick of that P it was; 0 if it has not run yet.
    pub(super) picked_at: u64,
    /// Ready since.
    pub(super) since: Time,
    pub(super) visit_began: Time,
    pub(super) ran_from: Time,
    pub(super) waited: Time,
    pub(super) longest_wait: Time,
}

/// What a P is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Idle,
    Waking,
    Searching,
    Running,
    Blocking,
}

/// What a searching P does at its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Begins to search.
    Begin,
    /// Queues what its look at the network has found.
    Looked,
    /// Is at a victim: `runnext` was this when it was last seen.
    AtVictim(u32, JobId),
    /// Is at the end of a round.
    RoundEnds,
    /// Goes on with its search, at this place of its order: the network had nothing.
    SearchOn(usize),
}

pub(super) struct P {
    pub(super) doing: Doing,
    pub(super) ring: Ring,
    pub(super) next: JobId,
    pub(super) job: JobId,
    pub(super) tick: u32,
    /// Picks in all.
    pub(super) picks: u64,
    /// Stacks that goroutines have left here, and at which pick.
    pub(super) stacks: Vec<u64>,
    /// Picks in a row that went on with the running slice.
    pub(super) inherited: u32,
    /// When its M first looked at the clock in this slice.
    pub(super) slice_began: Option<Time>,
    /// Blocking calls made with it.
    pub(super) call_tick: u32,
    /// Ms that have had it.
    pub(super) stint: u32,
    /// What the monitor saw of it.
    pub(super) seen: Seen,
    pub(super) spinning: Option<Spinning>,
    pub(super) step: Step,
    pub(super) victims: Option<StealIter>,
    pub(super) round: u32,
    pub(super) found: Vec<JobId>,
    /// Version of the idle word that is in its cache.
    pub(super) seen_idle: u32,
    /// How many lone goroutines in `runnext` it has run itself, in a row (D9).
    pub(super) trust: u32,
}

/// Idle Ps of one group, and their word.
pub(super) struct IdleGroup {
    pub(super) word: IdleWord,
    pub(super) line: CacheLine,
    pub(super) lock: CacheLine,
    pub(super) list: Vec<u32>,
    pub(super) procs: u32,
}

pub(super) struct Machine<'w, T> {
    pub(super) workload: &'w Workload,
    pub(super) config: &'w GmpConfig,
    pub(super) trace: &'w mut T,
    pub(super) clock: Clock,
    /// By the wall.
    pub(super) events: Events,
    /// By the clock of those that compute.
    pub(super) computing: Events,
    arrived: usize,
    pub(super) gs: Vec<G>,
    pub(super) ps: Vec<P>,
    pub(super) rings: u32,
    /// Goroutines in queues: from whoever queues them to `execute`.
    pub(super) queued: u32,
    pub(super) nexts: u32,
    pub(super) global: Global,
    pub(super) global_lines: Vec<CacheLine>,
    pub(super) idle: Vec<IdleGroup>,
    pub(super) idle_ps: u32,
    pub(super) pollers: Vec<Poller>,
    pub(super) nodes: Nodes,
    pub(super) orders: Vec<StealOrder>,
    pub(super) random: RandomStream,
    pub(super) without_p: u32,
    pub(super) lost_calls: u32,
    pub(super) monitor: Monitor,
    /// Events since time last went on.
    at_once: u64,
    /// What system calls in this event have cost, to be paid when all else is done.
    pub(super) debt: Time,
    pub(super) counters: Counters,
    pub(super) outcome: RunOutcome,
}

impl<'w, T: Trace> Machine<'w, T> {
    pub(super) fn new(workload: &'w Workload, config: &'w GmpConfig, trace: &'w mut T) -> Machine<'w, T> {
        let procs = config.procs;
        let gs = workload.jobs.iter().map(|spec| G {
            burst: spec.first,
            children: 0,
            waits_for: WaitsFor::Nothing,
            is_signalled: false,
            wants_p: false,
            at: At::Rest,
            poller: 0,
            last_p: FOREIGN,
            picked_at: 0,
            since: 0,
            visit_began: 0,
            ran_from: 0,
            waited: 0,
            longest_wait: 0,
        });
        Machine {
            workload,
            config,
            trace,
            clock: Clock::new(config.cpus),
            events: Events::new(),
            computing: Events::new(),
            arrived: 0,
            gs: gs.collect(),
            ps: (0..procs).map(|_| P::new()).collect(),
            rings: 0,
            queued: 0,
            nexts: 0,
            global: Global::new(config.variant.global_shards.clamp(1, procs)),
            global_lines: vec![CacheLine::new(); config.variant.global_shards.clamp(1, procs) as usize],
            idle: IdleGroup::all(procs, config.variant.idle_words),
            idle_ps: procs,
            pollers: Poller::all(config.variant.pollers.clamp(1, procs), workload.from_network),
            nodes: Nodes { size: config.node_size },
            orders: super::pick::orders(procs, config.node_size),
            random: RandomStream::new(config.seed).fork(77),
            without_p: 0,
            lost_calls: 0,
            monitor: Monitor::new(),
            at_once: 0,
            debt: 0,
            counters: Counters::default(),
            outcome: RunOutcome {
                jobs: blank_results(workload),
                end: 0,
                procs,
                useful: 0,
                overhead: 0,
                switches: Switches::default(),
                events: 0,
                latency: [(); 3].map(|()| Histogram::default()),
                gmp: None,
            },
        }
    }

    pub(super) fn run(mut self) -> RunOutcome {
        loop {
            let arrival = self.next_arrival();
            let event = self.events.next_at().unwrap_or(NEVER);
            let computing = self.computing.next_at().map_or(NEVER, |at| self.clock.on_the_wall(at));
            let at = arrival.min(event).min(computing);
            if at == NEVER || at > self.workload.horizon {
                break;
            }
            self.counters.idle_while_work += (at - self.now()) * Time::from(self.idle_ps.min(self.queued));
            self.at_once = if at == self.now() { self.at_once + 1 } else { 0 };
            assert!(self.at_once < MOST_AT_ONCE, "{}: time stands still at {at}", self.workload.name);
            self.clock.advance(at);
            self.outcome.events += 1;
            if arrival == at {
                let job = self.workload.arrivals[self.arrived];
                self.arrived += 1;
                self.arrive_from_afar(job);
            } else if event == at {
                if let Some(event) = self.events.pop() {
                    self.happen(event.what);
                }
            } else if let Some(event) = self.computing.pop() {
                self.clock.reach(event.at);
                self.happen(event.what);
            }
        }
        self.finish()
    }

    fn next_arrival(&self) -> Time {
        let job = self.workload.arrivals.get(self.arrived);
        job.map_or(NEVER, |job| self.workload.jobs[*job as usize].arrival)
    }

    fn happen(&mut self, what: u32) {
        let about = what & ABOUT;
        match what & !ABOUT {
            BURST_ENDS => self.burst_ends(about),
            STEP => self.step(about),
            IO_DONE => self.io_done(about),
            CALL_DONE => self.call_done(about),
            AWAKE => self.awake(about),
            TICK => self.monitor_tick(),
            _ => self.keeper_wakes(about as usize),
        }
    }

    /// The time, for short.
    #[inline]
    pub(super) fn now(&self) -> Time {
        self.clock.now
    }

    /// A job comes from outside: from the network, or to the global queue, as from a foreign thread
    /// (S54).
    fn arrive_from_afar(&mut self, job: JobId) {
        self.outcome.jobs[job as usize].arrival = self.now();
        if self.workload.from_network {
            let poller = job as usize % self.pollers.len();
            self.gs[job as usize].poller = poller as u16;
            self.pollers[poller].waiters += 1;
            return self.io_done(job);
        }
        self.make_ready(job);
        let mut t = self.now();
        self.put_global(FOREIGN, job, Rank::Woken, &mut t);
        self.wake_p(FOREIGN, &mut t);
        self.debt = 0;
    }

    #[inline]
    pub(super) fn make_ready(&mut self, job: JobId) {
        let now = self.now();
        let g = &mut self.gs[job as usize];
        g.since = now;
        g.visit_began = now;
        g.at = At::Rest;
    }

    /// What a P is doing from now on.
    #[inline]
    pub(super) fn set_doing(&mut self, p: u32, doing: Doing) {
        let before = std::mem::replace(&mut self.ps[p as usize].doing, doing);
        match (before.computes(), doing.computes()) {
            (false, true) => self.clock.begin(),
            (true, false) => self.clock.stop(),
            _ => {}
        }
        if before == Doing::Idle && doing != Doing::Idle {
            self.rouse_monitor();
        }
        let threads = self.config.procs - self.idle_ps + self.without_p + self.lost_calls;
        self.counters.threads = self.counters.threads.max(u64::from(threads));
    }

    /// Writes down what has not ended, and gives the tokens back.
    fn finish(mut self) -> RunOutcome {
        if self.workload.horizon != NEVER {
            self.clock.advance(self.workload.horizon.max(self.now()));
        }
        let now = self.now();
        for job in 0..self.gs.len() as JobId {
            let g = self.gs[job as usize];
            if let (At::P(_) | At::WithoutP, true) = (g.at, now > g.ran_from) {
                let place = if let At::P(p) = g.at { Place::Proc(p) } else { Place::WithoutP };
                self.trace.ran(Strip { job, place, from: g.ran_from, to: now });
            }
        }
        let mut waiting = self.drain();
        debug_assert_eq!(waiting.len(), self.queued as usize, "the books balance");
        waiting.extend(
            self.ps.iter().flat_map(|p| &p.found).chain(self.pollers.iter().flat_map(|poller| &poller.ready)),
        );
        for job in waiting {
            let g = &mut self.gs[job as usize];
            let waited = now.saturating_sub(g.since);
            g.waited += waited;
            g.longest_wait = g.longest_wait.max(waited);
        }
        for p in 0..self.ps.len() as u32 {
            if let Some(token) = self.ps[p as usize].spinning.take() {
                let _ = self.group(p).word.stop_spinning(token);
            }
        }
        for (result, g) in self.outcome.jobs.iter_mut().zip(&self.gs) {
            result.waited = g.waited;
            result.longest_wait = g.longest_wait;
        }
        self.outcome.end = end_of(&self.outcome.jobs, now);
        self.outcome.switches.forced = self.counters.taken_computing + self.counters.taken_blocking;
        self.note_busiest();
        self.outcome.gmp = Some(self.counters);
        self.outcome
    }

    /// Of each thing that serves one at a time, how busy the busiest was.
    fn note_busiest(&mut self) {
        let most = |lines: &mut dyn Iterator<Item = Time>| lines.max().unwrap_or(0);
        self.counters.global_busy = most(&mut self.global_lines.iter().map(CacheLine::busy));
        self.counters.word_busy = most(&mut self.idle.iter().map(|group| group.line.busy()));
        self.counters.list_busy = most(&mut self.idle.iter().map(|group| group.lock.busy()));
        self.counters.poller_busy = most(&mut self.pollers.iter().map(|poller| poller.busy));
    }

    /// Everybody who is queued.
    fn drain(&mut self) -> Vec<JobId> {
        let mut waiting = Vec::new();
        while self.global.len() > 0 {
            self.global.take(self.global.len(), 0, |job| waiting.push(job));
        }
        for p in &mut self.ps {
            waiting.extend(std::iter::from_fn(|| p.ring.pop()));
            if p.next != NO_JOB {
                waiting.push(p.next);
            }
        }
        waiting
    }
}

/// When the last job ended, if all have: the monitor may have looked again after that.
fn end_of(jobs: &[JobResult], now: Time) -> Time {
    let last = jobs.iter().map(|job| job.finish).max().unwrap_or(0);
    if last == NEVER { now } else { last }
}

impl Doing {
    #[inline]
    fn computes(self) -> bool {
        matches!(self, Doing::Searching | Doing::Running)
    }
}

impl P {
    fn new() -> P {
        P {
            doing: Doing::Idle,
            ring: Ring::new(),
            next: NO_JOB,
            job: NO_JOB,
            tick: 0,
            picks: 0,
            stacks: Vec::new(),
            inherited: 0,
            slice_began: None,
            call_tick: 0,
            stint: 0,
            seen: Seen::default(),
            spinning: None,
            step: Step::Begin,
            victims: None,
            round: 0,
            found: Vec::new(),
            seen_idle: 0,
            trust: trust::NONE,
        }
    }

    /// Whether anybody is queued here.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.next != NO_JOB || !self.ring.is_empty()
    }
}

impl IdleGroup {
    /// `procs` Ps in up to `groups` groups, all idle; the first P of each is the first to be taken.
    fn all(procs: u32, groups: u32) -> Vec<IdleGroup> {
        let groups = groups.clamp(1, procs);
        let group_of = |p: u32| group_of(p, procs, groups);
        (0..groups)
            .map(|group| {
                let list: Vec<u32> = (0..procs).rev().filter(|p| group_of(*p) == group).collect();
                let procs = list.len() as u32;
                IdleGroup {
                    word: IdleWord::new(procs),
                    line: CacheLine::new(),
                    lock: CacheLine::new(),
                    list,
                    procs,
                }
            })
            .collect()
    }
}

/// The group of a P, of so many groups of neighbours.
#[inline]
pub(super) fn group_of(p: u32, procs: u32, groups: u32) -> u32 {
    (u64::from(p) * u64::from(groups) / u64::from(procs)) as u32
}
