//! `goroutine_local!`: one value for each goroutine, and one for each foreign thread.

mod common;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::tid;
use gosched::goroutine_local;

static MADE: AtomicUsize = AtomicUsize::new(0);

goroutine_local! {
    /// Documented.
    static PLAIN: u32 = 7;
    static COUNT: Cell<u32> = const { Cell::new(0) };
    static LOG: RefCell<Vec<u32>> = RefCell::new(Vec::new());
    static LAZY: usize = MADE.fetch_add(1, Ordering::Relaxed);
}

/// Each goroutine has its own values, made at first use.
#[gosched::test]
fn each_has_its_own() {
    COUNT.set(5);
    let before = MADE.load(Ordering::Relaxed);
    let handles: Vec<_> = (0..100)
        .map(|i| {
            gosched::go(move || {
                assert_eq!((COUNT.get(), PLAIN.with(|n| *n)), (0, 7));
                COUNT.set(i);
                LOG.with_borrow_mut(|log| log.push(i));
                gosched::yield_now();
                assert_eq!(LAZY.with(|n| *n), LAZY.with(|n| *n));
                (COUNT.get(), LOG.take())
            })
        })
        .collect();
    for (i, handle) in (0..).zip(handles) {
        assert_eq!(handle.join().unwrap(), (i, vec![i]));
    }
    assert_eq!(COUNT.get(), 5);
    assert_eq!(MADE.load(Ordering::Relaxed), before + 100, "made when used, and not otherwise");
}

/// The methods of std's `LocalKey`.
#[gosched::test]
fn the_methods_of_std() {
    assert_eq!((COUNT.replace(3), COUNT.take(), COUNT.get()), (0, 3, 0));
    LOG.set(vec![1]);
    assert_eq!(LOG.with_borrow(Vec::len), 1);
    assert_eq!((LOG.replace(vec![2]), LOG.take(), LOG.take()), (vec![1], vec![2], vec![]));
    assert_eq!(PLAIN.try_with(|n| *n), Ok(7));
}

/// D5: values move with their goroutine from thread to thread. Runs until a goroutine has changed
/// threads.
#[test]
fn values_move_with_their_goroutine() {
    fn walk(i: u32, moved: &AtomicBool) {
        COUNT.set(i);
        LOG.set(vec![i]);
        let mut threads = HashSet::new();
        for round in 0.. {
            threads.insert(tid());
            moved.fetch_or(threads.len() > 1, Ordering::Relaxed);
            if round > 300 && moved.load(Ordering::Relaxed) {
                return;
            }
            assert_eq!(COUNT.get(), i);
            LOG.with_borrow(|log| assert_eq!(log[..], [i]));
            COUNT.with(|count| {
                gosched::yield_now();
                assert_eq!(count.get(), i, "also while it is borrowed");
            });
        }
    }
    let child = common::child("values_move_with_their_goroutine", || {
        let moved = &AtomicBool::new(false);
        gosched::run(|| gosched::scope(|s| (0..64).for_each(|i| drop(s.spawn(move || walk(i, moved))))));
    });
    child.procs(4).run().ok();
}

/// Notes its destruction.
struct Noted(Arc<Mutex<Vec<&'static str>>>, &'static str);

impl Drop for Noted {
    fn drop(&mut self) {
        gosched::yield_now(); // a destructor may wait
        self.0.lock().unwrap().push(self.1);
    }
}

goroutine_local! {
    static FIRST: RefCell<Option<Noted>> = const { RefCell::new(None) };
    static SECOND: RefCell<Option<Noted>> = const { RefCell::new(None) };
}

fn note(log: &Arc<Mutex<Vec<&'static str>>>) {
    FIRST.set(Some(Noted(Arc::clone(log), "first")));
    SECOND.set(Some(Noted(Arc::clone(log), "second")));
}

/// S9: destructors have run when `join` returns, after a return, a panic and a `goexit` alike.
#[gosched::test]
fn destructors_run_before_join_returns() {
    let ends: [fn(); 3] = [|| (), || panic!("with locals"), || gosched::runtime::goexit()];
    for end in ends {
        for _ in 0..50 {
            let log = Arc::new(Mutex::new(Vec::new()));
            let inside = Arc::clone(&log);
            let _ = gosched::go(move || {
                note(&inside);
                end();
            })
            .join();
            let mut log = log.lock().unwrap().clone();
            log.sort_unstable();
            assert_eq!(log, ["first", "second"]);
        }
    }
}

/// On foreign threads the values are thread-local, and are destroyed when the thread ends.
#[test]
fn thread_local_on_foreign_threads() {
    common::within(Duration::from_secs(60), || {
        COUNT.set(8);
        assert_eq!(std::thread::spawn(|| COUNT.get()).join().unwrap(), 0);
        assert_eq!(gosched::run(|| COUNT.get()), 0);
        assert_eq!(COUNT.get(), 8);
        let log = Arc::new(Mutex::new(Vec::new()));
        let inside = Arc::clone(&log);
        std::thread::spawn(move || note(&inside)).join().unwrap();
        let mut log = log.lock().unwrap().clone();
        log.sort_unstable();
        assert_eq!(log, ["first", "second"]);
    });
}

/// A destructor that uses its own key again gets an error; another key still works, as with std.
struct Looks(Arc<Mutex<Vec<String>>>);

impl Drop for Looks {
    fn drop(&mut self) {
        let own = LOOKS.try_with(|_| ()).is_err();
        let other = COUNT.try_with(Cell::get);
        self.0.lock().unwrap().push(format!("own gone: {own}, other: {other:?}"));
    }
}

goroutine_local! {
    static LOOKS: RefCell<Option<Looks>> = const { RefCell::new(None) };
}

fn look(log: &Arc<Mutex<Vec<String>>>) {
    COUNT.set(4);
    LOOKS.set(Some(Looks(Arc::clone(log))));
}

/// Keys during destruction, on a goroutine.
#[gosched::test]
fn keys_during_destruction() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let inside = Arc::clone(&log);
    gosched::go(move || look(&inside)).join().unwrap();
    assert_eq!(*log.lock().unwrap(), ["own gone: true, other: Ok(4)"]);
}

/// Keys during destruction, on a foreign thread, where they are thread-local: as with std.
#[test]
fn keys_during_destruction_on_a_foreign_thread() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let inside = Arc::clone(&log);
    std::thread::spawn(move || look(&inside)).join().unwrap();
    assert_eq!(*log.lock().unwrap(), ["own gone: true, other: Ok(4)"]);
}

/// `with` panics when the value is being destroyed.
#[gosched::test]
fn with_panics_during_destruction() {
    struct Insists(Arc<Mutex<bool>>);
    impl Drop for Insists {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = catch_unwind(|| INSISTS.with(|_| ())).is_err();
        }
    }
    goroutine_local! {
        static INSISTS: RefCell<Option<Insists>> = const { RefCell::new(None) };
    }
    let refused = Arc::new(Mutex::new(false));
    let inside = Arc::clone(&refused);
    gosched::go(move || INSISTS.set(Some(Insists(inside)))).join().unwrap();
    assert!(*refused.lock().unwrap());
}

/// S9: code that runs on a goroutine after its locals were destroyed (the destructor of an
/// unclaimed result) may use locals again. Those are destroyed, too, and the next goroutine with
/// that header does not see them.
#[test]
fn locals_of_a_late_destructor_are_not_inherited() {
    let child = common::child("locals_of_a_late_destructor_are_not_inherited", || {
        struct Late;
        impl Drop for Late {
            fn drop(&mut self) {
                COUNT.set(99);
            }
        }
        gosched::run(|| {
            for _ in 0..10 {
                drop(gosched::go(|| Late));
                gosched::yield_now();
                let fresh = gosched::go(|| COUNT.get());
                assert_eq!(fresh.join().unwrap(), 0, "another goroutine's local");
            }
        });
    });
    child.procs(1).run().ok();
}
