//! `expected.txt`: the counts that were written down, for each compiler and maker of CPUs that they
//! were counted with.

use std::collections::BTreeMap;

use crate::rows::ROWS;

const HEAD: &str =
    "# Instructions per operation, by callgrind, for each compiler and maker of CPUs. Written by --write.\n";

/// Counts by the name of the operation.
pub type Counts = BTreeMap<String, f64>;

/// All sections of the file: what they belong to, and the counts.
#[derive(Debug, Default, PartialEq)]
pub struct Expected(BTreeMap<String, Counts>);

impl Expected {
    /// The file's text: a line in brackets begins a section, the others are a name and a count.
    pub fn read(text: &str) -> Expected {
        let mut sections: BTreeMap<String, Counts> = BTreeMap::new();
        let mut section = None;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(title) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = Some(sections.entry(title.to_owned()).or_default());
            } else if let Some(section) = &mut section
                && let Some((name, count)) = line.split_once(char::is_whitespace)
                && let Ok(count) = count.trim().parse()
            {
                section.insert(name.to_owned(), count);
            }
        }
        Expected(sections)
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for (title, counts) in &self.0 {
            text += &format!("\n[{title}]\n");
            for row in ROWS {
                if let Some(count) = counts.get(row.name) {
                    text += &format!("{:<16} {count:.1}\n", row.name);
                }
            }
        }
        text
    }

    /// The counts of this compiler and maker of CPUs.
    pub fn of(&self, title: &str) -> Option<&Counts> {
        self.0.get(title)
    }

    /// Writes down what was counted with this compiler and maker of CPUs; other counts stay.
    pub fn set(&mut self, title: &str, counts: Counts) {
        self.0.entry(title.to_owned()).or_default().extend(counts);
    }

    /// What there are counts for.
    pub fn titles(&self) -> String {
        self.0.keys().cloned().collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut expected = Expected::default();
        expected.set("rustc 1.2.3, Maker", Counts::from([("enter".into(), 28.0), ("spawn".into(), 910.5)]));
        expected.set("rustc 1.2.3, Other", Counts::from([("enter".into(), 27.0)]));
        expected.set("rustc 1.2.3, Other", Counts::from([("mutex".into(), 22.0)]));
        assert_eq!(Expected::read(&expected.text()), expected);
        let other = Counts::from([("enter".into(), 27.0), ("mutex".into(), 22.0)]);
        assert_eq!(expected.of("rustc 1.2.3, Other"), Some(&other));
        assert_eq!(expected.of("rustc 4.5.6, Maker"), None);
        assert_eq!(Expected::read(""), Expected::default());
    }
}
