//! The simulator and the real scheduler side by side: measures what single steps cost on this
//! machine, simulates three rows of `bench/` with these costs, runs the same rows for real, and
//! prints both.
//!
//! ```sh
//! cargo run --release -p gosched-sim --example reality -- costs            # a file for --costs
//! cargo run --release -p gosched-sim --example reality -- validate         # simulated beside real
//! ```
//!
//! Everything that is measured runs in a process of its own, in turns, as often as `--rounds` says;
//! medians are compared. A machine that others use gives other ratios each time: nothing here is
//! part of a test.

mod atoms;
mod rounds;
mod rows;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["costs"] => rounds::costs(ROUNDS),
        ["costs", "--rounds", n] => number(n).and_then(rounds::costs),
        ["validate"] => rounds::validate(ROUNDS),
        ["validate", "--rounds", n] => number(n).and_then(rounds::validate),
        ["atom", name] => rounds::run_atom(name),
        ["row", name, procs] => number(procs).and_then(|procs| rounds::run_row(name, procs)),
        _ => Err("usage: reality costs|validate [--rounds N]".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// How often everything is measured.
const ROUNDS: usize = 9;

fn number(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| format!("{text:?} is no number above 0"))
}

/// The middle one; 0 of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Runs `f` as the main goroutine on so many Ps; once in a process.
fn on_procs<T: Send>(procs: usize, f: impl FnOnce() -> T + Send) -> T {
    gosched::runtime::Config::new().maxprocs(procs).install().expect("the runtime is not in use yet");
    gosched::run(f)
}

/// What this process has used by now, ns.
fn cpu_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
