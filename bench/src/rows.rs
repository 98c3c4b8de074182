//! The table: the workloads, their sizes, and the aims.
//!
//! A workload has an entry of the same name in every program under `peers/` and in `go/`. A program
//! without it shows a dash. Each figure a workload prints (`ns=…`, `bytes=…`) can be a row.

use crate::aim::Aim::{self, AtLeast, AtMost, Within};
use crate::peer::Peer::{self, Go, May, Threads, Tokio};

/// A size's name and number, given to the programs as `name=number`.
pub type Size = (&'static str, u64);

/// Work that every runtime does in the way that is best for it.
#[derive(Debug)]
pub struct Workload {
    /// The name of its entry in the programs.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Its sizes.
    pub sizes: &'static [Size],
    /// What is smaller under `--quick`.
    pub quick: &'static [Size],
    /// Sizes that must be smaller on some runtimes, whose figures are then shown in brackets.
    pub limits: &'static [(Peer, &'static [Size])],
    /// Which figures are shown.
    pub rows: &'static [Row],
}

/// A line of the table.
#[derive(Debug)]
pub struct Row {
    /// What the figure is, with its unit unless that is nanoseconds per operation.
    pub title: &'static str,
    /// What the workload calls it.
    pub metric: &'static str,
    /// The aim for gosched's figure.
    pub aim: Aim,
}

/// The workloads whose programs only serve. Their client is wrk (`wrk.rs`), which takes the sizes
/// `connections` and `seconds`.
const SERVED: &[&str] = &["http_hello"];

/// All of them, in the table's order.
pub const WORKLOADS: &[Workload] = &[
    Workload {
        name: "spawn_join",
        about: "spawn in batches, join each batch before the next",
        sizes: &[("n", 1_000_000), ("batch", 1_000)],
        quick: &[("n", 50_000)],
        limits: &[(Threads, &[("n", 20_000)])],
        rows: &[Row { title: "spawn in batches, join", metric: "ns", aim: AtMost(0.3, Go) }],
    },
    Workload {
        name: "spawn_all",
        about: "spawn all at once, then wait for them",
        sizes: &[("n", 1_000_000)],
        quick: &[("n", 50_000)],
        limits: &[(May, &[("n", 20_000)]), (Threads, &[("n", 20_000)])],
        rows: &[Row { title: "spawn all, then wait", metric: "ns", aim: AtMost(0.3, Go) }],
    },
    Workload {
        name: "chain",
        about: "each spawns the next and exits",
        sizes: &[("n", 1_000_000)],
        quick: &[("n", 50_000)],
        limits: &[(May, &[("n", 20_000)]), (Threads, &[("n", 20_000)])],
        rows: &[Row { title: "each spawns the next", metric: "ns", aim: AtMost(0.3, Go) }],
    },
    Workload {
        name: "yield",
        about: "200 tasks that do nothing but yield",
        sizes: &[("tasks", 200), ("each", 20_000)],
        quick: &[("each", 1_000)],
        limits: &[(Threads, &[("each", 2_000)])],
        rows: &[Row { title: "yield, 200 at once", metric: "ns", aim: AtMost(0.2, Go) }],
    },
    Workload {
        name: "pingpong_park",
        about: "two that park and unpark each other, per round trip; Go: by unbuffered channels",
        sizes: &[("n", 500_000)],
        quick: &[("n", 50_000)],
        limits: &[(Threads, &[("n", 50_000)])],
        rows: &[Row { title: "ping-pong by park, unpark", metric: "ns", aim: AtMost(0.4, Go) }],
    },
    Workload {
        name: "chan_pingpong",
        about: "two channels without a buffer, per round trip; tokio: one place; may: unbounded",
        sizes: &[("n", 500_000)],
        quick: &[("n", 20_000)],
        limits: &[(Threads, &[("n", 50_000)])],
        rows: &[Row { title: "channel ping-pong, unbuffered", metric: "ns", aim: AtMost(0.4, Go) }],
    },
    Workload {
        name: "chan_unbuffered",
        about: "4 senders, 4 receivers, one channel without a buffer; tokio: one place, receiver behind a mutex",
        sizes: &[("n", 1_000_000), ("pairs", 4), ("cap", 0)],
        quick: &[("n", 40_000)],
        limits: &[(Threads, &[("n", 100_000)])],
        rows: &[Row { title: "4 to 4, unbuffered", metric: "ns", aim: AtMost(0.5, Go) }],
    },
    Workload {
        name: "chan_buffered",
        about: "4 senders, 4 receivers, one channel with 128 places; tokio: receiver behind a mutex; may: unbounded",
        sizes: &[("n", 4_000_000), ("pairs", 4), ("cap", 128)],
        quick: &[("n", 100_000)],
        limits: &[],
        rows: &[Row { title: "4 to 4, buffer 128", metric: "ns", aim: AtMost(0.7, Go) }],
    },
    Workload {
        name: "chan_one_to_one",
        about: "a sender, a receiver, a channel with 128 places; may: unbounded",
        sizes: &[("n", 4_000_000), ("pairs", 1), ("cap", 128)],
        quick: &[("n", 100_000)],
        limits: &[],
        rows: &[Row { title: "1 to 1, buffer 128", metric: "ns", aim: AtMost(0.5, Go) }],
    },
    Workload {
        name: "chan_select",
        about: "one selects between two channels without a buffer, each with a sender; tokio: one place",
        sizes: &[("n", 500_000)],
        quick: &[("n", 20_000)],
        limits: &[(Threads, &[("n", 50_000)])],
        rows: &[Row { title: "select over 2, unbuffered", metric: "ns", aim: AtMost(0.5, Go) }],
    },
    Workload {
        name: "chan_ring",
        about: "a value goes round through channels without a buffer, per hop; tokio: one place; may: unbounded",
        sizes: &[("runners", 503), ("laps", 2_000)],
        quick: &[("laps", 100)],
        limits: &[(Threads, &[("laps", 20)])],
        rows: &[Row { title: "ring of 503, per hop", metric: "ns", aim: AtMost(0.4, Go) }],
    },
    Workload {
        name: "skynet",
        about: "a tree of tasks, ten children each, sums what its leaves send: per node",
        sizes: &[("leaves", 1_000_000)],
        quick: &[("leaves", 10_000)],
        limits: &[(May, &[("leaves", 10_000)])],
        rows: &[Row { title: "skynet, per node", metric: "ns", aim: AtMost(0.4, Go) }],
    },
    Workload {
        name: "mutex",
        about: "64 tasks that lock a mutex, count one up and unlock it, per turn",
        sizes: &[("tasks", 64), ("each", 50_000)],
        quick: &[("each", 2_000)],
        limits: &[],
        rows: &[Row { title: "mutex, 64 contenders", metric: "ns", aim: AtMost(1.0, Go) }],
    },
    Workload {
        name: "fib",
        about: "parallel fib without channels: one spawn and one join per call, per spawn",
        sizes: &[("depth", 32)],
        quick: &[("depth", 24)],
        limits: &[(May, &[("depth", 19)])],
        rows: &[Row { title: "parallel fib, per spawn", metric: "ns", aim: AtMost(0.6, Tokio) }],
    },
    Workload {
        name: "parked",
        about: "create many that all park: memory of each with its page tables, time for each",
        sizes: &[("n", 1_000_000)],
        quick: &[("n", 50_000)],
        limits: &[(May, &[("n", 20_000)]), (Threads, &[("n", 5_000)])],
        rows: &[
            Row { title: "parked, memory each, bytes", metric: "bytes", aim: AtMost(1.8, Go) },
            Row { title: "parked, create each", metric: "ns", aim: AtMost(1.2, Go) },
        ],
    },
    Workload {
        name: "sleeps",
        about: "many that sleep between 0 and 1 s each: when all are done, over 1 s; how late one wakes on average",
        sizes: &[("n", 1_000_000)],
        quick: &[("n", 50_000)],
        limits: &[(May, &[("n", 20_000)])],
        rows: &[
            Row { title: "sleeps of 0–1 s, overshoot, ms", metric: "overshoot_ms", aim: AtMost(0.7, Go) },
            Row { title: "sleeps of 0–1 s, mean lateness, ms", metric: "late_ms", aim: AtMost(1.0, Go) },
        ],
    },
    Workload {
        name: "sleep_1ms",
        about: "one that sleeps 1 ms again and again: how late it wakes",
        sizes: &[("n", 2_000)],
        quick: &[("n", 200)],
        limits: &[],
        rows: &[
            Row { title: "a 1 ms sleep, lateness p50, µs", metric: "p50_us", aim: AtMost(0.8, May) },
            Row { title: "a 1 ms sleep, lateness p99, µs", metric: "p99_us", aim: AtMost(0.8, May) },
        ],
    },
    Workload {
        name: "loops",
        about: "4 endless loops, and 100 that sleep 1 ms again and again: how late they wake (tokio and may would starve)",
        sizes: &[("loops", 4), ("sleepers", 100), ("each", 500)],
        quick: &[("each", 50)],
        limits: &[],
        rows: &[
            Row { title: "beside 4 loops, lateness p50, µs", metric: "p50_us", aim: Within(100.0) },
            Row { title: "beside 4 loops, lateness p99, µs", metric: "p99_us", aim: Within(5_000.0) },
        ],
    },
    Workload {
        name: "handoff",
        about: "200 × 4 system calls of 50 ms that block their thread; gosched: unannounced; Go: known to its runtime",
        sizes: &[("goroutines", 200), ("each", 4)],
        quick: &[("goroutines", 40)],
        limits: &[],
        rows: &[Row {
            title: "200 × 4 blocking calls of 50 ms, ms",
            metric: "wall_ms",
            aim: AtMost(1.15, Go),
        }],
    },
    Workload {
        name: "tcp_echo",
        about: "64 connections in one process, both ends, each sending 64 bytes to and fro",
        sizes: &[("connections", 64), ("each", 10_000)],
        quick: &[("each", 500)],
        limits: &[],
        rows: &[Row { title: "TCP echo, round trips per s", metric: "per_s", aim: AtLeast(1.0, May) }],
    },
    Workload {
        name: "http_hello",
        about: "an HTTP server that says hello, wrk -t1 -c64 beside it; gosched and tokio: hyper; may: may_minihttp",
        sizes: &[("connections", 64), ("seconds", 4)],
        quick: &[("seconds", 1)],
        limits: &[],
        rows: &[
            Row { title: "HTTP hello, requests per s", metric: "per_s", aim: AtLeast(1.0, Tokio) },
            Row { title: "HTTP hello, p99, µs", metric: "p99_us", aim: AtMost(1.0, Tokio) },
        ],
    },
];

/// Whether a workload is run at its full size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// As the table says.
    Full,
    /// Under `--quick`.
    Quick,
}

impl Workload {
    /// The sizes for one runtime.
    pub fn sizes_for(&self, peer: Peer, scale: Scale) -> Vec<Size> {
        let limit = self.limits.iter().filter(|(limited, _)| *limited == peer).flat_map(|(_, sizes)| *sizes);
        self.scaled(scale)
            .map(|(name, size)| {
                let limits = limit.clone().filter(|(limited, _)| *limited == name).map(|(_, limit)| *limit);
                (name, limits.fold(size, u64::min))
            })
            .collect()
    }

    /// Whether one runtime gets less to do than the others.
    pub fn is_limited(&self, peer: Peer, scale: Scale) -> bool {
        self.sizes_for(peer, scale) != self.scaled(scale).collect::<Vec<_>>()
    }

    /// Whether its programs only serve.
    pub fn is_served(&self) -> bool {
        SERVED.contains(&self.name)
    }

    /// Whether the name or a title contains `pattern`, whatever the case.
    pub fn matches(&self, pattern: &str) -> bool {
        let titles = self.rows.iter().map(|row| row.title);
        let pattern = pattern.to_lowercase();
        titles.chain([self.name]).any(|text| text.to_lowercase().contains(&pattern))
    }

    fn scaled(&self, scale: Scale) -> impl Iterator<Item = Size> {
        self.sizes.iter().map(move |&(name, size)| match scale {
            Scale::Full => (name, size),
            Scale::Quick => *self.quick.iter().find(|(quick, _)| *quick == name).unwrap_or(&(name, size)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(name: &str) -> &'static Workload {
        WORKLOADS.iter().find(|workload| workload.name == name).unwrap()
    }

    #[test]
    fn limits_and_quick_only_ever_shrink() {
        let spawn_join = workload("spawn_join");
        assert_eq!(spawn_join.sizes_for(Go, Scale::Full), [("n", 1_000_000), ("batch", 1_000)]);
        assert_eq!(spawn_join.sizes_for(Go, Scale::Quick), [("n", 50_000), ("batch", 1_000)]);
        assert_eq!(spawn_join.sizes_for(Threads, Scale::Quick), [("n", 20_000), ("batch", 1_000)]);
        assert!(spawn_join.is_limited(Threads, Scale::Quick) && !spawn_join.is_limited(May, Scale::Full));
    }

    #[test]
    fn quick_and_limits_name_sizes_that_exist() {
        for workload in WORKLOADS {
            let known = |(name, _): &Size| workload.sizes.iter().any(|(size, _)| size == name);
            assert!(workload.quick.iter().all(known), "{}", workload.name);
            assert!(workload.limits.iter().all(|(_, sizes)| sizes.iter().all(known)), "{}", workload.name);
        }
    }

    #[test]
    fn what_is_served_has_the_sizes_of_its_client() {
        for name in SERVED {
            let sizes = workload(name).sizes;
            assert!(["connections", "seconds"].iter().all(|need| sizes.iter().any(|(name, _)| name == need)));
        }
    }

    #[test]
    fn patterns_find_names_and_titles() {
        let found = |pattern| WORKLOADS.iter().filter(|workload| workload.matches(pattern)).count();
        assert_eq!((found("CHAIN"), found("create each"), found("no such")), (1, 1, 0));
    }
}
