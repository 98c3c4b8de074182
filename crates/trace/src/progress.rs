//! A line on the terminal while a long trace is read. Where stderr is no terminal, or the trace
//! short, nothing.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How far reading has got.
pub struct ByteProgress {
    length: u64,
    begun: Instant,
    shown: Option<Instant>,
    is_terminal: bool,
}

/// From when on there is something to see, and how often.
const PATIENCE: Duration = Duration::from_millis(500);

impl ByteProgress {
    /// For so many bytes.
    #[must_use]
    pub fn new(length: u64) -> ByteProgress {
        let is_terminal = std::io::stderr().is_terminal();
        ByteProgress { length, begun: Instant::now(), shown: None, is_terminal }
    }

    /// So many bytes have been read.
    pub fn at(&mut self, offset: u64) {
        if !self.is_terminal || self.shown.unwrap_or(self.begun).elapsed() < PATIENCE {
            return;
        }
        self.shown = Some(Instant::now());
        // What can't be shown is no reason to stop.
        let _ = write!(std::io::stderr(), "\r\x1b[2K{}", line(offset, self.length));
        let _ = std::io::stderr().flush();
    }
}

impl Drop for ByteProgress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

fn line(offset: u64, length: u64) -> String {
    let part = offset as f64 / length.max(1) as f64;
    format!("{:3.0} % of {} MB", 100.0 * part.min(1.0), length / 1_000_000)
}

#[cfg(test)]
mod tests {
    //! Seen to fail: without `min`.
    use super::*;

    /// It never says more than all.
    #[test]
    fn progress_ends_at_all() {
        assert_eq!(line(50, 200), " 25 % of 0 MB");
        assert_eq!(line(7_000_000, 5_000_000), "100 % of 5 MB");
    }
}
