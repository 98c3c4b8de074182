//! How often the monitor ticks (S34, D2): 1 ms while goroutine code runs, 100 µs for 3 ms after a hand-off of a blocked
//! thread, slower and slower up to 10 ms while nothing runs or all goes well, not at all when all has been idle for a while.
//!
//! All goes well while every P comes back to the scheduler between two ticks, and no P had to be taken from a blocked thread for
//! a while. Each tick takes a CPU away from somebody, which costs a busy server more than the tick itself.

use core::time::Duration;

use super::Tick;

const BASE: Duration = Duration::from_millis(1);
const BURST: Duration = Duration::from_micros(100);
const SLOWEST: Duration = Duration::from_millis(10);
/// Ticks of a burst.
const BURST_TICKS: u32 = 30;
/// Ticks without a hand-off before a program is trusted to go well.
const ALERT_TICKS: u32 = 250;
/// Idle ticks before the monitor sleeps for good: waking it costs more than a few ticks.
const IDLE_TICKS: u32 = 10;

/// What the monitor may use of a CPU in the long run (S34): one part in this many.
const SHARE: u64 = 33;
/// What it may use at once beyond that, in nanoseconds.
const CREDIT: u64 = 30_000_000;

pub(super) struct Pace {
    pause: Duration,
    burst: u32,
    alert: u32,
    idle: u32,
    /// CPU time that is left for bursts, and what the clocks showed when it was last reckoned.
    credit: u64,
    cpu: u64,
    now: u64,
}

impl Pace {
    pub(super) fn new() -> Pace {
        Pace { pause: BASE, burst: 0, alert: 0, idle: 0, credit: CREDIT, cpu: 0, now: 0 }
    }

    pub(super) fn pause(&self) -> Duration {
        if self.burst > 0 && self.credit > 0 { BURST } else { self.pause }
    }

    /// Whether what the monitor uses must be reckoned up.
    pub(super) fn is_costly(&self) -> bool {
        self.burst > 0
    }

    pub(super) fn is_idle_for_long(&self) -> bool {
        self.idle >= IDLE_TICKS
    }

    /// Reckons up what the monitor has used: bursts end while it is over its share.
    pub(super) fn charge(&mut self, cpu: u64, now: u64) {
        if self.now > 0 {
            let earned = now.saturating_sub(self.now) / SHARE;
            let used = cpu.saturating_sub(self.cpu);
            self.credit = (self.credit + earned).saturating_sub(used).min(CREDIT);
        }
        (self.cpu, self.now) = (cpu, now);
    }

    pub(super) fn note(&mut self, tick: Tick) {
        self.burst = self.burst.saturating_sub(1);
        self.alert = self.alert.saturating_sub(1);
        self.idle = if tick == Tick::Idle { self.idle + 1 } else { 0 };
        match tick {
            Tick::Calm if self.alert > 0 => self.pause = BASE,
            Tick::Idle | Tick::Quiet | Tick::Calm => self.pause = (self.pause * 2).min(SLOWEST),
            Tick::Busy => self.pause = BASE,
            Tick::Suspect => {
                self.pause = BASE;
                self.burst = self.burst.max(1);
            }
            Tick::HandedOff => {
                self.pause = BASE;
                self.burst = BURST_TICKS;
                self.alert = ALERT_TICKS;
            }
        }
    }
}

/// How long to wait before the next look for a deadlock: longer and longer.
pub(super) struct Patience(Duration);

impl Patience {
    const FIRST: Duration = Duration::from_millis(10);
    const LAST: Duration = Duration::from_secs(1);

    pub(super) fn new() -> Patience {
        Patience(Patience::FIRST)
    }

    pub(super) fn next(&mut self) -> Duration {
        let now = self.0;
        self.0 = (now * 2).min(Patience::LAST);
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S34: bursts end when they have cost too much, and are possible again after a while.
    #[test]
    fn bursts_are_paid_for() {
        let mut pace = Pace::new();
        pace.charge(1, 1);
        pace.note(Tick::HandedOff);
        pace.charge(CREDIT, CREDIT);
        assert_eq!(pace.pause(), BURST, "{} ns of credit", pace.credit);
        pace.charge(1 + 2 * CREDIT, 1 + 2 * CREDIT);
        assert_eq!(pace.pause(), BASE);
        pace.charge(1 + 2 * CREDIT, 1 + 10 * CREDIT);
        assert_eq!(pace.pause(), BURST);
    }

    /// S34: slower and slower, then asleep; at once quick again; a burst after a hand-off.
    #[test]
    fn adapts() {
        let mut pace = Pace::new();
        assert_eq!(pace.pause(), BASE);
        for _ in 0..20 {
            pace.note(Tick::Quiet);
        }
        assert_eq!((pace.pause(), pace.is_idle_for_long()), (SLOWEST, false));
        pace.note(Tick::HandedOff);
        assert_eq!(pace.pause(), BURST);
        for _ in 0..BURST_TICKS {
            pace.note(Tick::Busy);
        }
        assert_eq!(pace.pause(), BASE);
        for _ in 0..IDLE_TICKS {
            pace.note(Tick::Idle);
        }
        assert!(pace.is_idle_for_long());
    }

    /// S34: a program that goes well is looked at less and less often; one P that does not come back is enough to end that, and
    /// after a hand-off it takes a while.
    #[test]
    fn leaves_alone_what_goes_well() {
        let mut pace = Pace::new();
        for _ in 0..5 {
            pace.note(Tick::Calm);
        }
        assert_eq!(pace.pause(), SLOWEST);
        pace.note(Tick::Suspect);
        assert_eq!(pace.pause(), BURST);
        pace.note(Tick::Calm);
        assert!(pace.pause() > BASE);
        pace.note(Tick::Busy);
        assert_eq!(pace.pause(), BASE);
        pace.note(Tick::HandedOff);
        for _ in 1..ALERT_TICKS {
            pace.note(Tick::Calm);
        }
        assert_eq!(pace.pause(), BASE);
        for _ in 0..5 {
            pace.note(Tick::Calm);
        }
        assert_eq!(pace.pause(), SLOWEST);
    }
}
