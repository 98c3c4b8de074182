//! Where the next goroutine comes from (S21–S27): own queue, global queue, network, then the
//! others' queues.
//!
//! Stealing goes in steps, because a look at a thousand rings takes time: the thief finds the first
//! victim with work as things are now, and gets there after so many looks; by then the work may be
//! gone, and it goes on from there. What appears behind its back is found in the next round.

use gosched_rules::batch::{RING, grab_count};
use gosched_rules::pick::{self, Local, PICK_ORDER, SEARCH_ORDER, Search, Slice};
use gosched_rules::poll::wakes_another;
use gosched_rules::steal::{STEAL_ROUNDS, StealOrder, takes_runnext};

use super::Stealing;
use super::global::Rank;
use super::lines::FOREIGN;
use super::machine::{Doing, Machine, STEP, Step, group_of};
use super::poller::REPORTS;
use crate::job::{JobId, NO_JOB};
use crate::time::Time;
use crate::trace::Trace;

/// The orders of stealing: among all Ps, among those of a full node, among those of the last one.
pub(super) fn orders(procs: u32, node_size: u32) -> Vec<StealOrder> {
    let last = (procs - 1) % node_size + 1;
    vec![StealOrder::new(procs), StealOrder::new(node_size.min(procs)), StealOrder::new(last)]
}

impl<T: Trace> Machine<'_, T> {
    /// The P has nothing to do at `t`: finds it something.
    pub(super) fn schedule(&mut self, p: u32, mut t: Time) {
        self.ps[p as usize].job = NO_JOB;
        if let Some((job, slice)) = self.pick_local(p, &mut t) {
            self.stop_spinning(p, &mut t);
            return self.start(p, job, slice, t);
        }
        self.set_doing(p, Doing::Searching);
        self.search(p, 0, t);
    }

    /// What a P with empty queues looks at, from this place of the order on (S25).
    fn search(&mut self, p: u32, from: usize, mut t: Time) {
        for (i, place) in SEARCH_ORDER.into_iter().enumerate().skip(from) {
            match place {
                Search::GlobalQueue => {
                    if let Some(job) = self.grab_global(p, None, &mut t) {
                        return self.end_search(p, job, t);
                    }
                }
                Search::Network => {
                    if self.look_at_network(p, i + 1, t) {
                        return;
                    }
                }
                Search::Steal => return self.steal(p, t),
            }
        }
    }

    /// What every pick looks at (S25).
    fn pick_local(&mut self, p: u32, t: &mut Time) -> Option<(JobId, Slice)> {
        PICK_ORDER.into_iter().find_map(|place| {
            let job = match place {
                Local::OwnTimers => None,
                Local::Fairness => self.pick_fairly(p, t),
                Local::RunNext => self.pick_next(p, t),
                Local::Ring => self.pick_ring(p),
            };
            Some((job?, pick::slice_of(place)))
        })
    }

    fn pick_fairly(&mut self, p: u32, t: &mut Time) -> Option<JobId> {
        if !pick::is_fairness_tick(self.ps[p as usize].tick) {
            return None;
        }
        self.grab_global(p, Some(1), t)
    }

    /// What is in `runnext`, unless its slice is over and others wait: then it goes behind them
    /// (S27).
    fn pick_next(&mut self, p: u32, t: &mut Time) -> Option<JobId> {
        let slice_is_over = self.slice_is_over(p, *t);
        let own = &self.ps[p as usize];
        let (next, others) = (own.next, !own.ring.is_empty() || self.global.len() > 0);
        if next == NO_JOB {
            return None;
        }
        self.take_next(p);
        if slice_is_over && others {
            self.queued -= 1;
            self.put_global(p, next, Rank::Woken, t);
            self.wake_p(p, t);
            return None;
        }
        self.counters.from_runnext += 1;
        self.win_trust(p);
        Some(next)
    }

    /// Whether a slice that was handed on through `runnext` is used up: by a look at the clock once
    /// in many picks.
    fn slice_is_over(&mut self, p: u32, t: Time) -> bool {
        let own = &mut self.ps[p as usize];
        if !pick::looks_at_clock(own.inherited) {
            return false;
        }
        own.inherited = 0;
        pick::slice_is_over(t.saturating_sub(*own.slice_began.get_or_insert(t)))
    }

    fn pick_ring(&mut self, p: u32) -> Option<JobId> {
        let job = self.pop_ring(p)?;
        self.counters.from_ring += 1;
        Some(job)
    }

    fn start(&mut self, p: u32, job: JobId, slice: Slice, t: Time) {
        let own = &mut self.ps[p as usize];
        match slice {
            Slice::Inherited => own.inherited += 1,
            Slice::New => {
                own.tick = own.tick.wrapping_add(1);
                own.inherited = 0;
                own.slice_began = None;
            }
        }
        self.execute(p, job, t);
    }

    /// A search is over, with success: the last spinner sees to it that there is a next one (S31).
    fn end_search(&mut self, p: u32, job: JobId, mut t: Time) {
        self.stop_spinning(p, &mut t);
        self.start(p, job, Slice::New, t);
    }

    /// Takes a share of the global queue, one to run (S24).
    fn grab_global(&mut self, p: u32, max: Option<usize>, t: &mut Time) -> Option<JobId> {
        let size = self.global.len();
        if size == 0 {
            return None;
        }
        let n = grab_count(size, self.config.procs as usize, RING, max);
        self.lock_shards(p, n.min(self.global_lines.len()), t);
        let own = &mut self.ps[p as usize];
        let (ring, tick) = (&mut own.ring, own.tick);
        let was_empty = ring.is_empty();
        let mut first = None;
        self.global.take(n, tick, |job| {
            if first.is_none() {
                first = Some(job);
            } else {
                ring.push(job);
            }
        });
        self.rings += u32::from(was_empty && !ring.is_empty());
        self.counters.from_global += 1;
        first
    }

    /// Queues one globally; `from` may be nobody's P.
    pub(super) fn put_global(&mut self, from: u32, job: JobId, rank: Rank, t: &mut Time) {
        let lines = self.global_lines.len();
        self.lock_global(if from == FOREIGN { 0 } else { from as usize % lines }, from, t);
        self.global.push(from, job, rank);
        self.queued += 1;
    }

    /// Locks `n` shards one after the other. All are asked for now, so that none is kept for a time
    /// that is still to come; the way from one to the next is added at the end.
    fn lock_shards(&mut self, p: u32, n: usize, t: &mut Time) {
        let (lines, asked) = (self.global_lines.len(), *t);
        let mut last = asked;
        for i in 0..n {
            *t = asked;
            self.lock_global((p as usize + i) % lines, p, t);
            last = last.max(*t);
        }
        let between = (n as Time - 1) * (self.config.costs.miss + self.config.costs.locked);
        self.counters.global_lock += between;
        *t = last + between;
    }

    pub(super) fn lock_global(&mut self, line: usize, by: u32, t: &mut Time) {
        let costs = &self.config.costs;
        let done = self.global_lines[line].write(by, *t, costs.locked, costs, self.nodes);
        if by != FOREIGN {
            self.counters.global_lock += done - *t;
        }
        *t = done;
    }

    /// Whether there is somebody to look for; then the P is busy with it until its next step (S25).
    /// If it finds nobody, its search goes on with the place `then`.
    fn look_at_network(&mut self, p: u32, then: usize, mut t: Time) -> bool {
        let (pollers, costs) = (self.pollers.len(), &self.config.costs);
        let own = self.poller_of(p);
        let mut looked = false;
        for i in 0..pollers {
            let poller = &mut self.pollers[(own + i) % pollers];
            if !poller.is_look_wanted() || poller.looked_at_until > t {
                continue;
            }
            let found = &mut self.ps[p as usize].found;
            let n = poller.take(REPORTS, |job| found.push(job));
            let cost = costs.poll + costs.report * n as Time;
            t += cost;
            poller.looked_at_until = t;
            poller.busy += cost;
            poller.last_look = t;
            self.counters.polling += cost;
            looked = true;
            if n > 0 {
                self.take_step(p, Step::Looked, t);
                return true;
            }
        }
        if looked {
            self.take_step(p, Step::SearchOn(then), t);
        }
        looked
    }

    /// All that was found is queued, an M is woken, and only then one is taken (S54).
    fn queue_found(&mut self, p: u32) {
        let mut t = self.now();
        let mut found = std::mem::take(&mut self.ps[p as usize].found);
        let several = wakes_another(found.len());
        self.queued += found.len() as u32;
        for job in found.drain(..) {
            self.put_ring(p, job, &mut t);
        }
        self.ps[p as usize].found = found;
        self.stop_spinning(p, &mut t);
        if several {
            self.wake_p(p, &mut t);
        }
        match self.pop_ring(p) {
            Some(job) => {
                self.counters.from_network += 1;
                self.start(p, job, Slice::New, t);
            }
            None => self.schedule(p, t),
        }
    }

    /// Begins to steal, if there may be one more spinner (S30); else gives up.
    fn steal(&mut self, p: u32, mut t: Time) {
        if self.config.procs == 1 || !self.start_spinning(p, &mut t) {
            return self.give_up(p, t);
        }
        self.ps[p as usize].round = 0;
        self.begin_round(p);
        self.next_victim(p, t);
    }

    fn begin_round(&mut self, p: u32) {
        let random = self.random.next_u32();
        let own = &mut self.ps[p as usize];
        let order = match self.config.variant.stealing {
            Stealing::NodeFirst if own.round < STEAL_ROUNDS / 2 => {
                let is_last = self.nodes.of(p) == self.nodes.of(self.config.procs - 1);
                &self.orders[if is_last { 2 } else { 1 }]
            }
            _ => &self.orders[0],
        };
        own.victims = Some(order.iter(random));
    }

    /// The first P that the victims of this round are counted from.
    fn first_victim(&self, p: u32) -> u32 {
        match self.config.variant.stealing {
            Stealing::NodeFirst if self.ps[p as usize].round < STEAL_ROUNDS / 2 => {
                self.nodes.of(p) * self.nodes.size
            }
            _ => 0,
        }
    }

    /// Goes to the next P that has something, or to the end of the round.
    fn next_victim(&mut self, p: u32, t: Time) {
        let Some(mut victims) = self.ps[p as usize].victims.take() else { return };
        let costs = &self.config.costs;
        let with_next = takes_runnext(self.ps[p as usize].round) && self.nexts > 0;
        let first = self.first_victim(p);
        let left = victims.len();
        let mut target = None;
        if self.rings > 0 || with_next {
            target = victims.by_ref().map(|v| first + v).find(|v| {
                let victim = &self.ps[*v as usize];
                *v != p && (!victim.ring.is_empty() || (with_next && victim.next != NO_JOB))
            });
        }
        let looks = if target.is_some() { left - victims.len() } else { left };
        let mut cost = costs.look * looks as Time;
        let step = match target {
            None => Step::RoundEnds,
            Some(v) => {
                let victim = &self.ps[v as usize];
                cost += self.steal_cost(p, v);
                if victim.ring.is_empty() && victim.doing == Doing::Running {
                    cost += costs.runnext_pause;
                }
                Step::AtVictim(v, victim.next)
            }
        };
        self.ps[p as usize].victims = Some(victims);
        self.counters.stealing += cost;
        self.take_step(p, step, t + cost);
    }

    /// A steal from another node costs as much more as its lines come from further away.
    fn steal_cost(&self, p: u32, victim: u32) -> Time {
        let costs = &self.config.costs;
        let far = self.nodes.of(p) != self.nodes.of(victim);
        costs.steal + if far { 2 * (costs.far_miss - costs.miss) } else { 0 }
    }

    /// The P does something else at `t`.
    pub(super) fn take_step(&mut self, p: u32, step: Step, t: Time) {
        let t = t + std::mem::take(&mut self.debt);
        let late = t - self.now();
        self.outcome.overhead += late;
        self.ps[p as usize].step = step;
        self.computing.schedule(self.clock.after(late), STEP | p);
    }

    pub(super) fn step(&mut self, p: u32) {
        let t = self.now();
        match self.ps[p as usize].step {
            Step::Begin => self.schedule(p, t),
            Step::Looked => self.queue_found(p),
            Step::SearchOn(place) => self.search(p, place, t),
            Step::RoundEnds => {
                self.ps[p as usize].round += 1;
                if self.ps[p as usize].round == STEAL_ROUNDS {
                    self.counters.in_vain += 1;
                    return self.give_up(p, t);
                }
                self.begin_round(p);
                self.next_victim(p, t);
            }
            Step::AtVictim(victim, seen) => match self.rob(p, victim, seen) {
                Some(job) => {
                    self.counters.stolen += 1;
                    self.end_search(p, job, t);
                }
                None => self.next_victim(p, t),
            },
        }
    }

    /// Takes half of a ring, or in the last round a `runnext` that is still the same.
    fn rob(&mut self, p: u32, victim: u32, seen: JobId) -> Option<JobId> {
        if let Ok([own, other]) = self.ps.get_disjoint_mut([p as usize, victim as usize])
            && !other.ring.is_empty()
        {
            let job = other.ring.steal(|job| own.ring.push(job));
            self.rings += u32::from(!own.ring.is_empty());
            self.rings -= u32::from(other.ring.is_empty());
            return job;
        }
        let last = takes_runnext(self.ps[p as usize].round);
        if last && seen != NO_JOB && self.ps[victim as usize].next == seen {
            self.take_next(victim);
            self.lose_trust(victim);
            return Some(seen);
        }
        None
    }

    /// Into `runnext`; who was there goes into the ring (S21).
    pub(super) fn put_next(&mut self, p: u32, job: JobId, t: &mut Time) {
        self.queued += 1;
        *t += self.config.costs.hit;
        let kicked = std::mem::replace(&mut self.ps[p as usize].next, job);
        if kicked == NO_JOB {
            self.nexts += 1;
        } else {
            self.put_ring(p, kicked, t);
        }
    }

    /// Behind the ring; if it is full, half of it and this one go to the global queue, shuffled
    /// (S21).
    fn put_ring(&mut self, p: u32, job: JobId, t: &mut Time) {
        *t += self.config.costs.push;
        let ring = &mut self.ps[p as usize].ring;
        if !ring.is_full() {
            self.rings += u32::from(ring.is_empty());
            return ring.push(job);
        }
        let mut batch = vec![];
        ring.overflow(|job| batch.push(job));
        batch.push(job);
        for i in 1..batch.len() {
            batch.swap(i, self.random.below(i as u64 + 1) as usize);
        }
        self.counters.overflows += 1;
        let lines = self.global_lines.len();
        self.lock_global(p as usize % lines, p, t);
        batch.into_iter().for_each(|job| self.global.push(p, job, Rank::Woken));
    }

    fn take_next(&mut self, p: u32) {
        self.ps[p as usize].next = NO_JOB;
        self.nexts -= 1;
    }

    fn pop_ring(&mut self, p: u32) -> Option<JobId> {
        let ring = &mut self.ps[p as usize].ring;
        let job = ring.pop()?;
        self.rings -= u32::from(ring.is_empty());
        Some(job)
    }

    /// The poller of a P's group.
    pub(super) fn poller_of(&self, p: u32) -> usize {
        group_of(p, self.config.procs, self.pollers.len() as u32) as usize
    }
}
