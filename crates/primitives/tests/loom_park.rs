//! Model of park and ready (D3) with the context switch as a step of its own: a G is run by another
//! M only after its registers are saved, and a wake-up that comes while it parks is not lost.
//!
//! The stack is an `UnsafeCell` that the running M uses up to and including the switch. A lost
//! wake-up shows as a G that nobody ran.
//!
//! Seen to fail (2026-11-15):
//! - `ready` makes a parking G runnable at once: two Ms on one stack;
//! - the post-switch step is done before the switch: the same;
//! - `finish_parking` ignores the mark: a G that nobody ran;
//! - `transition` `Relaxed`: the resumed G does not see its stack.

#![cfg(loom)]

mod support;

use gosched_primitives::{Parked, Readied, Status, StatusWord};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;
use support::check;

struct G {
    status: StatusWord,
    stack: UnsafeCell<u32>,
    runs: AtomicUsize,
    /// What the G waits for: its condition, and whether it is queued there.
    channel: Mutex<(bool, bool)>,
}

// SAFETY: the status keeps the threads apart, which is what is checked.
unsafe impl Sync for G {}
// SAFETY: as above.
unsafe impl Send for G {}

impl G {
    fn running() -> Arc<G> {
        Arc::new(G {
            status: StatusWord::new(Status::Running),
            stack: UnsafeCell::new(0),
            runs: AtomicUsize::new(0),
            channel: Mutex::new((false, false)),
        })
    }

    fn use_stack(&self) {
        // SAFETY: loom checks that this is exclusive.
        self.stack.with_mut(|uses| unsafe { *uses += 1 });
    }

    /// Whoever took it from a run queue resumes it.
    fn execute(&self) {
        self.status.transition(Status::Runnable, Status::Running).expect("runnable");
        self.use_stack();
        self.runs.fetch_add(1, Ordering::Relaxed);
    }

    /// The switch: the registers go to the stack, and from then on we are on another one.
    fn switch_away_and_finish_parking(&self) {
        self.use_stack();
        match self.status.finish_parking().expect("parking") {
            Parked::Waiting => {}
            Parked::Readied => self.execute(),
        }
    }

    /// What a waker does: enqueues (here: runs at once, as the quickest thief would) or leaves its
    /// mark.
    fn wake(&self) {
        match self.status.ready().expect("waiting or parking") {
            Readied::Enqueue => self.execute(),
            Readied::LeftMark => {}
        }
    }
}

#[test]
fn a_parking_goroutine_is_run_once_and_after_its_switch() {
    check(10, || {
        let g = G::running();
        let waker = g.clone();
        let waker = thread::spawn(move || {
            let mut channel = waker.channel.lock().unwrap();
            channel.0 = true;
            if !std::mem::replace(&mut channel.1, false) {
                return false;
            }
            drop(channel);
            waker.wake();
            true
        });
        let mut channel = g.channel.lock().unwrap();
        let parked = !channel.0;
        if parked {
            channel.1 = true;
            g.status.transition(Status::Running, Status::Parking).expect("running");
            drop(channel);
            g.switch_away_and_finish_parking();
        } else {
            drop(channel);
        }
        assert_eq!(waker.join().unwrap(), parked);
        assert_eq!(g.runs.load(Ordering::Relaxed), usize::from(parked), "runs of a parked G");
        assert_eq!(g.status.get(), Status::Running);
    });
}
