//! No lost wake-up, and no idle P while work is queued (S16, S29–S32, S54): each workload ends, or
//! the watchdog ends the process. With 1, 2, 3 and 8 Ps, and beside processes that keep the machine
//! busy.

mod common;

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use common::Random;
use gosched::thread::{self, JoinHandle, Thread};

/// Size of each workload: enough to hit a window of a few instructions, within seconds.
const SCALE: usize = if cfg!(debug_assertions) { 1 } else { 4 };

/// S16: rings of parkers, each waking the next, several rings at once.
fn rings() {
    let laps = 50 * SCALE;
    let ring = |size: usize| {
        let threads: Arc<OnceLock<Vec<Thread>>> = Arc::default();
        let parker = |i: usize| {
            let threads = Arc::clone(&threads);
            gosched::go(move || {
                for _ in 0..laps {
                    thread::park();
                    threads.get().unwrap()[(i + 1) % size].unpark();
                }
            })
        };
        let handles: Vec<_> = (0..size).map(parker).collect();
        threads.set(handles.iter().map(|handle| handle.thread().clone()).collect()).unwrap();
        handles[0].thread().unpark();
        handles
    };
    let all: Vec<_> = [2, 3, 50, 300].into_iter().flat_map(ring).collect();
    all.into_iter().for_each(|handle| handle.join().unwrap());
}

/// S16, S17: pairs that wake each other, with yields at random moments in between.
fn pairs() {
    fn half(seed: u64, partner: &Thread, rounds: usize) {
        let mut random = Random::new(seed);
        for _ in 0..rounds {
            if random.below(4) == 0 {
                gosched::yield_now();
            }
            partner.unpark();
            if random.below(4) == 0 {
                gosched::yield_now();
            }
            thread::park();
        }
        partner.unpark();
    }
    let rounds = 1000 * SCALE;
    let pair = |seed: u64| {
        gosched::go(move || {
            let first = thread::current();
            // Either may be one token ahead of the other, never more: none waits for ever.
            let second = gosched::go(move || half(seed * 2 + 1, &first, rounds));
            half(seed * 2, second.thread(), rounds);
            second.join().unwrap();
        })
    };
    let pairs: Vec<_> = (1..=16).map(pair).collect();
    pairs.into_iter().for_each(|pair| pair.join().unwrap());
}

/// S16, S18, S54: foreign threads and goroutines wake each other, both ways.
fn foreigners() {
    let rounds = 300 * SCALE;
    let exchange = move |t: u64| {
        std::thread::spawn(move || {
            let me = thread::current();
            let mut random = Random::new(t);
            let echo = gosched::go(move || {
                for _ in 0..rounds {
                    thread::park();
                    me.unpark();
                }
            });
            for _ in 0..rounds {
                if random.below(8) == 0 {
                    assert_eq!(gosched::go(move || t).join().unwrap(), t);
                }
                echo.thread().unpark();
                thread::park();
            }
            echo.join().unwrap();
        })
    };
    let threads: Vec<_> = (1..=4).map(exchange).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// S8, S31: storms of goroutines from several creators, joined in a random order.
fn storms() {
    let storm = |seed: u64| {
        gosched::go(move || {
            let mut random = Random::new(seed);
            for _ in 0..10 * SCALE {
                let size = 1 + random.below(600) as usize;
                let mut handles: Vec<JoinHandle<usize>> = Vec::new();
                for i in 0..size {
                    let yields = random.below(3);
                    handles.push(gosched::go(move || {
                        (0..yields).for_each(|_| gosched::yield_now());
                        i
                    }));
                    if random.below(50) == 0 {
                        gosched::yield_now();
                    }
                }
                let mut sum = 0;
                while !handles.is_empty() {
                    let which = random.below(handles.len() as u64) as usize;
                    sum += handles.swap_remove(which).join().unwrap();
                }
                assert_eq!(sum, size * (size - 1) / 2);
            }
        })
    };
    let storms: Vec<_> = (1..=6).map(storm).collect();
    storms.into_iter().for_each(|storm| storm.join().unwrap());
}

/// S16: unparks from many at once: what was written before the last `unpark` is seen after the
/// `park` that it ends.
fn crowds() {
    for round in 0..20 * SCALE {
        let said = Arc::new(AtomicUsize::new(0));
        let me = thread::current();
        let crowd: Vec<_> = (0..50)
            .map(|i| {
                let (said, me) = (Arc::clone(&said), me.clone());
                gosched::go(move || {
                    if i % 7 == round % 7 {
                        gosched::yield_now();
                    }
                    said.fetch_add(1, Ordering::Relaxed);
                    me.unpark();
                })
            })
            .collect();
        while said.load(Ordering::Relaxed) < 50 {
            thread::park();
        }
        crowd.into_iter().for_each(|handle| handle.join().unwrap());
    }
}

/// S31: "with work queued, no P stays idle". Creators start goroutines and then compute, without
/// calling the library, until these have run: that takes another P. Bursts from a foreign thread
/// make Ps idle and busy meanwhile. No burst comes before a creator has made progress, so a lost
/// wake-up stays lost. At least one P is left for the work.
fn creators_that_compute(procs: usize) {
    let creators = (procs - 1).min(3);
    let (progress, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (seen, ended) = (Arc::clone(&progress), Arc::clone(&over));
    let bursts = std::thread::spawn(move || {
        let (mut random, mut last) = (Random::new(100), usize::MAX);
        while !ended.load(Ordering::Relaxed) {
            let now = seen.load(Ordering::Relaxed);
            if std::mem::replace(&mut last, now) == now {
                std::thread::yield_now();
                continue;
            }
            for _ in 0..random.below(4) {
                let children = random.below(3);
                gosched::go(move || (0..children).for_each(|_| drop(gosched::go(gosched::yield_now))));
            }
        }
    });
    let creator = |seed: usize| {
        let progress = Arc::clone(&progress);
        gosched::go(move || {
            let mut random = Random::new(seed as u64 + 7);
            for _ in 0..1000 * SCALE {
                let children = 1 + random.below(3) as usize;
                let ran = Arc::new(AtomicUsize::new(0));
                for _ in 0..children {
                    let ran = Arc::clone(&ran);
                    gosched::go(move || ran.fetch_add(1, Ordering::Relaxed));
                }
                while ran.load(Ordering::Relaxed) < children {
                    std::thread::yield_now();
                }
                progress.fetch_add(1, Ordering::Relaxed);
                if random.below(2) == 0 {
                    gosched::yield_now();
                }
            }
        })
    };
    let creators: Vec<_> = (0..creators).map(creator).collect();
    creators.into_iter().for_each(|handle| handle.join().unwrap());
    over.store(true, Ordering::Relaxed);
    bursts.join().unwrap();
}

fn everything() {
    let procs = thread::available_parallelism().unwrap().get();
    let timed = |name: &str, work: &(dyn Fn() + Sync)| {
        let start = std::time::Instant::now();
        println!("{name} ...");
        gosched::run(work);
        println!("{name}: {:?}", start.elapsed());
    };
    timed("rings", &rings);
    timed("pairs", &pairs);
    timed("foreigners", &foreigners_beside);
    timed("storms", &storms);
    timed("crowds", &crowds);
    if procs > 1 {
        timed("creators", &|| creators_that_compute(procs));
    }
    let all: [fn(); 5] = [rings, pairs, storms, crowds, foreigners_beside];
    timed("all at once", &|| gosched::scope(|s| all.into_iter().for_each(|work| drop(s.spawn(work)))));
}

/// `foreigners` blocks its thread by joining others, so it runs on a thread of its own.
fn foreigners_beside() {
    let me = thread::current();
    std::thread::spawn(move || {
        foreigners();
        me.unpark();
    });
    thread::park();
}

const LIMIT: Duration = Duration::from_secs(100);

/// S16, S31: on one P.
#[test]
fn on_one_p() {
    common::child("on_one_p", everything).procs(1).limit(LIMIT).run().ok();
}

/// S16, S31: on two Ps.
#[test]
fn on_two_ps() {
    common::child("on_two_ps", everything).procs(2).limit(LIMIT).run().ok();
}

/// S16, S30, S31: on three Ps, where an M that may not spin can give up its P beside a spinner.
#[test]
fn on_three_ps() {
    common::child("on_three_ps", everything).procs(3).limit(LIMIT).run().ok();
}

/// S16, S31: on more Ps than the machine has CPUs.
#[test]
fn on_eight_ps() {
    common::child("on_eight_ps", everything).procs(8).limit(LIMIT).run().ok();
}

/// Processes that do nothing but load the machine, until dropped.
struct Load(Vec<Child>);

impl Load {
    fn new(n: usize) -> Load {
        // Bounded, in case nobody is left to stop it.
        let script = "i=0; while [ $i -lt 50000000 ]; do i=$((i+1)); done";
        let busy = || Command::new("sh").args(["-c", script]).stdout(Stdio::null()).spawn().unwrap();
        Load((0..n).map(|_| busy()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// S16, S31: while other processes compete for the CPUs.
#[test]
fn on_a_loaded_machine() {
    let child = common::child("on_a_loaded_machine", everything).limit(LIMIT);
    let _load = Load::new(2);
    for procs in [2, 4] {
        child.clone().procs(procs).run().ok();
    }
}
