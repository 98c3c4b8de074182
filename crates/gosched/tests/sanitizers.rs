//! Real bugs in goroutines are still found in builds for AddressSanitizer, and programs without one
//! end well.
//!
//! In other builds nothing runs here. Seen to fail, all five: with the call of
//! `__sanitizer_finish_switch_fiber` taken out of `gosched-switch`.

mod common;

use std::hint::black_box;

use common::{child, join_all};
use gosched::chan::bounded;
use gosched::{go, yield_now};
use gosched_switch::sanitizer::{SANITIZER, Sanitizer};

fn only_elsewhere() -> bool {
    SANITIZER != Sanitizer::Address
}

/// Reads a value after it was freed.
#[inline(never)]
fn read_freed() -> u64 {
    let value = Box::into_raw(Box::new(7_u64));
    yield_now();
    // SAFETY: it came out of a box a moment ago.
    drop(unsafe { Box::from_raw(value) });
    yield_now();
    // SAFETY: none. This is the bug that is to be found.
    unsafe { black_box(value).read() }
}

/// Writes behind the end of a local.
#[inline(never)]
fn write_behind() -> u8 {
    let mut local = black_box([0_u8; 24]);
    yield_now();
    let end = black_box(24);
    // SAFETY: none. As above.
    unsafe { local.as_mut_ptr().add(end).write(1) };
    black_box(local)[0]
}

/// The report has the frames of the goroutine: the place of the bug, and where its memory came
/// from.
#[test]
fn a_use_after_free_is_reported() {
    if only_elsewhere() {
        return;
    }
    let said = child("a_use_after_free_is_reported", || {
        gosched::run(|| drop(go(read_freed).join()));
    })
    .env("ASAN_OPTIONS", "detect_leaks=0")
    .run();
    assert_ne!(said.code, Some(0), "{said:#?}");
    let said =
        said.said(&["heap-use-after-free", "freed by thread", "previously allocated by thread"]).stderr;
    let (read, freed) = said.split_once("freed by thread").unwrap();
    assert!(read.contains("sanitizers::read_freed"), "{said}");
    assert!(read.contains("trampoline"), "the stack ends where the goroutine began: {said}");
    assert!(freed.contains("sanitizers::read_freed"), "{said}");
}

#[test]
fn a_write_behind_a_local_is_reported() {
    if only_elsewhere() {
        return;
    }
    let said = child("a_write_behind_a_local_is_reported", || {
        gosched::run(|| drop(go(write_behind).join()));
    })
    .env("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=0")
    .run();
    assert_ne!(said.code, Some(0), "{said:#?}");
    said.said(&["stack-buffer-overflow", "write_behind"]);
}

/// What nobody points to is a leak, also if a goroutine has allocated it.
#[test]
fn a_leak_is_reported() {
    if only_elsewhere() {
        return;
    }
    let said = child("a_leak_is_reported", || {
        gosched::run(|| go(|| std::mem::forget(black_box(vec![1_u8; 4321]))).join().unwrap());
    })
    .env("ASAN_OPTIONS", "detect_leaks=1:detect_stack_use_after_return=0")
    .run();
    assert_ne!(said.code, Some(0), "{said:#?}");
    said.said(&["4321 byte(s)"]);
}

/// What only a goroutine points to that waits at the program's end, or that has not run yet, is
/// none.
#[test]
fn what_goroutines_hold_is_no_leak() {
    if only_elsewhere() {
        return;
    }
    child("what_goroutines_hold_is_no_leak", || {
        gosched::run(|| {
            let (_keep, never) = bounded::<u8>(0);
            for i in 0..100 {
                let never = never.clone();
                drop(go(move || {
                    let held = black_box(vec![i as u8; 1000]);
                    let _ = never.recv();
                    black_box(held);
                }));
            }
            common::until_waiting("chan receive", 100);
            drop(go(move || black_box(vec![1_u8; 1000])));
            std::process::exit(0);
        });
    })
    .env("ASAN_OPTIONS", "detect_leaks=1:detect_stack_use_after_return=0")
    .run()
    .ok();
}

/// Locals that live in fake stacks, on goroutines that panic, end and change threads.
#[test]
fn goroutines_move_with_their_fake_stacks() {
    if only_elsewhere() {
        return;
    }
    child("goroutines_move_with_their_fake_stacks", || {
        gosched::run(|| {
            join_all((0..200_u64).map(|i| go(move || churn(i))).collect());
        });
    })
    .procs(4)
    .env("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=1")
    .run()
    .ok();
}

fn churn(seed: u64) {
    let mut line = black_box([seed; 16]);
    for round in 0..50 {
        let sum: u64 = black_box(&line).iter().sum();
        yield_now();
        black_box(&mut line)[round % 16] += 1;
        assert_eq!(line.iter().sum::<u64>(), sum + 1);
    }
    let unwound = std::panic::catch_unwind(|| {
        let _local = black_box([seed; 8]);
        std::panic::resume_unwind(Box::new(seed));
    });
    assert_eq!(unwound.unwrap_err().downcast_ref::<u64>(), Some(&seed));
}
