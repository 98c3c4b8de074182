//! Numbers of behaviours (`S`) and decisions (`D`): where they are defined, and where they are
//! cited.

use std::collections::BTreeSet;
use std::fmt;

use super::repository::File;

/// A letter and digits; a decision may have parts, which are cited as "(a)" after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number {
    letter: char,
    digits: u32,
    part: Option<char>,
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.letter, self.digits)?;
        self.part.map_or(Ok(()), |part| write!(f, " ({part})"))
    }
}

/// All numbers in `line`: words that are `S` or `D` and then digits only.
pub fn cited(line: &str) -> Vec<Number> {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut numbers = Vec::new();
    let mut before = None;
    for (at, letter) in line.char_indices() {
        if matches!(letter, 'S' | 'D') && !before.is_some_and(in_word) {
            let rest = &line[at + 1..];
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            if !rest[end..].starts_with(in_word)
                && let Ok(digits) = rest[..end].parse()
            {
                numbers.push(Number { letter, digits, part: part(&rest[end..]) });
            }
        }
        before = Some(letter);
    }
    numbers
}

/// `c` of " (c)", with which `rest` begins.
fn part(rest: &str) -> Option<char> {
    let mut inner = rest.strip_prefix(" (")?.chars();
    let letter = inner.next().filter(char::is_ascii_lowercase)?;
    (inner.next() == Some(')')).then_some(letter)
}

/// The numbers that have a section in `page`, a heading "### S1 Title", and the parts of each,
/// items of a list that begin with "- (a)". Panics if one is defined twice.
pub fn defined(page: &File) -> BTreeSet<Number> {
    let mut found = BTreeSet::new();
    let mut section: Option<Number> = None;
    for (number, line) in page.lines() {
        let new = if line.starts_with('#') {
            section = line.strip_prefix("### ").and_then(|title| cited(title.split(' ').next()?).pop());
            section
        } else {
            let part = line.strip_prefix('-').and_then(part);
            section.and_then(|section| Some(Number { part: Some(part?), ..section }))
        };
        if let Some(new) = new {
            assert!(found.insert(new), "{}:{number}: {new} is there twice", page.name);
        }
    }
    found
}

/// Citations in `files` of what is not in `defined`, with their places.
pub fn dangling(files: &[File], defined: &BTreeSet<Number>) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        for (number, line) in file.lines() {
            let unknown = cited(line).into_iter().filter(|cited| !defined.contains(cited));
            found.extend(unknown.map(|cited| format!("{}:{number}: {cited}", file.name)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(line: &str) -> Vec<String> {
        cited(line).iter().map(Number::to_string).collect()
    }

    /// Numbers are found wherever a word can stand, and nothing else is taken for one.
    #[test]
    fn numbers_are_found() {
        assert_eq!(
            names("/// By D1 (c), S34–S38: see S16's letter (S9)."),
            ["D1 (c)", "S34", "S38", "S16", "S9"]
        );
        assert_eq!(names("**Decided** (D1, S37). (a) is another matter; D1 (and more)"), ["D1", "S37", "D1"]);
        assert_eq!(names("SS1 _S1 S1a S_1 S D xD2 d8 S1_x HAS1"), [""; 0]);
    }

    /// Seen to fail: a number without a section, a part that is not in the list, the other page's
    /// letter.
    #[test]
    fn what_has_no_section_dangles() {
        let page = "# Page\n### S1 One\n### D2 Two\n- (a) one\n## More\n- (b) no part\n";
        let page = File { name: "page.md".into(), text: page.into() };
        let defined = defined(&page);
        assert_eq!(defined.iter().map(Number::to_string).collect::<Vec<_>>(), ["D2", "D2 (a)", "S1"]);
        let source = "// S1, D2, D2 (a)\n// S2\n// D2 (b), D1\n";
        let source = File { name: "a.rs".into(), text: source.into() };
        assert_eq!(dangling(&[page, source], &defined), ["a.rs:2: S2", "a.rs:3: D2 (b)", "a.rs:3: D1"]);
    }
}
