//! Goroutines with the names of `std::thread`: handles, names, ids, stack sizes, scopes.

mod common;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use gosched::runtime;
use gosched::thread::{self, Builder};

fn text(payload: &(dyn std::any::Any + Send)) -> &str {
    let string = payload.downcast_ref::<String>().map(String::as_str);
    string.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("not a text")
}

/// S18: join gives results of every size, from none to larger than the header, and drops them once.
#[gosched::test]
fn join_gives_the_result() {
    gosched::go(|| ()).join().unwrap();
    assert_eq!(gosched::go(|| 7_u8).join().unwrap(), 7);
    assert_eq!(gosched::go(|| String::from("text")).join().unwrap(), "text");
    assert_eq!(gosched::go(|| [3_u64; 500]).join().unwrap(), [3; 500]);
    let large = [5_u8; 1000];
    assert_eq!(gosched::go(move || large).join().unwrap(), [5; 1000]);
    #[repr(align(128))]
    struct Aligned(u8);
    let aligned = gosched::go(|| Aligned(9)).join().unwrap();
    assert_eq!((aligned.0, std::ptr::from_ref(&aligned).addr() % 128), (9, 0));
}

/// S18: a join on a foreign thread blocks that thread.
#[test]
fn join_from_a_foreign_thread() {
    common::within(std::time::Duration::from_secs(60), || {
        for i in 0..1000 {
            let handle = gosched::go(move || {
                if i % 2 == 0 {
                    gosched::yield_now();
                }
                i
            });
            assert_eq!(handle.join().unwrap(), i);
        }
    });
}

/// S11: join gives what the goroutine panicked with, of any type.
#[gosched::test]
fn join_gives_the_payload() {
    assert_eq!(text(&*gosched::go(|| panic!("plain")).join().unwrap_err()), "plain");
    assert_eq!(text(&*gosched::go(|| panic!("number {}", 5)).join().unwrap_err()), "number 5");
    let any = gosched::go(|| std::panic::panic_any(17_u16)).join().unwrap_err();
    assert_eq!(any.downcast_ref::<u16>(), Some(&17));
}

/// Counts how often values of this type were dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// S9: dropping a handle detaches: the goroutine continues, and its result is dropped exactly once,
/// whether the handle is dropped before or after its end.
#[gosched::test]
fn dropping_a_handle_detaches() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let main = thread::current();
    for i in 0..1000 {
        let (value, main) = (Counted(Arc::clone(&dropped)), main.clone());
        let handle = gosched::go(move || {
            main.unpark();
            value
        });
        while i % 2 == 0 && !handle.is_finished() {
            gosched::yield_now();
        }
        drop(handle);
    }
    while dropped.load(Ordering::Relaxed) < 1000 {
        gosched::yield_now();
    }
    (0..100).for_each(|_| gosched::yield_now());
    assert_eq!(dropped.load(Ordering::Relaxed), 1000);
}

/// S9: a handle that is leaked harms nobody.
#[gosched::test]
fn a_leaked_handle_harms_nobody() {
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        let ran = Arc::clone(&ran);
        std::mem::forget(gosched::go(move || ran.fetch_add(1, Ordering::Relaxed)));
    }
    while ran.load(Ordering::Relaxed) < 100 {
        gosched::yield_now();
    }
}

/// `is_finished` becomes true when the goroutine has ended, not before.
#[gosched::test]
fn is_finished_says_so() {
    let handle = gosched::go(thread::park);
    for _ in 0..10 {
        gosched::yield_now();
        assert!(!handle.is_finished());
    }
    handle.thread().unpark();
    while !handle.is_finished() {
        gosched::yield_now();
    }
    handle.join().unwrap();
}

/// S1: names are seen from inside and outside; without one there is none.
#[gosched::test]
fn names() {
    let handle = Builder::new().name("wörker".into()).spawn(|| thread::current().name().map(String::from));
    let handle = handle.unwrap();
    assert_eq!(handle.thread().name(), Some("wörker"));
    let kept = handle.thread().clone();
    assert_eq!(handle.join().unwrap().as_deref(), Some("wörker"));
    assert_eq!(gosched::go(|| thread::current().name().map(String::from)).join().unwrap(), None);
    assert_eq!(kept.name(), Some("wörker"), "also when it is gone");
    let long = "x".repeat(10_000);
    let handle = Builder::new().name(long.clone()).spawn(|| ()).unwrap();
    assert_eq!(handle.thread().name(), Some(long.as_str()));
    handle.join().unwrap();
    let nul = catch_unwind(|| Builder::new().name("a\0b".into()).spawn(|| ()));
    assert!(text(&*nul.unwrap_err()).contains("null"));
}

/// As std's, an id leaves room for `None`.
#[test]
fn an_optional_id_is_as_small_as_an_id() {
    assert_eq!(size_of::<Option<thread::ThreadId>>(), size_of::<Option<std::thread::ThreadId>>());
    assert_eq!(size_of::<Option<thread::ThreadId>>(), size_of::<thread::ThreadId>());
    assert_eq!(format!("{:?}", gosched::run(|| thread::current().id())).split('(').next(), Some("ThreadId"));
}

/// S1: ids are unique over many generations of headers; the handle, the goroutine and the runtime
/// agree on them.
#[gosched::test(timeout = "120s")]
fn ids_are_never_reused() {
    let mut seen = HashSet::from([runtime::goroutine_id().unwrap()]);
    for _ in 0..200 {
        let handles: Vec<_> =
            (0..100).map(|_| gosched::go(|| (runtime::goroutine_id(), thread::current().id()))).collect();
        for handle in handles {
            let outside = handle.thread().id();
            let (id, inside) = handle.join().unwrap();
            assert_eq!(inside, outside);
            assert!(seen.insert(id.unwrap()), "id {id:?} came again");
        }
    }
    assert_ne!(std::thread::spawn(thread::current).join().unwrap().id(), thread::current().id());
    assert_eq!(std::thread::spawn(runtime::goroutine_id).join().unwrap(), None);
}

/// S1: `num_goroutine` counts those that exist; a joined one is gone.
#[test]
fn num_goroutine_counts() {
    let child = common::child("num_goroutine_counts", || {
        gosched::run(|| {
            assert_eq!(runtime::num_goroutine(), 1);
            let handles: Vec<_> = (0..100).map(|_| gosched::go(thread::park)).collect();
            assert_eq!(runtime::num_goroutine(), 101);
            for (ended, handle) in handles.into_iter().enumerate() {
                handle.thread().unpark();
                handle.join().unwrap();
                assert_eq!(runtime::num_goroutine(), 100 - ended);
            }
        });
        assert_eq!(runtime::num_goroutine(), 0);
    });
    child.procs(2).run().ok();
}

/// S13: impossible sizes are refused with an error about the stack; the largest is 1 GiB. Small
/// ones are raised to the smallest that works, as std does.
#[gosched::test]
fn stack_sizes() {
    for impossible in [(1 << 30) + 1, 1 << 40, usize::MAX] {
        let error = Builder::new().stack_size(impossible).spawn(|| ()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{impossible}");
        assert!(error.to_string().contains("stack"), "{error}");
    }
    for possible in [0, 1, 4096, 16 << 10, 64 << 10, 100_000, 1 << 20, 16 << 20, 1 << 30] {
        assert_eq!(Builder::new().stack_size(possible).spawn(|| 1).unwrap().join().unwrap(), 1);
    }
}

/// A scope's goroutines borrow what is around it, mutably too, and are done when it returns.
#[gosched::test]
fn scopes_borrow() {
    let (mut numbers, words) = (vec![1, 2, 3], [String::from("a"), String::from("bc")]);
    let total = thread::scope(|s| {
        s.spawn(|| {
            gosched::yield_now();
            numbers.push(4);
        });
        let lengths = words.each_ref().map(|word| s.spawn(|| word.len()));
        lengths.into_iter().map(|handle| handle.join().unwrap()).sum::<usize>()
    });
    assert_eq!((numbers.as_slice(), total), (&[1, 2, 3, 4][..], 3));
    let mut slots = [0; 1000];
    gosched::scope(|s| slots.iter_mut().enumerate().for_each(|(i, slot)| drop(s.spawn(move || *slot = i))));
    assert!(slots.iter().enumerate().all(|(i, slot)| i == *slot));
}

/// Scoped goroutines spawn more into their scope; the scope waits for those as well. Scopes nest.
#[gosched::test]
fn scopes_nest_and_grow() {
    let count = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..10 {
            s.spawn(|| {
                s.spawn(|| {
                    gosched::yield_now();
                    s.spawn(|| count.fetch_add(1, Ordering::Relaxed));
                });
                thread::scope(|inner| {
                    inner.spawn(|| count.fetch_add(1, Ordering::Relaxed));
                });
            });
        }
    });
    assert_eq!(count.load(Ordering::Relaxed), 20);
    let named = thread::scope(|s| {
        let handle = Builder::new()
            .name("scoped".into())
            .spawn_scoped(s, || thread::current().name().map(String::from));
        handle.unwrap().join().unwrap()
    });
    assert_eq!(named.as_deref(), Some("scoped"));
}

/// As std's: `join` returns a panic; one that nobody joins makes `scope` panic after all have
/// ended. A panic of the closure resumes after all have ended.
#[gosched::test]
fn scopes_and_panics() {
    assert!(thread::scope(|s| s.spawn(|| panic!("joined")).join()).is_err());
    let ended = AtomicUsize::new(0);
    let late = || {
        (0..20).for_each(|_| gosched::yield_now());
        ended.fetch_add(1, Ordering::Relaxed);
    };
    let unjoined = catch_unwind(AssertUnwindSafe(|| {
        thread::scope(|s| {
            s.spawn(|| panic!("unjoined"));
            s.spawn(late);
        });
    }));
    assert_eq!(text(&*unjoined.unwrap_err()), "a scoped thread panicked");
    assert_eq!(ended.load(Ordering::Relaxed), 1);
    let own = catch_unwind(AssertUnwindSafe(|| {
        thread::scope(|s| {
            s.spawn(late);
            panic!("own");
        })
    }));
    assert_eq!(text(&*own.unwrap_err()), "own");
    assert_eq!(ended.load(Ordering::Relaxed), 2);
    let finished = catch_unwind(AssertUnwindSafe(|| {
        thread::scope(|s| {
            let handle = s.spawn(|| panic!("dropped when finished"));
            while !handle.is_finished() {
                gosched::yield_now();
            }
        });
    }));
    assert_eq!(text(&*finished.unwrap_err()), "a scoped thread panicked");
    thread::scope(|s| drop(s.spawn(|| runtime::goexit())));
}

/// A scoped handle that is leaked does not keep the scope from ending.
#[gosched::test]
fn a_leaked_scoped_handle() {
    let text = String::from("borrowed");
    thread::scope(|s| std::mem::forget(s.spawn(|| text.len())));
}

/// Scopes work on foreign threads.
#[test]
fn scope_on_a_foreign_thread() {
    common::within(std::time::Duration::from_secs(60), || {
        for _ in 0..200 {
            let mut numbers = [0; 20];
            thread::scope(|s| numbers.iter_mut().for_each(|n| drop(s.spawn(|| *n += 1))));
            assert_eq!(numbers, [1; 20]);
        }
    });
}

/// A goroutine that joins itself panics instead of waiting for ever.
#[gosched::test]
fn joining_oneself_panics() {
    let own: Arc<Mutex<Option<thread::JoinHandle<()>>>> = Arc::default();
    let (mine, told) = (Arc::clone(&own), Arc::new(OnceLock::new()));
    let tell = Arc::clone(&told);
    let handle = gosched::go(move || {
        thread::park();
        let me = mine.lock().unwrap().take().unwrap();
        let error = catch_unwind(AssertUnwindSafe(|| me.join())).unwrap_err();
        tell.set(text(&*error).to_owned()).unwrap();
    });
    let other = handle.thread().clone();
    *own.lock().unwrap() = Some(handle);
    other.unpark();
    while told.get().is_none() {
        gosched::yield_now();
    }
    assert!(told.get().unwrap().contains("called join on itself"), "{told:?}");
}

/// As std's, whatever the type of the result, which is not stored in the handle.
#[test]
fn handles_have_the_traits_of_stds() {
    fn all<T: Send + Sync + Unpin>() {}
    all::<thread::JoinHandle<std::marker::PhantomPinned>>();
    all::<thread::ScopedJoinHandle<'_, std::marker::PhantomPinned>>();
}

/// A handle may be joined by another goroutine or a foreign thread.
#[gosched::test]
fn handles_travel() {
    let handle = gosched::go(|| 5);
    assert_eq!(gosched::go(move || handle.join().unwrap()).join().unwrap(), 5);
    let (handle, done) = (gosched::go(|| 6), Arc::new(AtomicBool::new(false)));
    let (me, said) = (thread::current(), Arc::clone(&done));
    std::thread::spawn(move || {
        assert_eq!(handle.join().unwrap(), 6);
        said.store(true, Ordering::Release);
        me.unpark();
    });
    while !done.load(Ordering::Acquire) {
        thread::park();
    }
}
