//! `sync::{Once, OnceLock, LazyLock}`: one caller runs the closure, the others park; poison as in
//! std (S18).

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{child, join_all, threads};
use gosched::sync::{Arc, LazyLock, Mutex, Once, OnceLock};
use gosched::{go, yield_now};

/// What a panic said.
fn said(panic: Box<dyn std::any::Any + Send>) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()))
        .unwrap()
}

/// S18: of many callers one runs the closure; the others wait without a thread each, and see what
/// it did.
#[test]
fn one_runs_and_the_others_wait() {
    let once = child("one_runs_and_the_others_wait", || {
        gosched::run(|| {
            static ONCE: Once = Once::new();
            static RUNS: AtomicUsize = AtomicUsize::new(0);
            static DONE: AtomicUsize = AtomicUsize::new(0);
            let call = || {
                ONCE.call_once(|| {
                    RUNS.fetch_add(1, Ordering::Relaxed);
                    gosched::sleep(Duration::from_millis(20));
                    assert!(threads() < 30, "{} threads", threads());
                    DONE.store(1, Ordering::Relaxed);
                });
                assert_eq!(DONE.load(Ordering::Relaxed), 1);
            };
            let callers: Vec<_> =
                (0..500).map(|i| go(move || if i % 5 == 0 { ONCE.wait() } else { call() })).collect();
            std::thread::scope(|s| {
                for _ in 0..3 {
                    s.spawn(call);
                }
            });
            join_all(callers);
            assert_eq!(RUNS.load(Ordering::Relaxed), 1);
        });
    });
    for procs in [1, 2, 8] {
        once.clone().procs(procs).run().ok();
    }
}

/// As std's: a panic poisons, `call_once` and `wait` then panic, `call_once_force` runs and clears
/// the poison.
#[gosched::test]
fn a_panic_poisons_a_once() {
    let once = Arc::new(Once::new());
    let forced = {
        let once = Arc::clone(&once);
        go(move || once.wait_force())
    };
    let waits = {
        let once = Arc::clone(&once);
        go(move || once.wait())
    };
    yield_now();
    assert!(catch_unwind(|| once.call_once(|| panic!("fails"))).is_err());
    assert!(!once.is_completed());
    let text = "Once instance has previously been poisoned";
    assert_eq!(said(waits.join().unwrap_err()), text);
    assert_eq!(said(catch_unwind(|| once.call_once(|| {})).unwrap_err()), text);
    assert_eq!(said(catch_unwind(|| once.wait()).unwrap_err()), text);
    assert!(!forced.is_finished(), "it waits until somebody completes it");
    assert!(catch_unwind(|| once.call_once_force(|_| panic!("fails again"))).is_err());
    once.call_once_force(|state| {
        assert!(state.is_poisoned());
        assert_eq!(format!("{state:?}"), "OnceState { poisoned: true }");
    });
    forced.join().unwrap();
    once.call_once(|| unreachable!());
    once.wait();
    assert_eq!(format!("{once:?}"), format!("{:?}", std::sync::Once::new()));
}

/// A closure panics while others wait: one of those runs its own.
#[gosched::test]
fn a_panic_leaves_a_cell_empty() {
    let cell = Arc::new(OnceLock::new());
    let callers: Vec<_> = (0..100)
        .map(|i| {
            let cell = Arc::clone(&cell);
            go(move || {
                *cell.get_or_init(|| {
                    yield_now();
                    assert!(i >= 50, "the first ones fail");
                    i
                })
            })
        })
        .collect();
    let (done, failed): (Vec<_>, Vec<_>) =
        callers.into_iter().map(|caller| caller.join()).partition(Result::is_ok);
    let value = *cell.get().unwrap();
    assert!(value >= 50 && done.into_iter().all(|seen| seen.unwrap() == value));
    assert!(failed.len() <= 50);
}

/// `set` succeeds once; waiters get the value.
#[gosched::test]
fn a_cell_is_set_once() {
    let cell = Arc::new(OnceLock::new());
    let waiters: Vec<_> = (0..10)
        .map(|_| {
            let cell = Arc::clone(&cell);
            go(move || *cell.wait())
        })
        .collect();
    let setters: Vec<_> = (0..10)
        .map(|i| {
            let cell = Arc::clone(&cell);
            go(move || cell.set(i))
        })
        .collect();
    let set: Vec<_> = join_all(setters);
    let value = *cell.get().unwrap();
    assert_eq!(set.iter().filter(|result| result.is_ok()).count(), 1);
    assert!(set.iter().enumerate().all(|(i, result)| *result == if i == value { Ok(()) } else { Err(i) }));
    assert_eq!(join_all(waiters), [value; 10]);
    let mut cell = Arc::into_inner(cell).unwrap();
    *cell.get_mut().unwrap() = 77;
    assert_eq!((cell.clone(), format!("{cell:?}")), (OnceLock::from(77), "OnceLock(77)".to_owned()));
    assert_eq!(
        (cell.take(), cell.get(), format!("{cell:?}")),
        (Some(77), None, "OnceLock(<uninit>)".to_owned())
    );
    assert_eq!((cell.set(1), cell.into_inner()), (Ok(()), Some(1)));
    assert_eq!(OnceLock::<u8>::default(), OnceLock::new());
}

/// As std's: a cell may hold a borrow of something declared after it, if that borrow has no
/// destructor.
#[test]
fn a_cell_may_hold_a_shorter_borrow() {
    let cell = OnceLock::new();
    let text = String::from("declared after the cell");
    cell.set(text.as_str()).unwrap();
    assert_eq!(cell.get(), Some(&"declared after the cell"));
}

/// If the closure of a lazy value panics, the value stays poisoned, with std's message; the closure
/// runs once.
#[gosched::test]
fn a_lazy_value_is_poisoned_for_good() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let lazy: Arc<LazyLock<u32, _>> = Arc::new(LazyLock::new(|| {
        RUNS.fetch_add(1, Ordering::Relaxed);
        yield_now();
        panic!("can't be made")
    }));
    let users: Vec<_> = (0..10)
        .map(|_| {
            let lazy = Arc::clone(&lazy);
            go(move || **lazy)
        })
        .collect();
    let mut texts: Vec<_> = users.into_iter().map(|user| said(user.join().unwrap_err())).collect();
    texts.sort();
    texts.dedup();
    assert_eq!(texts, ["LazyLock instance has previously been poisoned", "can't be made"]);
    assert_eq!(RUNS.load(Ordering::Relaxed), 1);
    assert_eq!(LazyLock::get(&lazy), None);
    let mut lazy = Arc::into_inner(lazy).unwrap();
    assert!(LazyLock::get_mut(&mut lazy).is_none());
    let forced = catch_unwind(AssertUnwindSafe(|| *LazyLock::force_mut(&mut lazy)));
    assert_eq!(said(forced.unwrap_err()), "LazyLock instance has previously been poisoned");
}

/// A value is made once, whoever comes first, and dropped once; so is a closure that never ran.
#[gosched::test]
fn a_lazy_value_is_made_and_dropped_once() {
    struct Noted(Arc<Mutex<Vec<&'static str>>>, &'static str);
    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(self.1);
        }
    }
    let log = Arc::new(Mutex::new(Vec::new()));
    let lazy = |log: &Arc<Mutex<Vec<_>>>| {
        let (captured, log) = (Noted(Arc::clone(log), "closure"), Arc::clone(log));
        Arc::new(LazyLock::new(move || {
            let _captured = captured;
            Noted(log, "value")
        }))
    };
    drop(lazy(&log));
    assert_eq!(*log.lock().unwrap(), ["closure"]);
    let used = lazy(&log);
    let users: Vec<_> = (0..20)
        .map(|_| {
            let used = Arc::clone(&used);
            go(move || assert_eq!(used.1, "value"))
        })
        .collect();
    join_all(users);
    assert_eq!(*log.lock().unwrap(), ["closure", "closure"]);
    drop(used);
    assert_eq!(*log.lock().unwrap(), ["closure", "closure", "value"]);
    assert_eq!(format!("{:?}", LazyLock::<u8>::default()), "LazyLock(<uninit>)");
    let mut lazy = LazyLock::new(|| 1);
    *lazy = 2;
    assert_eq!(format!("{lazy:?}"), "LazyLock(2)");
}
