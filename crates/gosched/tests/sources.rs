//! What pages say about the sources and the compiler does not check: where a status may change, and
//! where rules are called.

use std::fs;
use std::path::{Path, PathBuf};

/// The Rust sources below a folder of the repository, without those of tests: path and text.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if !path.ends_with("tests") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(&root).unwrap().to_owned(), text));
            }
        }
    }
    assert!(!found.is_empty(), "no sources in {folder}");
    found
}

/// The code of a file: no comments, and nothing of its tests, which come last.
fn code(text: &str) -> String {
    let lines = text.lines().take_while(|line| !line.starts_with("mod tests {"));
    lines.map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

/// What changes a status: that of a goroutine (`gosched_primitives::StatusWord`), or that of a P
/// (an atomic).
const CHANGES: [&str; 6] = [
    "status.transition(",
    "status.ready(",
    "status.finish_parking(",
    "status.store(",
    "status.swap(",
    "status.compare_exchange",
];

/// Every change of a G's status is in `g/transitions.rs`, every change of a P's in `p/owned.rs`.
#[test]
fn statuses_change_in_two_files() {
    let mut changing: Vec<PathBuf> = sources("crates/gosched/src")
        .into_iter()
        .filter(|(_, text)| {
            let code: String = code(text).split_whitespace().collect();
            CHANGES.iter().any(|change| code.contains(change))
        })
        .map(|(path, _)| path)
        .collect();
    changing.sort();
    assert_eq!(changing, [Path::new("g/transitions.rs"), Path::new("p/owned.rs")]);
}

/// The names between backquotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Whether the code names this function or type, not as part of another name.
fn names(code: &str, name: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

/// The table of `gosched-rules` says who calls which rule: every rule is called in one of the files that it names, and every file
/// calls one of its rules.
#[test]
fn rules_are_called_where_their_table_says() {
    let mut files = sources("crates/gosched/src");
    files.extend(
        sources("crates/primitives/src").into_iter().map(|(p, t)| (Path::new("primitives").join(p), t)),
    );
    let table = include_str!("../../rules/README.md");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| rule |"))
        .map(|line| line.trim_matches('|').split('|').collect())
        .collect();
    assert!(rows.len() > 15, "{} rows", rows.len());
    for row in rows {
        let rules: Vec<&str> = quoted(row[2]).iter().map(|rule| rule.rsplit_once("::").unwrap().1).collect();
        let callers: Vec<(&str, String)> = quoted(row[3])
            .into_iter()
            .map(|file| {
                let found = files.iter().find(|(path, _)| path == Path::new(file));
                (file, code(&found.unwrap_or_else(|| panic!("{}: no file {file}", row[0])).1))
            })
            .collect();
        for rule in &rules {
            assert!(callers.iter().any(|(_, code)| names(code, rule)), "{}: nobody calls {rule}", row[0]);
        }
        for (file, code) in &callers {
            assert!(rules.iter().any(|rule| names(code, rule)), "{}: {file} calls none of them", row[0]);
        }
    }
}
