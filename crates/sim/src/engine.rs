//! The simulator for the textbook's policies: one ready queue, any number of processors.
//!
//! Invariants:
//! - a processor is idle only while nobody is ready;
//! - a job is in exactly one place: not yet arrived, in the policy's queue, on a processor,
//!   waiting, or done;
//! - a processor's event counts only if its ticket is the one that the processor remembers:
//!   preemption leaves stale ones behind.
//!
//! Nothing is allocated per event; jobs lie in one array, events in one heap.

use crate::costs::Costs;
use crate::events::{Event, EventTicket, Events};
use crate::job::{Burst, JobId, NO_JOB, Then, WaitsFor, Workload};
use crate::measure::{Histogram, RunOutcome, Switches, blank_results};
use crate::policy::{Policy, Ready, Visit};
use crate::time::{NEVER, Time};
use crate::trace::{Place, Strip, Trace};

/// Events say in their top bit whom they are about.
const ABOUT_JOB: u32 = 1 << 31;

/// What changes of a job.
#[derive(Clone, Copy, Debug)]
struct JobState {
    /// The burst it is in or comes for.
    burst: u32,
    /// Children that have not ended.
    children: u32,
    waits_for: WaitsFor,
    /// Whether it was signalled while it did not wait for that.
    is_signalled: bool,
    /// When this visit began.
    visit_began: Time,
    waited: Time,
    longest_wait: Time,
}

#[derive(Clone, Copy, Debug)]
struct Proc {
    running: Option<Visit>,
    /// When the job on it began to run: after the switch.
    began: Time,
    ticket: EventTicket,
    last: JobId,
    /// Whether the last one was interrupted.
    forced: bool,
}

struct Engine<'w, P, T> {
    workload: &'w Workload,
    policy: P,
    trace: &'w mut T,
    costs: &'w Costs,
    now: Time,
    events: Events,
    arrived: usize,
    states: Vec<JobState>,
    procs: Vec<Proc>,
    idle: Vec<u32>,
    outcome: RunOutcome,
}

/// Runs a workload under a policy.
///
/// ```
/// use gosched_sim::costs::Costs;
/// use gosched_sim::job::{Class, Workload};
/// use gosched_sim::policy::Fcfs;
/// use gosched_sim::trace::NoTrace;
///
/// let mut workload = Workload::new("two");
/// workload.add_single(0, Class::Long, 100);
/// workload.add_single(10, Class::Short, 5);
/// let outcome = gosched_sim::engine::run(&workload.finish(), Fcfs::default(), 1, &Costs::FREE, &mut NoTrace);
/// assert_eq!(outcome.jobs[1].response(), Some(95));
/// ```
pub fn run<P: Policy, T: Trace>(
    workload: &Workload,
    policy: P,
    procs: u32,
    costs: &Costs,
    trace: &mut T,
) -> RunOutcome {
    let proc = Proc { running: None, began: 0, ticket: EventTicket::default(), last: NO_JOB, forced: false };
    let states = workload.jobs.iter().map(|spec| JobState {
        burst: spec.first,
        children: 0,
        waits_for: WaitsFor::Nothing,
        is_signalled: false,
        visit_began: 0,
        waited: 0,
        longest_wait: 0,
    });
    let engine = Engine {
        workload,
        policy,
        trace,
        costs,
        now: 0,
        events: Events::new(),
        arrived: 0,
        states: states.collect(),
        procs: vec![proc; procs as usize],
        idle: (0..procs).rev().collect(),
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
    };
    engine.run()
}

impl<P: Policy, T: Trace> Engine<'_, P, T> {
    fn run(mut self) -> RunOutcome {
        loop {
            let arrival = self.next_arrival();
            let event = self.events.next_at().unwrap_or(NEVER);
            let at = arrival.min(event);
            if at == NEVER || at > self.workload.horizon {
                break;
            }
            self.now = at;
            self.outcome.events += 1;
            if arrival <= event {
                let job = self.workload.arrivals[self.arrived];
                self.arrived += 1;
                self.arrive(job);
            } else if let Some(event) = self.events.pop() {
                self.happen(event);
            }
        }
        self.finish()
    }

    fn next_arrival(&self) -> Time {
        let job = self.workload.arrivals.get(self.arrived);
        job.map_or(NEVER, |job| self.workload.jobs[*job as usize].arrival)
    }

    fn happen(&mut self, event: Event) {
        if event.what & ABOUT_JOB != 0 {
            return self.come(event.what & !ABOUT_JOB);
        }
        if self.procs[event.what as usize].ticket != event.ticket {
            self.outcome.events -= 1;
            return;
        }
        self.slice_ends(event.what);
    }

    /// A job comes to the ready queue: it has arrived, or has been waiting for something else.
    fn come(&mut self, job: JobId) {
        let state = &mut self.states[job as usize];
        state.visit_began = self.now;
        let service = self.workload.bursts[state.burst as usize].cpu;
        let visit = Visit { job, since: self.now, service, executed: 0 };
        self.policy.ready(visit, Ready::Fresh);
        if let Some(proc) = self.idle.pop() {
            self.dispatch(proc);
        } else if let Some(proc) = self.victim(&visit) {
            self.preempt(proc);
            self.dispatch(proc);
        }
    }

    /// Of the processors that a newcomer may take, the one whose job has most to do.
    fn victim(&self, fresh: &Visit) -> Option<u32> {
        if self.policy.mode() == crate::policy::Mode::Cooperative {
            return None;
        }
        let running = |proc: &Proc| proc.running.map(|visit| self.progress(proc, visit));
        (0..self.procs.len() as u32)
            .filter_map(|proc| Some((running(&self.procs[proc as usize])?, proc)))
            .filter(|(visit, _)| self.policy.preempts(fresh, visit))
            .max_by_key(|(visit, proc)| (visit.left(), std::cmp::Reverse(*proc)))
            .map(|(_, proc)| proc)
    }

    /// What somebody who runs has executed by now.
    fn progress(&self, proc: &Proc, visit: Visit) -> Visit {
        Visit { executed: visit.executed + self.now.saturating_sub(proc.began), ..visit }
    }

    fn preempt(&mut self, proc: u32) {
        if let Some(visit) = self.leave(proc) {
            self.procs[proc as usize].forced = true;
            self.policy.ready(Visit { since: self.now, ..visit }, Ready::Preempted);
        }
    }

    /// Takes the job off a processor; with what it has executed by now.
    fn leave(&mut self, proc: u32) -> Option<Visit> {
        let seat = self.procs[proc as usize];
        let visit = self.progress(&seat, seat.running?);
        self.procs[proc as usize] =
            Proc { running: None, ticket: EventTicket::default(), last: visit.job, forced: false, ..seat };
        let (from, to) = (seat.began.min(self.now), self.now);
        self.outcome.useful += to - from;
        self.trace.ran(Strip { job: visit.job, place: Place::Proc(proc), from, to });
        Some(visit)
    }

    /// The burst is over, or the slice.
    fn slice_ends(&mut self, proc: u32) {
        let Some(visit) = self.leave(proc) else { return };
        if visit.left() > 0 {
            self.procs[proc as usize].forced = true;
            self.policy.ready(Visit { since: self.now, ..visit }, Ready::Expired);
        } else {
            self.end_burst(visit.job);
        }
        self.dispatch(proc);
    }

    /// Gives a free processor to whom the policy picks.
    fn dispatch(&mut self, proc: u32) {
        let Some(visit) = self.policy.pick(self.now) else {
            self.idle.push(proc);
            return;
        };
        let waited = self.now - visit.since;
        let state = &mut self.states[visit.job as usize];
        state.waited += waited;
        state.longest_wait = state.longest_wait.max(waited);
        let seat = self.procs[proc as usize];
        let cost = match (seat.last == visit.job, seat.forced) {
            (true, _) => 0,
            (false, true) => {
                self.outcome.switches.forced += 1;
                self.costs.preempt
            }
            (false, false) => {
                self.outcome.switches.voluntary += 1;
                self.costs.switch
            }
        };
        self.outcome.overhead += cost;
        let began = self.now + cost;
        let runs = visit.left().min(self.policy.slice(&visit));
        let ticket = self.events.schedule(began + runs, proc);
        self.procs[proc as usize] = Proc { running: Some(visit), began, ticket, ..seat };
    }

    /// What a job does after its burst.
    fn end_burst(&mut self, job: JobId) {
        let state = &mut self.states[job as usize];
        let Burst { then, .. } = self.workload.bursts[state.burst as usize];
        state.burst += 1;
        let class = self.workload.jobs[job as usize].class;
        self.outcome.latency[class as usize].add(self.now - state.visit_began);
        match then {
            Then::Exit => self.exit(job),
            Then::Io(wait) | Then::Block(wait) => {
                self.events.schedule(self.now + wait, ABOUT_JOB | job);
            }
            Then::Yield => self.come(job),
            Then::Fork { first, count } => {
                state.children += count;
                for child in first..first + count {
                    self.arrive(child);
                }
                self.come(job);
            }
            Then::Join if state.children == 0 => self.come(job),
            Then::Join => state.waits_for = WaitsFor::Children,
            Then::JoinOf(child) if self.outcome.jobs[child as usize].finish != NEVER => self.come(job),
            Then::JoinOf(child) => state.waits_for = WaitsFor::EndOf(child),
            Then::Signal(other) => {
                self.signal(other);
                self.come(job);
            }
            Then::Await if std::mem::take(&mut state.is_signalled) => self.come(job),
            Then::Await => state.waits_for = WaitsFor::Signal,
        }
    }

    fn signal(&mut self, job: JobId) {
        let state = &mut self.states[job as usize];
        if state.waits_for == WaitsFor::Signal {
            state.waits_for = WaitsFor::Nothing;
            self.come(job);
        } else {
            state.is_signalled = true;
        }
    }

    /// A job is there, by itself or because it was created.
    fn arrive(&mut self, job: JobId) {
        self.outcome.jobs[job as usize].arrival = self.now;
        self.come(job);
    }

    fn exit(&mut self, job: JobId) {
        self.outcome.jobs[job as usize].finish = self.now;
        let parent = self.workload.jobs[job as usize].parent;
        if parent == NO_JOB {
            return;
        }
        let state = &mut self.states[parent as usize];
        state.children -= 1;
        let is_awaited = match state.waits_for {
            WaitsFor::Children => state.children == 0,
            WaitsFor::EndOf(child) => child == job,
            WaitsFor::Nothing | WaitsFor::Signal => false,
        };
        if is_awaited {
            state.waits_for = WaitsFor::Nothing;
            self.come(parent);
        }
    }

    /// Writes down the waits, of those too that still wait.
    fn finish(mut self) -> RunOutcome {
        if self.workload.horizon != NEVER {
            self.now = self.workload.horizon;
        }
        while let Some(visit) = self.policy.pick(self.now) {
            let waited = self.now - visit.since;
            let state = &mut self.states[visit.job as usize];
            state.waited += waited;
            state.longest_wait = state.longest_wait.max(waited);
        }
        for proc in 0..self.procs.len() as u32 {
            self.leave(proc);
        }
        for (result, state) in self.outcome.jobs.iter_mut().zip(&self.states) {
            result.waited = state.waited;
            result.longest_wait = state.longest_wait;
        }
        self.outcome.end = self.now;
        self.outcome
    }
}
