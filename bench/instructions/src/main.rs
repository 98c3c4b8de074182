//! Instructions per operation, counted by valgrind and compared with `expected.txt`.
//!
//! Seconds are noisy, instructions are not: the same binary gives the same count within a fraction
//! of a percent, whatever else the machine does. They don't show cache misses, contention and the
//! cost of system calls.
//!
//! An operation is counted as the difference of two runs, of `n` and of `2 n` operations, divided
//! by `n`, so that start and end of the process cancel out. One P: valgrind runs one thread at a
//! time. The monitor and an occasional preemption can only add to a count, so the least of up to
//! three counts.

mod expected;
mod rows;

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use expected::{Counts, Expected};
use rows::{ROWS, Row};

/// By how much a count may exceed the expected one, in percent.
const TOLERANCE: f64 = 2.0;
/// The same for operations whose path depends on the clock: on preemptions, on ticks of the
/// monitor, or on how long a goroutine has waited. (Counts of an unchanged binary: ping-pong 1,333
/// to 1,364, a socket 263 to 278.)
const LOOSE: f64 = 8.0;
/// Their names.
const BY_THE_CLOCK: &[&str] = &["ping_pong", "select", "recv_timeout", "mutex_waited", "socket"];
/// How often an operation is counted, at most.
const TRIES: usize = 3;

const USAGE: &str = "usage: bench-instructions [--write] [NAME...]";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    if let [flag, name, n] = &args[..]
        && flag == "--run"
    {
        return run(name, n);
    }
    let write = args.iter().any(|arg| arg == "--write");
    let names: Vec<&str> = args.iter().map(String::as_str).filter(|arg| *arg != "--write").collect();
    if let Some(unknown) = names.iter().find(|name| !ROWS.iter().any(|row| row.name == **name)) {
        let known: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        eprintln!("no operation {unknown}; there are: {}\n{USAGE}", known.join(" "));
        return ExitCode::from(2);
    }
    let rows = ROWS.iter().filter(|row| names.is_empty() || names.contains(&row.name));
    if let Err(why) = valgrind("--version").map(|_| ()) {
        println!("not counted: {why}; install valgrind (apt-get install valgrind)");
        return ExitCode::SUCCESS;
    }
    match compare(rows, write) {
        Ok(code) => code,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// The inner run: `n` operations, on one P.
fn run(name: &str, n: &str) -> ExitCode {
    match (ROWS.iter().find(|row| row.name == name), n.parse::<usize>()) {
        (Some(row), Ok(n)) => {
            gosched::run(|| (row.run)(n));
            ExitCode::SUCCESS
        }
        _ => ExitCode::from(2),
    }
}

fn compare<'r>(rows: impl Iterator<Item = &'r Row>, write: bool) -> Result<ExitCode, String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("expected.txt");
    let compiler = compiler();
    let mut expected = Expected::read(&fs::read_to_string(&file).unwrap_or_default());
    let before = expected.of(&compiler).cloned();
    let mut counts = Counts::new();
    println!("{:<16} {:>9} {:>9} {:>8}  what is counted", "operation", "expected", "now", "change");
    let mut worse = Vec::new();
    for row in rows {
        let limit = if BY_THE_CLOCK.contains(&row.name) { LOOSE } else { TOLERANCE };
        let before = before.as_ref().and_then(|before| before.get(row.name).copied());
        let now = least(row, before.filter(|_| !write).map(|before| before * (1.0 + limit / 100.0)))?;
        let change = before.map(|before| (now / before - 1.0) * 100.0);
        let shown = change.map_or("new".into(), |change| format!("{change:+.1} %"));
        let expected = before.map_or("–".into(), |before| format!("{before:.0}"));
        println!("{:<16} {expected:>9} {now:>9.0} {shown:>8}  {}", row.name, row.title);
        if change.is_some_and(|change| change > limit) {
            worse.push(row.name);
        }
        counts.insert(row.name.to_owned(), now);
    }
    if write {
        expected.set(&compiler, counts);
        fs::write(&file, expected.text()).map_err(|why| format!("{}: {why}", file.display()))?;
        println!("written to {}", file.display());
        return Ok(ExitCode::SUCCESS);
    }
    if before.is_none() {
        println!("not judged: this is {compiler}; expected.txt is for {}", expected.titles());
        return Ok(ExitCode::SUCCESS);
    }
    if worse.is_empty() {
        println!(
            "no operation costs over {TOLERANCE} % more than written down ({LOOSE} % where the clock decides)"
        );
        return Ok(ExitCode::SUCCESS);
    }
    println!("more instructions than written down: {}", worse.join(", "));
    println!("if that is the price of something wanted, say so in the commit, and write them down: --write");
    Ok(ExitCode::FAILURE)
}

/// The least of up to [`TRIES`] counts; stops at the first one within `enough`.
fn least(row: &Row, enough: Option<f64>) -> Result<f64, String> {
    let mut least = f64::INFINITY;
    for _ in 0..TRIES {
        let count = (count(row, 2 * row.n)? - count(row, row.n)?) / row.n as f64;
        least = least.min(count);
        if enough.is_some_and(|enough| least <= enough) {
            break;
        }
    }
    Ok(least)
}

/// All instructions of a run of `n` operations.
fn count(row: &Row, n: usize) -> Result<f64, String> {
    let own = env::current_exe().map_err(|why| format!("who am I: {why}"))?;
    let out = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(own)
        .args(["--run", row.name, &n.to_string()])
        .env("GOMAXPROCS", "1")
        .env("GOSCHED_DEBUG", "seed=1")
        .output()
        .map_err(|why| format!("valgrind: {why}"))?;
    let said = String::from_utf8_lossy(&out.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, n)| n.trim());
    match collected.and_then(|n| n.parse::<f64>().ok()).filter(|_| out.status.success()) {
        Some(count) => Ok(count),
        None => Err(format!("{} of {n} under valgrind: {}\n{said}", row.name, out.status)),
    }
}

fn valgrind(arg: &str) -> Result<String, String> {
    let out = Command::new("valgrind").arg(arg).output().map_err(|why| format!("valgrind: {why}"))?;
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// The compiler, and the maker of the CPU, by which the C library chooses its copying routines.
fn compiler() -> String {
    let out = Command::new("rustc").arg("--version").output();
    let rustc = out.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default();
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let vendor =
        cpuinfo.lines().find(|line| line.starts_with("vendor_id")).and_then(|line| line.split_once(": "));
    format!("{rustc}, {}", vendor.map_or("unknown CPU", |(_, vendor)| vendor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_known() {
        let mut names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ROWS.len());
        assert!(BY_THE_CLOCK.iter().all(|name| names.contains(name)));
    }

    /// Each operation runs, also a small number of times.
    #[test]
    fn every_operation_runs() {
        gosched::run(|| ROWS.iter().for_each(|row| (row.run)(200)));
    }
}
