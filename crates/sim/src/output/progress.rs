//! A bar on the terminal while long runs go on. Where stderr is no terminal, nothing.

use std::io::{IsTerminal, Write};

/// The bar.
pub struct Progress {
    done: usize,
    total: usize,
    shown: bool,
}

const WIDTH: usize = 30;

impl Progress {
    /// For so many steps.
    #[must_use]
    pub fn new(total: usize) -> Progress {
        Progress { done: 0, total: total.max(1), shown: std::io::stderr().is_terminal() }
    }

    /// The next step begins.
    pub fn step(&mut self, what: &str) {
        if self.shown {
            // What can't be shown is no reason to stop.
            let _ = write!(std::io::stderr(), "\r\x1b[2K{}", line(self.done, self.total, what));
            let _ = std::io::stderr().flush();
        }
        self.done += 1;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

fn line(done: usize, total: usize, what: &str) -> String {
    let filled = (WIDTH * done / total).min(WIDTH);
    format!("[{}{}] {done}/{total} {what}", "#".repeat(filled), ".".repeat(WIDTH - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bar fills up, and not beyond its end.
    #[test]
    fn bar_fills_up() {
        assert!(line(0, 4, "x").starts_with("[......"));
        assert!(line(4, 4, "x").starts_with(&format!("[{}]", "#".repeat(WIDTH))));
        assert_eq!(line(9, 4, "x").chars().filter(|c| *c == '#').count(), WIDTH);
    }
}
