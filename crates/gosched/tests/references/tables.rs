//! Tables in pages: those that name a file and a function in one cell, and those that are walks.

use super::markdown::prose;
use super::named::{definitions, is_file, quoted, resolve};
use super::repository::File;

/// A table with its heads and rows. No cell contains a bar.
pub struct Table<'p> {
    pub heads: Vec<&'p str>,
    pub rows: Vec<Row<'p>>,
}

/// A row and the line that it is on.
pub struct Row<'p> {
    pub number: usize,
    pub cells: Vec<&'p str>,
}

fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

/// The tables of a page, in order.
pub fn tables(page: &File) -> Vec<Table<'_>> {
    let mut found: Vec<Table<'_>> = Vec::new();
    let mut last = 0;
    for (number, line) in prose(&page.text) {
        let Some(cells) = cells(line) else { continue };
        match found.last_mut() {
            Some(table) if number == last + 1 => {
                let rule = cells.iter().all(|cell| cell.chars().all(|c| c == '-'));
                if !rule {
                    table.rows.push(Row { number, cells });
                }
            }
            _ => found.push(Table { heads: cells, rows: Vec::new() }),
        }
        last = number;
    }
    found
}

fn folder(page: &File) -> &str {
    page.name.rfind('/').map_or("", |at| &page.name[..=at])
}

/// Whether `word` stands anywhere in the code of `source`.
fn has_word(source: &str, word: &str) -> bool {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || c == '_'))).any(|other| other == word)
}

/// Functions that a cell of `page` names after their file and that this file does not define:
/// "`file` `function`, `Type::function`". Also how many there are.
pub fn missing_definitions(page: &File, files: &[File]) -> (usize, Vec<String>) {
    let (mut count, mut found) = (0, Vec::new());
    for row in tables(page).iter().flat_map(|table| &table.rows) {
        for cell in row.cells.iter().filter(|cell| cell.starts_with('`')) {
            let mut file = None;
            for name in quoted(cell) {
                if is_file(name) {
                    file = resolve(files, folder(page), name);
                    continue;
                }
                let Some(file) = file else { continue };
                let mut parts = name.rsplit("::");
                let last = parts.next().unwrap_or_default();
                count += 1;
                let defined = definitions(&file.text).any(|defined| defined == last);
                if !defined || !parts.next().is_none_or(|of| has_word(&file.text, of)) {
                    found.push(format!("{}:{}: {} in {}", page.name, row.number, name, file.name));
                }
            }
        }
    }
    (count, found)
}

/// Rows of the tables with a column called `here` that have neither a file and a function in it nor
/// a dash, which says that there is nothing; or a difference without a reason, in the columns after
/// it. Also how many rows there are.
pub fn rows_without_counterpart(page: &File) -> (usize, Vec<String>) {
    let (mut count, mut found) = (0, Vec::new());
    for table in tables(page) {
        let Some(here) = table.heads.iter().position(|head| *head == "here") else { continue };
        for row in &table.rows {
            count += 1;
            let cell = |column: usize| row.cells.get(column).copied().unwrap_or_default();
            let mut names = quoted(cell(here));
            let named = names.next().is_some_and(is_file) && names.next().is_some();
            let same = cell(here + 1).starts_with("none");
            let explained = !cell(here + 1).is_empty() && !cell(here + 2).is_empty();
            if !(named || cell(here) == "–") || !(same || explained) {
                found.push(format!("{}:{}: {}", page.name, row.number, row.cells[0]));
            }
        }
    }
    (count, found)
}

/// How often the file changes from row to row of a walk, in the column called `head`. A dash is a
/// step that is not there.
pub fn changes_of_file(walk: &Table<'_>, head: &str) -> Option<usize> {
    let column = walk.heads.iter().position(|other| *other == head)?;
    let places = walk.rows.iter().map(|row| row.cells[column]).filter(|cell| *cell != "–");
    let files: Vec<_> = places.filter_map(|cell| cell.split_whitespace().next()).collect();
    Some(files.windows(2).filter(|pair| pair[0] != pair[1]).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> File {
        File { name: name.into(), text: text.into() }
    }

    /// Seen to fail: a function that is in another file, a row without a counterpart, one that does
    /// not say why, one that is cut off.
    #[test]
    fn what_rows_name_is_checked() {
        let files = [
            file("crates/gosched/src/a.rs", "impl T {\nfn one() {}\n}\n"),
            file("b/src/b.rs", "fn two() {}\n"),
        ];
        let page = "| Go | here | difference | why |\n|---|---|---|---|\n\
                    | `x` | `a.rs` `T::one` | less | `two` |\n\
                    | `y` | `a.rs` `two`, `b/src/b.rs` `two` | none | |\n\
                    | `z` | – | nothing | because |\n\
                    | `n` | `a.rs` | less | because |\n\
                    | `w` | `a.rs` `U::one` | less | |\n\
                    | `m` | `a.rs` `one` |\n\ntext\n| a | b |\n| c | no |\n";
        let page = file("x/p.md", page);
        let (count, found) = missing_definitions(&page, &files);
        let missing =
            ["x/p.md:4: two in crates/gosched/src/a.rs", "x/p.md:7: U::one in crates/gosched/src/a.rs"];
        assert_eq!((count, found), (5, missing.map(Into::into).into()));
        let (count, found) = rows_without_counterpart(&page);
        assert_eq!(
            (count, found),
            (6, ["x/p.md:6: `n`", "x/p.md:7: `w`", "x/p.md:8: `m`"].map(Into::into).into())
        );
    }

    /// Steps that are not there do not count, and neither do two in the same file.
    #[test]
    fn changes_are_counted() {
        let page = file(
            "p.md",
            "| | now | before |\n|-|-|-|\n| | `a` `f` | a f |\n| | `a` `g` | – |\n| | `b` `h` | a h |\n",
        );
        let walk = &tables(&page)[0];
        assert_eq!((changes_of_file(walk, "now"), changes_of_file(walk, "before")), (Some(1), Some(0)));
        assert_eq!(changes_of_file(walk, "then"), None);
    }
}
