//! Which comments docs.rs renders as a crate's documentation.
//!
//! The source is read line by line, as rustfmt lays it out. Rendered are the `//!` of modules that
//! are public from the root on, and the `///` of items that are `pub`, of exported macros, of the
//! variants of a public enum, of what a public trait has, and of items in implementations of
//! traits. An item that is `pub` in a private module counts: it can be re-exported, and what is not
//! says `pub(crate)`. Hidden items do not count.

use std::collections::BTreeSet;

use super::repository::File;

/// A line of rendered documentation.
pub struct Line<'f> {
    pub number: usize,
    pub text: &'f str,
}

/// The names, among `files`, of those whose modules are public, from `root` (a `lib.rs`) on; and of
/// the pages that are included as documentation.
pub fn public_files(files: &[File], root: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![(root.to_owned(), folder(root).to_owned())];
    while let Some((name, folder)) = open.pop() {
        let Some(file) = files.iter().find(|file| file.name == name) else { continue };
        found.insert(name);
        for (index, line) in file.text.lines().enumerate() {
            if let Some(page) =
                line.strip_prefix("#[doc = include_str!(\"").and_then(|rest| rest.split('"').next())
            {
                found.insert(format!("{folder}{page}"));
            }
            let Some(module) = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(';')) else {
                continue;
            };
            if !attributes(&file.text, index).any(|attribute| attribute == "#[doc(hidden)]") {
                let inner = format!("{folder}{module}/");
                open.push((format!("{folder}{module}.rs"), inner.clone()));
                open.push((format!("{inner}mod.rs"), inner));
            }
        }
    }
    found
}

fn folder(name: &str) -> &str {
    &name[..name.rfind('/').map_or(0, |at| at + 1)]
}

/// The attributes, each of one line, right above line `index`.
fn attributes(text: &str, index: usize) -> impl Iterator<Item = &str> {
    let above: Vec<_> = text.lines().take(index).map(str::trim).collect();
    above.into_iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"))
}

/// The lines of `file` that are rendered; `public` says whether its module is public.
pub fn lines(file: &File, public: bool) -> Vec<Line<'_>> {
    let all: Vec<&str> = file.text.lines().collect();
    if file.name.ends_with(".md") {
        return all.iter().enumerate().map(|(index, text)| Line { number: index + 1, text }).collect();
    }
    let mut found = Vec::new();
    for (index, text) in all.iter().enumerate() {
        let trimmed = text.trim_start();
        let rendered = if trimmed.starts_with("//!") {
            public && indent(text) == 0
        } else {
            trimmed.starts_with("///") && is_documented(&all, index)
        };
        if rendered {
            found.push(Line { number: index + 1, text: trimmed });
        }
    }
    found
}

/// Whether the item below the comment at `index` is one that is rendered.
fn is_documented(lines: &[&str], index: usize) -> bool {
    let mut exported = false;
    let mut depth = 0_usize;
    for (item, line) in lines.iter().enumerate().skip(index + 1) {
        let line = line.trim();
        if depth == 0 && line.starts_with("//") {
            continue;
        }
        if depth > 0 || line.starts_with("#[") {
            if line == "#[doc(hidden)]" {
                return false;
            }
            exported |= line == "#[macro_export]";
            depth = (depth + line.matches('[').count()).saturating_sub(line.matches(']').count());
            continue;
        }
        return exported || is_public(lines, item);
    }
    false
}

/// Whether the item that begins at `index` is rendered, if its surroundings are.
fn is_public(lines: &[&str], index: usize) -> bool {
    let item = lines[index].trim();
    if item.starts_with("pub") {
        return item.starts_with("pub ");
    }
    let Some(head) = head(lines, index) else { return false };
    let text = lines[head].trim();
    let public = ["pub enum ", "pub trait ", "pub unsafe trait "].iter().any(|head| text.starts_with(head));
    let implements = text.starts_with("impl") && text.contains(" for ");
    let variant = text.starts_with(|c: char| c.is_uppercase());
    public || implements || variant && is_public(lines, head)
}

/// Where the block begins that line `index` is in: a line that is indented less, and neither ends a
/// list of parameters or bounds nor is one.
fn head(lines: &[&str], index: usize) -> Option<usize> {
    let inner = indent(lines[index]);
    let outside = |line: &str| !line.trim().is_empty() && indent(line) < inner;
    let last = (0..index).rev().find(|&at| outside(lines[at]))?;
    let outer = indent(lines[last]);
    (0..=last).rev().find(|&at| {
        let begins = lines[at].trim().starts_with(|c: char| c.is_alphabetic() || c == '$');
        indent(lines[at]) == outer && begins && lines[at].trim() != "where"
    })
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
//! head
/// shown: function
pub fn f() {}
/// private
fn g() {}
/// crate
pub(crate) struct C {
    /// inside crate
    field: u8,
}
/// shown: structure
#[derive(
    Debug,
)]
pub struct S {
    /// shown: field
    pub field: u8,
    /// private field
    other: u8,
}
/// shown: choice
pub enum E {
    /// shown: variant
    A {
        /// shown: in a variant
        a: u8,
    },
}
/// private choice
enum F {
    /// private variant
    A {
        /// in a private variant
        a: u8,
    },
}
/// shown: trait
pub trait T {
    /// shown: in a trait
    fn t();
}
impl<X> T for S
where
    X: Y,
{
    /// shown: implemented
    fn t() {}
}
impl S {
    /// shown: method
    pub fn m() {}
    /// private method
    fn n() {}
}
/// shown: macro
#[macro_export]
macro_rules! m { () => {} }
/// hidden
#[doc(hidden)]
pub fn h() {}
#[cfg(test)]
mod tests {
    /// a test
    #[test]
    fn t() {}
}
";

    fn shown(source: &str, public: bool) -> Vec<String> {
        let file = File { name: "a.rs".into(), text: source.into() };
        lines(&file, public).iter().map(|line| line.text.to_owned()).collect()
    }

    /// What is marked as shown above is, and nothing else.
    #[test]
    fn public_items_are_shown() {
        let marked: Vec<_> =
            SOURCE.lines().map(str::trim).filter(|line| line.starts_with("/// shown")).collect();
        assert_eq!(marked.len(), 11);
        assert_eq!(shown(SOURCE, false), marked);
        assert_eq!(shown(SOURCE, true)[0], "//! head");
    }

    /// Modules are public if all above them are.
    #[test]
    fn public_modules_are_found() {
        let files = [
            (
                "src/lib.rs",
                "pub mod a;\nmod b;\n#[doc(hidden)]\npub mod c;\n#[doc = include_str!(\"p.md\")]\npub mod p {}\n",
            ),
            ("src/a/mod.rs", "pub mod d;\nmod e;\n"),
            ("src/a/d.rs", "pub mod f;\n"),
            ("src/a/d/f.rs", ""),
            ("src/a/e.rs", "pub mod g;\n"),
            ("src/b.rs", "pub mod h;\n"),
            ("src/c.rs", ""),
        ];
        let files = files.map(|(name, text)| File { name: name.into(), text: text.into() });
        let found: Vec<_> = public_files(&files, "src/lib.rs").into_iter().collect();
        assert_eq!(found, ["src/a/d.rs", "src/a/d/f.rs", "src/a/mod.rs", "src/lib.rs", "src/p.md"]);
    }
}
