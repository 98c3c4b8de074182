//! Who sleeps and who is woken (S29–S32), and where a P without an M goes (S38).
//!
//! Whether somebody is woken or may spin is asked of the library's own
//! [`gosched_primitives::IdleWord`]; a token of it is in each P that spins.

use gosched_primitives::LastSpinner;
use gosched_rules::wake::{HandOff, TakenP, hand_off};

use super::global::Rank;
use super::lines::FOREIGN;
use super::machine::{AWAKE, Doing, IdleGroup, KEEPER, Machine, Step, group_of};
use super::poller::REPORTS;
use crate::job::JobId;
use crate::time::Time;
use crate::trace::Trace;

impl<T: Trace> Machine<'_, T> {
    /// The idle group of a P; the first one for those without.
    fn group_index(&self, p: u32) -> usize {
        if p == FOREIGN { 0 } else { group_of(p, self.config.procs, self.idle.len() as u32) as usize }
    }

    pub(super) fn group(&self, p: u32) -> &IdleGroup {
        &self.idle[self.group_index(p)]
    }

    /// Changes an idle word, which costs `by` time.
    fn write_word(&mut self, group: usize, by: u32, t: &mut Time) {
        let costs = &self.config.costs;
        let line = &mut self.idle[group].line;
        let done = line.write(by, *t, 0, costs, self.nodes);
        let version = line.version();
        if by != FOREIGN {
            self.ps[by as usize].seen_idle = version;
            self.counters.idle_word += done - *t;
        }
        *t = done;
    }

    /// Looks at an idle word: free if it is in the own cache.
    fn read_word(&mut self, group: usize, by: u32, t: &mut Time) {
        if by == FOREIGN {
            return;
        }
        let version = self.idle[group].line.version();
        let seen = &mut self.ps[by as usize].seen_idle;
        if *seen != version {
            *seen = version;
            *t += self.config.costs.miss;
            self.counters.idle_word += self.config.costs.miss;
        }
    }

    fn lock_list(&mut self, group: usize, by: u32, t: &mut Time) {
        let costs = &self.config.costs;
        let done = self.idle[group].lock.write(by, *t, costs.locked, costs, self.nodes);
        if by != FOREIGN {
            self.counters.idle_lock += done - *t;
        }
        *t = done;
    }

    /// Work has appeared: wakes one M for it, if a P is idle and nobody is searching (S31). With
    /// several idle words: in the own group; if nobody is idle there, in the next one.
    pub(super) fn wake_p(&mut self, by: u32, t: &mut Time) {
        if self.idle_ps == 0 {
            return;
        }
        let (own, groups) = (self.group_index(by), self.idle.len());
        for i in 0..groups {
            let group = (own + i) % groups;
            self.read_word(group, by, t);
            if let Some(token) = self.idle[group].word.try_claim_spinner() {
                self.write_word(group, by, t);
                let p = self.get_idle_p(group, by, t);
                self.ps[p as usize].spinning = Some(token);
                self.counters.wakes += 1;
                return self.start_m(p, *t);
            }
            if !self.idle[group].list.is_empty() {
                return;
            }
        }
    }

    /// An M is woken for this P.
    fn start_m(&mut self, p: u32, t: Time) {
        self.set_doing(p, Doing::Waking);
        self.debt += self.config.costs.futex_call;
        self.counters.waking += self.config.costs.futex_call;
        let at = t + self.wake_time();
        self.events.schedule(at, AWAKE | p);
    }

    /// A woken thread is there after the usual time, or after up to half as much again.
    fn wake_time(&mut self) -> Time {
        let least = self.config.costs.futex_wake;
        least + self.random.below(least / 2 + 1)
    }

    pub(super) fn awake(&mut self, p: u32) {
        self.set_doing(p, Doing::Searching);
        self.schedule(p, self.now());
    }

    /// Takes a P off a list that has one.
    fn get_idle_p(&mut self, group: usize, by: u32, t: &mut Time) -> u32 {
        self.lock_list(group, by, t);
        self.write_word(group, by, t);
        let _ = self.idle[group].word.p_busy();
        self.idle_ps -= 1;
        let p = self.idle[group].list.pop();
        let p = p.unwrap_or_else(|| unreachable!("the idle word and its list disagree"));
        self.ps[p as usize].stint += 1;
        p
    }

    /// An idle P for whoever wants one, from the own group first.
    pub(super) fn take_idle_p(&mut self, by: u32, t: &mut Time) -> Option<u32> {
        let (own, groups) = (self.group_index(by), self.idle.len());
        let group =
            (0..groups).map(|i| (own + i) % groups).find(|group| !self.idle[*group].list.is_empty())?;
        Some(self.get_idle_p(group, by, t))
    }

    fn put_idle_p(&mut self, p: u32, by: u32, t: &mut Time) {
        let group = self.group_index(p);
        self.set_doing(p, Doing::Idle);
        self.lock_list(group, by, t);
        self.write_word(group, by, t);
        self.idle[group].list.push(p);
        self.idle_ps += 1;
        let _ = self.idle[group].word.p_idle();
    }

    /// Whether the P may search for others' work (S30): a spinner may, and there are few.
    pub(super) fn start_spinning(&mut self, p: u32, t: &mut Time) -> bool {
        if self.ps[p as usize].spinning.is_some() {
            return true;
        }
        let group = self.group_index(p);
        self.read_word(group, p, t);
        let token = self.idle[group].word.try_start_spinning(self.idle[group].procs);
        if token.is_some() {
            self.write_word(group, p, t);
        }
        self.ps[p as usize].spinning = token;
        self.ps[p as usize].spinning.is_some()
    }

    /// The search is over; if it was a success and nobody else searches, the next M is woken (S31).
    pub(super) fn stop_spinning(&mut self, p: u32, t: &mut Time) {
        let Some(token) = self.ps[p as usize].spinning.take() else { return };
        let group = self.group_index(p);
        self.write_word(group, p, t);
        if self.idle[group].word.stop_spinning(token) == LastSpinner::Yes {
            self.wake_p(p, t);
        }
    }

    /// Nothing anywhere: the P goes on the idle list, and everything is looked at once more. If
    /// there is still nothing, the M sleeps, in the poller if nobody else does (S25).
    pub(super) fn give_up(&mut self, p: u32, mut t: Time) {
        let began = self.now();
        self.put_idle_p(p, p, &mut t);
        if let Some(token) = self.ps[p as usize].spinning.take() {
            let group = self.group_index(p);
            self.write_word(group, p, &mut t);
            let _ = self.idle[group].word.stop_spinning(token);
        }
        if self.is_work_queued()
            && let Some(p) = self.take_idle_p(p, &mut t)
        {
            return self.spin_again(p, t);
        }
        self.outcome.overhead += t - began + std::mem::take(&mut self.debt);
        self.keep_watch(p);
    }

    /// Searches once more, whatever the others do.
    fn spin_again(&mut self, p: u32, mut t: Time) {
        let group = self.group_index(p);
        self.write_word(group, p, &mut t);
        self.ps[p as usize].spinning = Some(self.idle[group].word.start_spinning());
        self.set_doing(p, Doing::Searching);
        self.take_step(p, Step::Begin, t);
    }

    pub(super) fn is_work_queued(&self) -> bool {
        self.global.len() > 0 || self.rings > 0 || self.nexts > 0
    }

    /// An M that has nothing to do blocks in a poller where somebody waits and nobody watches: that
    /// of its group first.
    fn keep_watch(&mut self, p: u32) {
        let (own, pollers) = (self.poller_of(p), self.pollers.len());
        let unwatched = (0..pollers).map(|i| (own + i) % pollers).find(|k| self.pollers[*k].is_look_wanted());
        if let Some(k) = unwatched {
            self.pollers[k].kept = true;
            if !self.pollers[k].ready.is_empty() {
                self.rouse_keeper(k, self.config.costs.poll);
            }
        }
    }

    fn rouse_keeper(&mut self, k: usize, after: Time) {
        self.events.schedule(self.now() + after, KEEPER | k as u32);
    }

    /// The network has something for a goroutine.
    pub(super) fn io_done(&mut self, job: JobId) {
        self.make_ready(job);
        let k = self.gs[job as usize].poller as usize;
        self.pollers[k].ready.push_back(job);
        if self.pollers[k].kept && self.pollers[k].ready.len() == 1 {
            self.rouse_keeper(k, self.config.costs.futex_wake);
        }
    }

    /// The keeper returns from the poller: what it has goes to the global queue, and it takes an
    /// idle P (S54).
    pub(super) fn keeper_wakes(&mut self, k: usize) {
        let mut t = self.now();
        self.pollers[k].kept = false;
        let cost = self.queue_globally(k);
        if let Some(p) = self.take_idle_p_near(k, &mut t) {
            self.debt = cost;
            self.spin_again(p, t);
        }
        self.debt = 0;
    }

    /// What a poller has goes to the global queue: by those who have no P. How long that takes;
    /// nothing if there was nothing.
    pub(super) fn queue_globally(&mut self, k: usize) -> Time {
        let (poller, global) = (&mut self.pollers[k], &mut self.global);
        let n = poller.take(REPORTS, |job| global.push(FOREIGN, job, Rank::Woken));
        self.queued += n as u32;
        let cost = self.config.costs.report * n as Time;
        poller.looked_at_until = self.clock.now + cost;
        poller.busy += cost;
        poller.last_look = self.clock.now;
        cost
    }

    fn take_idle_p_near(&mut self, k: usize, t: &mut Time) -> Option<u32> {
        let near = (k as u64 * u64::from(self.config.procs) / self.pollers.len() as u64) as u32;
        self.take_idle_p(near, t)
    }

    /// Finds a use for a P whose M has gone on without it (S38).
    pub(super) fn hand_off_p(&mut self, p: u32) {
        let mut t = self.now();
        self.ps[p as usize].stint += 1;
        let has_work = self.ps[p as usize].has_work();
        let group = self.group_index(p);
        let idle = self.idle[group].word.snapshot();
        let taken = TakenP {
            has_work,
            global: self.global.len(),
            is_timer_due: false,
            idle_ps: idle.idle_ps,
            spinning: idle.spinning,
        };
        match hand_off(&taken) {
            HandOff::Start => self.start_m(p, t),
            HandOff::Spin => {
                self.ps[p as usize].spinning = self.idle[group].word.try_claim_last_busy();
                self.write_word(group, FOREIGN, &mut t);
                self.start_m(p, t);
            }
            HandOff::Idle => {
                self.put_idle_p(p, FOREIGN, &mut t);
                if self.is_work_queued() {
                    self.wake_p(FOREIGN, &mut t);
                }
                self.keep_watch(p);
            }
        }
        self.debt = 0;
    }
}
