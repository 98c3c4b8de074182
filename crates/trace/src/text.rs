//! Durations, times and tables as text.

use std::io::{self, Write};

/// A duration in the unit that suits it, with three digits.
#[must_use]
pub fn duration(nanos: u64) -> String {
    let (value, unit) = match nanos {
        0..1_000 => return format!("{nanos} ns"),
        1_000..1_000_000 => (nanos as f64 / 1e3, "µs"),
        1_000_000..1_000_000_000 => (nanos as f64 / 1e6, "ms"),
        _ => (nanos as f64 / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

/// A duration as a user writes it: `250us`, `10ms`, `1.5s`; a number alone is seconds.
///
/// # Errors
/// If it is none.
pub fn parse_duration(text: &str) -> Result<u64, String> {
    let units = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("", 1e9)];
    let (number, scale) = units
        .iter()
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))
        .unwrap_or((text, &1e9));
    match number.trim().parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok((value * scale) as u64),
        _ => Err(format!("{text:?} is no duration: write 250us, 10ms or 1.5s")),
    }
}

/// A part of a whole, in percent.
#[must_use]
pub fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// Columns of text: the first to the left, the others to the right.
#[derive(Debug, Default)]
pub struct TextTable {
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// With these heads.
    #[must_use]
    pub fn new(heads: &[&str]) -> TextTable {
        TextTable { rows: vec![heads.iter().map(ToString::to_string).collect()] }
    }

    /// One more row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Writes it.
    ///
    /// # Errors
    /// If the output can't be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (place, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let gap = " ".repeat(width - cell.chars().count());
                let pieces = if place == 0 { [cell.as_str(), &gap] } else { [gap.as_str(), cell] };
                line += if place == 0 { "" } else { "  " };
                line += pieces[0];
                line += pieces[1];
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    //! Seen to fail: with 1e6 for µs.
    use super::*;

    #[test]
    fn durations_are_readable() {
        let texts = [5, 1_500, 25_000_000, 3_000_000_000].map(duration);
        assert_eq!(texts, ["5 ns", "1.50 µs", "25.0 ms", "3.00 s"]);
    }

    #[test]
    fn durations_are_understood() {
        let read = ["5ns", "1.5us", "25ms", "3s", "2"].map(|text| parse_duration(text).unwrap());
        assert_eq!(read, [5, 1_500, 25_000_000, 3_000_000_000, 2_000_000_000]);
        assert!(["", "ms", "-1s", "x"].iter().all(|text| parse_duration(text).is_err()));
    }

    #[test]
    fn columns_stand_below_each_other() {
        let mut table = TextTable::new(&["who", "n"]);
        table.row(vec!["a".into(), "100".into()]);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "who    n\na    100\n");
    }
}
