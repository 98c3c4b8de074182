//! What things cost: one struct, every field with what it means and where its value comes from.
//!
//! *Measured* means by `cargo run --release -p gosched-sim --example reality -- costs`, on the
//! machine that [`DEFAULTS`] names; its raw figures lie in `crates/sim/measured`. *Assumed* means a
//! usual value for machines of this kind; with two CPUs of one node nobody can measure it.
//! `--costs FILE` takes those of another machine.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// The file in `crates/sim` that the defaults are from.
pub const DEFAULTS: &str = "measured/costs.json";

/// Costs, in nanoseconds of simulated time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Going on with another goroutine of the own queue. Measured: 16 that yield, without the
    /// global queue.
    pub switch: Time,
    /// What waiting adds to a switch: the goroutine's status and its token. Measured: 100 that wait
    /// for signals.
    pub park: Time,
    /// Making a goroutine that waits runnable, without queueing it. Measured: the one that signals
    /// them.
    pub wake: Time,
    /// Putting a goroutine into the ring. Measured.
    pub push: Time,
    /// Going on with another process after the former one was interrupted: timer interrupt, kernel,
    /// cold caches. Assumed. Only the textbook's preemptive policies pay it; ours never interrupts.
    pub preempt: Time,
    /// Creating a goroutine. Measured: 100 by one.
    pub spawn: Time,
    /// A goroutine's first step onto a stack, its end, and taking its result. Measured: these 100.
    pub exit: Time,
    /// Running a goroutine that ran on another CPU before: four lines, of its header and stack,
    /// that come from there. Measured.
    pub migrate: Time,
    /// Running a goroutine whose header and stack have left the CPU's own caches: thousands ran
    /// since. Measured: 10,000 that wait for signals, less the same with 100.
    pub cold: Time,
    /// A goroutine's first step onto a stack that nobody has used yet, beyond `exit`: its pages.
    /// Measured: the first 10,000.
    pub stack: Time,
    /// Looking at another P's ring and finding nothing; its line is mostly in the own cache.
    /// Measured.
    pub look: Time,
    /// Stealing from a ring: two lines that another CPU has just written, and a compare-and-swap.
    /// Measured.
    pub steal: Time,
    /// The pause before a thief takes `runnext` from a P that runs. Measured: as many pauses as the
    /// library makes.
    pub runnext_pause: Time,
    /// A line that another CPU of the same node has written. Measured.
    pub miss: Time,
    /// A line that a CPU of another node has written. Assumed: three times the way of a near one.
    pub far_miss: Time,
    /// An atomic operation on a line that is in the own cache. Measured.
    pub hit: Time,
    /// What is done under the lock of the global queue or of the idle lists, beyond the first
    /// operation. Measured.
    pub locked: Time,
    /// The waker's part of a futex wake. Measured.
    pub futex_call: Time,
    /// From the beginning of a futex wake until the woken thread runs. Measured.
    pub futex_wake: Time,
    /// Entering epoll and coming back with nothing. Measured.
    pub poll: Time,
    /// Each report of epoll, until the goroutine is queued. Measured.
    pub report: Time,
}

impl Costs {
    /// Everything is free: for theory.
    pub const FREE: Costs = Costs {
        switch: 0,
        park: 0,
        wake: 0,
        push: 0,
        preempt: 0,
        spawn: 0,
        exit: 0,
        migrate: 0,
        cold: 0,
        stack: 0,
        look: 0,
        steal: 0,
        runnext_pause: 0,
        miss: 0,
        far_miss: 0,
        hit: 0,
        locked: 0,
        futex_call: 0,
        futex_wake: 0,
        poll: 0,
        report: 0,
    };

    /// What it costs to run a goroutine again after so many picks on the same CPU.
    #[must_use]
    pub fn cold_after(&self, picks: u64) -> Time {
        self.cold * picks.saturating_sub(WARM).min(COLD - WARM) / (COLD - WARM)
    }
}

/// Up to so many picks later a goroutine is still in the caches of its CPU, from so many on it is
/// not: seen with 1,000 to 10,000 that wait for signals, whose switch took 66 ns with 1,000, 139
/// with 3,000, 571 with 10,000.
const WARM: u64 = 2_000;
const COLD: u64 = 8_000;

impl Default for Costs {
    fn default() -> Costs {
        Costs {
            switch: 48,
            park: 20,
            wake: 22,
            push: 6,
            preempt: 2_000,
            spawn: 28,
            exit: 40,
            migrate: 103,
            cold: 234,
            stack: 2_661,
            look: 2,
            steal: 243,
            runnext_pause: 940,
            miss: 90,
            far_miss: 270,
            hit: 8,
            locked: 13,
            futex_call: 3_474,
            futex_wake: 2_223,
            poll: 130,
            report: 102,
        }
    }
}

/// Costs, and where they were measured: a file of `--costs`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostFile {
    /// The day.
    pub date: String,
    /// The CPU, how many there were, and the kernel.
    pub machine: String,
    /// The costs.
    pub costs: Costs,
}

impl CostFile {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If it can't be read or is no such file; the message names it.
    pub fn read(path: &Path) -> io::Result<CostFile> {
        let named = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
        let text = fs::read_to_string(path).map_err(|why| io::Error::new(why.kind(), named(&why)))?;
        serde_json::from_str(&text).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, named(&why)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The defaults are those that were measured. (Seen to fail with one of them changed.)
    #[test]
    fn defaults_are_measured() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DEFAULTS);
        assert_eq!(CostFile::read(&path).unwrap().costs, Costs::default());
    }
}
