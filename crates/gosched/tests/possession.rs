//! Possession of an M and of a P is a value, so the compiler refuses what would break it:
//! `src/sched/misuse.rs` has a function for each such mistake, and the error that it is refused
//! with.

use std::process::Command;

/// The cases of `misuse.rs`: the description and the expected error of each.
fn cases() -> Vec<(String, String)> {
    let source = include_str!("../src/sched/misuse.rs");
    let names = source
        .lines()
        .filter_map(|line| line.strip_prefix("#[cfg(gosched_misuse = \"")?.strip_suffix("\")]"));
    names.map(|name| (name.to_owned(), name.rsplit_once(": ").unwrap().1.to_owned())).collect()
}

/// The errors with which the compiler refuses the library with this mistake; none if it compiles.
fn errors(case: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["rustc", "--quiet", "--profile", "check", "--lib", "--message-format", "short", "--", "--cfg"])
        .arg(format!("gosched_misuse=\"{case}\""))
        .args(["-A", "dead_code"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_TARGET_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/possession"))
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let codes = said.lines().filter_map(|line| line.split_once("misuse.rs:")?.1.split_once("error["));
    let codes: Vec<String> = codes.map(|(_, code)| code.split(']').next().unwrap().to_owned()).collect();
    assert_eq!(output.status.success(), codes.is_empty(), "{case}: refused for another reason:\n{said}");
    codes
}

#[test]
fn the_compiler_refuses_what_breaks_possession() {
    let cases = cases();
    assert!(cases.len() > 5, "{cases:?}");
    for (case, error) in &cases {
        let expected = if error == "ok" { vec![] } else { vec![error.clone()] };
        assert_eq!(errors(case), expected, "{case}");
    }
}
