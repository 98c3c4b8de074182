//! G-M-P as ours: a queue for each P, a global one, stealing, spinning, one woken at a time, and a
//! monitor that takes Ps away.
//!
//! | file | holds |
//! |---|---|
//! | `machine.rs` | the state, and the loop over events |
//! | `act.rs` | what a goroutine does after a burst |
//! | `pick.rs` | where the next goroutine comes from: own queue, global queue, network, stealing |
//! | `wake.rs` | who sleeps and who is woken; where a P without an M goes |
//! | `monitor.rs` | the monitor's tick |
//! | `trust.rs` | when a lone `runnext` wakes nobody |
//! | `poller.rs` | who waits for the network |
//! | `ring.rs`, `global.rs` | the queues |
//! | `lines.rs` | what shared words and locks cost |
//! | `clock.rs` | more that compute than there are CPUs |
//!
//! What is decided (how many are taken, who is woken, whose P is taken, when the monitor looks) is
//! asked of `gosched-rules`, as the library does; whether one is woken or may spin, through the
//! library's own [`gosched_primitives::IdleWord`].
//!
//! Not modelled, though the library has it, and why. Timers: every wait is for the network. The
//! class of fresh goroutines: it matters under pressure only, and no workload here has hogs *and*
//! many new goroutines. The soft limit of threads: it begins with 512 blocked threads. Giving way
//! to a stopped M, and the relief of Ps that stand still: they answer to a kernel that takes CPUs
//! away, and here it shares them evenly (`clock.rs`). Waiting for a look at the network that will
//! find much: it saves a wake-up.
//! `cargo run --release -p gosched-sim --example reality -- validate` compares this with the
//! library.

mod act;
mod clock;
mod global;
mod lines;
mod machine;
mod monitor;
mod pick;
mod poller;
mod ring;
mod trust;
mod wake;

use serde::Serialize;

use crate::costs::Costs;
use crate::job::Workload;
use crate::measure::RunOutcome;
use crate::time::Time;
use crate::trace::Trace;

/// The most Ps that can be simulated.
pub const MAX_PROCS: u32 = 1_024;

/// The machine, and what of the scheduler can be changed to see what it would do.
#[derive(Clone, Debug)]
pub struct GmpConfig {
    /// Ps.
    pub procs: u32,
    /// CPUs: what really computes at a time.
    pub cpus: u32,
    /// Ps of one NUMA node.
    pub node_size: u32,
    /// What things cost.
    pub costs: Costs,
    /// What is different from the library.
    pub variant: Variant,
    /// For the order of stealing.
    pub seed: u64,
}

impl GmpConfig {
    /// As the library is, with a CPU for each P, and nodes of 64.
    #[must_use]
    pub fn new(procs: u32, seed: u64) -> GmpConfig {
        GmpConfig {
            procs,
            cpus: procs,
            node_size: 64,
            costs: Costs::default(),
            variant: Variant::LIBRARY,
            seed,
        }
    }
}

/// Who asks whom for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Stealing {
    /// Everybody, in all four rounds: as the library does.
    Everywhere,
    /// The own node in the first two rounds, then everybody.
    NodeFirst,
}

/// What is different from the library. The numbers are of independent parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Variant {
    /// Who asks whom.
    pub stealing: Stealing,
    /// Idle words, each with idle lists and a lock, for as many groups of Ps. The library has 1.
    pub idle_words: u32,
    /// Network pollers, for as many groups of Ps. The library has 1.
    pub pollers: u32,
    /// Locks of the global queue. The library has 8.
    pub global_shards: u32,
}

impl Variant {
    /// Nothing.
    pub const LIBRARY: Variant =
        Variant { stealing: Stealing::Everywhere, idle_words: 1, pollers: 1, global_shards: 8 };
}

/// What is counted in G-M-P alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Picks from `runnext`.
    pub from_runnext: u64,
    /// Picks from the own ring.
    pub from_ring: u64,
    /// Picks from the global queue.
    pub from_global: u64,
    /// Picks after a look at the network.
    pub from_network: u64,
    /// Picks by stealing.
    pub stolen: u64,
    /// Searches that found nothing.
    pub in_vain: u64,
    /// Ms that were woken.
    pub wakes: u64,
    /// Ps taken from goroutines that computed.
    pub taken_computing: u64,
    /// Ps taken from blocking calls.
    pub taken_blocking: u64,
    /// Rings that overflowed.
    pub overflows: u64,
    /// The most threads at a time: with Ps, without, and in calls.
    pub threads: u64,
    /// Time spent to get and hold the global queue's locks.
    pub global_lock: Time,
    /// Time spent to change and read the idle words.
    pub idle_word: Time,
    /// Time spent to get and hold the locks of the idle lists.
    pub idle_lock: Time,
    /// Time spent in looks at the network.
    pub polling: Time,
    /// Time spent looking for somebody to steal from.
    pub stealing: Time,
    /// Time spent waking others.
    pub waking: Time,
    /// Time that Ps were idle while goroutines were queued that they could have run: nobody had
    /// been woken yet, or was on the way.
    pub idle_while_work: Time,
    /// For how long the busiest lock of the global queue was held or on its way.
    pub global_busy: Time,
    /// The same of the idle words.
    pub word_busy: Time,
    /// The same of the locks of idle lists.
    pub list_busy: Time,
    /// For how long the busiest poller was looked at.
    pub poller_busy: Time,
}

/// Runs a workload.
///
/// ```
/// use gosched_sim::gmp::{GmpConfig, run};
/// use gosched_sim::trace::NoTrace;
/// use gosched_sim::workload::{Kind, Size};
///
/// let workload = Kind::Tree.make(Size { jobs: Some(500), ..Size::usual(4, 1) });
/// let outcome = run(&workload, &GmpConfig::new(4, 1), &mut NoTrace);
/// assert!(outcome.gmp.unwrap().stolen > 0);
/// ```
///
/// # Panics
///
/// If the configuration makes no sense (no P, more than 1,024, no CPU).
pub fn run<T: Trace>(workload: &Workload, config: &GmpConfig, trace: &mut T) -> RunOutcome {
    assert!((1..=MAX_PROCS).contains(&config.procs), "1 to {MAX_PROCS} Ps, not {}", config.procs);
    assert!(config.cpus > 0 && config.node_size > 0, "no CPU");
    machine::Machine::new(workload, config, trace).run()
}
