//! Colours, where they can be seen.

use std::env;
use std::io::{IsTerminal, stdout};

use crate::aim::Verdict;

/// Whether to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// A terminal.
    Colours,
    /// A file, a pipe, or someone who set `NO_COLOR`.
    Plain,
}

impl Paint {
    /// What stdout calls for.
    pub fn for_stdout() -> Paint {
        let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if stdout().is_terminal() && !unwanted { Paint::Colours } else { Paint::Plain }
    }

    /// Headings.
    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// What matters less.
    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// Green, red or dim.
    pub fn verdict(self, verdict: Verdict, text: &str) -> String {
        match verdict {
            Verdict::Met => self.wrap("32", text),
            Verdict::Missed => self.wrap("31", text),
            Verdict::Unknown => self.dim(text),
        }
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self {
            Paint::Colours => format!("\x1b[{code}m{text}\x1b[0m"),
            Paint::Plain => text.to_owned(),
        }
    }
}
