//! What a goroutine does: its bursts, and what comes after each.

use super::global::Rank;
use super::lines::FOREIGN;
use super::machine::{At, BURST_ENDS, CALL_DONE, Doing, IO_DONE, Machine};
use crate::job::{Burst, JobId, NO_JOB, Then, WaitsFor};
use crate::time::{NEVER, Time};
use crate::trace::{Place, Strip, Trace};

impl<T: Trace> Machine<'_, T> {
    /// Runs `job` on `p` from `t` on.
    pub(super) fn execute(&mut self, p: u32, job: JobId, t: Time) {
        let t = t + self.config.costs.switch + self.arrival_cost(p, job);
        self.outcome.switches.voluntary += 1;
        self.queued -= 1;
        self.set_doing(p, Doing::Running);
        self.ps[p as usize].job = job;
        let g = &mut self.gs[job as usize];
        let waited = t.saturating_sub(g.since);
        g.waited += waited;
        g.longest_wait = g.longest_wait.max(waited);
        if std::mem::take(&mut g.wants_p) {
            return self.act(p, job, t);
        }
        self.begin_burst(p, job, t);
    }

    /// What it costs to get at the goroutine's header and stack: they come from another CPU if it
    /// ran there, or from memory if many others ran here since. One that is new gets the stack that
    /// was left last, or a fresh one.
    fn arrival_cost(&mut self, p: u32, job: JobId) -> Time {
        let costs = &self.config.costs;
        let own = &mut self.ps[p as usize];
        own.picks += 1;
        let g = &mut self.gs[job as usize];
        let before = std::mem::replace(&mut g.picked_at, own.picks);
        let last = std::mem::replace(&mut g.last_p, p);
        let stack = match before {
            0 => own.stacks.pop().map_or(costs.stack, |left_at| costs.cold_after(own.picks - left_at)),
            _ if last == p => costs.cold_after(own.picks - before),
            _ => 0,
        };
        let way = match last {
            last if last == p || last == FOREIGN => 0,
            last if self.nodes.of(last) == self.nodes.of(p) => costs.migrate,
            _ => costs.migrate * costs.far_miss / costs.miss.max(1),
        };
        stack + way
    }

    /// What it costs `p` to get at one line of a goroutine's header.
    fn reach_cost(&self, p: u32, job: JobId) -> Time {
        let (costs, last) = (&self.config.costs, self.gs[job as usize].last_p);
        match last {
            last if last == p || last == FOREIGN => 0,
            last if p != FOREIGN && self.nodes.of(last) == self.nodes.of(p) => costs.miss,
            _ => costs.far_miss,
        }
    }

    /// The next burst of the goroutine that `p` has, from `t` on.
    fn begin_burst(&mut self, p: u32, job: JobId, t: Time) {
        let t = t + std::mem::take(&mut self.debt);
        let late = t - self.now();
        self.outcome.overhead += late;
        let g = &mut self.gs[job as usize];
        g.at = At::P(p);
        g.ran_from = t;
        let cpu = self.workload.bursts[g.burst as usize].cpu;
        self.computing.schedule(self.clock.after(late + cpu), BURST_ENDS | job);
    }

    pub(super) fn burst_ends(&mut self, job: JobId) {
        let now = self.now();
        let g = &mut self.gs[job as usize];
        let (at, from) = (g.at, g.ran_from.min(now));
        let class = self.workload.jobs[job as usize].class;
        self.outcome.useful += self.workload.bursts[g.burst as usize].cpu;
        self.outcome.latency[class as usize].add(now - g.visit_began);
        match at {
            At::P(p) => {
                self.trace.ran(Strip { job, place: Place::Proc(p), from, to: now });
                self.act(p, job, now);
            }
            At::WithoutP => {
                self.trace.ran(Strip { job, place: Place::WithoutP, from, to: now });
                self.act_without_p(job);
            }
            At::Rest => unreachable!("job {job} ended a burst that it did not run"),
        }
    }

    /// What comes after a burst, on a P, at `t`.
    fn act(&mut self, p: u32, job: JobId, mut t: Time) {
        let g = &mut self.gs[job as usize];
        let Burst { then, .. } = self.workload.bursts[g.burst as usize];
        g.burst += 1;
        g.at = At::Rest;
        match then {
            Then::Exit => {
                self.exit(p, job, &mut t);
                self.schedule(p, t);
            }
            Then::Io(wait) => {
                let poller = self.poller_of(p);
                self.pollers[poller].waiters += 1;
                self.gs[job as usize].poller = poller as u16;
                self.events.schedule(t + wait, IO_DONE | job);
                self.schedule(p, t);
            }
            Then::Block(wait) => {
                self.gs[job as usize].at = At::P(p);
                self.set_doing(p, Doing::Blocking);
                self.lose_trust(p);
                self.ps[p as usize].call_tick += 1;
                self.events.schedule(t + wait, CALL_DONE | job);
            }
            Then::Yield => {
                self.make_ready(job);
                self.put_global(p, job, Rank::Woken, &mut t);
                self.schedule(p, t);
            }
            Then::Fork { first, count } => {
                self.fork(p, job, first..first + count, &mut t);
                self.go_on(p, job, t);
            }
            Then::Join if g.children == 0 => self.go_on(p, job, t),
            Then::Join => self.wait_for(p, job, WaitsFor::Children, t),
            Then::JoinOf(child) if self.outcome.jobs[child as usize].finish != NEVER => {
                // The word by which they settle it, and the result.
                t += 2 * self.reach_cost(p, child);
                self.go_on(p, job, t);
            }
            Then::JoinOf(child) => self.wait_for(p, job, WaitsFor::EndOf(child), t),
            Then::Signal(other) => {
                self.signal(p, other, &mut t);
                self.go_on(p, job, t);
            }
            Then::Await if std::mem::take(&mut g.is_signalled) => self.go_on(p, job, t),
            Then::Await => self.wait_for(p, job, WaitsFor::Signal, t),
        }
    }

    fn wait_for(&mut self, p: u32, job: JobId, what: WaitsFor, t: Time) {
        self.gs[job as usize].waits_for = what;
        self.schedule(p, t + self.config.costs.park);
    }

    /// Unparks a goroutine, or leaves it the mark that spares it the next wait (S18).
    fn signal(&mut self, p: u32, job: JobId, t: &mut Time) {
        let g = &mut self.gs[job as usize];
        if g.waits_for == WaitsFor::Signal {
            g.waits_for = WaitsFor::Nothing;
            self.wake(p, job, t);
        } else {
            g.is_signalled = true;
        }
    }

    /// A goroutine that waited is runnable: woken by one on `p`, or by one without a P (S54).
    fn wake(&mut self, p: u32, job: JobId, t: &mut Time) {
        self.make_ready(job);
        *t += self.config.costs.wake + self.reach_cost(p, job);
        if p == FOREIGN {
            self.put_global(p, job, Rank::Woken, t);
        } else if self.queue_trusted(p, job) {
            return;
        } else {
            self.put_next(p, job, t);
        }
        self.wake_p(p, t);
    }

    /// The same goroutine goes on, on the same P and in the same slice.
    fn go_on(&mut self, p: u32, job: JobId, t: Time) {
        self.gs[job as usize].visit_began = self.now();
        self.begin_burst(p, job, t);
    }

    /// Children are born in `runnext`, each kicking out the one before (S8, S21).
    fn fork(&mut self, p: u32, job: JobId, children: std::ops::Range<JobId>, t: &mut Time) {
        self.gs[job as usize].children += children.len() as u32;
        for child in children {
            *t += self.config.costs.spawn;
            self.outcome.jobs[child as usize].arrival = self.now();
            self.make_ready(child);
            self.gs[child as usize].last_p = p;
            self.put_next(p, child, t);
            self.wake_p(p, t);
        }
    }

    /// A goroutine ends; the last child readies who waits for it. `p` is [`FOREIGN`] if it had
    /// none.
    fn exit(&mut self, p: u32, job: JobId, t: &mut Time) {
        self.outcome.jobs[job as usize].finish = self.now();
        *t += self.config.costs.exit;
        if let Some(own) = self.ps.get_mut(p as usize) {
            own.stacks.push(own.picks);
        }
        let parent = self.workload.jobs[job as usize].parent;
        if parent == NO_JOB {
            return;
        }
        let g = &mut self.gs[parent as usize];
        g.children -= 1;
        let is_awaited = match g.waits_for {
            WaitsFor::Children => g.children == 0,
            WaitsFor::EndOf(child) => child == job,
            WaitsFor::Nothing | WaitsFor::Signal => false,
        };
        if is_awaited {
            g.waits_for = WaitsFor::Nothing;
            // The word by which they settle it was last written there.
            *t += self.reach_cost(p, parent);
            self.wake(p, parent, t);
        }
    }

    /// A goroutine without a P comes to the library: it ends, or needs a P for what it wants to do
    /// (D1).
    fn act_without_p(&mut self, job: JobId) {
        self.without_p -= 1;
        self.clock.stop();
        let mut t = self.now();
        let burst = self.gs[job as usize].burst;
        if self.workload.bursts[burst as usize].then == Then::Exit {
            self.gs[job as usize].at = At::Rest;
            self.exit(FOREIGN, job, &mut t);
            self.debt = 0;
            return;
        }
        if let Some(p) = self.take_idle_p(FOREIGN, &mut t) {
            self.set_doing(p, Doing::Running);
            self.ps[p as usize].job = job;
            return self.act(p, job, t);
        }
        self.gs[job as usize].wants_p = true;
        self.queue_preempted(job, t);
    }

    /// A blocking call is over: the old P if it is still there, any idle one, else the global queue
    /// (S19).
    pub(super) fn call_done(&mut self, job: JobId) {
        let mut t = self.now();
        if let At::P(p) = self.gs[job as usize].at {
            self.set_doing(p, Doing::Running);
            self.make_ready(job);
            return self.begin_burst(p, job, t);
        }
        self.lost_calls -= 1;
        if let Some(p) = self.take_idle_p(FOREIGN, &mut t) {
            self.set_doing(p, Doing::Running);
            self.ps[p as usize].job = job;
            self.make_ready(job);
            return self.begin_burst(p, job, t);
        }
        self.queue_preempted(job, t);
    }

    fn queue_preempted(&mut self, job: JobId, mut t: Time) {
        self.make_ready(job);
        self.put_global(FOREIGN, job, Rank::Preempted, &mut t);
        self.wake_p(FOREIGN, &mut t);
        self.debt = 0;
    }

    /// The monitor takes the P from a goroutine, which goes on without (D1).
    pub(super) fn take_p(&mut self, p: u32) {
        let (job, now) = (self.ps[p as usize].job, self.now());
        let g = &mut self.gs[job as usize];
        match self.ps[p as usize].doing {
            Doing::Running => {
                let from = g.ran_from.min(now);
                g.at = At::WithoutP;
                g.ran_from = now;
                self.trace.ran(Strip { job, place: Place::Proc(p), from, to: now });
                self.without_p += 1;
                self.clock.begin();
                self.counters.taken_computing += 1;
            }
            Doing::Blocking => {
                g.at = At::Rest;
                self.lost_calls += 1;
                self.counters.taken_blocking += 1;
            }
            Doing::Idle | Doing::Waking | Doing::Searching => return,
        }
        self.ps[p as usize].job = NO_JOB;
        self.hand_off_p(p);
    }
}
