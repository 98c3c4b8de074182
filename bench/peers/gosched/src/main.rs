//! The workloads on gosched. One file per family; each function is one workload of `src/rows.rs`.

#![forbid(unsafe_code)]

mod chan;
mod http;
mod lock;
mod monitor;
mod net;
mod park;
mod sleep;
mod spawn;

use std::process::ExitCode;

use bench_workload::{Params, Sample};

fn main() -> ExitCode {
    bench_workload::serve(&[
        ("spawn_join", spawn::spawn_join),
        ("spawn_all", spawn::spawn_all),
        ("chain", spawn::chain),
        ("fib", spawn::fib),
        ("yield", park::yields),
        ("parked", park::parked),
        ("pingpong_park", park::pingpong),
        ("mutex", lock::mutex),
        ("sleeps", sleep::sleeps),
        ("sleep_1ms", sleep::sleep_1ms),
        ("chan_pingpong", chan::pingpong),
        ("chan_unbuffered", chan::pass),
        ("chan_buffered", chan::pass),
        ("chan_one_to_one", chan::pass),
        ("chan_select", chan::selects),
        ("chan_ring", chan::ring),
        ("skynet", chan::skynet),
        ("loops", monitor::loops),
        ("handoff", monitor::handoff),
        ("tcp_echo", net::tcp_echo),
        ("http_hello", http::hello),
    ])
}

/// Runs `workload` as the main goroutine, on as many Ps as asked for.
fn run(params: &Params, workload: impl FnOnce() -> Sample + Send) -> Sample {
    gosched::runtime::Config::new()
        .maxprocs(params.procs())
        .install()
        .expect("the runtime is not in use yet");
    gosched::run(workload)
}
