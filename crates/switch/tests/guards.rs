//! Guards: every stack has one, at any number, made in any way (S14).

mod common;

use common::{Prober, child, expect_signal, expect_success, mappings, role, run_on, use_stack, watchdog};
use gosched_switch::{GuardRung, Stack, StackClass, StackPool};

static BEST: StackPool = StackPool::new();
static MADVISE: StackPool = StackPool::with_rung(GuardRung::Madvise);
static POISON: StackPool = StackPool::with_rung(GuardRung::Poison);
static MPROTECT: StackPool = StackPool::with_rung(GuardRung::Mprotect);

const CLASS: StackClass = StackClass::DEFAULT;

fn assert_guarded(prober: &Prober, stack: &Stack) {
    let guard = stack.guard();
    assert!(guard.len() >= 16 << 10);
    for addr in [guard.start, guard.start + guard.len() / 2, guard.end - 1] {
        assert!(!prober.readable(addr), "{addr:#x} in the guard of {stack:?} can be read");
    }
    assert!(prober.readable(stack.limit()), "the lowest usable byte of {stack:?} can't be read");
    assert!(prober.readable(stack.high() - 1));
}

/// S14: a hundred thousand live stacks, each with a working guard, in few mappings.
#[test]
fn a_hundred_thousand_stacks_keep_their_guards() {
    let _dog = watchdog();
    if role().is_none() {
        return expect_success(&child("a_hundred_thousand_stacks_keep_their_guards", "all"));
    }
    let before = mappings();
    let stacks: Vec<Stack> = (0..100_000).map(|_| BEST.alloc(CLASS).unwrap()).collect();
    let grown = mappings() - before;
    let prober = Prober::new();
    for stack in &stacks {
        let guard = stack.guard();
        assert!(!prober.readable(guard.start) && !prober.readable(guard.end - 1), "{stack:?} has no guard");
    }
    assert_eq!(BEST.live(), stacks.len());
    match BEST.guard_rung() {
        Some(GuardRung::Mprotect) | None => panic!("this kernel has neither of the better ways"),
        Some(_) => assert!(mappings() < 200, "{grown} mappings more for 100,000 stacks"),
    }
}

fn pool_of(rung: GuardRung) -> &'static StackPool {
    match rung {
        GuardRung::Madvise => &MADVISE,
        GuardRung::Poison => &POISON,
        GuardRung::Mprotect => &MPROTECT,
    }
}

/// Allocates in one way, checks guards, overflows in child processes.
fn check_rung(rung: GuardRung, test: &str, signal: i32) {
    let _dog = watchdog();
    let pool = pool_of(rung);
    let first = match pool.alloc(CLASS) {
        Ok(stack) => stack,
        Err(error) => return eprintln!("skipped: {rung:?} does not work here: {error}"),
    };
    assert_eq!(pool.guard_rung(), Some(rung));
    match role().as_deref() {
        Some("touch") => {
            // SAFETY: none: this is the fault that the test wants.
            unsafe { (first.guard().start as *mut u8).write_volatile(1) };
            return;
        }
        Some(_) => return run_on(&first, || use_stack(1 << 20)),
        None => {}
    }
    let prober = Prober::new();
    let stacks: Vec<Stack> = (0..500).map(|_| pool.alloc(CLASS).unwrap()).collect();
    stacks.iter().for_each(|stack| assert_guarded(&prober, stack));
    run_on(&first, || use_stack(first.size() - 8192));
    let (limit, guard) = (first.limit(), first.guard());
    pool.free(first);
    assert!(pool.trim_all() > 0, "the deep one was trimmed");
    assert!(prober.readable(limit) && !prober.readable(guard.end - 1), "its guard survived that");
    expect_signal(&child(test, "touch"), signal);
    expect_signal(&child(test, "overflow"), signal);
}

#[test]
fn guards_by_madvise() {
    check_rung(GuardRung::Madvise, "guards_by_madvise", libc::SIGSEGV);
}

#[test]
fn guards_by_poison() {
    check_rung(GuardRung::Poison, "guards_by_poison", libc::SIGBUS);
}

#[test]
fn guards_by_mprotect() {
    check_rung(GuardRung::Mprotect, "guards_by_mprotect", libc::SIGSEGV);
}

/// D4: where guards cost mappings, reaching the limit is an error that says what to do, and the
/// process still works.
#[test]
fn the_mprotect_rung_stops_before_mappings_run_out() {
    let _dog = watchdog();
    if role().is_none() {
        return expect_success(&child("the_mprotect_rung_stops_before_mappings_run_out", "limit"));
    }
    let class = StackClass::for_size(gosched_switch::min_size()).unwrap();
    let max: usize = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap().trim().parse().unwrap();
    if max > 500_000 {
        return eprintln!("skipped: vm.max_map_count is {max}");
    }
    let mut stacks = Vec::new();
    let error = loop {
        match MPROTECT.alloc(class) {
            Ok(stack) => stacks.push(stack),
            Err(error) => break error,
        }
    };
    let text = error.to_string();
    assert!(text.contains(&format!("vm.max_map_count is {max}")) && text.contains("sysctl"), "{text}");
    assert_eq!(error.live(), stacks.len());
    assert!(stacks.len() > max / 4);
    std::thread::spawn(|| vec![1u8; 1 << 20].len()).join().unwrap();
    MPROTECT.free(stacks.pop().unwrap());
    assert!(MPROTECT.alloc(class).is_ok(), "one that was given back can be had again");
}
