//! The textbook situations (S56), each on a scheduler of its own whose goroutines nobody runs; or,
//! where threads matter, in a process of its own.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gosched_primitives::LastSpinner;
use gosched_switch::StackClass;

use super::super::{QueueClass, SCHED, Sched, policy};
use crate::debug::Policy;
use crate::g::G;
use crate::m::{HasP, M, Worker};
use crate::p::{Overflow, OwnedP, RING, Resting, Slice};
use crate::testing::{runnable, shows, succeeds_in_child};

/// A scheduler with `n` Ps and no thread.
fn scheduler(n: u32) -> &'static Sched {
    let sched: &'static Sched = Box::leak(Box::new(Sched::new()));
    sched.make_first_ps(n, StackClass::DEFAULT);
    sched
}

/// P number `id`, taken off the idle list.
fn busy(sched: &'static Sched, id: u32) -> OwnedP {
    let p = sched.take_idle_p().unwrap();
    assert_eq!(p.id, id, "Ps come off the idle list in order");
    p
}

fn push(p: &mut OwnedP, gs: &[NonNull<G>]) {
    for g in gs {
        assert!(p.put_tail(*g, || 0).is_none());
    }
}

/// An M without a thread, which has `p`.
fn worker_with(p: OwnedP) -> Worker {
    // SAFETY: nobody else knows this M, which starts inside the runtime.
    let mut worker = unsafe { Worker::assume(M::new(), HasP::No) };
    worker.acquire_p(p);
    worker
}

/// S56, S26: an idle P steals half. Before: P0 [5], P1 []. After: P0 [2], P1 runs one and has [2].
#[test]
fn an_idle_p_steals_half() {
    let sched = scheduler(2);
    let (mut p0, p1) = (busy(sched, 0), busy(sched, 1));
    let gs = runnable(5);
    push(&mut p0, &gs);
    let mut worker = worker_with(p1);
    let (m, p1) = worker.both();
    let run = sched.search(m, p1).unwrap();
    assert_eq!((p0.ring.len(), p1.ring.len()), (2, 2));
    assert_eq!(run, gs[2], "the oldest three were taken, the last of them runs");
    assert!(m.is_spinning(), "a thief spins until it leaves the search");
    sched.stop_spinning(m);
    assert_eq!(sched.idle.snapshot().spinning, 0);
}

/// S26: of one goroutine in a ring, one is taken; a lone `runnext` too, but only if there is
/// nothing else.
#[test]
fn a_lone_goroutine_and_runnext_are_stolen() {
    let sched = scheduler(2);
    let (mut p0, p1) = (busy(sched, 0), busy(sched, 1));
    let gs = runnable(2);
    let mut worker = worker_with(p1);
    let (m, p1) = worker.both();
    assert!(p0.put_next(gs[0], || 0).is_none());
    push(&mut p0, &gs[1..]);
    assert_eq!(sched.search(m, p1), Some(gs[1]), "the ring comes before runnext");
    assert_eq!(sched.search(m, p1), Some(gs[0]));
    assert_eq!(sched.search(m, p1), None);
    sched.stop_spinning(m);
}

/// S56, S25: an idle P takes from the global queue before it steals. Before: global [4], P0 [4], P1
/// []. After: P1 runs one and has [2], global [1], P0 untouched.
#[test]
fn the_global_queue_comes_before_stealing() {
    let sched = scheduler(2);
    let (mut p0, p1) = (busy(sched, 0), busy(sched, 1));
    let gs = runnable(8);
    push(&mut p0, &gs[..4]);
    for g in &gs[4..] {
        sched.put_global_one(None, *g, QueueClass::Woken);
    }
    let mut worker = worker_with(p1);
    let (m, p1) = worker.both();
    assert_eq!(sched.search(m, p1), Some(gs[4]));
    assert_eq!((sched.runq_len(), p0.ring.len(), p1.ring.len()), (1, 4, 2));
    assert!(!m.is_spinning(), "nobody spins for what lies in the global queue");
}

/// S25: an M that would poll the network first takes half of what waits for an M that stands still;
/// but not from one that does not.
#[test]
fn a_p_that_stands_still_is_relieved() {
    if !shows(Policy::Relieve) {
        return;
    }
    let sched = scheduler(2);
    let (mut p0, p1) = (busy(sched, 0), busy(sched, 1));
    let gs = runnable(6);
    push(&mut p0, &gs);
    let mut worker = worker_with(p1);
    let (m, p1) = worker.both();
    assert_eq!(policy::before_poll(sched, m, p1), None, "seen for the first time");
    assert!(p0.get().is_some());
    p0.count_pick(Slice::New);
    assert_eq!(policy::before_poll(sched, m, p1), None, "it goes on");
    assert!(!m.is_spinning());
    assert_eq!(policy::before_poll(sched, m, p1), Some(gs[3]), "it stands still, with five");
    assert_eq!((p0.ring.len(), p1.ring.len()), (2, 2));
    assert!(m.is_spinning(), "a thief spins until it leaves the search");
    sched.stop_spinning(m);
}

/// An M gives way to one that waits for its CPU with a goroutine in hand, or with what it finds in
/// the network; but not for ever.
#[test]
fn an_m_gives_way_to_one_that_has_something_in_hand() {
    let sched = scheduler(2);
    let (mut first, mut second) = (worker_with(busy(sched, 0)), worker_with(busy(sched, 1)));
    let ((m0, p0), (_, p1)) = (first.both(), second.both());
    let g = runnable(1)[0];
    p0.note_cpu(5);
    assert!(!sched.is_cpu_wanted(p1, 5), "nothing in hand");
    assert!(p0.waits_for_cpu(5, true), "it looks at the network");
    assert!(p0.put_next(g, || 0).is_none());
    assert!(sched.is_cpu_wanted(p1, 5), "it was about to run one");
    assert_eq!(p0.next.take(), Some(g));
    // SAFETY: headers are never unmapped.
    m0.set_cur_g(Some(unsafe { g.as_ref() }));
    assert!(!sched.is_cpu_wanted(p1, 4), "it is on another CPU");
    assert!(!sched.is_cpu_wanted(p0, 5), "nobody waits for itself");
    p0.count_pick(Slice::New);
    for pick in 0..3 {
        let given = (0..100).take_while(|_| sched.is_cpu_wanted(p1, 5)).count();
        assert_eq!(given, 16, "pick {pick}");
        p0.count_pick(Slice::New);
    }
    first.release_p().unwrap().rest(Resting::Blocking);
    assert!(!sched.is_cpu_wanted(p1, 5), "it has let go of its P");
}

/// S31: a spinner that has found something wakes the next one, and until then what it has found can
/// be stolen: by one thief, or the spinner keeps it.
#[test]
fn what_a_spinner_has_found_can_be_stolen() {
    if !shows(Policy::InReach) {
        return;
    }
    let sched = scheduler(2);
    let mut worker = worker_with(busy(sched, 0));
    let (m, p) = worker.both();
    let g = runnable(1)[0];
    assert_eq!(policy::before_run(sched, m, p, g), Some(g), "one that did not spin wakes nobody");
    let sleeper = M::new();
    // SAFETY: Ms are never freed; this one is on no list.
    unsafe { sched.lock.lock().idle_ms.push_front(NonNull::from(sleeper)) };
    m.set_spinning(sched.idle.start_spinning());
    assert_eq!(policy::before_run(sched, m, p, g), Some(g));
    assert!(!m.is_spinning());
    let p1 = sleeper.take_next_p().unwrap();
    assert_eq!(p1.id, 1, "the next spinner was sent on its way");
    assert!(sleeper.take_spinning().is_some_and(|token| sched.idle.stop_spinning(token) == LastSpinner::Yes));
    sleeper.note.clear();
    // Now `before_run` gets no further than the scheduler's lock.
    sched.put_idle_p(&mut sched.lock.lock(), p1);
    let mut shared = sched.lock.lock();
    // SAFETY: as above.
    unsafe { shared.idle_ms.push_front(NonNull::from(sleeper)) };
    m.set_spinning(sched.idle.start_spinning());
    // SAFETY: headers are never unmapped.
    let header = unsafe { g.as_ref() };
    let runnext = &p.shared().next;
    std::thread::scope(|s| {
        let thief = s.spawn(move || {
            let g = NonNull::from(header);
            let began = Instant::now();
            while runnext.is_empty() {
                assert!(began.elapsed() < Duration::from_secs(30), "it is not in `runnext`");
                std::thread::yield_now();
            }
            assert_eq!(runnext.take(), Some(g), "it can be stolen");
            drop(shared);
        });
        assert!(policy::before_run(sched, m, p, header.into()).is_none(), "and then it was");
        thief.join().unwrap();
    });
}

/// S24: 2 queued and 3 Ps: 1; 4 and 4: 2; 4 and 2: 3.
#[test]
fn shares_of_the_global_queue() {
    for (queued, procs, share) in [(2, 3, 1), (4, 4, 2), (4, 2, 3), (1000, 2, 128)] {
        let sched = scheduler(procs);
        let mut p = busy(sched, 0);
        for g in runnable(queued) {
            sched.put_global_one(None, g, QueueClass::Woken);
        }
        assert!(sched.grab_global(&mut p, None).is_some());
        assert_eq!((sched.runq_len(), p.ring.len()), (queued - share, share - 1));
    }
}

/// S23: the fairness tick takes exactly one from the global queue, whatever lies there.
#[test]
fn the_fairness_tick_takes_exactly_one() {
    let sched = scheduler(1);
    let mut p = busy(sched, 0);
    let gs = runnable(4);
    for g in &gs[..3] {
        sched.put_global_one(None, *g, QueueClass::Woken);
    }
    push(&mut p, &gs[3..]);
    assert_eq!(sched.grab_global(&mut p, Some(1)), Some(gs[0]));
    assert_eq!((sched.runq_len(), p.ring.len()), (2, 1));
}

/// S56, S21: a full ring overflows. Before: ring [256], then one more. After: ring [128], global
/// [129] of which none twice; the next put goes into the ring again.
#[test]
fn a_full_ring_overflows() {
    let sched = scheduler(1);
    let mut p = busy(sched, 0);
    let gs = runnable(RING + 2);
    push(&mut p, &gs[..RING]);
    let mut seed = 1_u32;
    let random = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed
    };
    let Some(Overflow(batch)) = p.put_tail(gs[RING], random) else { panic!("the ring was full") };
    assert_eq!((batch.len(), p.ring.len()), (129, 128));
    sched.put_global(0, batch);
    push(&mut p, &gs[RING + 1..]);
    assert_eq!((sched.runq_len(), p.ring.len()), (129, 129));
    let mut seen: Vec<NonNull<G>> = core::iter::from_fn(|| sched.grab_global(&mut p, Some(1))).collect();
    let mut expected: Vec<NonNull<G>> = gs[..RING / 2].iter().chain([&gs[RING]]).copied().collect();
    assert_ne!(seen, expected, "a batch is shuffled");
    seen.sort();
    expected.sort();
    assert_eq!(seen, expected, "the oldest half and the one that did not fit, each once");
}

/// S56, S21: a child is born on its parent's P, in `runnext`; the one before it is kicked into the
/// ring. With one P, one M. After an exit the local queue is next: see `tests/order.rs`.
#[test]
fn a_child_is_born_on_its_parents_p() {
    succeeds_in_child("sched::tests::pictures::a_child_is_born_on_its_parents_p", 1, || {
        let p = SCHED.p(0).unwrap();
        assert_eq!((p.next.is_empty(), p.ring.len()), (true, 0));
        let first = crate::go(|| ());
        let newest = p.next.peek().unwrap();
        // SAFETY: headers are never unmapped.
        assert_eq!(unsafe { newest.as_ref() }.id(), 2);
        assert_eq!(p.ring.len(), 0);
        let second = crate::go(|| ());
        assert_eq!((p.next.peek() == Some(newest), p.ring.len()), (false, 1));
        assert_eq!(SCHED.all_m().count(), 1, "no P is idle, so nobody was woken");
        first.join().unwrap();
        second.join().unwrap();
    });
}

/// S56, S31: creating a goroutine wakes one M for the idle P, and no more than there are Ps.
/// Before: the creator's M runs, the other P is idle, or its M searches. After: at least 2 Ms;
/// another one stole the goroutine, since its creator never gave up its thread.
#[test]
fn creating_a_goroutine_wakes_one_m() {
    succeeds_in_child("sched::tests::pictures::creating_a_goroutine_wakes_one_m", 2, || {
        static RAN: AtomicBool = AtomicBool::new(false);
        assert!(SCHED.all_m().count() <= 2);
        let child = crate::go(|| RAN.store(true, Ordering::Relaxed));
        while !RAN.load(Ordering::Relaxed) {
            core::hint::spin_loop();
        }
        assert!(SCHED.all_m().count() >= 2);
        for _ in 0..100 {
            drop(crate::go(|| ()));
        }
        child.join().unwrap();
        // Besides the two that run, one per P may have been caught between giving up its P and
        // going to sleep; and this one's P may have been taken, if the second M was slow to come.
        assert!(SCHED.all_m().count() <= 5, "{} Ms for two Ps", SCHED.all_m().count());
    });
}
