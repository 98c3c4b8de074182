//! How often the monitor ticks (S34, D2): every 1 ms while goroutine code runs, every 100 µs for 3
//! ms after a hand-off of a blocked thread, at pauses that double up to 10 ms while nothing runs,
//! and not at all after all Ps have been idle for a while.
//!
//! With [`Calm::SlowDown`] it also slows down while every P comes back to the scheduler between two
//! ticks, and no P had to be taken from a blocked thread for a while. Each tick takes a CPU away
//! from somebody, which costs a busy server more than the tick itself.
//!
//! All times are in nanoseconds.

use crate::{MS, US};

/// The pause while goroutine code runs.
pub const BASE: u64 = MS;
/// The pause in a burst.
pub const BURST: u64 = 100 * US;
/// The longest pause.
pub const SLOWEST: u64 = 10 * MS;
/// Ticks of a burst.
const BURST_TICKS: u32 = 30;
/// Ticks after a hand-off before calm ticks slow the monitor down again.
const ALERT_TICKS: u32 = 250;
/// Idle ticks before the monitor sleeps for good: waking it costs more than a few ticks.
const IDLE_TICKS: u32 = 10;

/// What the monitor may use of a CPU in the long run (S34): one part in this many.
const SHARE: u64 = 33;
/// What it may use at once beyond that.
const CREDIT: u64 = 30 * MS;

/// What a tick found. Of several findings, the greatest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tick {
    /// All Ps are idle.
    Idle,
    /// A P is busy, but with no goroutine.
    Quiet,
    /// Goroutines run, and every P has been back in the scheduler since the last tick.
    Calm,
    /// A P has not been back in the scheduler since the last tick, or is in a blocking call; or the
    /// monitor has other work to do.
    Busy,
    /// The thread of a P is blocked, perhaps only for a moment.
    Suspect,
    /// A P was taken from a thread that is blocked: more will follow.
    HandedOff,
}

/// What the monitor does after [`Tick::Calm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calm {
    /// It ticks more and more rarely.
    SlowDown,
    /// It ticks as after [`Tick::Busy`]: D2 to the letter.
    KeepPace,
}

/// The monitor's pace: what its last ticks found, and how long it pauses after them. Go's `sysmon`
/// has this as `idle` and `delay`.
///
/// ```
/// use gosched_rules::pace::{BASE, BURST, Calm, Pace, Tick};
///
/// let mut pace = Pace::new(Calm::SlowDown);
/// pace.note(Tick::Busy);
/// assert_eq!(pace.pause(), BASE);
/// pace.note(Tick::HandedOff);
/// assert_eq!(pace.pause(), BURST);
/// ```
#[derive(Clone, Debug)]
pub struct Pace {
    calm: Calm,
    pause: u64,
    burst: u32,
    alert: u32,
    idle: u32,
    /// CPU time that is left for bursts, and what the clocks showed when it was last computed.
    credit: u64,
    cpu: u64,
    now: u64,
}

impl Pace {
    /// The pace of a monitor that has just been woken.
    #[must_use]
    pub const fn new(calm: Calm) -> Pace {
        Pace { calm, pause: BASE, burst: 0, alert: 0, idle: 0, credit: CREDIT, cpu: 0, now: 0 }
    }

    /// How long to sleep until the next tick.
    #[must_use]
    pub const fn pause(&self) -> u64 {
        if self.burst > 0 && self.credit > 0 { BURST } else { self.pause }
    }

    /// Whether the monitor's CPU time must be accounted for ([`charge`](Pace::charge)).
    #[must_use]
    pub const fn is_costly(&self) -> bool {
        self.burst > 0
    }

    /// Whether all Ps have been idle for so long that the monitor sleeps until it is woken (S33).
    #[must_use]
    pub const fn is_idle_for_long(&self) -> bool {
        self.idle >= IDLE_TICKS
    }

    /// Accounts for the CPU time of the monitor, `cpu` by its thread's own clock: there are no
    /// bursts while it is over its share. The first call only notes the clocks.
    pub fn charge(&mut self, cpu: u64, now: u64) {
        if self.now > 0 {
            let earned = now.saturating_sub(self.now) / SHARE;
            let used = cpu.saturating_sub(self.cpu);
            self.credit = (self.credit + earned).saturating_sub(used).min(CREDIT);
        }
        (self.cpu, self.now) = (cpu, now);
    }

    /// A tick is over, and has found this.
    pub fn note(&mut self, tick: Tick) {
        self.burst = self.burst.saturating_sub(1);
        self.alert = self.alert.saturating_sub(1);
        self.idle = if tick == Tick::Idle { self.idle + 1 } else { 0 };
        match tick {
            Tick::Calm if self.alert > 0 || self.calm == Calm::KeepPace => self.pause = BASE,
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

/// How long to wait before the next look for a deadlock (S48): longer and longer.
#[derive(Clone, Debug)]
pub struct DeadlockPatience(u64);

impl DeadlockPatience {
    const FIRST: u64 = 10 * MS;
    const LAST: u64 = 1_000 * MS;

    /// The patience of a monitor that has not waited yet.
    #[must_use]
    pub const fn new() -> DeadlockPatience {
        DeadlockPatience(DeadlockPatience::FIRST)
    }

    /// How long to wait this time.
    #[must_use]
    pub fn wait(&mut self) -> u64 {
        let now = self.0;
        self.0 = (now * 2).min(DeadlockPatience::LAST);
        now
    }
}

impl Default for DeadlockPatience {
    fn default() -> DeadlockPatience {
        DeadlockPatience::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(pace: &mut Pace, tick: Tick, times: u32) {
        (0..times).for_each(|_| pace.note(tick));
    }

    /// S34: bursts end when they have cost too much, and are possible again after a while.
    #[test]
    fn bursts_are_paid_for() {
        let mut pace = Pace::new(Calm::SlowDown);
        pace.charge(1, 1);
        pace.note(Tick::HandedOff);
        assert!(pace.is_costly());
        pace.charge(CREDIT, CREDIT);
        assert_eq!(pace.pause(), BURST, "{} ns of credit", pace.credit);
        pace.charge(1 + 2 * CREDIT, 1 + 2 * CREDIT);
        assert_eq!(pace.pause(), BASE);
        pace.charge(1 + 2 * CREDIT, 1 + 10 * CREDIT);
        assert_eq!(pace.pause(), BURST);
    }

    /// S34: slower and slower; at once quick again, in a burst, after a hand-off; asleep when idle.
    #[test]
    fn adapts() {
        let mut pace = Pace::new(Calm::SlowDown);
        assert_eq!(pace.pause(), BASE);
        note(&mut pace, Tick::Quiet, 20);
        assert_eq!((pace.pause(), pace.is_idle_for_long()), (SLOWEST, false));
        pace.note(Tick::HandedOff);
        assert_eq!(pace.pause(), BURST);
        note(&mut pace, Tick::Busy, BURST_TICKS);
        assert_eq!((pace.pause(), pace.is_costly()), (BASE, false));
        note(&mut pace, Tick::Idle, IDLE_TICKS);
        assert!(pace.is_idle_for_long());
        pace.note(Tick::Quiet);
        assert!(!pace.is_idle_for_long());
    }

    /// S34: calm ticks become rarer and rarer; one P that does not come back is enough to end that,
    /// and after a hand-off it takes a while until they do so again.
    #[test]
    fn leaves_alone_what_goes_well() {
        let mut pace = Pace::new(Calm::SlowDown);
        note(&mut pace, Tick::Calm, 5);
        assert_eq!(pace.pause(), SLOWEST);
        pace.note(Tick::Suspect);
        assert_eq!(pace.pause(), BURST);
        pace.note(Tick::Calm);
        assert!(pace.pause() > BASE);
        pace.note(Tick::Busy);
        assert_eq!(pace.pause(), BASE);
        pace.note(Tick::HandedOff);
        note(&mut pace, Tick::Calm, ALERT_TICKS - 1);
        assert_eq!(pace.pause(), BASE);
        note(&mut pace, Tick::Calm, 5);
        assert_eq!(pace.pause(), SLOWEST);
    }

    /// D2: with `KeepPace` calm ticks stay as frequent; while nothing runs they become rarer all
    /// the same.
    #[test]
    fn keeps_its_pace_if_told_to() {
        let mut pace = Pace::new(Calm::KeepPace);
        note(&mut pace, Tick::Calm, 1_000);
        assert_eq!(pace.pause(), BASE);
        note(&mut pace, Tick::Quiet, 5);
        assert_eq!(pace.pause(), SLOWEST);
        pace.note(Tick::Calm);
        assert_eq!(pace.pause(), BASE);
    }

    /// Of several findings of a tick, the one that needs the quickest answer counts.
    #[test]
    fn ticks_are_in_order() {
        let ticks = [Tick::Idle, Tick::Quiet, Tick::Calm, Tick::Busy, Tick::Suspect, Tick::HandedOff];
        assert!(ticks.is_sorted());
    }

    /// S48: 10 ms, twice as long each time, a second at most.
    #[test]
    fn patience_grows() {
        let mut patience = DeadlockPatience::new();
        let waits: Vec<u64> = (0..9).map(|_| patience.wait() / MS).collect();
        assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
    }
}
