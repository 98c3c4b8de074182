//! What depends on the CPU stays in `src/arch`: one file per architecture, and the ladder that
//! chooses it.
//!
//! The sources of the workspace's crates are searched for words that such code contains. That is
//! enough on a machine without another architecture's standard library; where there is one,
//! `.ci/run aarch64` compiles the workspace for it. Seen to fail with each of the words and with an
//! `asm!`, put into `gosched/src/p/mod.rs`, and with an `asm!` in `switch/src/arch/gobuf.rs`.

use std::fs;
use std::path::{Path, PathBuf};

/// Words of code that depends on the CPU, in lower case.
const WORDS: [&str; 11] = [
    "target_arch",
    "target_feature",
    "feature_detected!",
    "x86_64",
    "arch::aarch64",
    "sysv64",
    "aapcs",
    "_mm_",
    "mcontext",
    "gregs",
    "reg_r",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it lies beside the other crates").to_owned()
}

fn rust_files(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory of sources") {
        let path = entry.expect("an entry of it").path();
        if path.is_dir() {
            rust_files(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// All sources of libraries and programs, without tests, by their path from `crates` on.
fn sources() -> Vec<(String, String)> {
    let mut paths = Vec::new();
    for krate in fs::read_dir(crates()).expect("the crates") {
        let src = krate.expect("a crate").path().join("src");
        if src.is_dir() {
            rust_files(&src, &mut paths);
        }
    }
    let name = |path: &Path| path.strip_prefix(crates()).expect("it was found there").display().to_string();
    paths.iter().map(|path| (name(path), fs::read_to_string(path).expect("a source is text"))).collect()
}

/// The architectures that the ladder chooses from.
fn architectures(sources: &[(String, String)]) -> Vec<&str> {
    let ladder = sources.iter().find(|(name, _)| name == "switch/src/arch/mod.rs").expect("the ladder");
    ladder.1.split("target_arch = \"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

fn words_in(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.to_lowercase();
        let said = WORDS.iter().filter(|word| line.contains(**word));
        found.extend(said.map(|word| format!("{name}:{}: {word}", number + 1)));
    }
    found
}

/// Whether there is an `asm!` with instructions in it, also if they begin on the next line. An
/// empty one is only a barrier for the compiler, and compiles everywhere.
fn has_assembly(text: &str) -> bool {
    text.match_indices("asm!(").any(|(at, found)| !text[at + found.len()..].trim_start().starts_with("\"\""))
}

/// Outside `arch` nothing depends on the architecture; inside, only its own file and the ladder.
#[test]
fn one_file_knows_the_architecture() {
    let sources = sources();
    assert!(sources.len() > 150, "only {} sources were found", sources.len());
    let files = architectures(&sources);
    let files: Vec<_> = files.iter().map(|arch| format!("switch/src/arch/{arch}.rs")).collect();
    let mut found = Vec::new();
    for (name, text) in sources.iter().filter(|(name, _)| !files.contains(name)) {
        if name != "switch/src/arch/mod.rs" {
            found.extend(words_in(name, text));
        }
        if has_assembly(text) {
            found.push(format!("{name}: asm!"));
        }
    }
    assert!(found.is_empty(), "this belongs into a file of crates/switch/src/arch:\n{}", found.join("\n"));
}

/// The search finds the words in a file that has them.
#[test]
fn an_architecture_is_recognised() {
    let sources = sources();
    assert!(architectures(&sources).contains(&"x86_64"));
    let (name, text) =
        sources.iter().find(|(name, _)| name == "switch/src/arch/x86_64.rs").expect("its file");
    let found = words_in(name, text);
    for word in ["x86_64", "sysv64", "_mm_", "mcontext", "gregs", "reg_r"] {
        assert!(found.iter().any(|line| line.ends_with(word)), "{word} is not found in {name}: {found:?}");
    }
    assert!(has_assembly(text));
    assert!(has_assembly("asm!(\n    \"nop\",\n)") && has_assembly("naked_asm!(\"ret\")"));
    assert!(!has_assembly("asm!(\"\", options(nomem))") && !has_assembly("an `asm!` that is not pure"));
}
