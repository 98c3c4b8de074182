//! The atoms: what the single steps of scheduling cost on this machine. Each function runs in a
//! process of its own and returns figures by name, in nanoseconds, each the median of many batches.
//!
//! None of them is one of the rows that are compared (`rows.rs`): the steps of goroutines are
//! measured on one P with 200 of them, the others without the scheduler.

use std::hint::black_box;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gosched::thread;
use gosched_primitives::{Lock, Note, Ring};
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::{cpu_time, median};

/// Figures by name.
pub type Figures = Vec<(&'static str, f64)>;

/// An atom's name and the function that measures it.
pub type Atom = (&'static str, fn() -> Figures);

/// All of them.
pub const ATOMS: [Atom; 7] = [
    ("signals", signals),
    ("yields", yields),
    ("spawns", spawns),
    ("own-lines", own_lines),
    ("others-lines", others_lines),
    ("futexes", futexes),
    ("polls", polls),
];

/// Goroutines in a batch, whose headers and stacks stay in the caches next to the CPU.
const FEW: usize = 100;
/// So many that nothing of one is left there when its turn comes.
const MANY: usize = 10_000;
const BATCHES: usize = 1_000;

fn since(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64
}

/// The median time that `f` takes, by `per` operations.
fn batches(n: usize, per: f64, mut f: impl FnMut()) -> f64 {
    let times = (0..n).map(|_| {
        let start = Instant::now();
        f();
        since(start) / per
    });
    median(times.collect())
}

/// The lower quartile: what others on this machine make longer says nothing of it.
fn quiet(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 4]
}

/// Yields until `done` is there: whoever is queued runs first.
fn yield_until(count: &AtomicUsize, done: usize) {
    // ORDERING: Relaxed: one P, so all run one after the other.
    while count.load(Ordering::Relaxed) < done {
        thread::yield_now();
    }
}

/// One more; on one P nobody else counts meanwhile.
fn count_up(count: &AtomicUsize) {
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// By CPU time, since a batch of many is long: one goroutine wakes some that wait (`wake`), and
/// lets them run until all wait again (`switch`).
fn rounds_of_signals(many: usize, batches: usize) -> [f64; 3] {
    let count = Arc::new(AtomicUsize::new(0));
    let wait = move |count: Arc<AtomicUsize>| {
        for _ in 0..=batches {
            count_up(&count);
            thread::park();
        }
    };
    let start = cpu_time();
    let handles: Vec<_> = (0..many)
        .map(|_| {
            let count = Arc::clone(&count);
            gosched::go(move || wait(count))
        })
        .collect();
    yield_until(&count, many);
    let first = (cpu_time() - start) / many as f64;
    let (mut wake, mut switch) = (Vec::new(), Vec::new());
    for batch in 1..=batches {
        yield_until(&count, batch * many);
        let start = cpu_time();
        handles.iter().for_each(|handle| handle.thread().unpark());
        wake.push((cpu_time() - start) / many as f64);
        let start = cpu_time();
        yield_until(&count, (batch + 1) * many);
        switch.push((cpu_time() - start) / many as f64);
    }
    handles.iter().for_each(|handle| handle.thread().unpark());
    handles.into_iter().for_each(|handle| handle.join().expect("no goroutine panics"));
    [first, median(wake), median(switch)]
}

/// Waking and waiting, with few goroutines and with many.
fn signals() -> Figures {
    crate::on_procs(1, || {
        let [_, wake, switch] = rounds_of_signals(FEW, BATCHES);
        let [first, _, cold] = rounds_of_signals(MANY, BATCHES / 20);
        vec![
            ("wake_and_push", wake),
            ("park_and_switch", switch),
            ("park_and_switch_cold", cold),
            ("first_run", first),
        ]
    })
}

/// Few goroutines that yield.
fn yields() -> Figures {
    const SOME: usize = 16;
    crate::on_procs(1, || {
        let others: Vec<_> =
            (1..SOME).map(|_| gosched::go(|| (0..2 * BATCHES).for_each(|_| thread::yield_now()))).collect();
        let ns = batches(BATCHES, SOME as f64, thread::yield_now);
        others.into_iter().for_each(|handle| handle.join().expect("no goroutine panics"));
        vec![("yield", ns)]
    })
}

/// One goroutine creates some (`spawn`), lets them run to their end (`exit`), and takes their
/// results (`join`).
fn spawns() -> Figures {
    crate::on_procs(1, || {
        let count = Arc::new(AtomicUsize::new(0));
        let mut handles = Vec::new();
        let (mut spawn, mut exit, mut join) = (Vec::new(), Vec::new(), Vec::new());
        for batch in 1..=BATCHES {
            let counts: Vec<_> = (0..FEW).map(|_| Arc::clone(&count)).collect();
            let start = Instant::now();
            handles.extend(counts.into_iter().map(|count| gosched::go(move || count_up(&count))));
            spawn.push(since(start) / FEW as f64);
            let start = Instant::now();
            yield_until(&count, batch * FEW);
            exit.push(since(start) / FEW as f64);
            let start = Instant::now();
            handles.drain(..).for_each(|handle| handle.join().expect("no goroutine panics"));
            join.push(since(start) / FEW as f64);
        }
        vec![("spawn_and_push", median(spawn)), ("exit_and_switch", median(exit)), ("join", median(join))]
    })
}

/// What a thread does with lines that nobody else has.
fn own_lines() -> Figures {
    const TIMES: usize = 1_000;
    let (word, size, lock) = (AtomicU64::new(0), AtomicUsize::new(0), Lock::new(0u64));
    let hit = batches(BATCHES, TIMES as f64, || {
        for _ in 0..TIMES {
            black_box(word.fetch_add(1, Ordering::SeqCst));
        }
    });
    let locked = batches(BATCHES, TIMES as f64, || {
        for _ in 0..TIMES {
            let mut count = lock.lock();
            *count += 1;
            // ORDERING: SeqCst, as the global queue's size is written; nobody reads it.
            size.store(black_box(*count) as usize, Ordering::SeqCst);
        }
    });
    let (own, other) = (Ring::<u64>::new(), Ring::<u64>::new());
    // SAFETY: the only owner. What is pushed is a number that is never followed, and taken in the
    // same turn.
    let own = unsafe { own.owner() };
    let mut node = 0u64;
    let node = NonNull::from(&mut node);
    let push = batches(BATCHES, FEW as f64, || {
        for _ in 0..FEW {
            let _ = black_box(own.push(node));
        }
        while own.pop().is_some() {}
    });
    let look = batches(BATCHES, TIMES as f64, || {
        for _ in 0..TIMES {
            black_box(own.steal_from(black_box(&other)));
        }
    });
    let pause = batches(BATCHES, 1.0, || (0..RUNNEXT_PAUSES).for_each(|_| std::hint::spin_loop()));
    vec![("hit", hit), ("lock", locked), ("push_and_pop", push), ("look", look), ("runnext_pause", pause)]
}

/// As many as the library makes before it steals `runnext`.
const RUNNEXT_PAUSES: u32 = 80;

/// A line each.
#[repr(align(128))]
struct Line(AtomicU64);

/// Two lines side by side, as those of a header, or of the top of a stack, are.
#[repr(align(128))]
struct Pair([AtomicU64; 16]);

/// Two threads on two CPUs take turns: the first does `before`, the second is timed doing `timed`.
/// The median, without the clock's own time.
fn take_turns(mut before: impl FnMut() + Send, mut timed: impl FnMut()) -> f64 {
    const TURNS: u64 = 20_000;
    let turn = Line(AtomicU64::new(0));
    let wait_for = |wanted: u64| {
        // ORDERING: Acquire pairs with the other thread's Release: what it did in its turn is done.
        while turn.0.load(Ordering::Acquire) != wanted {
            std::hint::spin_loop();
        }
    };
    let clock = batches(10_000, 1.0, || ());
    let mut times = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            stay_on(1);
            for round in 0..TURNS {
                wait_for(2 * round);
                before();
                // ORDERING: Release pairs with `wait_for`.
                turn.0.store(2 * round + 1, Ordering::Release);
            }
        });
        stay_on(0);
        for round in 0..TURNS {
            wait_for(2 * round + 1);
            let start = Instant::now();
            timed();
            times.push(since(start));
            // ORDERING: Release pairs with `wait_for`.
            turn.0.store(2 * round + 2, Ordering::Release);
        }
    });
    (median(times) - clock).max(1.0)
}

/// Keeps the calling thread on a CPU, if there is one of this number.
fn stay_on(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    // Where that CPU may not be used, the threads are left to the kernel.
    let _ = sched_setaffinity(None, &set);
}

/// What a thread does with lines that another CPU has just written.
fn others_lines() -> Figures {
    let line = Line(AtomicU64::new(0));
    let add = || {
        line.0.fetch_add(1, Ordering::SeqCst);
    };
    let miss = take_turns(add, add);
    // Plain reads and writes: a context's registers and frames.
    let pairs = [const { Pair([const { AtomicU64::new(0) }; 16]) }; 2];
    let touch = || {
        for word in pairs.iter().flat_map(|pair| [&pair.0[0], &pair.0[8]]) {
            word.store(black_box(word.load(Ordering::Relaxed)) + 1, Ordering::Relaxed);
        }
    };
    let migrate = take_turns(touch, touch);

    let (mut node, victim, thief) = (0u64, Ring::<u64>::new(), Ring::<u64>::new());
    let address = SendIt(NonNull::from(&mut node));
    let (victim, thief) = (&victim, &thief);
    let push = move || {
        let SendIt(node) = { &address };
        // SAFETY: this thread alone has the owner's side of `victim`. The node is in it once: it
        // was taken and dropped in the other thread's turn. It is never looked into.
        let _ = unsafe { victim.owner() }.push(*node);
    };
    // SAFETY: this thread alone has the owner's side of `thief`, and nothing is pushed by it.
    let thief = unsafe { thief.owner() };
    let steal = take_turns(push, || {
        black_box(thief.steal_from(victim));
    });
    vec![("miss", miss), ("migrate", migrate), ("steal", steal)]
}

/// An address that is never followed.
struct SendIt(NonNull<u64>);
// SAFETY: it is a number here.
unsafe impl Send for SendIt {}

/// A thread sleeps; another one wakes it.
fn futexes() -> Figures {
    const SLEEPS: usize = 400;
    let (note, began) = (Note::new(), Instant::now());
    let woken_at = AtomicU64::new(0);
    let (mut call, mut wake) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..SLEEPS {
                note.sleep();
                note.clear();
                // ORDERING: Release pairs with the other thread's Acquire: the note is clear.
                woken_at.store(since(began) as u64, Ordering::Release);
            }
        });
        for _ in 0..SLEEPS {
            std::thread::sleep(Duration::from_micros(300));
            let start = since(began);
            note.wake();
            call.push(since(began) - start);
            let seen = loop {
                // ORDERING: Acquire pairs with the store.
                match woken_at.swap(0, Ordering::Acquire) {
                    0 => std::hint::spin_loop(),
                    at => break at,
                }
            };
            wake.push(seen as f64 - start);
        }
    });
    vec![("futex_call", quiet(call)), ("futex_wake", quiet(wake))]
}

/// Looks at epoll: with nothing to report, and with 64 reports.
fn polls() -> Figures {
    const READY: u32 = 64;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("epoll");
    let look = |wanted: usize| {
        let mut events = Vec::with_capacity(128);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        batches(3_000, 1.0, || {
            events.clear();
            let n = epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), Some(&now));
            assert_eq!(n.expect("a look"), wanted);
        })
    };
    let empty = look(0);
    let descriptors: Vec<_> =
        (0..READY).map(|_| eventfd(1, EventfdFlags::CLOEXEC).expect("an eventfd")).collect();
    for (i, descriptor) in descriptors.iter().enumerate() {
        let data = epoll::EventData::new_u64(i as u64);
        epoll::add(&epoll, descriptor, data, epoll::EventFlags::IN).expect("it is added");
    }
    let full = look(READY as usize);
    vec![("poll", empty), ("report", (full - empty) / f64::from(READY))]
}
