//! Progress, on stderr: one line that is rewritten on a terminal, one line per workload elsewhere.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use crate::peer::Peer;

/// Counts measurements.
#[derive(Debug)]
pub struct Progress {
    total: usize,
    done: usize,
    start: Instant,
    on_terminal: bool,
    last_workload: &'static str,
}

impl Progress {
    /// For so many measurements.
    pub fn new(total: usize) -> Progress {
        let on_terminal = stderr().is_terminal();
        Progress { total, done: 0, start: Instant::now(), on_terminal, last_workload: "" }
    }

    /// Another one begins.
    pub fn step(&mut self, workload: &'static str, run: u32, runs: u32, peer: Peer) {
        let (left, total, number) = (self.left(), self.total, self.done + 1);
        if self.on_terminal {
            eprint!("\r\x1b[2K[{number}/{total}] {workload}, run {run} of {runs}, {}{left}", peer.title());
            // A progress line that cannot be written is not worth stopping for.
            let _ = stderr().flush();
        } else if workload != self.last_workload {
            eprintln!("[{number}/{total}] {workload}{left}");
        }
        self.last_workload = workload;
        self.done += 1;
    }

    /// The last one has ended.
    pub fn finish(self) {
        if self.on_terminal {
            eprint!("\r\x1b[2K");
        }
    }

    fn left(&self) -> String {
        if self.done == 0 {
            return String::new();
        }
        let each = self.start.elapsed() / u32::try_from(self.done).unwrap_or(u32::MAX);
        format!(" (about {} left)", rough(each * u32::try_from(self.total - self.done).unwrap_or(u32::MAX)))
    }
}

fn rough(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..90 => format!("{} s", seconds + 1),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rough() {
        assert_eq!(rough(Duration::from_millis(300)), "1 s");
        assert_eq!(rough(Duration::from_secs(241)), "5 min");
    }
}
