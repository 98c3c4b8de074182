//! The runtimes that are compared, in the order of the table's columns.

/// A runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Peer {
    /// Ours.
    Gosched,
    /// The model.
    Go,
    /// Tasks on tokio's multi-threaded runtime.
    Tokio,
    /// Stackful coroutines.
    May,
    /// One OS thread for each task.
    Threads,
}

impl Peer {
    /// As a table calls it.
    pub fn title(self) -> &'static str {
        match self {
            Peer::Gosched => "gosched",
            Peer::Go => "Go",
            Peer::Tokio => "tokio",
            Peer::May => "may",
            Peer::Threads => "threads",
        }
    }

    /// The package of this workspace that runs its workloads; Go's is no Rust package.
    pub fn package(self) -> Option<&'static str> {
        match self {
            Peer::Gosched => Some("bench-gosched"),
            Peer::Go => None,
            Peer::Tokio => Some("bench-tokio"),
            Peer::May => Some("bench-may"),
            Peer::Threads => Some("bench-threads"),
        }
    }
}
