//! The monitor's tick (S34–S38): polls the network if nobody else does, and takes Ps from those
//! that block or compute too long.
//!
//! It sleeps when all Ps have been idle for some ticks, until one becomes busy; its pace is the
//! library's. Its own CPU time is not counted.

use gosched_rules::pace::{Calm, Pace, Tick};
use gosched_rules::poll::is_poll_overdue;
use gosched_rules::slice::{
    BlockingLook, BlockingVerdict, Look, RunningVerdict, judge, judge_blocking, quantum,
};
use gosched_rules::wake::{are_all_idle, nobody_would_look};

use super::lines::FOREIGN;
use super::machine::{Doing, Machine, TICK};
use crate::time::Time;
use crate::trace::Trace;

/// The monitor.
pub(super) struct Monitor {
    is_awake: bool,
    pace: Pace,
    /// When its last tick was.
    ticked_at: Time,
}

impl Monitor {
    pub(super) fn new() -> Monitor {
        Monitor { is_awake: false, pace: Pace::new(Calm::SlowDown), ticked_at: 0 }
    }
}

/// What the monitor last saw of a P: as in the library, the time that it knows of begins with its
/// first look.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// The count of picks at the last tick.
    glanced: u32,
    tick: u32,
    stint: u32,
    since: Time,
    /// What the clock of those that compute showed when the P was first found to go on.
    computed: Option<Time>,
    asked_at: Option<Time>,
    call_tick: u32,
    call_since: Time,
}

impl Seen {
    /// Whether the P has been back in the scheduler since this was last asked.
    fn has_moved(&mut self, tick: u32) -> bool {
        std::mem::replace(&mut self.glanced, tick) != tick
    }

    /// How long the P has shown this pick under the same M.
    fn unchanged_for(&mut self, tick: u32, stint: u32, now: Time) -> Time {
        if (self.tick, self.stint) != (tick, stint) {
            *self = Seen { tick, stint, since: now, computed: None, asked_at: None, ..*self };
        }
        now - self.since
    }

    /// How long its goroutine has computed in this pick, by the clock of those that do.
    fn computed(&mut self, clock: Time) -> Time {
        clock - *self.computed.get_or_insert(clock)
    }

    /// For how long it has been in this blocking call.
    fn blocking_for(&mut self, call_tick: u32, now: Time) -> Time {
        if self.call_tick != call_tick {
            (self.call_tick, self.call_since) = (call_tick, now);
        }
        now - self.call_since
    }
}

impl<T: Trace> Machine<'_, T> {
    /// A P is busy: the monitor must be awake.
    pub(super) fn rouse_monitor(&mut self) {
        if !self.monitor.is_awake {
            self.monitor = Monitor { is_awake: true, ..Monitor::new() };
            self.events.schedule(self.now() + self.monitor.pace.pause(), TICK);
        }
    }

    pub(super) fn monitor_tick(&mut self) {
        let tick = self.look_around();
        self.monitor.ticked_at = self.now();
        self.monitor.pace.note(tick);
        if self.monitor.pace.is_idle_for_long() {
            self.monitor.is_awake = false;
            return;
        }
        self.events.schedule(self.now() + self.monitor.pace.pause(), TICK);
    }

    fn look_around(&mut self) -> Tick {
        if are_all_idle(self.idle_ps, self.config.procs) {
            return Tick::Idle;
        }
        let polled = self.poll_overdue();
        self.end_trust();
        let work_waits = self.is_work_queued();
        let looks = (0..self.config.procs).map(|p| match self.ps[p as usize].doing {
            Doing::Running => self.look_at_running(p, work_waits),
            Doing::Blocking => self.look_at_blocking(p, work_waits),
            Doing::Idle | Doing::Waking | Doing::Searching => Tick::Quiet,
        });
        looks.fold(polled, Tick::max)
    }

    /// Asks a goroutine that computes, or takes its P. Bursts make no moving call, so asking never
    /// helps: the time for an answer always passes.
    fn look_at_running(&mut self, p: u32, work_waits: bool) -> Tick {
        let now = self.now();
        let own = &mut self.ps[p as usize];
        let tick = if own.seen.has_moved(own.tick) { Tick::Calm } else { Tick::Busy };
        if !work_waits {
            return tick;
        }
        let look = Look {
            unchanged_for: own.seen.unchanged_for(own.tick, own.stint, now),
            pause: now - self.monitor.ticked_at,
            inside: false,
            asked_at: own.seen.asked_at,
            quantum: quantum(self.without_p, self.config.procs),
        };
        match judge(&look, || false, || own.seen.computed(self.clock.computed())) {
            RunningVerdict::Ask(_) => own.seen.asked_at = Some(look.unchanged_for),
            RunningVerdict::Take(_) => self.take_p(p),
            RunningVerdict::Leave | RunningVerdict::Suspect | RunningVerdict::Insist => {}
        }
        tick
    }

    fn look_at_blocking(&mut self, p: u32, work_waits: bool) -> Tick {
        let (now, idle) = (self.now(), self.group(p).word.snapshot());
        let own = &mut self.ps[p as usize];
        let look = BlockingLook {
            waited: own.seen.blocking_for(own.call_tick, now),
            unchanged_for: own.seen.unchanged_for(own.tick, own.stint, now),
            has_work: own.has_work(),
            nobody_would_look: nobody_would_look(idle.idle_ps, idle.spinning),
            work_waits,
        };
        match judge_blocking(&look) {
            BlockingVerdict::Leave => Tick::Busy,
            BlockingVerdict::Unwanted => {
                self.take_p(p);
                Tick::Busy
            }
            BlockingVerdict::Wanted => {
                self.take_p(p);
                Tick::HandedOff
            }
        }
    }

    fn poll_overdue(&mut self) -> Tick {
        let (mut t, mut tick) = (self.now(), Tick::Quiet);
        for k in 0..self.pollers.len() {
            let poller = &self.pollers[k];
            if poller.is_look_wanted()
                && is_poll_overdue(self.now().saturating_sub(poller.last_look))
                && self.queue_globally(k) > 0
            {
                self.wake_p(FOREIGN, &mut t);
                tick = Tick::Busy;
            }
        }
        self.debt = 0;
        tick
    }
}
