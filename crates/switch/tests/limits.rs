//! When the system refuses memory: an error that says so, or smaller slabs. Each in a process of
//! its own.

mod common;

use common::{child, expect_success, role, spared_by_sanitizer, watchdog};
use gosched_switch::{Stack, StackCache, StackClass, StackPool};

static POOL: StackPool = StackPool::new();
const CLASS: StackClass = StackClass::DEFAULT;

fn address_space() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').next().unwrap().parse::<usize>().unwrap() * 4096
}

/// D4: running out of address space is an error with count and remedy; a stack that was given back
/// can be had again.
#[test]
fn a_limit_on_address_space_is_an_error() {
    let _dog = watchdog();
    if role().is_none() {
        return expect_success(&child("a_limit_on_address_space_is_an_error", "limited"));
    }
    let mut stacks: Vec<Stack> = Vec::with_capacity(2_000);
    let limit = (address_space() + (400 << 20)) as libc::rlim_t;
    // SAFETY: passes a structure by reference.
    unsafe { libc::setrlimit(libc::RLIMIT_AS, &libc::rlimit { rlim_cur: limit, rlim_max: limit }) };
    let error = loop {
        match POOL.alloc(CLASS) {
            Ok(stack) => stacks.push(stack),
            Err(error) => break error,
        }
    };
    let text = error.to_string();
    assert!(text.contains(&format!("out of stacks: {} of 262144 bytes", stacks.len())), "{text}");
    assert!(text.contains("ulimit -v"), "{text}");
    assert!(stacks.len() > 600, "smaller slabs fill the rest: {}", stacks.len());
    assert!(POOL.stats().small_slabs > 0);
    let mut cache = StackCache::new(CLASS);
    assert_eq!(cache.pop(&POOL).unwrap_err(), error);
    POOL.free(stacks.pop().unwrap());
    let again = cache.pop(&POOL).unwrap();
    cache.push(again, &POOL);
}

/// D4: where new mappings are filled at once, a slab holds one stack.
#[test]
fn locked_memory_gets_small_slabs() {
    let _dog = watchdog();
    if spared_by_sanitizer("it makes mlockall do nothing") {
        return;
    }
    if role().is_none() {
        return expect_success(&child("locked_memory_gets_small_slabs", "locked"));
    }
    // SAFETY: changes how later mappings are filled.
    if unsafe { libc::mlockall(libc::MCL_FUTURE) } != 0 {
        return eprintln!("skipped: mlockall: {}", std::io::Error::last_os_error());
    }
    let (a, b) = (POOL.alloc(CLASS).unwrap(), POOL.alloc(CLASS).unwrap());
    let stats = POOL.stats();
    assert_eq!((stats.slabs, stats.small_slabs, stats.stacks), (2, 2, 2));
    let prober = common::Prober::new();
    assert!(!prober.readable(a.guard().start) && !prober.readable(b.limit() - 1));
    for stack in [a, b] {
        common::run_on(&stack, || common::use_stack(100_000));
        POOL.free(stack);
    }
}
