//! One name for one thing: no two types of the workspace's crates have the same name, but for those
//! in [`SAME`].
//!
//! The sources are read line by line. What is not counted: tests and what serves them, the crate of
//! examples, comments, and associated types, which are named by their traits.
//!
//! Seen to fail: with a second `struct Stint`, with a row of the table taken out, with a row for a
//! name that is there once, and with a file in a row that has no such type.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A name that several types may have.
struct Same {
    name: &'static str,
    /// The files that define it, each once.
    files: &'static [&'static str],
    reason: &'static str,
}

/// The primitive that users see, and its core, which neither waits nor wakes.
const CORE: &str = "the public primitive, and its core: the same without waiting and waking";
/// `std::sync::mpsc`, crossbeam-channel and tokio's channels have it, and so do we.
const CHANNELS: &str =
    "public, in modules that have the names of std's, of crossbeam's and of tokio's channels";
/// The simulator has one of its own.
const MODEL: &str = "the simulator's model of the same thing";

/// The names that are allowed to be there more than once, and why.
#[rustfmt::skip]
const SAME: &[Same] = &[
    Same { name: "Barrier", files: &["gosched/src/sync/barrier.rs", "locks/src/barrier.rs"], reason: CORE },
    Same { name: "Condvar", files: &["gosched/src/sync/condvar.rs", "locks/src/condvar.rs"], reason: CORE },
    Same { name: "Mutex", files: &["gosched/src/sync/mutex.rs", "locks/src/mutex.rs"], reason: CORE },
    Same { name: "Once", files: &["gosched/src/sync/once.rs", "locks/src/once.rs"], reason: CORE },
    Same { name: "RwLock", files: &["gosched/src/sync/rwlock.rs", "locks/src/rwlock.rs"], reason: CORE },
    Same { name: "Semaphore", files: &["gosched/src/sync/semaphore.rs", "locks/src/semaphore.rs"], reason: CORE },
    Same { name: "IntoIter", files: &["gosched/src/chan/iter.rs", "gosched/src/sync/mpsc.rs"], reason: CHANNELS },
    Same { name: "Iter", files: &["gosched/src/chan/iter.rs", "gosched/src/sync/mpsc.rs"], reason: CHANNELS },
    Same { name: "TryIter", files: &["gosched/src/chan/iter.rs", "gosched/src/sync/mpsc.rs"], reason: CHANNELS },
    Same {
        name: "Receiver",
        files: &[
            "gosched/src/chan/receiver.rs",
            "gosched/src/sync/broadcast/receiver.rs",
            "gosched/src/sync/mpsc.rs",
            "gosched/src/sync/watch/receiver.rs",
        ],
        reason: CHANNELS,
    },
    Same {
        name: "Sender",
        files: &[
            "gosched/src/chan/sender.rs",
            "gosched/src/sync/broadcast/mod.rs",
            "gosched/src/sync/mpsc.rs",
            "gosched/src/sync/watch/sender.rs",
        ],
        reason: CHANNELS,
    },
    Same {
        name: "RecvError",
        files: &["gosched/src/chan/err.rs", "gosched/src/sync/broadcast/error.rs", "gosched/src/sync/watch/error.rs"],
        reason: CHANNELS,
    },
    Same {
        name: "SendError",
        files: &["gosched/src/chan/err.rs", "gosched/src/sync/broadcast/error.rs", "gosched/src/sync/watch/error.rs"],
        reason: CHANNELS,
    },
    Same {
        name: "TryRecvError",
        files: &["gosched/src/chan/err.rs", "gosched/src/sync/broadcast/error.rs"],
        reason: CHANNELS,
    },
    Same {
        name: "Pool",
        files: &["gosched/src/sched/wakers.rs", "gosched/src/sync/pool.rs"],
        reason: "public: Go's name; and the goroutines that call the wakers of other executors",
    },
    Same {
        name: "Signal",
        files: &["gosched/src/g/waiter.rs", "gosched/src/signal/kind.rs"],
        reason: "public: one of the kernel's; and what is raised when a goroutine ends",
    },
    Same {
        name: "Incoming",
        files: &["gosched/src/net/listener.rs", "gosched/src/os/unix/net/listener.rs"],
        reason: "public, in two modules that have std's names",
    },
    Same {
        name: "Timer",
        files: &["gosched/src/future/hyper.rs", "gosched/src/time/timer.rs"],
        reason: "public: Go's name, and the name of the trait of hyper's that it implements",
    },
    Same {
        name: "Cpu",
        files: &["switch/src/arch/blank.rs", "switch/src/arch/x86_64.rs"],
        reason: "one for each architecture, of which one is compiled",
    },
    Same {
        name: "Trace",
        files: &["gosched/src/trace/mod.rs", "sim/src/trace.rs"],
        reason: "public: Go's name; in the simulator what happened to the jobs of a small example",
    },
    Same { name: "G", files: &["gosched/src/g/mod.rs", "sim/src/gmp/machine.rs"], reason: MODEL },
    Same { name: "P", files: &["gosched/src/p/mod.rs", "sim/src/gmp/machine.rs"], reason: MODEL },
    Same { name: "Ring", files: &["primitives/src/ring.rs", "sim/src/gmp/ring.rs"], reason: MODEL },
    Same { name: "Monitor", files: &["gosched/src/sched/sysmon/mod.rs", "sim/src/gmp/monitor.rs"], reason: MODEL },
    Same {
        name: "Policy",
        files: &["gosched/src/debug/policy.rs", "sim/src/policy/mod.rs"],
        reason: "here what goes beyond Go's rules; in the simulator what textbooks call so",
    },
];

/// The folder of all crates.
fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Adds the sources below `folder`, without those of tests.
fn add_sources(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        match name {
            "tests" | "tests.rs" | "testing.rs" => {}
            _ if path.is_dir() => add_sources(&path, sources),
            _ if name.ends_with(".rs") => sources.push(path),
            _ => {}
        }
    }
}

/// The sources of all crates.
fn sources() -> Vec<PathBuf> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(crates()).unwrap() {
        let krate = entry.unwrap().path();
        if !krate.ends_with("examples") {
            add_sources(&krate.join("src"), &mut sources);
        }
    }
    sources.sort();
    sources
}

/// The lines of a file before its tests.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let is_test = |line: &str| line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test");
    let mut pairs = text.lines().zip(text.lines().skip(1).chain([""]));
    std::iter::from_fn(move || {
        let (line, next) = pairs.next()?;
        let tests = is_test(line) && next.starts_with("mod ") && next.ends_with('{');
        (!tests).then_some(line)
    })
}

/// The type that a line begins to define.
fn defined(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let is_outermost = code.len() == line.len();
    let code = code.strip_prefix("pub").map_or(code, |rest| match rest.strip_prefix('(') {
        Some(rest) => rest.split_once(')').map_or(rest, |(_, rest)| rest).trim_start(),
        None => rest.trim_start(),
    });
    let code = code.strip_prefix("unsafe ").unwrap_or(code);
    let (keyword, rest) = code.split_once(' ')?;
    match keyword {
        "struct" | "enum" | "union" | "trait" => {}
        "type" if is_outermost => {}
        _ => return None,
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

/// Every name, and the files that define it.
fn definitions() -> BTreeMap<String, Vec<String>> {
    let crates = crates();
    let mut definitions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        let file = path.strip_prefix(&crates).unwrap().to_str().unwrap();
        for name in lines(&text).filter_map(defined) {
            definitions.entry(name.to_owned()).or_default().push(file.to_owned());
        }
    }
    definitions
}

#[test]
fn one_name_for_one_thing() {
    let definitions = definitions();
    assert!(definitions.len() > 400, "only {} types were found", definitions.len());
    let mut wrong = Vec::new();
    for (name, files) in definitions.iter().filter(|(_, files)| files.len() > 1) {
        let allowed = SAME.iter().any(|same| same.name == name && same.files == files);
        if !allowed {
            wrong.push(format!("{name}: {}", files.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "names that several types have:\n{}", wrong.join("\n"));
}

/// A row that is not needed would let something slip through later.
#[test]
fn every_exception_is_needed() {
    let definitions = definitions();
    for same in SAME {
        assert!(!same.reason.is_empty() && same.files.len() > 1, "{}: no exception", same.name);
        let files = definitions.get(same.name).map_or(&[][..], Vec::as_slice);
        assert_eq!(files, same.files, "{} ({})", same.name, same.reason);
    }
}
