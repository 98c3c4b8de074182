//! The workloads on tokio's multi-threaded runtime. The main task runs on a worker like the others,
//! not in `block_on`, whose thread is not a worker.

#![forbid(unsafe_code)]

mod chan;
mod http;
mod lock;
mod net;
mod park;
mod sleep;
mod spawn;

use std::process::ExitCode;

use bench_workload::{Params, Sample};
use tokio::runtime::Builder;

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
        ("tcp_echo", net::tcp_echo),
        ("http_hello", http::hello),
    ])
}

/// Runs `workload` as a task, on as many worker threads as asked for.
fn run(params: &Params, workload: impl Future<Output = Sample> + Send + 'static) -> Sample {
    run_on(builder(params), workload)
}

/// As [`run`], with timers.
fn run_with_time(params: &Params, workload: impl Future<Output = Sample> + Send + 'static) -> Sample {
    let mut builder = builder(params);
    builder.enable_time();
    run_on(builder, workload)
}

/// As [`run`], with sockets.
fn run_with_io(params: &Params, workload: impl Future<Output = Sample> + Send + 'static) -> Sample {
    let mut builder = builder(params);
    builder.enable_io();
    run_on(builder, workload)
}

/// As [`run`], with sockets and timers.
fn run_with_all(params: &Params, workload: impl Future<Output = Sample> + Send + 'static) -> Sample {
    let mut builder = builder(params);
    builder.enable_all();
    run_on(builder, workload)
}

fn builder(params: &Params) -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(params.procs());
    builder
}

fn run_on(mut builder: Builder, workload: impl Future<Output = Sample> + Send + 'static) -> Sample {
    let runtime = builder.build().expect("the runtime can be started");
    let sample = runtime.block_on(async { tokio::spawn(workload).await.expect("no task panics") });
    runtime.shutdown_background();
    sample
}
