//! How the tour looks: headings, code, bars. Colours only on a terminal.

use std::env;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::process;

const WIDTH: usize = 100;
const BAR: usize = 50;

/// Lines between these in a chapter's file are shown.
const CUT: &str = "// ---8<---";

pub struct Page {
    colour: bool,
}

impl Page {
    pub fn new() -> Page {
        Page { colour: io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none() }
    }

    /// Writes a line. If nobody reads any more (`tour | head`), the tour is over.
    pub fn line(&self, text: impl Display) {
        let mut out = io::stdout().lock();
        if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
            process::exit(0);
        }
    }

    fn painted(&self, code: &str, text: impl Display) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    pub fn rule(&self) {
        self.line("");
        self.line(self.painted("2", "─".repeat(WIDTH)));
    }

    pub fn heading(&self, number: usize, of: usize, title: &str) {
        self.rule();
        self.line(format_args!(
            "{} {}",
            self.painted("2", format_args!("{number}/{of}")),
            self.painted("1", title)
        ));
        self.line("");
    }

    /// A paragraph.
    pub fn why(&self, text: &str) {
        let mut line = String::new();
        for word in text.split_whitespace() {
            if line.chars().count() + 1 + word.chars().count() > WIDTH {
                self.line(&line);
                line.clear();
            }
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
        self.line(line);
        self.line("");
    }

    /// Shows what a chapter's file has between cut marks.
    pub fn code(&self, source: &str) {
        let parts: Vec<Vec<&str>> = source
            .split(CUT)
            .skip(1)
            .step_by(2)
            .map(|part| part.trim_end().lines().skip(1).collect())
            .collect();
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                self.line(self.painted("2", "  │"));
            }
            let margin =
                part.iter().filter(|l| !l.trim().is_empty()).map(|l| l.len() - l.trim_start().len()).min();
            for line in part {
                let text = line.get(margin.unwrap_or(0)..).unwrap_or("");
                let space = if text.is_empty() { "" } else { " " };
                self.line(format_args!("{}{space}{}", self.painted("2", "  │"), self.painted("36", text)));
            }
        }
        self.line("");
    }

    /// What came out, under the code.
    pub fn result(&self, text: impl Display) {
        self.line(format_args!("  {text}"));
    }

    /// Output of something else, quoted.
    pub fn quote(&self, text: &str) {
        text.lines().for_each(|line| self.line(self.painted("33", format_args!("  > {line}"))));
    }

    /// A horizontal bar, `value` of `full` long.
    pub fn bar(&self, label: &str, value: f64, full: f64, text: impl Display) {
        let eighths = (value / full * BAR as f64 * 8.0).ceil() as usize;
        let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
        let bar = format!("{:<BAR$}", "█".repeat(eighths / 8) + part);
        self.line(format_args!("  {label:<18} {} {text}", self.painted("32", bar)));
    }

    pub fn failure(&self, text: &str) {
        self.line(self.painted("31", format_args!("  FAILED: {text}")));
    }
}

/// `1234567` as `1,234,567`.
pub fn thousands(n: impl Into<u64>) -> String {
    let digits = n.into().to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
