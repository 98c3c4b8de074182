//! The workloads on OS threads, one for each task. They get smaller sizes: see `src/rows.rs`. There
//! is no `fib`: it would need thousands of threads at once, each waiting for others.

#![forbid(unsafe_code)]

mod chan;
mod lock;
mod net;
mod park;
mod sleep;
mod spawn;

use std::process::ExitCode;

fn main() -> ExitCode {
    bench_workload::serve(&[
        ("spawn_join", spawn::spawn_join),
        ("spawn_all", spawn::spawn_all),
        ("chain", spawn::chain),
        ("yield", park::yields),
        ("parked", park::parked),
        ("pingpong_park", park::pingpong),
        ("mutex", lock::mutex),
        ("sleep_1ms", sleep::sleep_1ms),
        ("chan_pingpong", chan::pingpong),
        ("chan_unbuffered", chan::pass),
        ("chan_buffered", chan::pass),
        ("chan_one_to_one", chan::pass),
        ("chan_select", chan::selects),
        ("chan_ring", chan::ring),
        ("tcp_echo", net::tcp_echo),
    ])
}
