//! What the compared Rust programs share. `go/protocol.go` is the same for Go.
//!
//! A program is called in one of two ways:
//!
//! ```text
//! bench-tokio list                                     prints the names of its workloads, one a line
//! bench-tokio spawn_join procs=2 n=1000000 batch=1000  runs one, prints its figures on one line:
//! ns=451.3
//! bench-tokio http_hello procs=2                       serves until its input ends, after a first line that says where:
//! port=40123
//! ```
//!
//! A workload is a function from [`Params`] to a [`Sample`]. It starts its runtime itself, and
//! starts the clock when the runtime is up.

#![forbid(unsafe_code)]

mod fibonacci;
mod lateness;
mod memory;
mod params;
mod sample;
mod serving;

use std::process::ExitCode;

pub use fibonacci::fibonacci;
pub use lateness::{LONGEST, Lateness, percentiles, sleep_of};
pub use memory::{grown_by_each, resident};
pub use params::Params;
pub use sample::Sample;
pub use serving::{GREETING, announce};

/// A workload's name and the function that runs it.
pub type Entry = (&'static str, fn(&Params) -> Sample);

/// Does what the command line asks for.
pub fn serve(workloads: &[Entry]) -> ExitCode {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_default();
    if name == "list" {
        workloads.iter().for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    let Some((_, run)) = workloads.iter().find(|(known, _)| *known == name) else {
        eprintln!("no workload is called {name:?}; `list` prints those there are");
        return ExitCode::FAILURE;
    };
    match Params::parse(args) {
        Ok(params) => {
            println!("{}", run(&params));
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
