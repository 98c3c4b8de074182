//! Corner cases of the protocols that the public API cannot reach.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use gosched_primitives::Status;

use super::super::park::{Waited, ready_any};
use super::super::{Caller, Commit, SCHED, yield_now};
use crate::g::G;
use crate::g::waiter::{WaitReason, Waiter};
use crate::m::Worker;
use crate::testing::{in_child, succeeds_in_child};

fn wait(reason: WaitReason, publish: impl FnOnce(Waiter) -> Commit) -> Waited {
    Caller::enter_moving().unwrap_or_else(|stopped| stopped.refuse("wait")).wait_unless(reason, publish)
}

/// S1: waking a goroutine twice ends the process, with the goroutine's state in the message.
#[test]
fn waking_twice_is_fatal() {
    let ended = in_child("sched::tests::protocol::waking_twice_is_fatal", 1, || {
        static PARKED: AtomicPtr<G> = AtomicPtr::new(core::ptr::null_mut());
        drop(crate::go(|| {
            let _ = wait(WaitReason::Park, |waiter| {
                if let Waiter::Goroutine(g) = waiter {
                    PARKED.store(g.as_ptr(), Ordering::Relaxed);
                }
                Commit::Wait
            });
        }));
        let parked = || {
            let g = NonNull::new(PARKED.load(Ordering::Relaxed))?;
            // SAFETY: headers are never unmapped.
            unsafe { g.as_ref() }.inspect().filter(|view| view.status == "waiting").map(|_| g)
        };
        let g = loop {
            match parked() {
                Some(g) => break g,
                None => yield_now(),
            }
        };
        ready_any(g);
        ready_any(g);
    });
    if let Some(ended) = ended {
        assert_eq!(ended.status.code(), Some(2), "{}", ended.stderr);
        assert!(
            ended.stderr.contains("fatal error: bad g status in ready: goroutine 2 is runnable"),
            "{}",
            ended.stderr
        );
    }
}

/// S16: a wait that is refused returns at once, and leaves the goroutine as it was.
#[test]
fn a_refused_wait_goes_on_at_once() {
    crate::run(|| {
        for _ in 0..1000 {
            let waited = wait(WaitReason::Park, |_| Commit::Refuse);
            assert_eq!(waited, Waited::Refused);
        }
        let worker = Worker::enter().unwrap();
        assert_eq!(worker.g().status(), Status::Running);
    });
}

/// S16: a wake-up that comes between the decision to wait and the parking is not lost: here it
/// comes every time, from inside the decision.
#[test]
fn a_wake_up_during_parking_is_kept() {
    succeeds_in_child("sched::tests::protocol::a_wake_up_during_parking_is_kept", 1, || {
        for _ in 0..10_000 {
            let waited = wait(WaitReason::Park, |waiter| {
                let Waiter::Goroutine(g) = waiter else { return Commit::Refuse };
                // SAFETY: headers are never unmapped.
                let header = unsafe { g.as_ref() };
                assert_eq!(header.status(), Status::Parking);
                // What another M's `ready` does when it meets a parking goroutine.
                assert_eq!(header.ready(), gosched_primitives::Readied::LeftMark);
                Commit::Wait
            });
            assert_eq!(waited, Waited::Woken);
        }
    });
}

/// S10: the loop can turn for ever: every switch to g0 finds the same stack pointer. (The loop
/// itself checks it in test builds; here it turns a million times, by yielding with nobody else to
/// run.)
#[test]
fn a_million_rounds_leave_g0_where_it_was() {
    succeeds_in_child("sched::tests::protocol::a_million_rounds_leave_g0_where_it_was", 1, || {
        let before = Worker::enter().unwrap().own().loop_sp;
        assert_ne!(before, 0);
        for _ in 0..1_000_000 {
            yield_now();
        }
        assert_eq!(Worker::enter().unwrap().own().loop_sp, before);
    });
}

/// S5, S1: goroutines are listed and inspected while others are created and ended; the scan bit
/// holds them still.
#[test]
fn listing_goes_on_beside_churn() {
    crate::run(|| {
        static DONE: AtomicBool = AtomicBool::new(false);
        let named = crate::thread::Builder::new().name("listed".into()).spawn(crate::thread::park).unwrap();
        let churn: Vec<_> = (0..4)
            .map(|_| {
                crate::go(|| {
                    while !DONE.load(Ordering::Relaxed) {
                        crate::go(yield_now).join().unwrap();
                    }
                })
            })
            .collect();
        for _ in 0..200 {
            let views: Vec<_> = SCHED.all_g().filter_map(G::inspect).collect();
            let listed: Vec<_> =
                views.iter().filter(|v| v.name.as_ref().is_some_and(|name| &***name == "listed")).collect();
            assert_eq!(listed.len(), 1);
            assert!(
                matches!(listed[0].state, "park" | "runnable" | "running" | "parking"),
                "{}",
                listed[0].state
            );
            yield_now();
        }
        DONE.store(true, Ordering::Relaxed);
        for handle in churn {
            handle.join().unwrap();
        }
        named.thread().unpark();
        named.join().unwrap();
    });
}

/// S27: two goroutines that wake each other through `runnext` share one slice: what waits in the
/// ring and in the global queue gets its turn, with one P and without preemption.
#[test]
fn a_pair_in_runnext_does_not_starve_the_others() {
    succeeds_in_child("sched::tests::protocol::a_pair_in_runnext_does_not_starve_the_others", 1, || {
        static STOP: AtomicBool = AtomicBool::new(false);
        let pair = |partner: crate::thread::Thread| {
            while !STOP.load(Ordering::Relaxed) {
                partner.unpark();
                crate::thread::park();
            }
            partner.unpark();
        };
        let main = crate::thread::current();
        let waiting: Vec<_> = (0..300).map(|_| crate::go(yield_now)).collect();
        let stopper = crate::go(move || {
            for handle in waiting {
                handle.join().unwrap();
            }
            STOP.store(true, Ordering::Relaxed);
        });
        let other = crate::go(move || pair(main));
        pair(other.thread().clone());
        other.join().unwrap();
        stopper.join().unwrap();
    });
}
