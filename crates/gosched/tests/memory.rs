//! What a goroutine costs in memory (S13, D4), page tables included.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::resident;
use gosched::thread;

const MANY: usize = if cfg!(debug_assertions) { 200_000 } else { 1_000_000 };
/// The least possible is 4,897 bytes: a page of stack, 545 bytes of page tables, a header. This is
/// 1.8 times what Go needs.
const PARKED_BYTES: usize = 4_950;
const QUEUED_BYTES: usize = 300;

/// S13, D4, S16: a million goroutines alive and parked at once cost a page, its share of page
/// tables and a header each; all are then woken and end, and a second million costs nothing more.
#[test]
fn parked_goroutines_cost_a_page_each() {
    if common::spared_by_sanitizer("it needs more memory for each stack, and for its shadow") {
        return;
    }
    let child = common::child("parked_goroutines_cost_a_page_each", || {
        gosched::run(|| {
            // Room for the handles, touched before anything is measured.
            let mut handles: Vec<Option<thread::JoinHandle<usize>>> = Vec::new();
            handles.resize_with(MANY, || None);
            gosched::go(|| ()).join().unwrap();
            let started = Arc::new(AtomicUsize::new(0));
            for round in 1..=2 {
                let before = resident();
                for (i, slot) in handles.iter_mut().enumerate() {
                    let started = Arc::clone(&started);
                    *slot = Some(gosched::go(move || {
                        started.fetch_add(1, Ordering::Relaxed);
                        thread::park();
                        i
                    }));
                }
                while started.load(Ordering::Relaxed) < MANY * round {
                    gosched::yield_now();
                }
                println!("round {round}: {}", resident().saturating_sub(before) / MANY);
                assert!(handles.iter().all(|slot| !slot.as_ref().unwrap().is_finished()));
                handles.iter().for_each(|slot| slot.as_ref().unwrap().thread().unpark());
                for (i, slot) in handles.iter_mut().enumerate() {
                    assert_eq!(slot.take().unwrap().join().unwrap(), i);
                }
            }
        });
    });
    let outcome = child.procs(2).limit(Duration::from_secs(200)).run().ok();
    let bytes: usize = outcome.value("round 1").parse().unwrap();
    println!("{bytes} bytes each");
    assert!((4096..=PARKED_BYTES).contains(&bytes), "{bytes} bytes for each parked goroutine");
    let again: usize = outcome.value("round 2").parse().unwrap();
    assert!(again < 256, "{again} bytes more for each when headers and stacks are reused");
}

/// D4: goroutines that are queued but have not run yet have no stack: a header each. (Some may run
/// before all are created. Those end, and their headers stay for the handles: the same memory.)
#[test]
fn queued_goroutines_cost_a_header_each() {
    if common::spared_by_sanitizer("it needs more memory for each stack, and for its shadow") {
        return;
    }
    let child = common::child("queued_goroutines_cost_a_header_each", || {
        gosched::run(|| {
            gosched::go(|| ()).join().unwrap();
            let ran = Arc::new(AtomicUsize::new(0));
            let mut handles: Vec<Option<thread::JoinHandle<usize>>> = (0..MANY).map(|_| None).collect();
            let before = resident();
            for slot in &mut handles {
                let ran = Arc::clone(&ran);
                *slot = Some(gosched::go(move || ran.fetch_add(1, Ordering::Relaxed)));
            }
            println!("bytes: {}", resident().saturating_sub(before) / MANY);
            while ran.load(Ordering::Relaxed) < MANY {
                gosched::yield_now();
            }
            let grown = resident().saturating_sub(before) / MANY;
            println!("after: {grown}");
        });
    });
    let outcome = child.procs(1).run().ok();
    let bytes: usize = outcome.value("bytes").parse().unwrap();
    println!("{bytes} bytes each");
    assert!(bytes <= QUEUED_BYTES, "{bytes} bytes for each queued goroutine");
    let after: usize = outcome.value("after").parse().unwrap();
    assert!(
        after <= QUEUED_BYTES,
        "{after} bytes each: those that ran one after the other shared few stacks"
    );
}

/// S12, D4: a large closure lies in one box, which is freed at the goroutine's end.
#[test]
fn large_closures_are_freed() {
    if common::spared_by_sanitizer("it needs more memory for each stack, and for its shadow") {
        return;
    }
    let child = common::child("large_closures_are_freed", || {
        gosched::run(|| {
            let spawn = |n: usize| {
                for i in 0..n {
                    let large = [i as u8; 4096];
                    let sum = gosched::go(move || large.map(u32::from).iter().sum::<u32>());
                    assert_eq!(sum.join().unwrap(), u32::from(i as u8) * 4096);
                }
            };
            spawn(1000);
            let before = resident();
            spawn(20_000);
            println!("grown: {}", resident().saturating_sub(before));
        });
    });
    let grown: usize = child.procs(2).run().ok().value("grown").parse().unwrap();
    assert!(grown < 8 << 20, "grew by {grown} bytes; 20,000 leaked closures would be 80 MB");
}
