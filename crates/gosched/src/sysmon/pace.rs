//! How often the monitor ticks (S34, D2): 1 ms while goroutine code runs, 100 µs for 3 ms after a hand-off of a blocked
//! thread, slower and slower up to 10 ms while nothing runs, not at all when all has been idle for a while.

use core::time::Duration;

use super::Tick;

const BASE: Duration = Duration::from_millis(1);
const BURST: Duration = Duration::from_micros(100);
const SLOWEST: Duration = Duration::from_millis(10);
/// Ticks of a burst.
const BURST_TICKS: u32 = 30;
/// Idle ticks before the monitor sleeps for good: waking it costs more than a few ticks.
const IDLE_TICKS: u32 = 10;

pub(super) struct Pace {
    pause: Duration,
    burst: u32,
    idle: u32,
}

impl Pace {
    pub(super) fn new() -> Pace {
        Pace { pause: BASE, burst: 0, idle: 0 }
    }

    pub(super) fn pause(&self) -> Duration {
        if self.burst > 0 { BURST } else { self.pause }
    }

    pub(super) fn is_idle_for_long(&self) -> bool {
        self.idle >= IDLE_TICKS
    }

    pub(super) fn note(&mut self, tick: Tick) {
        self.burst = self.burst.saturating_sub(1);
        self.idle = if tick == Tick::Idle { self.idle + 1 } else { 0 };
        match tick {
            Tick::Idle | Tick::Quiet => self.pause = (self.pause * 2).min(SLOWEST),
            Tick::Busy => self.pause = BASE,
            Tick::HandedOff => {
                self.pause = BASE;
                self.burst = BURST_TICKS;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
