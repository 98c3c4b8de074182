//! Unwinding, backtraces and debuggers on our stacks: they work, and they end.

mod common;

use std::backtrace::Backtrace;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Command;

use common::{role, run_on, watchdog};
use gosched_switch::{Stack, StackClass, StackPool};

static POOL: StackPool = StackPool::new();

fn stack() -> Stack {
    POOL.alloc(StackClass::DEFAULT).unwrap()
}

struct CountDrops<'a>(&'a mut u32);

impl Drop for CountDrops<'_> {
    fn drop(&mut self) {
        *self.0 += 1;
    }
}

#[inline(never)]
fn fail_deep(depth: u32, drops: &mut u32) {
    let outer = CountDrops(drops);
    if depth == 0 {
        resume_unwind(Box::new("deep"));
    }
    fail_deep(depth - 1, outer.0);
}

/// S11: a panic inside a context unwinds its frames, runs their drops and is caught there.
#[test]
fn panics_are_caught_inside_a_context() {
    let _dog = watchdog();
    let stack = stack();
    let mut drops = 0;
    let mut payload = None;
    run_on(&stack, || payload = catch_unwind(AssertUnwindSafe(|| fail_deep(9, &mut drops))).err());
    assert_eq!(payload.and_then(|p| p.downcast_ref::<&str>().copied()), Some("deep"));
    assert_eq!(drops, 10);
    run_on(&stack, || assert!(catch_unwind(|| panic!("a panic with a message, expected here")).is_err()));
    assert!(!std::thread::panicking());
    POOL.free(stack);
}

/// D3: a backtrace taken inside a context shows its entry function and ends at the trampoline.
#[test]
fn a_backtrace_ends_at_the_entry() {
    let _dog = watchdog();
    let stack = POOL.alloc(StackClass::for_size(8 << 20).unwrap()).unwrap();
    let mut text = String::new();
    run_on(&stack, || text = Backtrace::force_capture().to_string());
    assert!(text.contains("run_on_entry"), "the entry function is missing:\n{text}");
    assert!(!text.contains("a_backtrace_ends_at_the_entry\n"), "it went on into the caller's stack:\n{text}");
    let last = text.lines().rfind(|line| line.contains("::")).unwrap_or_default();
    assert!(last.contains("trampoline"), "the last frame is not the trampoline:\n{text}");
    POOL.free(stack);
}

/// Where the debugger stops.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn gosched_switch_test_marker() {
    std::hint::black_box(());
}

/// D3: gdb walks a context's stack to its end without a complaint.
#[test]
fn gdb_ends_cleanly() {
    let _dog = watchdog();
    if role().is_some() {
        run_on(&stack(), || gosched_switch_test_marker());
        return;
    }
    let exe = std::env::current_exe().unwrap();
    let gdb = Command::new("gdb")
        .args([
            "-nx",
            "-batch",
            "-ex",
            "set debuginfod enabled off",
            "-ex",
            "break gosched_switch_test_marker",
        ])
        .args(["-ex", "run", "-ex", "backtrace", "--args"])
        .arg(exe)
        .args(["--exact", "gdb_ends_cleanly", "--test-threads=1"])
        .env("GOSCHED_SWITCH_TEST_ROLE", "debuggee")
        .output();
    let Ok(output) = gdb else {
        eprintln!("skipped: gdb is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    if !text.contains("hit Breakpoint") {
        eprintln!("skipped: gdb can't run a process here:\n{text}\n{complaints}");
        return;
    }
    assert!(text.contains("run_on_entry"), "{text}");
    let last = text.lines().rfind(|line| line.starts_with('#')).unwrap_or_default();
    assert!(last.contains("trampoline"), "the last frame is not the trampoline:\n{text}");
    for bad in ["Backtrace stopped", "corrupt", "previous frame"] {
        assert!(!text.contains(bad) && !complaints.contains(bad), "{bad}:\n{text}\n{complaints}");
    }
}
