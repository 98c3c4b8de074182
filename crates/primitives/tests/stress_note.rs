//! Notes and locks under real threads (S29): no wake-up is lost, none comes twice, and what was
//! written before is seen.

#![cfg(not(loom))]

mod support;

use gosched_primitives::{Lock, Note, Wake};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use support::{Random, Watchdog};

const ROUNDS: u32 = 20_000;
/// On a loaded machine there are as many rounds as fit into this time.
const LONG_ENOUGH: Duration = Duration::from_millis(1_200);
/// The last message.
const END: u32 = u32::MAX;

struct Mailbox {
    note: Note,
    message: UnsafeCell<u32>,
}

// SAFETY: the message is written before the wake-up and read after it, which is what is checked.
unsafe impl Sync for Mailbox {}

impl Mailbox {
    fn new() -> Mailbox {
        Mailbox { note: Note::new(), message: UnsafeCell::new(0) }
    }

    fn post(&self, message: u32) {
        // SAFETY: the receiver waits.
        unsafe { *self.message.get() = message };
        self.note.wake();
    }

    fn receive(&self, random: &mut Random) -> u32 {
        while random.below(3) == 0 {
            let limit = Duration::from_nanos(random.below(100_000) as u64);
            if self.note.sleep_timeout(limit) == Wake::Woken {
                break;
            }
        }
        self.note.sleep();
        self.note.clear();
        // SAFETY: the sender has woken us and waits.
        unsafe { *self.message.get() }
    }
}

/// Two threads wake each other in turn, with and without time limits.
#[test]
fn ping_pong() {
    let _watchdog = Watchdog::new("ping_pong");
    let (there, back) = (Mailbox::new(), Mailbox::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(1);
            for round in 0.. {
                let message = there.receive(&mut random);
                if message == END {
                    break;
                }
                assert_eq!(message, round);
                random.pause();
                back.post(round + 1);
            }
        });
        let mut random = Random::new(2);
        let began = Instant::now();
        for round in 0..ROUNDS {
            random.pause();
            there.post(round);
            assert_eq!(back.receive(&mut random), round + 1);
            if began.elapsed() > LONG_ENOUGH {
                break;
            }
        }
        there.post(END);
    });
}

/// A time-out and a wake-up at the same moment: one of the two wins, and a wake-up that comes too
/// late is kept.
#[test]
fn time_outs_against_wake_ups() {
    let _watchdog = Watchdog::new("time_outs_against_wake_ups");
    let mailbox = Mailbox::new();
    let asked = AtomicU32::new(0);
    let mut timed_out = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(3);
            for round in 1..=5_000 {
                while asked.load(Ordering::Acquire) != round {
                    std::thread::yield_now();
                }
                (0..random.below(2_000)).for_each(|_| std::hint::spin_loop());
                mailbox.post(round);
            }
        });
        for round in 1..=5_000 {
            asked.store(round, Ordering::Release);
            while mailbox.note.sleep_timeout(Duration::from_micros(10)) == Wake::TimedOut {
                timed_out += 1;
            }
            // SAFETY: the sender has woken us and waits.
            assert_eq!(unsafe { *mailbox.message.get() }, round);
            mailbox.note.clear();
        }
    });
    println!("{timed_out} time-outs");
}

#[test]
fn a_lock_keeps_four_threads_apart() {
    let _watchdog = Watchdog::new("a_lock_keeps_four_threads_apart");
    let total = Lock::new(0_u64);
    let rounds = AtomicU64::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for seed in 1..=4 {
            let (total, rounds) = (&total, &rounds);
            scope.spawn(move || {
                let mut random = Random::new(seed);
                for _ in 0..100_000 {
                    if began.elapsed() > LONG_ENOUGH {
                        break;
                    }
                    rounds.fetch_add(1, Ordering::Relaxed);
                    let mut guard = total.lock();
                    *guard += 1;
                    if random.below(1_000) == 0 {
                        std::thread::yield_now();
                    }
                    if random.below(2) == 0 {
                        std::mem::forget(guard);
                        // SAFETY: held, and its guard is forgotten.
                        unsafe { total.raw().unlock() };
                    }
                    random.pause();
                }
            });
        }
    });
    assert_eq!(*total.lock(), rounds.into_inner());
}

#[test]
fn try_lock_leaves_a_held_lock_alone() {
    let lock = Lock::new(());
    let guard = lock.lock();
    assert!(!lock.raw().try_lock());
    assert!(!lock.raw().try_lock(), "a failed attempt must not release it");
    drop(guard);
    assert!(lock.raw().try_lock());
}
