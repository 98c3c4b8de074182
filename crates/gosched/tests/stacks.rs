//! Stacks: as deep as promised, caught when they run over, given back afterwards (S13–S15).

mod common;

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::status_bytes;
use gosched::runtime;
use gosched::thread::{self, Builder};
use gosched_switch::arch::here;
use gosched_switch::sanitizer::{SANITIZER, Sanitizer};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
/// What the runtime, the test and the next frame may need besides the recursion.
const MARGIN: usize = match SANITIZER {
    Sanitizer::Off => 12 * KIB,
    Sanitizer::Address | Sanitizer::Thread => 40 * KIB,
};

/// Recurses until `bytes` of stack are used, calls `at_bottom` there, and checks every frame on the
/// way back.
#[inline(never)]
fn descend(from: usize, bytes: usize, at_bottom: &dyn Fn()) -> usize {
    // Not 0, which looks like a stack that nobody has used.
    let mark = from as u8 | 1;
    let frame = [mark; 512];
    // Not the frame's address: AddressSanitizer may keep such locals elsewhere.
    let depth = if from - here().sp < bytes {
        1 + descend(from, bytes, at_bottom)
    } else {
        at_bottom();
        1
    };
    assert!(black_box(&frame).iter().all(|byte| *byte == mark));
    depth
}

fn use_stack(bytes: usize, at_bottom: &dyn Fn()) {
    assert!(descend(here().sp, bytes, at_bottom) > 1);
}

/// S13: a goroutine can use its 256 KiB to the end, and so can many at once, waiting at the bottom.
#[gosched::test]
fn default_stacks_are_deep() {
    let deep = || {
        use_stack(256 * KIB - MARGIN, &|| gosched::yield_now());
        1
    };
    let handles: Vec<_> = (0..50).map(|_| gosched::go(deep)).collect();
    assert_eq!(handles.into_iter().map(|handle| handle.join().unwrap()).sum::<i32>(), 50);
}

/// S13: stacks of other sizes go as far, also when they are used again and mixed.
#[gosched::test]
fn custom_stacks_are_deep() {
    for round in 0..3 {
        let handles = [64 * KIB, 256 * KIB, MIB, 16 * MIB, 64 * MIB].map(|size| {
            let deep = move || use_stack(size - MARGIN, &|| gosched::yield_now());
            Builder::new().stack_size(size).spawn(deep).unwrap()
        });
        for handle in handles {
            assert!(handle.join().is_ok(), "round {round}");
        }
    }
}

/// S13: the main goroutine's stack is 8 MiB; `GOSCHED_STACK` and `Config` set that of the others.
#[test]
fn main_and_configured_stacks_are_deep() {
    let child = common::child("main_and_configured_stacks_are_deep", || {
        if common::arg() == "config" {
            gosched::runtime::Config::new().stack_size(2 * MIB).install().unwrap();
        }
        gosched::run(|| {
            use_stack(8 * MIB - MARGIN, &|| gosched::yield_now());
            gosched::go(|| use_stack(2 * MIB - MARGIN, &|| gosched::yield_now())).join().unwrap();
        });
    });
    child.clone().arg("config").run().ok();
    child.arg("environment").env("GOSCHED_STACK", &(2 * MIB).to_string()).run().ok();
}

/// S13: a test has the stack of a main goroutine.
#[test]
fn a_test_has_a_main_stack() {
    common::Child::of("uses_a_main_stack").ignored().run().ok();
}

/// Run by the test above.
#[gosched::test]
#[ignore = "run by a_test_has_a_main_stack"]
fn uses_a_main_stack() {
    use_stack(8 * MIB - MARGIN, &|| ());
}

/// S14: an overflow ends the process with id, name and limit, however large the frames are.
#[test]
fn overflow_is_caught() {
    #[inline(never)]
    #[expect(unconditional_recursion)]
    fn large_frames(n: usize) -> usize {
        let frame = [n as u8; 100 * KIB];
        black_box(&frame)[n % frame.len()] as usize + large_frames(n + 1)
    }
    let child = common::child("overflow_is_caught", || {
        gosched::run(|| {
            let endless = || use_stack(usize::MAX, &|| ());
            match common::arg().as_str() {
                "named" => {
                    let handle = Builder::new().name("bottomless".into()).spawn(endless).unwrap();
                    let _ = handle.join();
                }
                "nameless" => drop(gosched::go(endless).join()),
                "large" => drop(Builder::new().stack_size(4 * MIB).spawn(endless).unwrap().join()),
                "frames" => drop(gosched::go(|| large_frames(0)).join()),
                _ => endless(),
            }
            println!("survived");
        });
    });
    for procs in [1, 2] {
        let died = |arg: &str, said: &[&str]| {
            let outcome = child.clone().procs(procs).arg(arg).run().died(2, &["fatal error: stack overflow"]);
            assert!(!outcome.stdout.contains("survived"));
            outcome.said(said);
        };
        died("named", &["goroutine 2 \"bottomless\"", "262144 bytes"]);
        died("nameless", &["goroutine 2:", "262144 bytes"]);
        died("large", &["goroutine 2:", "4194304 bytes"]);
        // AddressSanitizer takes the room for large locals without the compiler's probes: one of
        // 100 KiB jumps over a guard.
        if SANITIZER != Sanitizer::Address {
            died("frames", &["goroutine 2:", "262144 bytes"]);
        }
        died("main", &["goroutine 1:", "8388608 bytes"]);
    }
}

/// S14, D9: Ms never block the signals of a fault, even if the process's first thread does when
/// they are made: a blocked SIGSEGV would kill the process without a message. (pthread_create
/// blocks all signals in its caller for a moment, so this can happen in any program.)
#[test]
fn overflow_is_caught_though_the_first_thread_blocks_faults() {
    let child = common::child("overflow_is_caught_though_the_first_thread_blocks_faults", || {
        gosched::run(|| use_stack(usize::MAX, &|| ()));
    });
    child.blocking(libc::SIGSEGV).run().died(2, &["fatal error: stack overflow", "goroutine 1"]);
}

/// S14: with a hundred thousand stacks alive, guards still work.
#[test]
fn overflow_is_caught_among_many() {
    let child = common::child("overflow_is_caught_among_many", || {
        const MANY: usize = 100_000;
        gosched::run(|| {
            let started = Arc::new(AtomicUsize::new(0));
            for _ in 0..MANY {
                let started = Arc::clone(&started);
                gosched::go(move || {
                    started.fetch_add(1, Ordering::Relaxed);
                    thread::park();
                });
            }
            while started.load(Ordering::Relaxed) < MANY {
                gosched::yield_now();
            }
            println!("alive: {}", gosched::runtime::num_goroutine());
            let last = Builder::new().name("last straw".into()).spawn(|| use_stack(usize::MAX, &|| ()));
            let _ = last.unwrap().join();
        });
    });
    let outcome = child.procs(2).run().died(2, &["fatal error: stack overflow", "\"last straw\"", "262144"]);
    assert_eq!(outcome.value("alive"), "100001");
}

/// S14: other faults are handled as before: std reports the overflow of a std thread, and a wild
/// pointer in a goroutine kills the process by its signal.
#[test]
fn other_faults_are_left_alone() {
    let child = common::child("other_faults_are_left_alone", || {
        gosched::run(|| ());
        if common::arg() == "thread" {
            let thread = std::thread::Builder::new().name("std's own".into());
            let _ = thread.spawn(|| use_stack(usize::MAX, &|| ())).unwrap().join();
        } else {
            gosched::run(|| {
                let wild = black_box(8_usize) as *const u8;
                // SAFETY: none: this is the fault under test.
                black_box(unsafe { wild.read_volatile() });
            });
        }
    });
    let child = child.without_fault_reports();
    let outcome = child.clone().arg("thread").run().said(&["std's own", "overflowed its stack"]);
    assert_eq!(outcome.signal, Some(libc::SIGABRT), "{outcome:#?}");
    let outcome = child.arg("wild").run();
    assert_eq!(outcome.signal, Some(libc::SIGSEGV), "{outcome:#?}");
    assert!(!outcome.stderr.contains("stack overflow"), "{outcome:#?}");
}

/// S15: stacks that were deep give their pages back when their goroutines have ended, beyond the
/// first few.
#[test]
fn deep_stacks_give_their_pages_back() {
    if common::spared_by_sanitizer("its shadow of the stacks stays in memory") {
        return;
    }
    let child = common::child("deep_stacks_give_their_pages_back", || {
        let (size, count): (usize, usize) = match common::arg().as_str() {
            "many" => (256 * KIB, 400),
            _ => (16 * MIB, 5),
        };
        gosched::run(|| {
            let deep = move || use_stack(size - 2 * MARGIN, &thread::park);
            let before = status_bytes("VmRSS");
            let handles: Vec<_> =
                (0..count).map(|_| Builder::new().stack_size(size).spawn(deep).unwrap()).collect();
            let at_the_bottom = |world: &runtime::World| {
                world.goroutines().filter(|goroutine| goroutine.wait_reason == "park").count()
            };
            while runtime::stop_the_world(at_the_bottom) < count {
                gosched::yield_now();
            }
            let deep_bytes = status_bytes("VmRSS").saturating_sub(before);
            println!("deep: {deep_bytes}");
            handles.iter().for_each(|handle| handle.thread().unpark());
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            // The last stack may not be given back yet: a goroutine whose P was taken does that
            // after it is joined.
            let began = Instant::now();
            let mut after = usize::MAX;
            while after >= deep_bytes / 5 && began.elapsed() < Duration::from_secs(20) {
                thread::sleep(Duration::from_millis(1));
                after = status_bytes("VmRSS").saturating_sub(before);
            }
            println!("after: {after}");
        });
    });
    for arg in ["many", "large"] {
        let outcome = child.clone().procs(1).arg(arg).run().ok();
        let number = |key: &str| -> usize { outcome.value(key).parse().unwrap() };
        let (deep, after) = (number("deep"), number("after"));
        assert!(deep > 60 * MIB, "{arg}: only {deep} bytes were used: this shows nothing");
        assert!(after < deep / 5, "{arg}: {after} of {deep} bytes are still there");
    }
}
