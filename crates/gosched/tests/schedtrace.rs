//! `GOSCHED_DEBUG=schedtrace=ms` prints Go's well-known line, also when no goroutine could; with
//! `scheddetail=1` Ps, Ms and goroutines too (S50).
//!
//! Seen to fail: with lines printed only when the reporter is asked for something else (no line but
//! the first), with `runnext` not counted in a queue, and with a word of the line misspelt.

mod common;

use std::time::Duration;

use common::{Outcome, block_thread, child, compute_for};
use gosched::{go, runtime, thread};

/// How long each situation lasts, and how often a line is due.
const LONG: Duration = Duration::from_millis(600);
const OFTEN: &str = "schedtrace=20";

/// A line, as Go prints it.
struct Line {
    ms: u64,
    /// All `name=number` of it, in order.
    numbers: Vec<(String, usize)>,
    queues: Vec<usize>,
}

impl Line {
    fn number(&self, name: &str) -> usize {
        self.numbers.iter().find(|(key, _)| key == name).unwrap_or_else(|| panic!("no {name}")).1
    }
}

fn parse(line: &str) -> Line {
    let rest = line.strip_prefix("SCHED ").unwrap();
    let (ms, rest) = rest.split_once("ms: ").unwrap();
    let (numbers, queues) = rest.split_once(" [").unwrap();
    let numbers = numbers.split(' ').map(|entry| {
        let (name, number) = entry.split_once('=').unwrap();
        (name.to_owned(), number.parse().unwrap())
    });
    let queues = queues.strip_suffix(']').unwrap().split(' ').map(|n| n.parse().unwrap());
    Line { ms: ms.parse().unwrap(), numbers: numbers.collect(), queues: queues.collect() }
}

/// The lines on standard error. Every one has the words of Go's, in Go's order, and its time.
fn lines(outcome: &Outcome) -> Vec<Line> {
    const WORDS: [&str; 7] =
        ["gomaxprocs", "idleprocs", "threads", "spinningthreads", "needspinning", "idlethreads", "runqueue"];
    let lines: Vec<Line> =
        outcome.stderr.lines().filter(|line| line.starts_with("SCHED ")).map(parse).collect();
    for line in &lines {
        let words: Vec<&str> = line.numbers.iter().map(|(word, _)| word.as_str()).collect();
        assert_eq!(words, WORDS);
        assert_eq!(line.queues.len(), line.number("gomaxprocs"));
    }
    assert!(lines.is_sorted_by_key(|line| line.ms));
    assert!(lines.len() >= 3, "{} lines: {outcome:#?}", lines.len());
    lines
}

/// S50: while nothing happens at all.
#[test]
fn lines_come_while_all_is_idle() {
    let child = child("lines_come_while_all_is_idle", || gosched::run(|| thread::sleep(LONG)));
    let outcome = child.procs(2).env("GOSCHED_DEBUG", OFTEN).run().ok();
    let lines = lines(&outcome);
    assert!(lines.iter().any(|line| line.number("idleprocs") == 2), "{outcome:#?}");
}

/// S50: while every P has a loop that never calls the library.
#[test]
fn lines_come_beside_endless_loops() {
    let child = child("lines_come_beside_endless_loops", || {
        gosched::run(|| {
            let loops: Vec<_> = (0..4).map(|_| go(|| compute_for(LONG))).collect();
            common::join_all(loops);
        });
    });
    let outcome = child.procs(2).env("GOSCHED_DEBUG", OFTEN).run().ok();
    let lines = lines(&outcome);
    assert!(lines.iter().any(|line| line.number("idleprocs") == 0), "{outcome:#?}");
}

/// S50: while the world is stopped; and the queues, `runnext` included.
#[test]
fn lines_show_what_is_queued() {
    let child = child("lines_show_what_is_queued", || {
        gosched::run(|| {
            let queued: Vec<_> = (0..3).map(|_| go(|| ())).collect();
            runtime::stop_the_world(|_| block_thread(LONG));
            common::join_all(queued);
        });
    });
    let outcome = child.procs(1).env("GOSCHED_DEBUG", OFTEN).run().ok();
    assert!(lines(&outcome).iter().any(|line| line.queues == [3]), "{outcome:#?}");
}

/// S50: with `scheddetail=1` the state of the world, each P, each M and each goroutine.
#[test]
fn details_name_everything() {
    let child = child("details_name_everything", || {
        gosched::run(|| {
            let sleeper = go(|| thread::sleep(2 * LONG));
            runtime::stop_the_world(|_| block_thread(LONG));
            sleeper.join().unwrap();
        });
    });
    let outcome = child.procs(2).env("GOSCHED_DEBUG", "schedtrace=20,scheddetail=1").run().ok();
    outcome.said(&[
        " gcwaiting=true nmidlelocked=0 stopwait=0 ",
        " gcwaiting=false nmidlelocked=0 stopwait=0 ",
        "\n  P0: status=3 schedtick=",
        "\n  P1: status=",
        "\n  M0: p=",
        "\n  G1: status=4(join) m=nil lockedm=nil\n",
        ": status=4(sleep) m=nil lockedm=nil\n",
    ]);
}

/// Without it, nothing is printed.
#[test]
fn no_lines_unless_asked_for() {
    let child = child("no_lines_unless_asked_for", || gosched::run(|| thread::sleep(LONG)));
    for debug in ["scheddetail=1", "seed=1"] {
        let outcome = child.clone().procs(2).env("GOSCHED_DEBUG", debug).run().ok();
        assert!(!outcome.stderr.contains("SCHED"), "{outcome:#?}");
    }
}
