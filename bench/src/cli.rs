//! The command line.

use std::path::PathBuf;

use clap::Parser;

use crate::peer::Peer;
use crate::rows::{Scale, WORKLOADS, Workload};

/// Runs the same workloads on gosched, Go, tokio, may and OS threads and compares them.
#[derive(Debug, Parser)]
#[command(name = "bench", version, after_help = "Results go to stdout, progress and warnings to stderr.")]
pub struct Cli {
    /// How often each workload runs on each runtime; medians are shown
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,

    /// Only workloads whose name or title contains this
    #[arg(long, value_name = "PATTERN")]
    pub only: Option<String>,

    /// Show the workloads and end
    #[arg(long)]
    pub list: bool,

    /// On how many processors (GOMAXPROCS, worker threads) each runtime runs
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    pub procs: u32,

    /// Write every single measurement to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Which runtimes to compare gosched with
    #[arg(
        long,
        value_name = "NAMES",
        value_enum,
        value_delimiter = ',',
        default_value = "go,tokio,may,threads"
    )]
    pub peers: Vec<Peer>,

    /// Small sizes, to see whether everything works; the figures mean little
    #[arg(long)]
    pub quick: bool,
}

impl Cli {
    /// The size of the workloads.
    pub fn scale(&self) -> Scale {
        if self.quick { Scale::Quick } else { Scale::Full }
    }

    /// gosched and its peers, in the table's order.
    pub fn columns(&self) -> Vec<Peer> {
        let mut peers = self.peers.clone();
        peers.push(Peer::Gosched);
        peers.sort();
        peers.dedup();
        peers
    }

    /// The workloads asked for, or what to do if there are none.
    pub fn workloads(&self) -> Result<Vec<&'static Workload>, String> {
        let pattern = self.only.as_deref().unwrap_or("");
        let found: Vec<_> = WORKLOADS.iter().filter(|workload| workload.matches(pattern)).collect();
        if found.is_empty() {
            return Err(format!("no workload matches {pattern:?}; --list shows those there are"));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gosched_is_always_compared() {
        let cli = Cli::parse_from(["bench", "--peers", "tokio,go"]);
        assert_eq!(cli.columns(), [Peer::Gosched, Peer::Go, Peer::Tokio]);
    }

    #[test]
    fn a_pattern_without_match_says_how_to_go_on() {
        let error = Cli::parse_from(["bench", "--only", "nothing"]).workloads().unwrap_err();
        assert!(error.contains("\"nothing\"") && error.contains("--list"), "{error}");
    }
}
