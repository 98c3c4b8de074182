//! S49: dumps, on request and on SIGQUIT: every goroutine with its state, its wait, its stack and
//! its creator.

mod common;

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use common::{block_thread, child};
use gosched::thread::Builder;
use gosched::{go, runtime, thread};

const LIMIT: Duration = Duration::from_secs(60);
/// Shown instead of a stack that could not be copied, because its goroutine began to run or its
/// thread did not answer.
const UNAVAILABLE: &str = "(stack unavailable)";

static STOP: AtomicBool = AtomicBool::new(false);

/// A function that ends with a call may be missing from a stack, if the compiler made that a tail
/// call. With this after the call it can't.
fn not_the_last() {
    std::hint::black_box(1);
}

/// The functions that the tests look for, each with the line that its stack must show.
mod places {
    use super::{Duration, STOP, block_thread, not_the_last, runtime, thread};
    use std::sync::atomic::Ordering;

    pub const PARKS: u32 = line!() + 3;
    #[inline(never)]
    pub fn parks() {
        thread::park();
        not_the_last();
    }

    pub const SLEEPS: u32 = line!() + 3;
    #[inline(never)]
    pub fn sleeps() {
        gosched::sleep(Duration::from_secs(1000));
        not_the_last();
    }

    pub const JOINS: u32 = line!() + 3;
    #[inline(never)]
    pub fn joins() {
        gosched::go(parks).join().unwrap();
        not_the_last();
    }

    pub const YIELDS: u32 = line!() + 4;
    #[inline(never)]
    pub fn yields() {
        while !STOP.load(Ordering::Relaxed) {
            gosched::yield_now();
        }
        not_the_last();
    }

    pub const COMPUTES: (u32, u32) = (line!() + 3, line!() + 8);
    #[inline(never)]
    pub fn computes() {
        let mut n = 1_u64;
        while !STOP.load(Ordering::Relaxed) {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        }
        std::hint::black_box(n);
    }

    pub const BLOCKS: u32 = line!() + 3;
    #[inline(never)]
    pub fn blocks() {
        block_thread(Duration::from_secs(1000));
        not_the_last();
    }

    /// Without a frame between the function and libc's.
    pub const NAPS: u32 = line!() + 5;
    #[inline(never)]
    pub fn naps() {
        let time = libc::timespec { tv_sec: 1000, tv_nsec: 0 };
        // SAFETY: reads `time`; the other pointer may be null.
        unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
        not_the_last();
    }

    pub const ANNOUNCES: u32 = line!() + 3;
    #[inline(never)]
    pub fn announces() {
        runtime::blocking(|| block_thread(Duration::from_secs(1000)));
        not_the_last();
    }
}
use places::*;

/// A goroutine with a name.
fn named(name: &str, f: fn()) -> gosched::JoinHandle<()> {
    Builder::new().name(name.to_owned()).spawn(f).unwrap()
}
/// Where `named` creates them.
const NAMED: u32 = line!() - 3;

/// How a stack ends whose goroutine was created at this line.
fn created_by(id: u64, line: u32) -> String {
    format!("created by goroutine {id} at crates/gosched/tests/dump.rs:{line}:")
}

/// The part of a dump about the goroutine with this name.
fn of<'a>(dump: &'a str, name: &str) -> Option<&'a str> {
    let name = format!(" \"{name}\" [");
    dump.split("\n\n").find(|part| part.lines().next().is_some_and(|head| head.contains(&name)))
}

/// Dumps until the part about `name` satisfies `good`. (A test's watchdog ends it if that never
/// happens.)
fn until(name: &str, good: impl Fn(&str) -> bool) -> String {
    loop {
        let dump = runtime::stacks();
        if let Some(part) = of(&dump, name).filter(|part| good(part)) {
            return part.trim().to_owned();
        }
        gosched::sleep(Duration::from_millis(1));
    }
}

/// The line of this file that a stack shows for `function`.
fn line_of(part: &str, function: &str) -> u32 {
    let call = format!("\ndump::{function}(...)\n\t");
    let (_, rest) = part.split_once(&call).unwrap_or_else(|| panic!("{function} is missing:\n{part}"));
    let place = rest.lines().next().unwrap();
    let (file, line) = place.rsplit_once(':').unwrap();
    assert!(file.ends_with("tests/dump.rs"), "{part}");
    line.parse().unwrap()
}

/// S49: a stack for each state, with the user's function by name and line; at its inner end the
/// call that the user made, without what lies below it in the runtime; at its outer end the user's
/// own function; then who created it, and where.
#[test]
fn every_state_has_its_stack() {
    struct Case {
        f: fn(),
        name: &'static str,
        state: &'static str,
        first: &'static str,
        lines: (u32, u32),
    }
    let body = || {
        let case = |f, name, state, first, line| Case { f, name, state, first, lines: (line, line) };
        gosched::run(|| {
            let cases = [
                case(parks, "parks", "park", "gosched::", PARKS),
                case(sleeps, "sleeps", "sleep", "gosched::thread::sleep(...)", SLEEPS),
                case(joins, "joins", "join", "gosched::thread::", JOINS),
                case(yields, "yields", "runnable", "gosched::", YIELDS),
                case(blocks, "blocks", "running, blocked", "", BLOCKS),
                case(naps, "naps", "running, blocked", "", NAPS),
                case(announces, "announces", "syscall", "", ANNOUNCES),
                Case { f: computes, name: "computes", state: "running", first: "", lines: COMPUTES },
            ];
            cases.iter().for_each(|case| drop(named(case.name, case.f)));
            for case in &cases {
                let (head, function) = (format!("[{}", case.state), format!("places::{}", case.name));
                let part = until(case.name, |part| {
                    let mut lines = part.lines();
                    lines.next().unwrap().contains(&head)
                        && lines.next().unwrap().starts_with(case.first)
                        && part.contains(&function)
                });
                let line = line_of(&part, &function);
                assert!((case.lines.0..=case.lines.1).contains(&line), "line {line}:\n{part}");
                let mut lines = part.lines().rev();
                assert!(lines.next().unwrap().starts_with(&created_by(1, NAMED)), "{part}");
                assert_eq!(lines.nth(1).unwrap(), format!("dump::{function}(...)"), "{part}");
            }
        });
    };
    for procs in [1, 2, 8] {
        child("every_state_has_its_stack", body).procs(procs).limit(LIMIT).run().ok();
    }
}

/// A goroutine that has not run has no stack, but a state and a creator.
#[test]
fn one_that_has_not_run() {
    let body = || {
        gosched::run(|| {
            // If the goroutine that asks loses its P, this one may begin to run before the dump
            // looks at it.
            let part = loop {
                let fresh = named("fresh", || ());
                let dump = runtime::stacks();
                fresh.join().unwrap();
                if let Some(part) = of(&dump, "fresh").filter(|part| part.contains("[runnable]:")) {
                    break part.to_owned();
                }
            };
            assert!(part.contains("[runnable]:\n(not started)\ncreated by goroutine 1 at"), "{part}");
        });
    };
    child("one_that_has_not_run", body).procs(1).limit(LIMIT).run().ok();
}

/// S49: goroutines that look the same are shown one by one, as long as they are few.
#[test]
fn each_has_its_own_place() {
    let body = || {
        gosched::run(|| {
            let spawn = || go(parks);
            let handles: Vec<_> = (0..10).map(|_| spawn()).collect();
            // The head of a waiting goroutine says so; from one second on, also for how long.
            let parked = |line: &&str| line.contains(" [park]:") || line.contains(" [park, ");
            let dump = loop {
                let dump = runtime::stacks();
                if dump.lines().filter(parked).count() == handles.len() && !dump.contains(UNAVAILABLE) {
                    break dump;
                }
                gosched::yield_now();
            };
            let heads: Vec<_> = dump.lines().filter(|line| line.starts_with("goroutine ")).collect();
            assert_eq!(heads.len(), 11, "{dump}");
            assert!(heads.iter().all(|head| head.ends_with("]:")), "{dump}");
            let ids: Vec<u64> =
                heads.iter().map(|head| head.split(' ').nth(1).unwrap().parse().unwrap()).collect();
            assert!(ids[0] == 1 && ids.is_sorted_by(|a, b| a < b), "{dump}");
            assert_eq!(dump.matches("dump::places::parks(...)").count(), 10, "{dump}");
            assert_eq!(dump.matches("created by goroutine 1 at ").count(), 10, "{dump}");
            handles.iter().for_each(|handle| handle.thread().unpark());
        });
    };
    child("each_has_its_own_place", body).procs(2).limit(LIMIT).run().ok();
}

/// Many goroutines that look the same are shown once, with a count; the main goroutine comes first,
/// then the lowest id.
#[test]
fn those_that_are_alike_are_grouped() {
    let body = || {
        gosched::run(|| {
            let spawn = || go(parks);
            let handles: Vec<_> = (0..100).map(|_| spawn()).collect();
            let other = named("other", parks);
            let dump = loop {
                let dump = runtime::stacks();
                let other = of(&dump, "other").is_some_and(|part| part.contains("[park"));
                if other && dump.contains("] (and 99 others with this stack: ") {
                    break dump;
                }
                gosched::yield_now();
            };
            let heads: Vec<_> = dump.lines().filter(|line| line.starts_with("goroutine ")).collect();
            assert_eq!(heads.len(), 3, "{dump}");
            assert_eq!(heads[0], "goroutine 1 [running]:");
            assert!(heads[1].starts_with("goroutine 2 [park"), "{dump}");
            assert!(
                heads[1].ends_with("] (and 99 others with this stack: 3 4 5 6 7 8 9 10 11 12 ...):"),
                "{dump}"
            );
            assert!(heads[2].contains("\"other\" [park"), "{dump}");
            handles.iter().for_each(|handle| handle.thread().unpark());
            other.thread().unpark();
        });
    };
    child("those_that_are_alike_are_grouped", body).procs(2).limit(LIMIT).run().ok();
}

/// S1: how long a goroutine has waited, from one second on; and what was not counted while the
/// runtime was asleep is not counted later. (Seen to fail when waking the monitor does not set the
/// clock.)
#[test]
fn the_wait_is_told() {
    let body = || {
        let sleeper = named("sleeper", parks);
        let dump = until("sleeper", |part| part.contains("[park, ") && part.contains(" s]:\n"));
        assert!(dump.contains("dump::places::parks(...)"), "{dump}");
        // Nothing has run for more than a second. What waits now waits since now.
        loop {
            block_thread(Duration::from_millis(1500));
            let began = Instant::now();
            let late = named("late", parks);
            let part = until("late", |part| part.contains("[park"));
            late.thread().unpark();
            late.join().unwrap();
            if began.elapsed() < Duration::from_millis(700) {
                assert!(part.contains("[park]:\n"), "{part}");
                break;
            }
        }
        sleeper.thread().unpark();
        sleeper.join().unwrap();
    };
    child("the_wait_is_told", body).procs(2).limit(LIMIT).run().ok();
}

/// A goroutine that asks sees itself; a foreign thread that asks does not appear.
#[test]
fn anybody_may_ask() {
    #[inline(never)]
    fn asks() -> String {
        let text = runtime::stacks();
        not_the_last();
        text
    }
    let body = || {
        let foreign = asks();
        assert_eq!(foreign, "", "there is no goroutine yet");
        let own = gosched::run(asks);
        let start = "goroutine 1 [running]:\ngosched::";
        assert!(own.starts_with(start), "{own}");
        assert!(own.contains("\ndump::anybody_may_ask::asks(...)\n\t"), "{own}");
        gosched::run(|| {
            let (send, receive) = mpsc::channel();
            let asking = std::thread::spawn(move || send.send(asks()));
            let seen = receive.recv().unwrap();
            asking.join().unwrap().unwrap();
            assert!(seen.contains(" [running") && seen.contains("tests/dump.rs:"), "{seen}");
            assert!(!seen.contains("anybody_may_ask::asks"), "{seen}");
        });
    };
    child("anybody_may_ask", body).procs(2).limit(LIMIT).run().ok();
}

/// A stack with too many calls to be shown is cut at its outer end.
#[test]
fn deep_stacks_are_cut() {
    #[inline(never)]
    fn descend(levels: u32) -> u32 {
        if levels == 0 {
            thread::park();
            return 0;
        }
        std::hint::black_box(descend(levels - 1)) + 1
    }
    let body = || {
        gosched::run(|| {
            drop(named("deep", || assert_eq!(descend(150), 150)));
            drop(named("deeper", || assert_eq!(descend(1500), 1500)));
            for name in ["deep", "deeper"] {
                let part = until(name, |part| part.contains("[park") && !part.contains(UNAVAILABLE));
                assert_eq!(part.matches("deep_stacks_are_cut::descend(...)").count(), 99, "{part}");
                assert!(part.contains("\n...additional frames elided...\ncreated by goroutine 1"), "{part}");
            }
        });
    };
    child("deep_stacks_are_cut", body).procs(2).limit(LIMIT).run().ok();
}

/// A program that was stripped of its debug information still has the names of its functions.
#[test]
fn names_without_debug_information() {
    let body = || {
        gosched::run(|| {
            drop(named("parks", parks));
            let at_rest = |part: &str| part.contains("[park") && !part.contains(UNAVAILABLE);
            println!("stack: {:?}", until("parks", at_rest));
        });
    };
    let whole = child("names_without_debug_information", body).limit(LIMIT);
    let stripped = std::env::temp_dir().join(format!("gosched-stripped-{}", std::process::id()));
    let this = std::env::current_exe().unwrap();
    match std::process::Command::new("strip").arg("--strip-debug").arg("-o").args([&stripped, &this]).status()
    {
        Ok(status) => assert!(status.success(), "{status}"),
        Err(error) => return eprintln!("not tested: there is no `strip` ({error})"),
    }
    let outcome = whole.program(stripped.clone()).run();
    std::fs::remove_file(stripped).unwrap();
    let outcome = outcome.ok();
    let stack = outcome.value("stack");
    assert!(
        stack.contains("\\ngosched::") && stack.contains("dump::places::parks(...)\\n\\t?\\n"),
        "{stack}"
    );
}

/// A SIGURG handler of the program stays, and is never called; then a dump has no stack of a
/// goroutine that computes.
#[test]
fn a_foreign_sigurg_handler_is_left_alone() {
    static CALLED: AtomicBool = AtomicBool::new(false);
    extern "C" fn handler(_: libc::c_int) {
        CALLED.store(true, Ordering::Relaxed);
    }
    let body = || {
        // SAFETY: the handler only stores.
        unsafe { libc::signal(libc::SIGURG, handler as *const () as libc::sighandler_t) };
        gosched::run(|| {
            drop(named("computes", computes));
            let part = until("computes", |part| part.contains("[running]:\n"));
            assert!(part.contains("[running]:\n(stack unavailable)\ncreated by"), "{part}");
        });
        assert!(!CALLED.load(Ordering::Relaxed));
        // SAFETY: as above.
        let before = unsafe { libc::signal(libc::SIGURG, libc::SIG_DFL) };
        assert_eq!(before, handler as *const () as libc::sighandler_t);
    };
    child("a_foreign_sigurg_handler_is_left_alone", body).procs(2).limit(LIMIT).run().ok();
}

/// A dump does not interrupt blocked calls, as a signal would. (Seen to fail when blocked threads
/// are sent the signal, too.)
#[test]
fn blocked_calls_are_not_interrupted() {
    static TID: AtomicI32 = AtomicI32::new(0);
    let body = || {
        let naps = || {
            TID.store(common::tid(), Ordering::Relaxed);
            let time = libc::timespec { tv_sec: 0, tv_nsec: 500_000_000 };
            // SAFETY: reads `time`; the other pointer may be null.
            unsafe { libc::nanosleep(&time, std::ptr::null_mut()) }
        };
        // Before it is in the call it may still be sent the signal.
        let is_in_call = || {
            let file = format!("/proc/self/task/{}/syscall", TID.load(Ordering::Relaxed));
            let call = std::fs::read_to_string(file).unwrap_or_default();
            let number = call.split(' ').next().and_then(|number| number.parse().ok());
            number == Some(libc::SYS_nanosleep) || number == Some(libc::SYS_clock_nanosleep)
        };
        gosched::run(|| {
            let mut seen = false;
            while !seen {
                let napping = Builder::new().name("naps".into()).spawn(naps).unwrap();
                while !is_in_call() && !napping.is_finished() {
                    gosched::yield_now();
                }
                while !napping.is_finished() {
                    let dump = runtime::stacks();
                    seen |= of(&dump, "naps").is_some_and(|part| part.contains("[running, blocked]:\n"));
                }
                assert_eq!(napping.join().unwrap(), 0, "the call was interrupted");
            }
        });
    };
    child("blocked_calls_are_not_interrupted", body).procs(2).limit(LIMIT).run().ok();
}

fn raise(signal: libc::c_int) {
    // SAFETY: a signal to this process, which has a handler for it or ends.
    unsafe { libc::kill(libc::getpid(), signal) };
}

/// S49: SIGQUIT prints all goroutines and ends the process with status 2, whatever the program is
/// doing.
#[test]
fn sigquit_dumps_and_ends() {
    let body = || {
        gosched::run(|| {
            drop(named("parks", parks));
            drop(named("computes", computes));
            until("parks", |part| part.contains("[park"));
            until("computes", |part| part.contains("[running"));
            // Standard error may be locked at that moment.
            let _held = std::io::stderr().lock();
            raise(libc::SIGQUIT);
            thread::park();
        });
    };
    for procs in [1, 2, 8] {
        let child = child("sigquit_dumps_and_ends", body).procs(procs).limit(LIMIT);
        // A thread that the kernel does not run for a while can't copy its stack: that does not
        // happen every time.
        let mut outcomes = (0..20).map(|_| child.run());
        let outcome = outcomes.find(|outcome| !outcome.stderr.contains(UNAVAILABLE)).expect("a whole dump");
        let said = ["dump::places::parks(...)\n\t", "dump::places::computes(...)\n\t"];
        let outcome = outcome.died(2, &said);
        assert!(outcome.stderr.starts_with("SIGQUIT: quit\n\ngoroutine 1 ["), "{outcome:#?}");
    }
}

/// S49, D9: also in a program that was started with SIGQUIT ignored, as a script starts one with
/// `&`.
#[test]
fn sigquit_dumps_where_it_was_ignored_at_the_start() {
    let body = || {
        gosched::run(|| {
            drop(named("parks", parks));
            until("parks", |part| part.contains("[park"));
            raise(libc::SIGQUIT);
            thread::park();
        });
    };
    let child = child("sigquit_dumps_where_it_was_ignored_at_the_start", body).procs(2).limit(LIMIT);
    let outcome = child.ignoring(libc::SIGQUIT).run().died(2, &["dump::places::parks(...)\n\t"]);
    assert!(outcome.stderr.starts_with("SIGQUIT: quit\n\ngoroutine 1 ["), "{outcome:#?}");
}

/// D9: a SIGQUIT handler of the program is left alone, also one that is installed later.
#[test]
fn sigquit_is_left_to_those_who_have_it() {
    static CALLED: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn handler(_: libc::c_int) {
        CALLED.fetch_add(1, Ordering::Relaxed);
    }
    let set = |action: libc::sighandler_t| {
        // SAFETY: no handler, or one that only counts.
        unsafe { libc::signal(libc::SIGQUIT, action) };
    };
    let body = || {
        let counts = handler as *const () as libc::sighandler_t;
        if common::arg() == "handled" {
            set(counts);
        }
        gosched::run(|| ());
        match common::arg().as_str() {
            "handled later" => set(counts),
            "ignored later" => set(libc::SIG_IGN),
            _ => {}
        }
        raise(libc::SIGQUIT);
        // If the library had taken the signal, its reporter would have been woken before this
        // goroutine.
        gosched::run(|| assert!(runtime::stacks().contains("goroutine ")));
        while common::arg() != "ignored later" && CALLED.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        println!("called: {}", CALLED.load(Ordering::Relaxed));
    };
    for (how, calls) in [("handled", "1"), ("handled later", "1"), ("ignored later", "0")] {
        let outcome = child("sigquit_is_left_to_those_who_have_it", body).arg(how).limit(LIMIT).run().ok();
        assert!(!outcome.stderr.contains("SIGQUIT"), "{outcome:#?}");
        assert_eq!(outcome.value("called"), calls, "{outcome:#?}");
    }
}

/// D9: in the child of a fork, which has no reporter, SIGQUIT does what it did before the runtime
/// started.
#[test]
fn sigquit_after_a_fork_does_what_it_did_before() {
    let body = || {
        gosched::run(|| ());
        // SAFETY: the child only sends itself a signal, and ends.
        let status = unsafe {
            let pid = libc::fork();
            if pid == 0 {
                libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
                raise(libc::SIGQUIT);
                libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
            std::process::ExitStatus::from_raw(status)
        };
        println!("ended by: {:?}", status.signal());
    };
    let child = child("sigquit_after_a_fork_does_what_it_did_before", body).limit(LIMIT);
    assert_eq!(child.run().ok().value("ended by"), format!("{:?}", Some(libc::SIGQUIT)));
    assert_eq!(child.ignoring(libc::SIGQUIT).run().ok().value("ended by"), "None");
}

/// Up to a thousand dumps (300 in a debug build, 100 with 1 and 8 Ps) while ten thousand goroutines
/// begin, wait and end: no dump is torn, and no goroutine is lost.
#[test]
fn a_thousand_dumps_beside_churn() {
    const GOROUTINES: usize = 10_000;
    #[inline(never)]
    fn churns(handle: Option<gosched::JoinHandle<()>>) {
        gosched::yield_now();
        if let Some(handle) = handle {
            handle.join().unwrap();
        }
    }
    let body = || {
        let dumps: usize = common::arg().parse().unwrap();
        let dumping = std::thread::spawn(move || {
            let (mut made, mut seen) = (0, 0);
            // If no dump ever shows one of them, the watchdog ends this.
            while made < dumps || seen == 0 {
                made += 1;
                let dump = runtime::stacks();
                for part in dump.split("\n\n").filter(|part| part.contains("::churns(...)")) {
                    assert!(part.contains("created by goroutine "), "{dump}");
                    seen += 1;
                }
            }
        });
        gosched::run(|| {
            while !dumping.is_finished() {
                // Each joins the one before it: a chain of ten thousand waits.
                let mut last = None;
                for _ in 0..GOROUTINES {
                    let before = last.take();
                    last = Some(go(move || churns(before)));
                }
                last.unwrap().join().unwrap();
            }
        });
        dumping.join().unwrap();
    };
    let many = if cfg!(debug_assertions) { "300" } else { "1000" };
    for (procs, dumps) in [(1, "100"), (2, many), (8, "100")] {
        child("a_thousand_dumps_beside_churn", body).procs(procs).arg(dumps).run().ok();
    }
}
