//! A panic ends its own goroutine and no other (S11, D5).

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use common::tid;
use gosched::runtime::{self, Goexit};
use gosched::thread::{self, Builder};

/// S11: a hundred goroutines panic; each joiner gets the right payload, and a hundred others don't
/// notice.
#[gosched::test]
fn a_hundred_panics_concern_nobody_else() {
    let calm: Vec<_> = (0..100)
        .map(|i| {
            gosched::go(move || {
                for _ in 0..20 {
                    assert!(!thread::panicking());
                    gosched::yield_now();
                }
                i
            })
        })
        .collect();
    let panicking: Vec<_> = (0..100_usize)
        .map(|i| {
            gosched::go(move || {
                (0..i % 5).for_each(|_| gosched::yield_now());
                std::panic::panic_any(i)
            })
        })
        .collect();
    for (i, handle) in panicking.into_iter().enumerate() {
        assert_eq!(handle.join().map(|(): ()| ()).unwrap_err().downcast_ref::<usize>(), Some(&i));
    }
    for (i, handle) in calm.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), i);
    }
    assert!(!thread::panicking());
}

/// S11: the message names the goroutine by id and, if it has one, name; nobody need join it.
#[test]
fn the_message_names_the_goroutine() {
    let child = common::child("the_message_names_the_goroutine", || {
        gosched::run(|| {
            let named = Builder::new().name("unlucky".into()).spawn(|| -> u64 {
                println!("named: {}", runtime::goroutine_id().unwrap());
                panic!("of the named one");
            });
            assert!(named.unwrap().join().is_err());
            let nameless = gosched::go(|| {
                println!("nameless: {}", runtime::goroutine_id().unwrap());
                panic!("of the nameless one");
            });
            while !nameless.is_finished() {
                gosched::yield_now();
            }
            drop(nameless);
            println!("main: goes on");
        });
    });
    let outcome = child.procs(2).run().ok();
    let named = format!("goroutine {} \"unlucky\"", outcome.value("named"));
    let nameless = format!("goroutine {} ", outcome.value("nameless"));
    assert_eq!(outcome.value("main"), "goes on");
    outcome.said(&[&named, "of the named one", &nameless, "of the nameless one", "tests/panics.rs"]);
}

/// S7, S11: a panic in `run` resumes in its caller, and its message names goroutine 1.
#[test]
fn a_panic_in_run_goes_on_in_the_caller() {
    let child = common::child("a_panic_in_run_goes_on_in_the_caller", || {
        let error = catch_unwind(|| gosched::run(|| panic!("in main"))).unwrap_err();
        assert_eq!(error.downcast_ref::<&str>(), Some(&"in main"));
        assert!(!std::thread::panicking());
        assert_eq!(gosched::run(|| 3), 3);
    });
    child.run().ok().said(&["goroutine 1 panicked", "in main"]);
}

/// S11: `goexit` runs the destructors, prints nothing, and join says so; `catch_unwind` sees it.
#[test]
fn goexit_runs_destructors() {
    let child = common::child("goexit_runs_destructors", || {
        gosched::run(|| {
            struct Guard(Arc<Mutex<Vec<u8>>>, u8);
            impl Drop for Guard {
                fn drop(&mut self) {
                    gosched::yield_now();
                    self.0.lock().unwrap().push(self.1);
                }
            }
            let order = Arc::new(Mutex::new(Vec::new()));
            let (a, b) = (Guard(Arc::clone(&order), 1), Guard(Arc::clone(&order), 2));
            let handle = gosched::go(move || {
                let _a = a;
                let deeper = move || {
                    let _b = b;
                    runtime::goexit();
                };
                deeper();
            });
            let error = handle.join().unwrap_err();
            assert!(error.is::<Goexit>());
            assert_eq!(*order.lock().unwrap(), [2, 1]);
            let caught = gosched::go(|| catch_unwind(|| runtime::goexit()).is_err()).join();
            assert!(caught.unwrap());
            gosched::go(|| runtime::goexit()); // and nobody joins
            gosched::yield_now();
        });
    });
    let outcome = child.procs(2).run().ok();
    assert!(!outcome.stderr.contains("panicked"), "{outcome:?}");
}

/// On a foreign thread there is no goroutine to end: `goexit` panics.
#[test]
fn goexit_on_a_foreign_thread_panics() {
    let error = catch_unwind(|| runtime::goexit()).unwrap_err();
    let text = error.downcast_ref::<&str>().unwrap();
    assert!(text.contains("not a goroutine"), "{text}");
}

/// Waits in several ways while its goroutine unwinds, and checks after each that it still panics,
/// on the same thread.
struct Blocks {
    ended: Arc<AtomicUsize>,
}

impl Drop for Blocks {
    fn drop(&mut self) {
        let (me, here) = (thread::current(), tid());
        let check = |after: &str| {
            assert_eq!((thread::panicking(), tid()), (true, here), "after {after}");
            assert_eq!(thread::current().id(), me.id());
        };
        check("nothing");
        let other = me.clone();
        let waker = gosched::go(move || {
            gosched::yield_now();
            other.unpark();
            thread::panicking()
        });
        thread::park();
        check("park");
        assert!(!waker.join().unwrap(), "the waker panics as well");
        check("join");
        (0..10).for_each(|_| gosched::yield_now());
        check("yield");
        thread::scope(|s| drop(s.spawn(|| assert!(!thread::panicking()))));
        check("scope");
        let nested = catch_unwind(|| panic!("inside a destructor, and caught there"));
        assert!(nested.is_err());
        check("a nested panic");
        assert!(gosched::go(|| panic!("another one")).join().is_err());
        check("another one's panic");
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// D5, S11: goroutines that block in destructors while they unwind keep their thread and their
/// panic; all others run meanwhile, on other threads, and never count as panicking.
fn block_while_unwinding() {
    gosched::run(|| {
        let (over, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let calm: Vec<_> = (0..10)
            .map(|_| {
                let over = Arc::clone(&over);
                gosched::go(move || {
                    while !over.load(Ordering::Relaxed) {
                        assert!(!thread::panicking());
                        gosched::go(|| assert!(!thread::panicking())).join().unwrap();
                        gosched::yield_now();
                    }
                })
            })
            .collect();
        let unwinding: Vec<_> = (0..40_usize)
            .map(|i| {
                let blocks = Blocks { ended: Arc::clone(&ended) };
                gosched::go(move || {
                    let _blocks = blocks;
                    std::panic::panic_any(i);
                })
            })
            .collect();
        for (i, handle) in unwinding.into_iter().enumerate() {
            let payload = handle.join().map(|(): ()| ()).unwrap_err();
            assert_eq!(payload.downcast_ref::<usize>(), Some(&i), "its own panic, not one of a check");
        }
        assert_eq!(ended.load(Ordering::Relaxed), 40);
        over.store(true, Ordering::Relaxed);
        calm.into_iter().for_each(|handle| handle.join().unwrap());
        assert!(!thread::panicking());
    });
}

/// D5: on one P, which has to be handed to another thread each time.
#[test]
fn blocking_while_unwinding_on_one_p() {
    common::child("blocking_while_unwinding_on_one_p", block_while_unwinding).procs(1).run().ok();
}

/// D5: on two Ps.
#[test]
fn blocking_while_unwinding_on_two_ps() {
    common::child("blocking_while_unwinding_on_two_ps", block_while_unwinding).procs(2).run().ok();
}

/// D5: on eight.
#[test]
fn blocking_while_unwinding_on_eight_ps() {
    common::child("blocking_while_unwinding_on_eight_ps", block_while_unwinding).procs(8).run().ok();
}

/// D5: a scope whose closure panics waits for its goroutines before the panic resumes. Then it is
/// not bound to its thread, as it would be while it unwinds: with one P they run on that thread.
/// Seen to fail when the scope locked its thread for that wait.
#[test]
fn a_scope_that_panics_waits_unbound() {
    let child = common::child("a_scope_that_panics_waits_unbound", || {
        gosched::run(|| {
            let threads = Mutex::new(Vec::new());
            let here = Mutex::new(0);
            let error = catch_unwind(AssertUnwindSafe(|| {
                thread::scope(|s| {
                    for _ in 0..10 {
                        s.spawn(|| {
                            gosched::yield_now();
                            assert!(!thread::panicking());
                            threads.lock().unwrap().push(tid());
                        });
                    }
                    *here.lock().unwrap() = tid();
                    panic!("the scope's own");
                })
            }));
            assert!(error.is_err());
            let (threads, here) = (threads.into_inner().unwrap(), here.into_inner().unwrap());
            assert_eq!(threads.len(), 10);
            assert!(threads.contains(&here), "none of {threads:?} is {here}");
        });
    });
    child.procs(1).run().ok();
}

/// As std: a panic that leaves a destructor during unwinding ends the process.
#[test]
fn a_double_panic_aborts() {
    let child = common::child("a_double_panic_aborts", || {
        gosched::run(|| {
            struct Bad;
            impl Drop for Bad {
                fn drop(&mut self) {
                    panic!("second");
                }
            }
            let handle = gosched::go(|| {
                let _bad = Bad;
                panic!("first");
            });
            let _ = handle.join();
            println!("survived");
        });
    });
    let outcome = child.run().said(&["first", "second"]);
    assert_eq!(outcome.signal, Some(libc::SIGABRT), "{outcome:#?}");
}

/// As std: an unclaimed result whose destructor panics ends the process, with a message.
#[test]
fn a_result_that_panics_when_dropped_is_fatal() {
    let child = common::child("a_result_that_panics_when_dropped_is_fatal", || {
        struct Bad;
        impl Drop for Bad {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        gosched::run(|| {
            drop(gosched::go(|| Bad));
            loop {
                gosched::yield_now();
            }
        });
    });
    child.procs(1).run().died(2, &["fatal error:", "result of a goroutine"]);
}
