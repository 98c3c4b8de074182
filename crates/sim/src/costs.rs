//! What things cost: one struct, every field with its default and where that comes from.
//!
//! *Measured* means on the machines of the project's own figures (2 vCPUs: an Ice Lake VM for the design
//! notes, an AMD EPYC under KVM for `bench/`). *Assumed* means a usual value for machines of this kind;
//! nobody has measured it here.

use serde::Serialize;

use crate::time::{Time, US};

/// Costs, in nanoseconds of simulated time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Costs {
    /// Going on with another goroutine of the own queue, when the former one left of its own will.
    /// Measured: 35 ns, row "200 goroutines yield" of `bench/`, queueing included.
    pub switch: Time,
    /// Going on with another process after the former one was interrupted: timer interrupt, kernel, cold
    /// caches. Assumed: 2 µs. Only the textbook's preemptive policies pay it; ours never interrupts.
    pub preempt: Time,
    /// Creating a goroutine. Measured: 74 ns, row "each spawns the next", its pick included; so 40 without.
    pub spawn: Time,
    /// Looking at another P's ring and finding nothing. Assumed: 10 ns (its line is mostly in the own cache).
    pub look: Time,
    /// Stealing from a ring: two lines that another CPU has just written, and a compare-and-swap.
    /// Assumed: 150 ns.
    pub steal: Time,
    /// The pause before a thief takes `runnext` from a P that runs. From the library: about 3 µs.
    pub runnext_pause: Time,
    /// A line that another CPU of the same node has written. Assumed: 50 ns.
    pub miss: Time,
    /// A line that a CPU of another node has written. Assumed: 150 ns.
    pub far_miss: Time,
    /// An atomic operation on a line that is in the own cache. Assumed: 6 ns.
    pub hit: Time,
    /// What is done under the lock of the global queue or of the idle lists. Assumed: 20 ns.
    pub locked: Time,
    /// The waker's part of a futex wake. Assumed: 1.5 µs.
    pub futex_call: Time,
    /// From a futex wake until the woken thread runs. Measured: 7 µs (D9).
    pub futex_wake: Time,
    /// Entering epoll and coming back. Assumed: 700 ns.
    pub poll: Time,
    /// Each report of epoll, until the goroutine is queued. Assumed: 100 ns.
    pub report: Time,
}

impl Costs {
    /// Everything is free: for theory.
    pub const FREE: Costs = Costs {
        switch: 0,
        preempt: 0,
        spawn: 0,
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
}

impl Default for Costs {
    fn default() -> Costs {
        Costs {
            switch: 35,
            preempt: 2 * US,
            spawn: 40,
            look: 10,
            steal: 150,
            runnext_pause: 3 * US,
            miss: 50,
            far_miss: 150,
            hit: 6,
            locked: 20,
            futex_call: 1_500,
            futex_wake: 7 * US,
            poll: 700,
            report: 100,
        }
    }
}
