//! Traces that begin and end at any moment can be read: amid blocking calls, announced or not,
//! endless loops, foreign threads, stopped worlds, changing numbers of Ps.
//!
//! What reads them here gives the same verdict as Go's own parser (`gosched-traceformat`). Every
//! trace is also read generation by generation: each can be read without those before it.
//!
//! Seen to fail, while recording was built: with the number of a goroutine lost when it was revived,
//! with a P that was made since recording began, and with the theft of a P in an earlier generation
//! than the call from which it was taken.

mod common;
mod traces;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::child;
use gosched::{chan, go, runtime, sync, thread, time};
use traces::{Memory, read, read_each_generation};

/// How many traces: more with `GOSCHED_TRACES=n`.
fn how_many(usual: u32) -> u32 {
    std::env::var("GOSCHED_TRACES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// Work of all kinds, until it is stopped.
struct Mix {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    handles: Vec<gosched::JoinHandle<()>>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Mix {
    fn start(goroutines: u32) -> Mix {
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut mix = Mix { stop, done, handles: Vec::new(), threads: Vec::new() };
        mix.add_churn(goroutines);
        mix.add_blocking();
        mix.add_others();
        mix
    }

    fn go(&mut self, mut step: impl FnMut() + Send + 'static) {
        let (stop, done) = (self.stop.clone(), self.done.clone());
        self.handles.push(go(move || {
            while !stop.load(Ordering::Relaxed) {
                step();
                done.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }

    fn add_churn(&mut self, goroutines: u32) {
        for i in 0..goroutines {
            self.go(move || {
                time::sleep(Duration::from_micros(u64::from(i % 100) * 100)).unwrap();
            });
        }
        let (sender, receiver) = chan::bounded(0);
        let (back, returned) = chan::bounded(3);
        self.go(move || {
            let _ = sender.send_timeout(1, Duration::from_millis(1));
        });
        self.go(move || {
            if let Ok(value) = receiver.recv_timeout(Duration::from_micros(500)) {
                let _ = back.try_send(value);
            }
        });
        self.go(move || {
            let _ = gosched::select! {
                recv(returned) -> value => value.ok(),
                default(Duration::from_millis(2)) => None,
            };
        });
        self.go(|| {
            let handles: Vec<_> = (0..50).map(|_| go(thread::yield_now)).collect();
            handles.into_iter().for_each(|handle| handle.join().unwrap());
        });
        self.go(|| go(|| go(|| ()).join().unwrap()).join().unwrap());
        let lock = Arc::new(sync::Mutex::new(0));
        for _ in 0..4 {
            let lock = lock.clone();
            self.go(move || {
                *lock.lock().unwrap() += 1;
                thread::yield_now();
            });
        }
    }

    fn add_blocking(&mut self) {
        for _ in 0..2 {
            self.go(|| {
                // Nobody is told of this.
                std::thread::sleep(Duration::from_millis(3));
                thread::yield_now();
            });
            self.go(|| runtime::blocking(|| std::thread::sleep(Duration::from_micros(200))));
            self.go(|| runtime::blocking(|| ()));
            self.go(|| {
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_millis(25) {
                    std::hint::spin_loop();
                }
                // Does not move: without a P it stays so.
                let _ = go(|| ());
                while begun.elapsed() < Duration::from_millis(27) {}
            });
        }
        self.go(|| {
            runtime::blocking(|| {
                drop(go(|| ()));
                thread::yield_now();
            });
        });
        self.go(|| {
            runtime::lock_os_thread();
            thread::yield_now();
            time::sleep(Duration::from_micros(300)).unwrap();
            runtime::unlock_os_thread();
        });
        self.go(|| {
            let _ = go(|| {
                runtime::lock_os_thread();
                thread::yield_now();
            })
            .join();
        });
    }

    fn add_others(&mut self) {
        self.go(|| {
            runtime::stop_the_world(|_| drop(go(|| ())));
            time::sleep(Duration::from_millis(5)).unwrap();
        });
        let procs = runtime::maxprocs(None);
        let mut turn = 0;
        self.go(move || {
            turn += 1;
            runtime::maxprocs(Some(1 + turn % (procs + 1)));
            time::sleep(Duration::from_millis(7)).unwrap();
        });
        let (sender, receiver) = chan::bounded(1);
        self.go(move || {
            let _ = receiver.recv_timeout(Duration::from_millis(1));
        });
        for _ in 0..2 {
            let (stop, sender) = (self.stop.clone(), sender.clone());
            self.threads.push(std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let _ = sender.try_send(());
                    let handle = go(|| thread::park_timeout(Duration::from_micros(100)));
                    handle.thread().unpark();
                    handle.join().unwrap();
                }
            }));
        }
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for handle in self.handles {
            handle.join().unwrap();
        }
        runtime::blocking(|| self.threads.into_iter().for_each(|thread| thread.join().unwrap()));
        assert!(self.done.load(Ordering::Relaxed) > 0);
    }
}

fn begins_and_ends_anywhere(test: &'static str, procs: &str) {
    child(test, || {
        gosched::run(|| {
            let mix = Mix::start(1_000);
            for n in 0..how_many(8) {
                let memory = Memory::default();
                let trace = gosched::trace::start_to(memory.clone()).unwrap();
                time::sleep(Duration::from_micros(u64::from(n % 7) * 1_500)).unwrap();
                trace.stop().unwrap();
                let bytes = memory.take();
                let events = runtime::blocking(|| read(&bytes)).unwrap_or_else(|error| {
                    let path = std::env::temp_dir().join(format!("{}-broken.trace", std::process::id()));
                    std::fs::write(&path, &bytes).unwrap();
                    panic!("trace {n} ({}): {error}", path.display())
                });
                assert!(events > 0);
            }
            mix.end();
        });
    })
    .env("GOMAXPROCS", procs)
    .run()
    .ok();
}

/// With one P.
#[test]
fn traces_begin_and_end_anywhere_1() {
    begins_and_ends_anywhere("traces_begin_and_end_anywhere_1", "1");
}

/// With two Ps.
#[test]
fn traces_begin_and_end_anywhere_2() {
    begins_and_ends_anywhere("traces_begin_and_end_anywhere_2", "2");
}

/// With more Ps than CPUs.
#[test]
fn traces_begin_and_end_anywhere_8() {
    begins_and_ends_anywhere("traces_begin_and_end_anywhere_8", "8");
}

/// A trace of several generations: each can be read alone.
#[test]
fn each_generation_can_be_read_alone() {
    child("each_generation_can_be_read_alone", || {
        gosched::run(|| {
            let mix = Mix::start(1_000);
            let memory = Memory::default();
            let trace = gosched::trace::start_to(memory.clone()).unwrap();
            time::sleep(Duration::from_millis(3_500)).unwrap();
            trace.stop().unwrap();
            mix.end();
            let bytes = memory.take();
            read(&bytes).unwrap();
            let generations = read_each_generation(&bytes);
            assert!(generations >= 3, "{generations} generations");
        });
    })
    .env("GOMAXPROCS", "2")
    .run()
    .ok();
}
