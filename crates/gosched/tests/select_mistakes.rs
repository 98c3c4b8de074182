//! What the compiler says about a `select!` that can't be read: at least as much as about
//! crossbeam's.
//!
//! The mistakes are written into one file, a line for each, and compiled: with our macros alone,
//! which know nothing of the rest of the library until they expand to something, and with
//! crossbeam's, whose message stands beside ours. What crossbeam accepts is no mistake, so each
//! line must fail with both.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

struct Mistake {
    cases: &'static str,
    ours: &'static str,
    crossbeams: &'static str,
}

macro_rules! mistakes {
    ($($cases:literal, $ours:literal, $crossbeams:literal;)*) => {
        &[$(Mistake { cases: $cases, ours: $ours, crossbeams: $crossbeams }),*]
    };
}

#[rustfmt::skip]
const MISTAKES: &[Mistake] = mistakes! {
    "recv(r) -> m => f(m) recv(q) -> n => g(n)",
        "a comma is missing after `f(m)`: only a case that ends with a block needs none",
        "did you mean to put a comma after `f(m)`?";
    "recv(r) -> m => f!(m) default => {}",
        "a comma is missing after `f!(m)`: only a case that ends with a block needs none",
        "did you mean to put a comma after `f!(m)`?";
    "recv(r) -> m => m.f(1).g() + 2 send(s, 1) -> _ => {}",
        "a comma is missing after `m.f(1).g() + 2`: only a case that ends with a block needs none",
        "did you mean to put a comma after `m`?";
    "recv(r) -> m => if m { 1 } else { 2 } default(t) => 3",
        "a comma is missing after `if m { 1 } else { 2 }`: only a case that ends with a block needs none",
        "did you mean to put a comma after `if`?";
    "default => 1 recv(r) -> m => {}",
        "a comma is missing after `1`: only a case that ends with a block needs none",
        "did you mean to put a comma after `1`?";
    "recv(r) -> m => f(m); default => {}",
        "found `;` after `f(m)`: cases of a `select!` are separated by commas",
        "did you mean to put a comma instead of the semicolon after `f(m)`?";
    "recv(r) -> m => {}; default => {}",
        "found `;` after a case of a `select!`: cases are separated by commas",
        "did you mean to put a comma instead of the semicolon after `}`?";
    "recv(r) -> m => {};",
        "found `;` after a case of a `select!`: cases are separated by commas",
        "did you mean to put a comma instead of the semicolon after `}`?";
    "send(s) -> _ => {}",
        "`send` takes a sender and a value, found `send(s)`",
        "invalid argument list in `send(s)`";
    "send() -> _ => {}",
        "`send` takes a sender and a value, found `send()`",
        "invalid argument list in `send()`";
    "send(s, 1, 2) -> _ => {}",
        "`send` takes a sender and a value, found `send(s, 1, 2)`",
        "invalid argument list in `send(s, 1, 2)`";
    "recv() -> _ => {}",
        "`recv` takes one receiver, found `recv()`",
        "invalid argument list in `recv()`";
    "recv(a, b) -> _ => {}",
        "`recv` takes one receiver, found `recv(a, b)`",
        "invalid argument list in `recv(a, b)`";
    "default(a, b) => {}",
        "`default` takes one time-out or nothing, found `default(a, b)`",
        "invalid argument list in `default(a, b)`";
    "recv(r) => {}",
        "expected `->` and a pattern after `recv(r)`, found `=>`: write `recv(receiver) -> msg => ..`",
        "expected `->` after `recv` case, found `=>`";
    "send(s, 1) => {}",
        "expected `->` and a pattern after `send(s, 1)`, found `=>`: write `send(sender, value) -> res => ..`",
        "expected `->` after `send` operation, found `=>`";
    "recv(r) -> => {}",
        "the pattern is missing after `recv(r) ->`: write `-> _` if the result does not matter",
        "missing pattern after `->`";
    "recv(r) -> m",
        "expected `=>` and a body after `recv(r) -> m`",
        "missing `=>` after `recv` case";
    "recv(r) -> m -> n => {}",
        "expected `=>` and a body after `recv(r) -> m`, found `->`",
        "expected `=>`, found `->`";
    "recv(r) -> m if m.is_ok() => {}",
        "expected `=>` and a body after `recv(r) -> m`, found `if`",
        "expected a pattern, found `m`";
    "recv(r) -> m =>",
        "the body of `recv(r)` is missing after `=>`",
        "expected expression after `=>`";
    "recv(r) = m => {}",
        "expected `->` and a pattern after `recv(r)`, found `=`",
        "expected `->`, found `=`";
    "recv -> m => {}",
        "the argument list is missing after `recv`: found `->`",
        "expected an argument list after `recv`, found `->`";
    "recv",
        "the argument list is missing after `recv`",
        "missing argument list after `recv`";
    "send => {}",
        "the argument list is missing after `send`: found `=>`",
        "missing argument list after `send`";
    "default -> m => {}",
        "`default` has no result: write `default => ..`, without `->`",
        "expected `=>` after `default` case, found `->`";
    "default(t) -> m => {}",
        "`default` has no result: write `default => ..`, without `->`",
        "expected `=>` after `default` case, found `->`";
    "default => {} default => {}",
        "there can be only one `default` case in a `select!`",
        "there can be only one `default` case in a `select!` block";
    "default => {}, recv(r) -> m => {}, default(t) => {}",
        "there can be only one `default` case in a `select!`",
        "there can be only one `default` case in a `select!` block";
    "receive(r) -> m => {}",
        "expected `recv`, `send` or `default` as a case of a `select!`, found `receive`",
        "expected one of `recv`, `send`, or `default`, found `receive`";
    "recv(r) -> m => {} timeout(t) => {}",
        "expected `recv`, `send` or `default` as a case of a `select!`, found `timeout`",
        "expected one of `recv`, `send`, or `default`, found `timeout`";
    "m = recv(r) => {}",
        "expected `recv`, `send` or `default` as a case of a `select!`, found `m`",
        "expected one of `recv`, `send`, or `default`, found `m`";
    "_ => {}",
        "expected `recv`, `send` or `default` as a case of a `select!`, found `_`",
        "expected one of `recv`, `send`, or `default`, found `_`";
    ", recv(r) -> m => {}",
        "expected `recv`, `send` or `default` as a case of a `select!`, found `,`",
        "expected one of `recv`, `send`, or `default`, found `,`";
    "recv(r) -> m => {},, default => {}",
        "expected `recv`, `send` or `default` as a case of a `select!`, found `,`",
        "expected one of `recv`, `send`, or `default`, found `,`";
};

fn rustc(folder: &Path) -> Command {
    std::fs::create_dir_all(folder).unwrap();
    let mut rustc = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()));
    rustc.args([
        "--edition=2024",
        "--crate-type=lib",
        "--emit=metadata",
        "--error-format=short",
        "--out-dir",
    ]);
    rustc.arg(folder);
    rustc
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("select_mistakes_{name}"))
}

/// Compiles the mistakes, each on a line of its own, with the `select!` of `library`; returns what
/// the compiler says first about each.
fn messages(library: &str, file: &Path, arguments: &[String]) -> Vec<Option<String>> {
    let folder = folder(library);
    let source = folder.join("mistakes.rs");
    let mut rustc = rustc(&folder);
    let mut text = format!("use {library}::select;\n");
    for (number, mistake) in MISTAKES.iter().enumerate() {
        text += &format!("fn f{number}() {{ select! {{ {} }} }}\n", mistake.cases);
    }
    std::fs::write(&source, text).unwrap();
    rustc.arg(&source).arg(format!("--extern={library}={}", file.display())).args(arguments);
    let output = rustc.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "mistakes were compiled: {said}");
    let about = |number: usize| {
        let start = format!("mistakes.rs:{}:", number + 2);
        let (_, message) = said.lines().find(|line| line.contains(&start))?.split_once("error: ")?;
        Some(message.to_owned())
    };
    (0..MISTAKES.len()).map(about).collect()
}

/// Every mistake is named, and what to do about it.
#[test]
fn mistakes_are_explained() {
    let folder = folder("gosched");
    let mut rustc = rustc(&folder);
    let (source, file) = (folder.join("gosched.rs"), folder.join("libgosched.rmeta"));
    let macros = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/chan/macros.rs");
    let text = format!(
        "pub mod chan {{ pub mod internal {{ pub use core::{{compile_error, concat, stringify}}; }} }}\n\
         #[path = {macros:?}] mod macros;\n"
    );
    std::fs::write(&source, text).unwrap();
    let output = rustc.arg(&source).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    for (mistake, said) in MISTAKES.iter().zip(messages("gosched", &file, &[])) {
        assert_eq!(said.as_deref(), Some(mistake.ours), "{}", mistake.cases);
    }
}

/// Crossbeam's compiled library, with its folder: this test's own, since other tests of this
/// package link it.
fn crossbeam() -> (PathBuf, PathBuf) {
    let program = std::env::current_exe().unwrap();
    let folder = program.parent().unwrap().to_owned();
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libcrossbeam_channel-") && name.ends_with(".rlib")
    };
    let newest = |path: &PathBuf| path.metadata().unwrap().modified().unwrap();
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    match files.filter(is_it).max_by_key(newest) {
        Some(library) => (library, folder),
        None => panic!("no libcrossbeam_channel-*.rlib in {}", folder.display()),
    }
}

/// They are mistakes with crossbeam too, and these are its messages. Seen to fail when its compiled
/// library is not found.
#[test]
fn crossbeams_words_for_the_same_mistakes() {
    if common::spared_by_sanitizer("a library of such a build goes only with code of such a build") {
        return;
    }
    let (library, folder) = crossbeam();
    let dependencies = format!("-Ldependency={}", folder.display());
    for (mistake, said) in MISTAKES.iter().zip(messages("crossbeam_channel", &library, &[dependencies])) {
        assert_eq!(said.as_deref(), Some(mistake.crossbeams), "{}", mistake.cases);
    }
}
