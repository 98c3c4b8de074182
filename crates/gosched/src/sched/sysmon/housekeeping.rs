//! The monitor's housekeeping (S41): giving memory back, every five minutes, in small steps, so
//! that no P waits long for the monitor.
//!
//! A goroutine's stack is trimmed once in a wait: in the first round after the wait has lasted five
//! minutes. So when no P becomes busy any more, two rounds are enough; then the monitor sleeps
//! without limit.

use core::time::Duration;

use super::super::SCHED;

const INTERVAL: Duration = Duration::from_secs(5 * 60);
/// Goroutines looked at in one step.
const STEP: usize = 1000;
/// Rounds after which nothing is left to do while all Ps stay idle.
const ROUNDS: u32 = 2;

pub(super) struct Housekeeping {
    due: u64,
    rounds: u32,
    /// Where the current round continues.
    at: Option<usize>,
}

impl Housekeeping {
    pub(super) fn new(now: u64) -> Housekeeping {
        Housekeeping { due: now + INTERVAL.as_nanos() as u64, rounds: 0, at: None }
    }

    /// A P has become busy: there may be something to do again.
    pub(super) fn renew(&mut self) {
        self.rounds = 0;
    }

    /// How long the monitor may sleep if nothing happens; `None`: for ever.
    pub(super) fn pause(&self, now: u64) -> Option<Duration> {
        match self.at {
            Some(_) => Some(Duration::from_millis(1)),
            None if self.rounds < ROUNDS => Some(Duration::from_nanos(self.due.saturating_sub(now))),
            None => None,
        }
    }

    /// Does a step, if it is time.
    pub(super) fn step(&mut self, now: u64) {
        let at = match self.at {
            Some(at) => at,
            None if now < self.due => return,
            None => {
                self.due = now + INTERVAL.as_nanos() as u64;
                self.rounds += 1;
                SCHED.tidy_caches();
                0
            }
        };
        let (_, last) = SCHED.tidy_parked(at..at + STEP, &(INTERVAL..2 * INTERVAL));
        self.at = (!last).then_some(at + STEP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S41, S33: a round every five minutes, and none any more when nothing has happened.
    #[test]
    fn ends_when_there_is_nothing_to_do() {
        let minute = 60_000_000_000;
        let mut tidy = Housekeeping::new(0);
        tidy.step(minute);
        assert_eq!((tidy.rounds, tidy.pause(minute)), (0, Some(Duration::from_secs(4 * 60))));
        for round in 1..=2 {
            let now = round * 6 * minute;
            tidy.step(now);
            while tidy.pause(now) == Some(Duration::from_millis(1)) {
                tidy.step(now);
            }
        }
        assert_eq!((tidy.rounds, tidy.pause(13 * minute)), (2, None));
        tidy.renew();
        assert!(tidy.pause(13 * minute).is_some());
    }
}
