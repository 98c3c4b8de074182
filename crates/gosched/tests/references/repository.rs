//! The text files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// A text file, by its path from the repository's root on.
pub struct File {
    pub name: String,
    pub text: String,
}

impl File {
    /// The lines, each with its number as editors count.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// Where a path may begin that is not given in full: at the root, in the library, in its sources.
pub const PLACES: [&str; 3] = ["", "crates/gosched/", "crates/gosched/src/"];

/// Where the repository is.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate lies in crates/").to_owned()
}

/// All files whose names end in `.rs` or `.md`, without what a build makes, and without the
/// finders, whose tests refer to what does not exist.
pub fn files() -> Vec<File> {
    let mut found = Vec::new();
    collect(&root(), "", &mut found);
    found.sort_by(|one, other| one.name.cmp(&other.name));
    assert!(found.len() > 300, "only {} files were found", found.len());
    found
}

/// The file of this name.
pub fn file(name: &str) -> File {
    let text = fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    File { name: name.to_owned(), text }
}

fn collect(directory: &Path, prefix: &str, found: &mut Vec<File>) {
    for entry in fs::read_dir(directory).expect("a directory of the repository") {
        let entry = entry.expect("an entry of it");
        let name = entry.file_name().into_string().expect("names are plain");
        let path = entry.path();
        let full = format!("{prefix}{name}");
        if path.is_dir() {
            if name != "target" && name != "references" && !name.starts_with('.') {
                collect(&path, &format!("{full}/"), found);
            }
        } else if name.ends_with(".rs") || name.ends_with(".md") {
            found.push(File { text: fs::read_to_string(&path).expect("sources are text"), name: full });
        }
    }
}
