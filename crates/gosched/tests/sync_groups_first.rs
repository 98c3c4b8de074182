//! First uses of one `WaitGroup` at the same time (S18). With an allocator that holds one of them
//! up in the middle.
//!
//! Seen to fail when the counter was made in a `OnceLock`, where the second use waits for the
//! first.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gosched::runtime;
use gosched::sync::WaitGroup;

thread_local! {
    /// Whether the next allocation of this thread is held up.
    static HOLD_UP: Cell<bool> = const { Cell::new(false) };
}

/// An allocation is held up.
static HELD_UP: AtomicBool = AtomicBool::new(false);
/// It may go on.
static GO_ON: AtomicBool = AtomicBool::new(false);

/// Passes everything on, and holds up whom it is told to.
struct HoldingUp;

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for HoldingUp {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if HOLD_UP.try_with(|hold_up| hold_up.replace(false)) == Ok(true) {
            HELD_UP.store(true, Ordering::SeqCst);
            while !GO_ON.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: HoldingUp = HoldingUp;

/// A second use of the group: its name, and what it does, which adds one.
type Second = (&'static str, fn(&WaitGroup));

/// S18: a use does not wait for another one that creates the counter, so it neither moves nor is
/// refused in a stopped world; and both count.
#[test]
fn first_uses_do_not_wait_for_each_other() {
    let uses: [Second; 4] = [
        ("add", |group| group.add(1)),
        ("clone", |group| group.clone().add(1)),
        ("go", |group| {
            group.add(1);
            group.go(|| ());
        }),
        ("stopped", |group| runtime::stop_the_world(|_| group.add(1))),
    ];
    gosched::run(|| ());
    common::within(Duration::from_secs(30), || {
        for (name, second) in uses {
            let group = Arc::new(WaitGroup::new());
            GO_ON.store(false, Ordering::SeqCst);
            HELD_UP.store(false, Ordering::SeqCst);
            let first = std::thread::spawn({
                let group = Arc::clone(&group);
                move || {
                    HOLD_UP.set(true);
                    group.add(1);
                }
            });
            while !HELD_UP.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            println!("{name} while another thread makes the counter");
            second(&group);
            assert!(!first.is_finished());
            GO_ON.store(true, Ordering::SeqCst);
            first.join().unwrap();
            group.done();
            assert!(!group.wait_timeout(Duration::ZERO), "{name}: both have counted");
            group.done();
            group.wait();
        }
    });
}
