//! What is printed about a panic stays together, however many panic at once (S11), and whatever the
//! hooks do.

mod common;

use std::panic::{set_hook, take_hook};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::child;
use gosched::chan::{bounded, unbounded};
use gosched::{runtime, thread};

const MANY: usize = 200;

/// Many goroutines, and some foreign threads, all panic at once; each says who it is.
fn panic_all_at_once() {
    gosched::run(|| {
        let barrier = std::sync::Arc::new(gosched::sync::Barrier::new(MANY + 4));
        let foreign: Vec<_> = (0..4)
            .map(|_| {
                let barrier = std::sync::Arc::clone(&barrier);
                std::thread::spawn(move || {
                    barrier.wait();
                    panic!("number foreign");
                })
            })
            .collect();
        let goroutines: Vec<_> = (0..MANY)
            .map(|_| {
                let barrier = std::sync::Arc::clone(&barrier);
                gosched::go(move || {
                    barrier.wait();
                    panic!("number {}", runtime::goroutine_id().unwrap());
                })
            })
            .collect();
        assert!(goroutines.into_iter().all(|goroutine| goroutine.join().is_err()));
        assert!(foreign.into_iter().all(|thread| thread.join().is_err()));
    });
}

/// Asserts that each header is followed by the message of the same goroutine, and that there are
/// [`MANY`] of them.
fn assert_whole(stderr: &str) {
    let lines: Vec<_> = stderr.lines().filter(|line| !line.is_empty()).collect();
    let mut headers = 0;
    for (at, line) in lines.iter().enumerate() {
        if let Some(number) = line.strip_prefix("goroutine ") {
            let number = number.split(' ').next().unwrap();
            let context = &lines[at.saturating_sub(3)..lines.len().min(at + 5)];
            assert!(lines[at + 1].starts_with("thread '"), "{context:#?}");
            assert_eq!(lines[at + 2], format!("number {number}"), "{context:#?}");
            headers += 1;
        }
    }
    assert_eq!(headers, MANY);
    assert_eq!(lines.iter().filter(|line| **line == "number foreign").count(), 4);
}

/// S11: header and message of one panic are not separated by those of another. With 1, 2 and 8 Ps.
#[test]
fn a_panics_output_stays_together() {
    let child = child("a_panics_output_stays_together", panic_all_at_once);
    for procs in [1, 2, 8] {
        assert_whole(&child.clone().procs(procs).run().ok().stderr);
    }
}

/// S11: nor when the user has installed a hook before ours, and another one after it that calls
/// ours.
#[test]
fn a_panics_output_stays_together_with_hooks_of_the_users() {
    let child = child("a_panics_output_stays_together_with_hooks_of_the_users", || {
        let wrap = || {
            let previous = take_hook();
            set_hook(Box::new(move |info| previous(info)));
        };
        wrap();
        gosched::run(|| ());
        wrap();
        panic_all_at_once();
    });
    assert_whole(&child.procs(8).run().ok().stderr);
}

/// Four goroutines panic, and the hook of each waits until all four are in it: none waits for ever
/// for its turn to print.
#[test]
fn a_hook_may_wait_for_another_goroutine_that_panics() {
    let child = child("a_hook_may_wait_for_another_goroutine_that_panics", || {
        static INSIDE: AtomicUsize = AtomicUsize::new(0);
        set_hook(Box::new(|_| {
            INSIDE.fetch_add(1, Ordering::SeqCst);
            while INSIDE.load(Ordering::SeqCst) < 4 {
                gosched::sleep(Duration::from_millis(1));
            }
        }));
        gosched::run(|| {
            let four: Vec<_> = (0..4).map(|_| gosched::go(|| panic!("one of four"))).collect();
            assert!(four.into_iter().all(|goroutine| goroutine.join().is_err()));
        });
    });
    for procs in [1, 2, 8] {
        child.clone().procs(procs).run().ok();
    }
}

/// A hook that never returns blocks only its own goroutine: the first of the others prints after a
/// while, the rest at once.
#[test]
fn a_hook_that_never_returns_concerns_its_own_goroutine() {
    let child = child("a_hook_that_never_returns_concerns_its_own_goroutine", || {
        static FIRST: AtomicUsize = AtomicUsize::new(0);
        set_hook(Box::new(|_| {
            if FIRST.fetch_add(1, Ordering::SeqCst) == 0 {
                loop {
                    thread::park();
                }
            }
        }));
        gosched::run(|| {
            gosched::go(|| panic!("for ever in its hook"));
            while FIRST.load(Ordering::SeqCst) == 0 {
                gosched::yield_now();
            }
            let began = std::time::Instant::now();
            for _ in 0..100 {
                assert!(gosched::go(|| panic!("goes on")).join().is_err());
            }
            assert!(began.elapsed() < Duration::from_secs(30), "each has waited for the first one");
        });
    });
    child.procs(2).run().ok();
}

/// A hook that tells a goroutine of each panic, through channels: moving calls, in which it parks.
#[test]
fn a_hook_may_make_moving_calls() {
    let child = child("a_hook_may_make_moving_calls", || {
        let (tell, told) = bounded::<gosched::chan::Sender<()>>(0);
        let teller = Mutex::new(tell);
        set_hook(Box::new(move |_| {
            let tell = teller.lock().unwrap().clone();
            let (answer, answered) = unbounded();
            tell.send(answer).unwrap();
            answered.recv().unwrap();
        }));
        gosched::run(|| {
            let logger = gosched::go(move || (0..MANY).for_each(|_| told.recv().unwrap().send(()).unwrap()));
            let all: Vec<_> = (0..MANY).map(|_| gosched::go(|| panic!("told"))).collect();
            assert!(all.into_iter().all(|goroutine| goroutine.join().is_err()));
            logger.join().unwrap();
        });
    });
    for procs in [1, 2, 8] {
        child.clone().procs(procs).run().ok();
    }
}

/// As in std: a panic in a hook ends the process at once, with both messages; no turn is waited
/// for.
#[test]
fn a_panic_in_a_hook_aborts() {
    let child = child("a_panic_in_a_hook_aborts", || {
        set_hook(Box::new(|_| panic!("in the hook")));
        gosched::run(|| gosched::go(|| panic!("in the goroutine")).join().unwrap_err());
        println!("survived");
    });
    let outcome = child.run().said(&["goroutine 2", "thread panicked while processing panic. aborting."]);
    assert_eq!(outcome.signal, Some(libc::SIGABRT), "{outcome:#?}");
}

/// S42: a panic in a stopped world does not wait for a goroutine that was stopped while it printed.
#[test]
fn a_panic_in_a_stopped_world() {
    let child = child("a_panic_in_a_stopped_world", || {
        gosched::run(|| {
            let noisy: Vec<_> = (0..20)
                .map(|_| {
                    gosched::go(|| {
                        (0..20).for_each(|_| assert!(std::panic::catch_unwind(|| panic!("noise")).is_err()))
                    })
                })
                .collect();
            for _ in 0..20 {
                let stopped = || runtime::stop_the_world(|_| panic!("in a stopped world"));
                assert!(std::panic::catch_unwind(stopped).is_err());
                gosched::yield_now();
            }
            common::join_all(noisy);
        });
    });
    for procs in [1, 2, 8] {
        child.clone().procs(procs).run().ok();
    }
}
