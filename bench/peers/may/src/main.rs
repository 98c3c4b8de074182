//! The workloads on may's coroutines. Where a million stacks of its kind cannot be had, it gets
//! smaller sizes: see `src/rows.rs`. Its stacks are 32 KiB, its default.

mod chan;
mod http;
mod lock;
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
        ("chan_buffered", chan::pass),
        ("chan_one_to_one", chan::pass),
        ("chan_ring", chan::ring),
        ("skynet", chan::skynet),
        ("tcp_echo", net::tcp_echo),
        ("http_hello", http::hello),
    ])
}

/// Runs `workload` in a coroutine, on as many worker threads as asked for.
fn run(params: &Params, workload: impl FnOnce() -> Sample + Send + 'static) -> Sample {
    may::config().set_workers(params.procs());
    may::go!(workload).join().expect("no coroutine panics")
}
