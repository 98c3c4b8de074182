//! Files, functions and rows of the benchmark that pages name between backticks.

use std::collections::BTreeSet;

use super::markdown::prose;
use super::repository::{File, PLACES, root};

/// What stands between backticks in `line`.
pub fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The file that a page of `folder` means by `name`: beside it, or in one of the usual places.
pub fn resolve<'f>(files: &'f [File], folder: &str, name: &str) -> Option<&'f File> {
    let mut places = PLACES.iter().chain([&folder]);
    places.find_map(|place| files.iter().find(|file| file.name.strip_prefix(place) == Some(name)))
}

/// Whether `name` looks like a file of ours: a path, or a page or source at the root.
pub fn is_file(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_alphanumeric() || "/-_.".contains(c));
    plain && (name.ends_with(".rs") || name.ends_with(".md"))
}

/// Files that `page` names and that are not there.
pub fn missing_files(page: &File, files: &[File]) -> Vec<String> {
    let folder = page.name.rfind('/').map_or("", |at| &page.name[..=at]);
    let mut found = Vec::new();
    for (number, line) in prose(&page.text) {
        let missing = quoted(line).filter(|name| is_file(name) && resolve(files, folder, name).is_none());
        found.extend(missing.map(|name| format!("{}:{number}: {name}", page.name)));
    }
    found
}

/// Sources that comments in `files` name between backticks, in full or by the end of their path,
/// and that are not there.
pub fn missing_sources(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    let exists = |name: &str| {
        files.iter().any(|file| {
            file.name.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        })
    };
    for file in files.iter().filter(|file| file.name.ends_with(".rs")) {
        for (number, line) in file.lines() {
            let Some((_, comment)) = line.split_once("//") else { continue };
            let names = quoted(comment).filter(|name| is_file(name) && name.ends_with(".rs"));
            let missing = names.filter(|name| !exists(name.trim_start_matches(".../")));
            found.extend(missing.map(|name| format!("{}:{number}: {name}", file.name)));
        }
    }
    found
}

/// Words that define the name after them.
const DEFINING: [&str; 9] =
    ["fn", "struct", "enum", "const", "static", "type", "trait", "macro_rules!", "mod"];

/// What `source` defines: functions, types, constants, modules.
pub fn definitions(source: &str) -> impl Iterator<Item = &str> {
    let code = source.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    let words = code.flat_map(|line| line.split([' ', '(', '<', ':', ';', '{', '=']));
    let mut before = "";
    words.filter(|word| !word.is_empty()).filter(move |word| {
        let defined = DEFINING.contains(&before);
        before = word;
        defined
    })
}

/// What all sources define.
pub fn all_definitions(files: &[File]) -> BTreeSet<&str> {
    let sources = files.iter().filter(|file| file.name.contains("/src/"));
    sources.flat_map(|file| definitions(&file.text)).collect()
}

/// Names such as `Type::function` that `page` has and that are not `defined`, one of the two or
/// both. Names of std's are left out.
pub fn missing_names(page: &File, defined: &BTreeSet<&str>) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in prose(&page.text) {
        for name in quoted(line).filter(|name| is_path(name)) {
            let mut parts = name.trim_end_matches("()").rsplit("::");
            let last = parts.next().unwrap_or_default();
            let its_type = parts.next().filter(|part| part.starts_with(char::is_uppercase));
            if !defined.contains(last) || !its_type.is_none_or(|name| defined.contains(name)) {
                found.push(format!("{}:{number}: {name}", page.name));
            }
        }
    }
    found
}

fn is_path(name: &str) -> bool {
    let plain = name.trim_end_matches("()").chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':');
    plain && name.contains("::") && !["std::", "core::"].iter().any(|path| name.starts_with(path))
}

/// Whether `name` can only be a name in a program: small letters and digits with a hyphen below.
fn is_word(name: &str) -> bool {
    let name = name.trim_end_matches("()");
    name.contains('_') && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Names such as `a_function` that `page` has and that no source mentions, comments left out.
pub fn missing_words(page: &File, files: &[File]) -> Vec<String> {
    let mut known = BTreeSet::new();
    for file in files.iter().filter(|file| file.name.ends_with(".rs")) {
        for (_, line) in file.lines() {
            let code = line.split("//").next().unwrap_or_default();
            known.extend(code.split(|c: char| !(c.is_alphanumeric() || c == '_')));
        }
    }
    let mut found = Vec::new();
    for (number, line) in prose(&page.text) {
        let missing =
            quoted(line).filter(|name| is_word(name) && !known.contains(name.trim_end_matches("()")));
        found.extend(missing.map(|name| format!("{}:{number}: {name}", page.name)));
    }
    found
}

/// The names of the benchmark's workloads.
pub fn workloads() -> Vec<String> {
    let rows = std::fs::read_to_string(root().join("bench/src/rows.rs")).expect("the benchmark's rows");
    let names = rows.lines().filter_map(|line| line.trim().strip_prefix("name: \""));
    names.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

/// Rows of the benchmark that `page` names ("bench row `a`", "bench rows `a` and `b`") and that are
/// not in `workloads`.
pub fn missing_rows(page: &File, workloads: &[String]) -> Vec<String> {
    let text = prose(&page.text).map(|(_, line)| line).collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for rest in text.split("bench row").skip(1) {
        let mut rest = rest.strip_prefix('s').unwrap_or(rest);
        while let Some(after) = [" `", " and `", ", `"].iter().find_map(|before| rest.strip_prefix(before)) {
            let (name, more) = after.split_once('`').unwrap_or((after, ""));
            if !workloads.iter().any(|known| known == name) {
                found.push(format!("{}: {name}", page.name));
            }
            rest = more;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> File {
        File { name: name.into(), text: text.into() }
    }

    /// Definitions are told from uses and from what comments say.
    #[test]
    fn definitions_are_found() {
        let source = "pub(crate) fn one<T>() { two() }\n// fn three\nstruct Four;\nconst FIVE: u8 = 5;\nunsafe fn six(";
        assert_eq!(definitions(source).collect::<Vec<_>>(), ["one", "Four", "FIVE", "six"]);
    }

    /// Seen to fail: a file, a function and a row that do not exist.
    #[test]
    fn what_does_not_exist_is_found() {
        let files = [
            file("crates/gosched/src/p/mod.rs", "struct P;\nimpl P {\n    fn look(&self) {}\n}\n"),
            file("x/a.md", ""),
        ];
        let page = file(
            "x/b.md",
            "`p/mod.rs`, `x/a.md`, `a.md`, `q/mod.rs`\n`P::look`, `P::leap`, `Q::look`, `std::x`, `a b::c`\n\
             bench rows `one` and `two`; bench row `three`, and `four`\n```\n`r.rs` `P::none`\n```\n",
        );
        assert_eq!(missing_files(&page, &files), ["x/b.md:1: q/mod.rs"]);
        assert_eq!(
            missing_names(&page, &all_definitions(&files)),
            ["x/b.md:2: P::leap", "x/b.md:2: Q::look"]
        );
        let source = file("x/a.rs", "// `a.rs`, `x/a.rs`, `y/a.rs`\nlet x = \"`b.rs`\"; // `c.rs`\n");
        assert_eq!(missing_sources(&[source]), ["x/a.rs:1: y/a.rs", "x/a.rs:2: c.rs"]);
        let source = file("a.rs", "x.no_field; // no_comment\n");
        let page_of_words = file("b.md", "`no_field`, `no_comment()`, `plain`, `UPPER_CASE`\n");
        assert_eq!(missing_words(&page_of_words, &[source]), ["b.md:1: no_comment()"]);
        let known = ["one".to_owned()];
        assert_eq!(missing_rows(&page, &known), ["x/b.md: two", "x/b.md: three"]);
    }
}
