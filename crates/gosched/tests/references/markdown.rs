//! Links between pages, and mentions of pages in comments.

use std::collections::BTreeSet;
use std::path::Path;

use super::repository::{File, PLACES, root};

/// The sections of a page, as links name them.
pub fn anchors(page: &str) -> BTreeSet<String> {
    prose(page)
        .filter_map(|(_, line)| {
            line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))
        })
        .map(anchor)
        .collect()
}

/// A heading as a link names it: small letters, digits and hyphens.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// The lines of a page that are not code, with their numbers.
pub fn prose(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    page.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        (!code && !fence).then_some((index + 1, line))
    })
}

/// What the page's links lead to, without those to other places in the world and to items of Rust.
pub fn links(page: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in prose(page) {
        for rest in line.split("](").skip(1) {
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            if !target.contains("://") && !target.contains("::") && !target.is_empty() {
                found.push((number, target));
            }
        }
    }
    found
}

/// Pages that a line of code or comment mentions, with or without a section.
fn mentions(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !(c.is_alphanumeric() || "/-_.#".contains(c)));
    let words = words.map(|word| word.trim_end_matches('.'));
    words.filter(|word| word.split('#').next().is_some_and(|page| page.len() > 3 && page.ends_with(".md")))
}

/// Links and mentions in `files` that lead nowhere, with their places. `read` gives the text of a
/// file by its path, or nothing if there is none; for a folder, an empty text.
fn broken(files: &[File], read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let leads = |path: &str, section: &str| {
        read(path).is_some_and(|page| section.is_empty() || anchors(&page).contains(section))
    };
    let mut found = Vec::new();
    for file in files {
        let folder = file.name.rfind('/').map_or("", |at| &file.name[..=at]);
        if file.name.ends_with(".md") {
            for (number, link) in links(&file.text) {
                let (path, section) = link.split_once('#').unwrap_or((link, ""));
                let path = if path.is_empty() { file.name.clone() } else { joined(folder, path) };
                if !leads(&path, section) {
                    found.push(format!("{}:{number}: {link}", file.name));
                }
            }
            continue;
        }
        for (number, line) in file.lines() {
            for mention in mentions(line) {
                let (path, section) = mention.split_once('#').unwrap_or((mention, ""));
                if !PLACES.iter().chain([&folder]).any(|place| leads(&joined(place, path), section)) {
                    found.push(format!("{}:{number}: {mention}", file.name));
                }
            }
        }
    }
    found
}

/// The links and mentions in `files` that lead nowhere in the repository.
pub fn broken_links(files: &[File]) -> Vec<String> {
    broken(files, |name| {
        let path = root().join(name);
        if path.is_dir() {
            Some(String::new())
        } else {
            std::fs::read(path).ok().map(|text| String::from_utf8_lossy(&text).into_owned())
        }
    })
}

/// `path` as seen from `folder`, with each `..` applied.
fn joined(folder: &str, path: &str) -> String {
    let mut parts = Vec::new();
    for part in Path::new(folder).join(path).components() {
        match part.as_os_str().to_str() {
            Some("..") => drop(parts.pop()),
            Some(".") | None => {}
            Some(name) => parts.push(name.to_owned()),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sections are named as the usual web pages do.
    #[test]
    fn sections_have_names() {
        let page = "# One: `two_3` (four)\n```sh\n# no heading\n```\n## The P's pace\n#no\n";
        assert_eq!(anchors(page).into_iter().collect::<Vec<_>>(), ["one-two_3-four", "the-ps-pace"]);
    }

    /// Seen to fail: a file that is not there, a section that is not, from pages and from comments.
    #[test]
    fn links_that_lead_nowhere_are_found() {
        let page = "[a](../b.md) [b\nc](d.md#one) [e](#two) ![p](p.png) [r](crate::X) [w](https://x.y)\n\
                    [no](f.md), [no](d.md#three)\n# Two\n";
        let source = "// x/d.md#one, and d.md.\n// `x/d.md#four`, (x/g.md) .md\n";
        let files =
            [("x/a.md", page), ("x/d.md", "# One\n"), ("x/a.rs", source), ("b.md", ""), ("x/p.png", "")];
        let files = files.map(|(name, text)| File { name: name.into(), text: text.into() });
        let read = |name: &str| files.iter().find(|file| file.name == name).map(|file| file.text.clone());
        let expected =
            ["x/a.md:3: f.md", "x/a.md:3: d.md#three", "x/a.rs:2: x/d.md#four", "x/a.rs:2: x/g.md"];
        assert_eq!(broken(&files, read), expected);
    }
}
