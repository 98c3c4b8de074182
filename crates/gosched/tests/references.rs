//! What texts refer to exists: numbers of behaviours and decisions, pages and their sections,
//! files, functions, rows of the benchmark. And what users read names no such number.
//!
//! The finders are in `references/`, each with tests in which it finds what is wrong.
//!
//! Seen to fail, on the repository's own files: with a number that has no section, and a part that
//! is not in its list, in a comment of `sched/idle.rs` (`numbers_have_a_section`); with a number in
//! the comment of `available_parallelism`, and with the five that were there
//! (`users_read_no_numbers`); with a section of `docs/design.md` misspelt (`links_lead_somewhere`);
//! with `steal_half` and `next_context` renamed in the sources, and when files and types were
//! renamed by somebody else (`what_pages_name_exists`); with a row that says neither who nor why
//! (`go_has_counterparts`); with a count that is off by one (`walks_are_counted`); with 80 lines
//! too many (`the_map_is_short`); with a file of another name in a comment of `p/mod.rs`
//! (`what_comments_name_exists`).

mod references {
    pub mod markdown;
    pub mod named;
    pub mod numbers;
    pub mod rendered;
    pub mod repository;
    pub mod tables;
}

use references::markdown::broken_links;
use references::named::{
    all_definitions, missing_files, missing_names, missing_rows, missing_sources, missing_words, workloads,
};
use references::numbers::{cited, dangling, defined};
use references::rendered::{lines, public_files};
use references::repository::{File, file, files};
use references::tables::{changes_of_file, missing_definitions, rows_without_counterpart, tables};

const BEHAVIOUR: &str = "docs/behaviour.md";
const DESIGN: &str = "docs/design.md";
const MAP: &str = "ARCHITECTURE.md";
const GO: &str = "docs/proc-go.md";
const SCHED: &str = "crates/gosched/src/sched/README.md";

/// Every number that is cited has a section in `docs/behaviour.md` or `docs/design.md`.
#[test]
fn numbers_have_a_section() {
    let (behaviours, decisions) = (defined(&file(BEHAVIOUR)), defined(&file(DESIGN)));
    assert!(behaviours.len() >= 56 && decisions.len() >= 11, "{} and {}", behaviours.len(), decisions.len());
    assert!(behaviours.is_disjoint(&decisions));
    let files = files();
    let cites = files.iter().filter(|file| file.lines().any(|(_, line)| !cited(line).is_empty())).count();
    assert!(cites > 100, "only {cites} files cite a number");
    let found = dangling(&files, &behaviours.union(&decisions).copied().collect());
    assert!(found.is_empty(), "not in {BEHAVIOUR} or {DESIGN}:\n{}", found.join("\n"));
}

/// What users read names no number: the documentation of the crates that they use, and the first
/// pages.
#[test]
fn users_read_no_numbers() {
    let files = files();
    let mut read = public_files(&files, "crates/gosched/src/lib.rs");
    for name in ["runtime/mod.rs", "os/unix/net/mod.rs", "soundness.md"] {
        assert!(read.contains(&format!("crates/gosched/src/{name}")), "{name} is not in {read:?}");
    }
    read.extend(["crates/macros/src/lib.rs", "README.md", "CHANGELOG.md"].map(String::from));
    let (mut shown, mut found) = (0, Vec::new());
    for file in &files {
        let library =
            ["crates/gosched/src/", "crates/macros/src/"].iter().any(|path| file.name.starts_with(path));
        let public = read.contains(&file.name);
        let source = library && file.name.ends_with(".rs");
        for line in if public || source { lines(file, public) } else { Vec::new() } {
            shown += 1;
            let numbers = cited(line.text).into_iter();
            found.extend(numbers.map(|number| format!("{}:{}: {number}", file.name, line.number)));
        }
    }
    assert!(shown > 3000, "only {shown} lines of documentation were found");
    assert!(found.is_empty(), "users can't look these up:\n{}", found.join("\n"));
}

/// Links in pages, and mentions of pages in sources, lead to a file and, if they name one, a
/// section.
#[test]
fn links_lead_somewhere() {
    let found = broken_links(&files());
    assert!(found.is_empty(), "these lead nowhere:\n{}", found.join("\n"));
}

/// Pages whose words about files, functions and rows of the benchmark are checked.
fn is_checked(file: &File) -> bool {
    let pages = [MAP, SCHED];
    file.name.ends_with(".md") && (file.name.starts_with("docs/") || pages.contains(&file.name.as_str()))
}

/// Files, functions and rows of the benchmark that the pages name exist.
#[test]
fn what_pages_name_exists() {
    let (files, workloads) = (files(), workloads());
    assert!(workloads.len() > 15, "{workloads:?}");
    let (defined, mut found) = (all_definitions(&files), Vec::new());
    for page in files.iter().filter(|file| is_checked(file)) {
        found.extend(missing_files(page, &files));
        found.extend(missing_names(page, &defined));
        found.extend(missing_rows(page, &workloads));
        found.extend(missing_definitions(page, &files).1);
    }
    found.extend(missing_words(&file(SCHED), &files));
    assert!(found.is_empty(), "there is no such thing:\n{}", found.join("\n"));
}

/// Sources that comments name exist.
#[test]
fn what_comments_name_exists() {
    let found = missing_sources(&files());
    assert!(found.is_empty(), "there is no such file:\n{}", found.join("\n"));
}

/// The map stays a map.
#[test]
fn the_map_is_short() {
    let lines = file(MAP).lines().count();
    assert!(lines <= 200, "{MAP} has {lines} lines: details belong to the pages that it names");
}

/// Each row of the page for readers of Go's runtime has our counterpart, or says that there is
/// none.
#[test]
fn go_has_counterparts() {
    let page = file(GO);
    let (rows, found) = rows_without_counterpart(&page);
    assert!(rows > 100, "only {rows} rows");
    assert!(found.is_empty(), "no counterpart in:\n{}", found.join("\n"));
    let (names, _) = missing_definitions(&page, &files());
    assert!(names > 100, "only {names} functions of ours");
}

/// What the two walks say about changes of file is so.
#[test]
fn walks_are_counted() {
    let page = file(SCHED);
    let walks: Vec<_> = tables(&page).into_iter().filter(|table| table.heads.contains(&"before")).collect();
    assert_eq!(walks.len(), 2);
    for walk in walks {
        let count = |head| changes_of_file(&walk, head).expect("a column of the walk");
        let said = format!("{} changes of file now, {} before.", count("now"), count("before"));
        let line = walk.rows.last().map_or(0, |row| row.number);
        let next = page.lines().find(|(number, text)| *number > line && !text.is_empty());
        assert_eq!(next.map(|(_, text)| text), Some(said.as_str()), "below line {line}");
    }
}
