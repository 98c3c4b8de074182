//! What pages say about the sources and the compiler does not check: where a status may change,
//! what unsafe functions ask of their callers, and where rules are called.

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

/// The first word of a line that is no code of its own: a comment or an attribute.
fn is_above(line: &str) -> bool {
    ["//", "#["].iter().any(|start| line.trim_start().starts_with(start))
}

/// Whether line `at` lies in the block of a trait's implementation: the trait has the contract.
fn implements_a_trait(lines: &[&str], at: usize) -> bool {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut inside = depth(lines[at]);
    lines[..at].iter().rev().filter(|line| !line.trim().is_empty()).any(|line| {
        let encloses = depth(line) < inside;
        inside = inside.min(depth(line));
        let head = line.trim_start().trim_start_matches("unsafe ");
        encloses && head.starts_with("impl") && line.contains(" for ")
    })
}

/// The unsafe functions of a file whose comment has no `# Safety`.
fn without_contract(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().take_while(|line| !line.starts_with("mod tests {")).collect();
    let is_unsafe = |line: &str| {
        let code = line.split("//").next().unwrap().trim_start();
        let start = code.find("unsafe fn ").or_else(|| code.find("unsafe extern \"C\" fn "));
        // Not a pointer's type, and not text in quotes.
        start.is_some_and(|at| at == 0 || code[..at].ends_with("const ") || code.starts_with("pub"))
    };
    let missing = (0..lines.len())
        .filter(|at| is_unsafe(lines[*at]) && !implements_a_trait(&lines, *at))
        .filter(|at| {
            let above = lines[..*at].iter().rev().take_while(|line| is_above(line));
            !above.into_iter().any(|line| line.contains("# Safety"))
        });
    missing.map(|at| lines[at].trim()).collect()
}

/// Every unsafe function says what its caller promises, also one that is private, of which the
/// compiler's lint knows nothing.
///
/// Seen to fail: with the contract of `Chan`'s `take_from_sender` taken away, and before those were
/// written that were missing.
#[test]
fn unsafe_functions_have_contracts() {
    let found = without_contract(concat!(
        "pub(crate) const unsafe fn a() {}\n",
        "unsafe impl Contract for Cpu {\n    unsafe fn b() {}\n}\n",
        "impl Cpu {\n    /// # Safety\n    /// None.\n    #[inline]\n    unsafe fn c() {}\n",
        "    /// Does it.\n    unsafe fn d(f: unsafe fn()) {}\n    e: unsafe fn(),\n}\n",
    ));
    assert_eq!(found, ["pub(crate) const unsafe fn a() {}", "unsafe fn d(f: unsafe fn()) {}"]);
    let mut missing = Vec::new();
    for name in ["switch", "primitives", "locks", "chan", "gosched"] {
        for (path, text) in sources(&format!("crates/{name}/src")) {
            missing.extend(
                without_contract(&text).iter().map(|line| format!("{name}/{}: {line}", path.display())),
            );
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The names between backquotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Whether the code names this function or type, not as part of another name.
fn names(code: &str, name: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

/// The table of `gosched-rules` says who calls which rule: every rule is called in one of the files
/// that it names, and every file calls one of its rules.
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

/// The lines of a file that are only a comment and too long, without those in code fences and
/// tables.
fn long_comments(text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
        let comment = comment.trim_start_matches(['/', '!']).trim_start();
        let is_fence = comment.starts_with("```");
        fenced ^= is_fence;
        if !fenced && !is_fence && !comment.starts_with('|') && line.chars().count() > 100 {
            found.push((number + 1, line.to_owned()));
        }
    }
    found
}

/// Comments end at column 100. Seen to fail: with a longer one in `sched/idle.rs`.
#[test]
fn comments_are_wrapped() {
    let long = format!("//! {}", "word ".repeat(20));
    assert_eq!(long_comments(&format!("{long}\n// short\n    ///{}", "x".repeat(94))).len(), 2);
    assert!(long_comments(&format!("//! ```text\n{long}\n//! ```\n/// | {long} |")).is_empty());
    let found: Vec<String> = sources("crates")
        .into_iter()
        .flat_map(|(path, text)| {
            long_comments(&text).into_iter().map(move |(line, _)| format!("{}:{line}", path.display()))
        })
        .collect();
    assert!(found.is_empty(), "comments beyond column 100:\n{}", found.join("\n"));
}
