//! What the operations cost without contention:
//! `cargo run --release -p gosched-primitives --example figures`.
//!
//! Best of seven, one thread (the note: two), so that other load on the machine changes little.

use gosched_primitives::{Entered, IdleWord, NextSlot, Note, Owner, Ring, barrier, sync};
use std::hint::black_box;
use std::ptr::NonNull;
use std::time::Instant;

fn ns_each(what: &str, rounds: u32, mut round: impl FnMut()) {
    let best = (0..7)
        .map(|_| {
            let start = Instant::now();
            (0..rounds).for_each(|_| round());
            start.elapsed().as_nanos() as f64 / f64::from(rounds)
        })
        .fold(f64::INFINITY, f64::min);
    println!("{what:<44} {best:>9.2} ns");
}

fn enter_and_exit(owner: &Owner) {
    assert_eq!(black_box(owner).enter(), Entered::Fast);
    owner.exit();
}

fn main() {
    let mut value = 1_u64;
    let node = NonNull::from(&mut value);
    let (ring, victim) = (Ring::<u64>::new(), Ring::<u64>::new());
    // SAFETY: this thread is the only one; the value outlives the rings.
    let (owner, victim_owner) = unsafe { (ring.owner(), victim.owner()) };
    let (next, idle, m) = (NextSlot::new(), IdleWord::new(0), Owner::new());
    m.exit();

    ns_each("ring: push and pop", 1_000_000, || {
        let _ = owner.push(black_box(node));
        black_box(owner.pop());
    });
    ns_each("ring: push 256, steal 128, drain both", 10_000, || {
        while victim_owner.push(node).is_ok() {}
        black_box(owner.steal_from(&victim));
        while owner.pop().is_some() {}
        while victim_owner.pop().is_some() {}
    });
    ns_each("runnext: replace and take", 1_000_000, || {
        black_box(next.replace(black_box(node)));
        black_box(next.take());
    });
    ns_each("idle word: nobody to wake", 1_000_000, || {
        assert!(black_box(&idle).try_claim_spinner().is_none())
    });
    // The fence is measured between push and look: alone in a loop, fences would be merged.
    ns_each("ring: push, publish_fence, look, pop", 1_000_000, || {
        let _ = owner.push(black_box(node));
        sync::publish_fence();
        assert!(black_box(&idle).try_claim_spinner().is_none());
        black_box(owner.pop());
    });
    ns_each("ring: push, look, pop", 1_000_000, || {
        let _ = owner.push(black_box(node));
        assert!(black_box(&idle).try_claim_spinner().is_none());
        black_box(owner.pop());
    });
    ns_each("owner: enter and exit, fence", 1_000_000, || enter_and_exit(&m));
    println!("{:?}", barrier::init());
    ns_each("owner: enter and exit, membarrier", 1_000_000, || enter_and_exit(&m));
    ns_each("heavy barrier, alone", 10_000, || barrier::heavy().unwrap());

    let (ping, pong) = (Note::new(), Note::new());
    const HOPS: u32 = 20_000;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..7 * HOPS {
                ping.sleep();
                ping.clear();
                pong.wake();
            }
        });
        ns_each("note: round trip between two threads", HOPS, || {
            ping.wake();
            pong.sleep();
            pong.clear();
        });
    });
}
