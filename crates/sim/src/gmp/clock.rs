//! Two clocks: the one on the wall, and the one of whoever computes.
//!
//! GOMAXPROCS bounds the Ps; goroutines that lost theirs compute beside them. If more want to
//! compute than there are CPUs, the kernel shares these out evenly, and all get on more slowly:
//! `cpu` advances by cpus/running of a wall nanosecond each. What computes is due by the `cpu`
//! clock, so that no event has to be rescheduled when somebody begins or stops.
//!
//! The kernel's slices are not modelled: sharing is as if they were very short.

use crate::time::Time;

/// The clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// On the wall.
    pub(super) now: Time,
    /// Of those that compute.
    cpu: Time,
    cpus: u64,
    running: u64,
}

impl Clock {
    pub(super) fn new(cpus: u32) -> Clock {
        Clock { now: 0, cpu: 0, cpus: u64::from(cpus), running: 0 }
    }

    /// One more computes.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.running += 1;
    }

    /// One less does.
    #[inline]
    pub(super) fn stop(&mut self) {
        self.running -= 1;
    }

    /// By the `cpu` clock: now.
    #[inline]
    pub(super) fn computed(&self) -> Time {
        self.cpu
    }

    /// By the `cpu` clock: after so much more computing.
    #[inline]
    pub(super) fn after(&self, span: Time) -> Time {
        self.cpu + span
    }

    /// When on the wall a moment of the `cpu` clock comes, if nobody begins or stops until then.
    #[inline]
    pub(super) fn on_the_wall(&self, cpu: Time) -> Time {
        let span = cpu.saturating_sub(self.cpu);
        if self.running <= self.cpus {
            return self.now + span;
        }
        self.now + (u128::from(span) * u128::from(self.running)).div_ceil(u128::from(self.cpus)) as Time
    }

    /// Goes on to a moment on the wall.
    #[inline]
    pub(super) fn advance(&mut self, now: Time) {
        let span = now - self.now;
        self.now = now;
        if self.running <= self.cpus {
            self.cpu += span;
        } else {
            self.cpu += (u128::from(span) * u128::from(self.cpus) / u128::from(self.running)) as Time;
        }
    }

    /// Corrects what rounding has lost: it is at least this late by the `cpu` clock.
    #[inline]
    pub(super) fn reach(&mut self, cpu: Time) {
        self.cpu = self.cpu.max(cpu);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three on two CPUs: 200 ns of computing take 300; alone they take 200.
    #[test]
    fn more_than_there_are_cpus_share_them() {
        let mut clock = Clock::new(2);
        clock.begin();
        assert_eq!(clock.on_the_wall(200), 200);
        clock.begin();
        clock.begin();
        assert_eq!(clock.on_the_wall(200), 300);
        clock.advance(150);
        clock.stop();
        assert_eq!(clock.on_the_wall(200), 250);
    }
}
