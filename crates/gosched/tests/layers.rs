//! A module of the library uses only modules below it. `ARCHITECTURE.md` has the table of layers,
//! and that of exceptions; both are read from there.
//!
//! A module here is a file or folder that `lib.rs` declares. Tests do not count.
//!
//! What is not seen: a call of a method, by a value, of an `impl` block that lies above its type
//! (`Waiter::wake`). Such blocks are kept few, and most of their functions are `pub(super)`.
//!
//! Seen to fail, on the repository's own files: with `use crate::dump;` in `sys/errno.rs`, with
//! `crate::sched::yield_now()` in a function of `timers/heap.rs`, with `super::super::sched::SCHED`
//! in `p/owned.rs` and with `crate::go` in `chan/stand_in.rs` (`modules_use_what_is_below`); with
//! two rows of the table exchanged (the same); with a row taken out, and with one for a module that
//! is not there (`the_table_has_all_modules`); with an exception for an edge that nobody needs, and
//! with one that names `sched` (`exceptions_are_few_and_needed`).

mod layers {
    pub mod finder;
}

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use layers::finder::{macros, modules, re_exports, uses};

/// An edge that goes up is allowed if it is one of these few.
const MOST_EXCEPTIONS: usize = 5;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The rows of the table in `ARCHITECTURE.md` with these heads, each as the cells without
/// backquotes.
fn table(heads: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let page = fs::read_to_string(path).unwrap();
    let mut lines = page.lines().skip_while(|line| *line != heads);
    assert!(lines.next().is_some(), "ARCHITECTURE.md has no table {heads}");
    let rows = lines.skip(1).take_while(|line| line.starts_with("| "));
    let cell = |cell: &str| cell.trim().replace('`', "");
    rows.map(|row| row.trim_matches('|').split('|').map(cell).collect()).collect()
}

/// The modules, the lowest first.
fn layers() -> Vec<String> {
    let rows = table("| module | what it holds |");
    assert!(rows.iter().all(|row| row.len() == 2 && !row[1].is_empty()), "a row does not say what it holds");
    rows.into_iter().map(|mut row| row.swap_remove(0)).collect()
}

/// The edges that may go up.
fn exceptions() -> BTreeSet<(String, String)> {
    let rows = table("| module | uses | because |");
    assert!(rows.iter().all(|row| row.len() == 3 && !row[2].is_empty()), "an exception has no reason");
    rows.into_iter().map(|row| (row[0].clone(), row[1].clone())).collect()
}

/// The sources but for the root and tests: the path, and the names of the modules that lead to it.
fn sources() -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut open = vec![(root(), Vec::new())];
    while let Some((folder, above)) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let inner: Vec<String> = above.iter().cloned().chain([name.clone()]).collect();
            let is_root = above.is_empty() && name == "lib";
            if name == "tests" || name == "testing" || is_root {
                continue;
            }
            if path.is_dir() {
                open.push((path, inner));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let of = if name == "mod" { above.clone() } else { inner };
                found.push((path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned(), of));
            }
        }
    }
    assert!(found.len() > 150, "only {} sources", found.len());
    found
}

/// Every use of one module by another: who uses whom, and where.
fn edges() -> BTreeMap<(String, String), Vec<String>> {
    let lib = fs::read_to_string(root().join("lib.rs")).unwrap();
    let known: BTreeSet<String> = modules(&lib).into_iter().collect();
    let sources: Vec<(String, Vec<String>, String)> = sources()
        .into_iter()
        .map(|(file, of)| (file.clone(), of, fs::read_to_string(root().join(file)).unwrap()))
        .collect();
    // What the root has that is no module of its own: re-exports, and macros.
    let shown: BTreeMap<String, String> = re_exports(&lib).into_iter().collect();
    let defined: BTreeMap<String, String> = sources
        .iter()
        .flat_map(|(_, of, text)| macros(text).into_iter().map(|name| (name, of[0].clone())))
        .collect();
    let mut edges: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (file, of, text) in &sources {
        for found in uses(text, of.len()) {
            let place = format!("{file}:{}", found.line);
            let module =
                known.get(&found.name).or_else(|| shown.get(&found.name)).filter(|_| !found.is_macro);
            let target = module.or_else(|| defined.get(&found.name));
            let target = target.unwrap_or_else(|| panic!("{place}: what is crate::{}?", found.name));
            if *target != of[0] {
                edges.entry((of[0].clone(), target.clone())).or_default().push(place);
            }
        }
    }
    assert!(edges.len() > 100, "only {} edges", edges.len());
    edges
}

/// Where each module stands.
fn heights() -> BTreeMap<String, usize> {
    layers().into_iter().enumerate().map(|(height, module)| (module, height)).collect()
}

#[test]
fn modules_use_what_is_below() {
    let (heights, exceptions) = (heights(), exceptions());
    let mut wrong = Vec::new();
    for ((from, to), places) in edges() {
        let height = |module: &String| heights.get(module).unwrap_or_else(|| panic!("{module} has no row"));
        if height(&from) <= height(&to) && !exceptions.contains(&(from.clone(), to.clone())) {
            wrong.push(format!("{from} is below {to}, and uses it: {}", places.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_has_all_modules() {
    let lib = fs::read_to_string(root().join("lib.rs")).unwrap();
    let (mut declared, mut listed) = (modules(&lib), layers());
    declared.sort();
    listed.sort();
    assert_eq!(listed, declared);
}

/// Each goes up, is needed, and stays below the scheduler: so nothing is in a cycle with that, or
/// above it.
#[test]
fn exceptions_are_few_and_needed() {
    let (edges, heights, exceptions) = (edges(), heights(), exceptions());
    assert!(exceptions.len() <= MOST_EXCEPTIONS, "{} exceptions", exceptions.len());
    for (from, to) in exceptions {
        assert!(edges.contains_key(&(from.clone(), to.clone())), "{from} does not use {to}: no exception");
        assert!(heights[&from] < heights[&to], "{to} is below {from}: no exception");
        assert!(heights[&to] < heights["sched"], "an exception leads to {to}, which is not below sched");
    }
}
