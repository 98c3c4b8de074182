//! Waiting for a lock allocates nothing; an uncontended lock does not start the runtime; dumps show
//! waits in Go's words (S18, S48).

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{child, threads, until_waiting};
use gosched::sync::{Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Semaphore, WaitGroup};
use gosched::{go, yield_now};

/// Counts what is asked of the system allocator.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static MUTEX: Mutex<u32> = Mutex::new(0);
static RWLOCK: RwLock<u32> = RwLock::new(0);
static CONDVAR: Condvar = Condvar::new();
static BARRIER: Barrier = Barrier::new(2);
static SEMAPHORE: Semaphore = Semaphore::new(2);
static GROUP: WaitGroup = WaitGroup::new();

/// Run by four goroutines, each of which waits for all of the locks in turn.
fn work() {
    for i in 0..50 {
        let mut guard = MUTEX.lock().unwrap();
        yield_now();
        *guard += 1;
        let _ = CONDVAR.wait_timeout(guard, Duration::from_micros(1)).unwrap();
        CONDVAR.notify_all();
        if i % 4 == 0 {
            *RWLOCK.write().unwrap() += 1;
        } else {
            let _reader = RWLOCK.read().unwrap();
            yield_now();
        }
        let _permits = SEMAPHORE.acquire_many(2);
        yield_now();
    }
    BARRIER.wait();
    GROUP.done();
}

fn round() {
    GROUP.add(4);
    (0..4).for_each(|_| drop(go(work)));
    GROUP.wait();
}

/// S18: waiting, waking and timing out allocate nothing, once threads and caches are warm.
#[test]
fn waiting_allocates_nothing() {
    let steady = child("waiting_allocates_nothing", || {
        gosched::run(|| {
            (0..50).for_each(|_| round());
            // A thread that is made late allocates, so two of ten windows may have allocations.
            let counts: Vec<_> = (0..10)
                .map(|_| {
                    let before = ALLOCATIONS.load(Ordering::Relaxed);
                    (0..20).for_each(|_| round());
                    ALLOCATIONS.load(Ordering::Relaxed) - before
                })
                .collect();
            assert!(counts.iter().filter(|count| **count == 0).count() >= 8, "{counts:?}");
        });
    });
    for procs in [1, 2] {
        steady.clone().procs(procs).run().ok();
    }
}

/// Uncontended locks do not enter the runtime: on a foreign thread they do not even start it.
#[test]
fn uncontended_locks_do_without_the_runtime() {
    let quiet = child("uncontended_locks_do_without_the_runtime", || {
        let before = threads();
        let (mutex, rwlock, once, cell) = (Mutex::new(1), RwLock::new(1), Once::new(), OnceLock::new());
        for _ in 0..10 {
            *mutex.lock().unwrap() += 1;
            drop((mutex.try_lock(), rwlock.read().unwrap(), rwlock.try_read()));
            *rwlock.write().unwrap() += 1;
            drop(rwlock.try_write());
            once.call_once(|| {});
            cell.get_or_init(|| 1);
            CONDVAR.notify_all();
            GROUP.add(1);
            GROUP.done();
        }
        assert_eq!(*LazyLock::new(|| 2), 2);
        assert_eq!(threads(), before);
    });
    quiet.run().ok();
}

/// S48: a dump says what each waits for, in Go's words.
#[test]
fn a_dump_shows_what_is_waited_for() {
    const REASONS: [&str; 8] = [
        "sync.Mutex.Lock",
        "sync.RWMutex.RLock",
        "sync.RWMutex.Lock",
        "sync.Cond.Wait",
        "sync.WaitGroup.Wait",
        "semacquire",
        "barrier",
        "sync.Once.Do",
    ];
    let dump = child("a_dump_shows_what_is_waited_for", || {
        static OTHER: Mutex<()> = Mutex::new(());
        static CELL: OnceLock<()> = OnceLock::new();
        gosched::run(|| {
            let held = (MUTEX.lock().unwrap(), RWLOCK.write().unwrap(), SEMAPHORE.acquire_many(2));
            GROUP.add(1);
            go(|| drop(MUTEX.lock()));
            go(|| drop(RWLOCK.read()));
            go(|| drop(RWLOCK.write()));
            go(|| drop(CONDVAR.wait(OTHER.lock().unwrap())));
            go(|| GROUP.wait());
            go(|| drop(SEMAPHORE.acquire()));
            go(|| BARRIER.wait().is_leader());
            go(|| *CELL.wait());
            REASONS.iter().for_each(|reason| until_waiting(reason, 1));
            std::mem::forget(held);
        });
        let _ = gosched::__private::test("of everything", Duration::from_millis(1), || {
            gosched::thread::park();
            std::process::ExitCode::SUCCESS
        });
    });
    // On a slow machine the length of the wait may follow.
    let heads = REASONS.map(|reason| format!("[{reason}"));
    dump.procs(1).run().ok().said(&heads.each_ref().map(String::as_str));
}
