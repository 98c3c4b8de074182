//! The taker's side of D1, played by a test: a P is taken from a goroutine in the middle of user
//! code, others run with it, and the goroutine copes at its next call, whichever that is.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use gosched_primitives::Intr;

use super::super::{Candidate, SCHED, yield_now};
use crate::m::{M, Taken, Worker};
use crate::testing::succeeds_in_child;

/// Tries to take the P of `m` and hand it off. Returns whether it won.
fn take_p(m: &'static M) -> bool {
    let Some(p) = m.p() else { return false };
    let mut won = false;
    let mut takes = SCHED.takes();
    takes.begin(Candidate { p, m, why: Taken::Computing });
    takes.finish(|_, taken| {
        if let Some(p) = taken {
            SCHED.hand_off_p(p);
            won = true;
        }
    });
    won
}

/// Takes the P from the M of the calling goroutine, which is in user code, from another thread; or
/// lets the monitor do it, which may see the goroutine wait for that thread.
pub(super) fn lose_p() {
    let m = crate::m::current::current().unwrap();
    std::thread::scope(|s| {
        s.spawn(|| while m.owner.intr() != Intr::Taken && !take_p(m) {});
    });
}

/// D1, S40: with one P, a goroutine that never enters the library does not stop the others once its
/// P was taken; it continues to compute beside them.
#[test]
fn others_run_with_the_p_that_was_taken() {
    succeeds_in_child("sched::tests::taken::others_run_with_the_p_that_was_taken", 1, || {
        static RAN: AtomicUsize = AtomicUsize::new(0);
        let others: Vec<_> = (0..10).map(|_| crate::go(|| RAN.fetch_add(1, Ordering::Relaxed))).collect();
        lose_p();
        while RAN.load(Ordering::Relaxed) < 10 {
            core::hint::spin_loop();
        }
        for other in others {
            other.join().unwrap();
        }
    });
}

/// S39: the monitor, which always finds the M inside, insists: the next call, though it does not
/// move, gives the P up. Others run with it, and the goroutine continues on its thread. A request
/// to yield alone is left for the next moving call.
#[test]
fn a_call_that_does_not_move_gives_up_the_p_if_the_monitor_insists() {
    let name = "sched::tests::taken::a_call_that_does_not_move_gives_up_the_p_if_the_monitor_insists";
    succeeds_in_child(name, 1, || {
        static RAN: AtomicUsize = AtomicUsize::new(0);
        let ask = |insist: bool| {
            let m = crate::m::current::current().unwrap();
            let mut worker = Worker::enter().unwrap();
            if insist {
                worker.p().unwrap().insist();
            }
            // On a busy machine the monitor itself may have asked already, or be about to.
            while !m.owner.request_preempt(&mut SCHED.taker.lock()) && m.owner.intr() != Intr::Preempt {
                core::hint::spin_loop();
            }
            m.id
        };
        for round in 1..100 {
            ask(false);
            assert!(Worker::enter().unwrap().p().is_some());
            yield_now();
            let here = ask(true);
            let other = crate::go(|| RAN.fetch_add(1, Ordering::Relaxed));
            while RAN.load(Ordering::Relaxed) < round {
                core::hint::spin_loop();
            }
            assert_eq!(crate::m::current::current().unwrap().id, here);
            other.join().unwrap();
            assert!(Worker::enter().unwrap().p().is_some());
        }
        assert_eq!(SCHED.computing_without_p(), 0);
    });
}

/// D1: every kind of call copes with a lost P, and gets an idle one if there is one.
#[test]
fn every_call_copes_with_a_lost_p() {
    for procs in [1, 2] {
        succeeds_in_child("sched::tests::taken::every_call_copes_with_a_lost_p", procs, || {
            for _ in 0..200 {
                lose_p();
                let child = crate::go(|| 7);
                assert!(crate::runtime::num_goroutine() >= 1);
                assert_eq!(child.join().unwrap(), 7);
                assert!(Worker::enter().unwrap().p().is_some());
                lose_p();
                yield_now();
                lose_p();
                crate::runtime::checkpoint();
                assert!(Worker::enter().unwrap().p().is_some());
                lose_p();
                crate::thread::current().unpark();
                crate::thread::park();
                crate::go(lose_p).join().unwrap(); // ends without a P
            }
        });
    }
}

/// D1: without an idle P, a call that does not move leaves the P lost and acts as a foreign thread
/// would; one that moves waits for its turn.
#[test]
fn without_an_idle_p_only_moving_calls_wait_for_one() {
    succeeds_in_child("sched::tests::taken::without_an_idle_p_only_moving_calls_wait_for_one", 1, || {
        static STATE: AtomicUsize = AtomicUsize::new(0);
        for _ in 0..50 {
            STATE.store(0, Ordering::Relaxed);
            let holder = crate::go(|| {
                STATE.store(1, Ordering::Relaxed);
                while STATE.load(Ordering::Relaxed) < 2 {
                    core::hint::spin_loop();
                }
            });
            lose_p();
            while STATE.load(Ordering::Relaxed) == 0 {
                core::hint::spin_loop();
            }
            // The holder has the one P now, and no work waits, so the monitor does not take it.
            assert!(Worker::enter().unwrap().p().is_none());
            STATE.store(2, Ordering::Relaxed);
            let child = crate::go(|| 7);
            assert_eq!(child.join().unwrap(), 7);
            assert!(Worker::enter().unwrap().p().is_some());
            holder.join().unwrap();
        }
    });
}

/// D5, D1: a goroutine that loses its P while it unwinds stays on its thread.
#[test]
fn losing_the_p_while_panicking() {
    struct LosesItsP;
    impl Drop for LosesItsP {
        fn drop(&mut self) {
            // SAFETY: gettid has no preconditions.
            let tid = || unsafe { libc::gettid() };
            let before = tid();
            lose_p();
            yield_now();
            lose_p();
            crate::go(|| assert!(!std::thread::panicking())).join().unwrap();
            assert!(std::thread::panicking());
            assert_eq!(tid(), before);
        }
    }
    for procs in [1, 2] {
        succeeds_in_child("sched::tests::taken::losing_the_p_while_panicking", procs, || {
            std::panic::set_hook(Box::new(|_| {}));
            for _ in 0..100 {
                let result = crate::go(|| {
                    let _guard = LosesItsP;
                    panic!("on purpose");
                })
                .join();
                assert_eq!(*result.unwrap_err().downcast::<&str>().unwrap(), "on purpose");
            }
        });
    }
}

/// D1: takers against goroutines that enter and leave all the time: each piece of work is done
/// once, nothing hangs, and no more goroutines run with a P than there are Ps.
#[test]
fn takers_against_busy_goroutines() {
    for procs in [1, 2, 8] {
        succeeds_in_child("sched::tests::taken::takers_against_busy_goroutines", procs, || {
            static STOP: AtomicBool = AtomicBool::new(false);
            static WINS: AtomicU64 = AtomicU64::new(0);
            static DONE: AtomicUsize = AtomicUsize::new(0);
            let taker = std::thread::spawn(|| {
                while !STOP.load(Ordering::Relaxed) {
                    for m in SCHED.all_m() {
                        WINS.fetch_add(u64::from(take_p(m)), Ordering::Relaxed);
                    }
                }
            });
            let workers: Vec<_> = (0..16)
                .map(|i| {
                    crate::go(move || {
                        for round in 0.. {
                            // The taker may begin late.
                            if round >= 500 && WINS.load(Ordering::Relaxed) > 0 {
                                break;
                            }
                            let pause = (i * 31 + round * 17) % 200;
                            for _ in 0..pause {
                                core::hint::spin_loop();
                            }
                            match round % 4 {
                                0 => yield_now(),
                                1 => crate::go(|| ()).join().unwrap(),
                                2 => crate::runtime::checkpoint(),
                                _ => drop(crate::go(yield_now)),
                            }
                        }
                        DONE.fetch_add(1, Ordering::Relaxed);
                    })
                })
                .collect();
            for worker in workers {
                worker.join().unwrap();
            }
            STOP.store(true, Ordering::Relaxed);
            taker.join().unwrap();
            assert_eq!(DONE.load(Ordering::Relaxed), 16);
        });
    }
}

/// The counts of lost Ps balance when a call that does not move finds a take begun, and the monitor
/// has insisted: the goroutine gives up the P itself, and the take fails.
#[test]
fn books_balance_when_insisted_during_a_take() {
    let name = "sched::tests::taken::books_balance_when_insisted_during_a_take";
    succeeds_in_child(name, 1, || {
        static BEGUN: AtomicBool = AtomicBool::new(false);
        let m = crate::m::current::current().unwrap();
        let p = m.p().unwrap();
        assert_eq!(SCHED.computing_without_p(), 0);
        p.force_insist();
        let taker = std::thread::spawn(move || {
            let mut takes = SCHED.takes();
            takes.begin(Candidate { p, m, why: Taken::Computing });
            BEGUN.store(true, Ordering::Release);
            // The M enters meanwhile, as it may during the barrier.
            while !m.owner.in_runtime() {
                core::hint::spin_loop();
            }
            // Either order must balance. This one did not when the M counted before it had the
            // taker's lock.
            std::thread::sleep(core::time::Duration::from_millis(50));
            takes.finish(|_, taken| assert!(taken.is_none()));
        });
        while !BEGUN.load(Ordering::Acquire) {
            core::hint::spin_loop();
        }
        drop(Worker::enter());
        taker.join().unwrap();
        yield_now();
        assert!(Worker::enter().unwrap().p().is_some());
        assert_eq!(SCHED.computing_without_p(), 0);
    });
}
