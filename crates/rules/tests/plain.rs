//! What the README says of this crate: its code has no state, reads no clock and no atomic, and has
//! no dependency.

use std::fs;
use std::path::Path;

/// The code of a file, without comments, and without its tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let body = text.split("#[cfg(test)]").next().unwrap_or_default();
    body.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn rules_are_functions_of_plain_values() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files: Vec<_> = fs::read_dir(source).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() > 5, "{files:?}");
    for file in files {
        let code = code(&file);
        for word in ["static ", "Atomic", "Cell", "Instant", "SystemTime", "thread", "*const", "*mut"] {
            assert!(!code.contains(word), "{} has {word:?}", file.display());
        }
    }
}

#[test]
fn rules_depend_on_nobody() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    assert!(!manifest.contains("dependencies"), "{manifest}");
}
