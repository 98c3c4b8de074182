//! Deep use gives memory back, shallow use makes no system call (S15, S12).

mod common;

use common::{pages_of, run_on, spared_by_sanitizer, use_stack, watchdog};
use gosched_switch::{Stack, StackCache, StackClass, StackPool};

const CLASS: StackClass = StackClass::DEFAULT;

/// Gives a stack back after `bytes` of it were used, and takes it again.
fn cycle(cache: &mut StackCache, pool: &StackPool, bytes: usize) -> Stack {
    let stack = cache.pop(pool).unwrap();
    run_on(&stack, || use_stack(bytes));
    let high = stack.high();
    cache.push(stack, pool);
    let again = cache.pop(pool).unwrap();
    assert_eq!(again.high(), high);
    again
}

/// S15: all but the first few pages are given back at once, after the first use as after later
/// ones.
#[test]
fn deep_use_gives_pages_back() {
    static POOL: StackPool = StackPool::new();
    let _dog = watchdog();
    let mut cache = StackCache::new(CLASS);
    for bytes in [200_000, 100_000, 500, 150_000, 30_000, 8_000, 200_000] {
        let stack = cycle(&mut cache, &POOL, bytes);
        assert!(pages_of(&stack) <= 4, "{} pages are left after {bytes} bytes", pages_of(&stack));
        cache.push(stack, &POOL);
    }
}

/// The same, when the first uses were shallow (level 1 painted) and then a little deeper (level 2
/// painted).
#[test]
fn deep_use_after_shallow_use_gives_pages_back() {
    static POOL: StackPool = StackPool::new();
    let _dog = watchdog();
    let mut cache = StackCache::new(CLASS);
    for bytes in [100, 100, 200_000, 100, 200_000] {
        let stack = cycle(&mut cache, &POOL, bytes);
        assert!(pages_of(&stack) <= 4, "{} pages are left after {bytes} bytes", pages_of(&stack));
        cache.push(stack, &POOL);
    }
}

/// The exact sweep finds pages of a frame that jumped over the canaries.
#[test]
fn the_sweep_finds_what_canaries_miss() {
    static POOL: StackPool = StackPool::new();
    let _dog = watchdog();
    if spared_by_sanitizer("its frames need more than a page") {
        return;
    }
    let stack = POOL.alloc(CLASS).unwrap();
    run_on(&stack, || ());
    for page in 10..20 {
        // SAFETY: inside a stack that is ours and that no context uses.
        unsafe { ((stack.limit() + page * 4096) as *mut u8).write_volatile(1) };
    }
    assert_eq!(pages_of(&stack), 11);
    let (limit, high) = (stack.limit(), stack.high());
    POOL.free(stack);
    assert_eq!(common::resident_pages(limit, high), 11, "no canary was broken");
    assert_eq!(POOL.trim_all(), 10 * 4096);
    assert_eq!(common::resident_pages(limit, high), 1);
    assert_eq!(POOL.trim_all(), 0);
}

/// S15: a suspended context's stack can be trimmed below its stack pointer.
#[test]
fn pages_below_a_stack_pointer_are_given_back() {
    static POOL: StackPool = StackPool::new();
    let _dog = watchdog();
    let stack = POOL.alloc(CLASS).unwrap();
    run_on(&stack, || use_stack(200_000));
    let before = pages_of(&stack);
    assert!(before > 40);
    // SAFETY: no context uses the stack any more.
    let bytes = unsafe { stack.trim_below(stack.top() - 100) };
    assert_eq!(before - pages_of(&stack), bytes / 4096);
    assert!(pages_of(&stack) <= 2);
    // SAFETY: as above; these leave nothing to discard, or lie outside.
    let nothing = unsafe { [stack.trim_below(stack.limit() + 8), stack.trim_below(stack.high() + 16)] };
    assert_eq!(nothing, [0, 0]);
    POOL.free(stack);
}

/// How a forked child ended that was allowed only the system calls of strict seccomp.
#[derive(Debug, PartialEq, Eq)]
enum Strict {
    NoSystemCall,
    Killed,
}

fn without_system_calls(body: impl FnOnce()) -> Strict {
    // SAFETY: the child uses nothing that another thread may have locked: no allocation, no std
    // I/O. Strict seccomp kills it at any system call but read, write, exit and sigreturn.
    let status = unsafe {
        let pid = libc::fork();
        assert!(pid >= 0);
        if pid == 0 {
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT);
            body();
            libc::syscall(libc::SYS_exit, 0);
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid);
        status
    };
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 {
        Strict::NoSystemCall
    } else {
        Strict::Killed
    }
}

/// S10, S12: popping, running a few frames and pushing make no system call; the gate is seen to
/// fail with deep use.
#[test]
fn ordinary_exits_make_no_system_call() {
    static POOL: StackPool = StackPool::new();
    let _dog = watchdog();
    if spared_by_sanitizer("it gives memory back, and its frames are deeper") {
        return;
    }
    let mut cache = StackCache::new(CLASS);
    for bytes in [100, 6_000] {
        let stack = cycle(&mut cache, &POOL, bytes);
        cache.push(stack, &POOL);
    }
    let mut rounds = |bytes: usize| {
        for _ in 0..1_000 {
            let Ok(stack) = cache.pop(&POOL) else { std::process::abort() };
            run_on(&stack, || use_stack(bytes));
            cache.push(stack, &POOL);
        }
    };
    assert_eq!(without_system_calls(|| rounds(100)), Strict::NoSystemCall);
    assert_eq!(without_system_calls(|| rounds(6_000)), Strict::NoSystemCall);
    assert_eq!(without_system_calls(|| rounds(100_000)), Strict::Killed);
}
