//! The textbook situations of blocking calls (S56), each in a process of its own, with its numbers
//! of G, P and M before and after. The calls wait on gates that the test opens, so nothing depends
//! on time.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use gosched_primitives::Intr;

use super::super::SCHED;
use crate::m::{M, current};
use crate::p::PStatus;
use crate::testing::succeeds_in_child;
use crate::{go, runtime, yield_now};

/// The M that the caller runs on.
fn here() -> &'static M {
    current::current().unwrap()
}

/// How many Ms there are, and how many of them sleep without a P.
fn ms() -> (usize, usize) {
    (SCHED.all_m().count(), SCHED.lock.lock().idle_ms.len())
}

/// Waits, without entering the library, until `gate` is opened.
fn wait_for(gate: &AtomicBool) {
    while !gate.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
}

fn id_of_p(m: &M) -> Option<u32> {
    m.p().map(|p| p.id)
}

/// S56, S38: the P of a blocking G goes to a new M, since there is no other. Before: G1 on M0 with
/// P0, G2 queued. After: G1 in its call on M0 without a P, G2 on M1 with P0. And back: with P0
/// taken and no idle P, G1 queues, and its M sleeps.
#[test]
fn hands_its_p_to_a_new_m() {
    succeeds_in_child("sched::tests::handing::hands_its_p_to_a_new_m", 1, || {
        static RAN: AtomicBool = AtomicBool::new(false);
        static END: AtomicBool = AtomicBool::new(false);
        static BACK: AtomicBool = AtomicBool::new(false);
        let (first, p) = (here(), id_of_p(here()));
        assert_eq!((ms(), p), ((1, 0), Some(0)));
        let other = go(|| {
            let m = here();
            assert_eq!((id_of_p(m), ms()), (Some(0), (2, 0)));
            RAN.store(true, Ordering::Release);
            // It is asked to yield, but does not before the first goroutine is back in the queue
            // (or has left it again, if the kernel does not run this thread for a while, and it
            // loses the P).
            while SCHED.runq_len() == 0 && !BACK.load(Ordering::Acquire) {
                core::hint::spin_loop();
            }
            wait_for(&END);
            m.id
        });
        runtime::blocking(|| {
            wait_for(&RAN);
            assert_eq!(SCHED.p(0).unwrap().status(), PStatus::Running);
            END.store(true, Ordering::Release);
        });
        BACK.store(true, Ordering::Release);
        assert_ne!(other.join().unwrap(), first.id);
    });
}

/// S56, S38: the P of a blocking G goes to an M that sleeps. Before: 2 Ms, one of them asleep.
/// After: no new one each time.
#[test]
fn hands_its_p_to_a_sleeping_m() {
    succeeds_in_child("sched::tests::handing::hands_its_p_to_a_sleeping_m", 1, || {
        fn block_while_another_runs() {
            static RUNS: AtomicU32 = AtomicU32::new(0);
            let before = RUNS.load(Ordering::Acquire);
            let other = go(|| RUNS.fetch_add(1, Ordering::Release));
            runtime::blocking(|| {
                while RUNS.load(Ordering::Acquire) == before {
                    std::thread::yield_now();
                }
            });
            other.join().unwrap();
        }
        block_while_another_runs();
        for _ in 0..20 {
            // One of the two runs this goroutine; the other one goes to sleep, or is about to.
            while ms().1 == 0 {
                yield_now();
            }
            block_while_another_runs();
            // A waker that comes after an M gave up its P and before it sleeps may make one more M
            // (README.md).
            assert!(ms().0 <= 3, "sleeping Ms are used before new ones are made");
        }
    });
}

/// S56, S19: the M comes back to its old P, which nobody took. Before and after: M0 with P0. (If
/// the machine does not run the thread for a while, the monitor takes the P.)
#[test]
fn comes_back_to_its_old_p() {
    succeeds_in_child("sched::tests::handing::comes_back_to_its_old_p", 1, || {
        let p = here().p().unwrap();
        let stayed = (0..1000).filter(|_| {
            let m = here();
            let inside = runtime::blocking(|| p.status());
            let same_m = core::ptr::eq(here(), m);
            inside == PStatus::Blocking && same_m && core::ptr::eq(m.p().unwrap(), p)
        });
        assert!(stayed.count() > 900);
    });
}

/// S56, S19: the M comes back to another P, an idle one, because its old one is taken. Before: M0
/// with P0, P1 idle. Inside: M1 runs another goroutine with P0. After: M0 with P1.
#[test]
fn comes_back_to_an_idle_p() {
    succeeds_in_child("sched::tests::handing::comes_back_to_an_idle_p", 2, || {
        static HOLD: AtomicBool = AtomicBool::new(false);
        static HOLDER: AtomicPtr<M> = AtomicPtr::new(null_mut());
        runtime::lock_os_thread(); // so that what comes back is this M
        let first = here();
        for _ in 0..20 {
            let old = id_of_p(first).unwrap();
            HOLD.store(false, Ordering::Release);
            HOLDER.store(null_mut(), Ordering::Release);
            let others = [0, 1].map(|_| {
                go(move || {
                    // The goroutine that gets the old P keeps it; the other one, on the other P,
                    // ends.
                    let m = core::ptr::from_ref(here()).cast_mut();
                    let held = id_of_p(here()) == Some(old)
                        && HOLDER
                            .compare_exchange(null_mut(), m, Ordering::AcqRel, Ordering::Relaxed)
                            .is_ok();
                    if held {
                        wait_for(&HOLD);
                    }
                })
            });
            let holder = runtime::blocking(|| {
                // The monitor takes the old P after 10 ms at the latest; it may go idle, too, if
                // the other one ran both.
                while HOLDER.load(Ordering::Acquire).is_null()
                    && SCHED.p(old).unwrap().status() != PStatus::Idle
                {
                    std::thread::yield_now();
                }
                // SAFETY: Ms are never freed.
                unsafe { HOLDER.load(Ordering::Acquire).as_ref() }
            });
            let now = id_of_p(here()).unwrap();
            assert!(core::ptr::eq(here(), first));
            if let Some(holder) = holder {
                // If the other one is slow to end, the monitor takes the old P from its holder,
                // too.
                assert!(
                    now != old || holder.owner.intr() == Intr::Taken,
                    "the old P is somebody else's: an idle one was to be had"
                );
            }
            HOLD.store(true, Ordering::Release);
            others.into_iter().for_each(|other| other.join().unwrap());
        }
    });
}
