//! What waiting at a channel looks like from outside: reasons in dumps (S48), and what it costs
//! (S10, S12).

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::child;
use gosched::chan::{after, bounded, never, unbounded};
use gosched::{go, select};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator, and a count.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: by contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: by contract.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// S48: each kind of wait is shown in Go's words.
#[test]
fn reasons() {
    let outcome = child("reasons", || {
        gosched::run(|| {
            let (s, r) = bounded::<u8>(0);
            let (s2, r2) = bounded::<u8>(0);
            go({
                let r = r.clone();
                move || r.recv()
            });
            go(move || s2.send(1));
            go(
                || select! { recv(never::<u8>()) -> _ => (), recv(after(Duration::from_secs(3600))) -> _ => () },
            );
            go(|| select! {});
            go(|| never::<u8>().recv());
            for _ in 0..20 {
                gosched::sleep(Duration::from_millis(20));
                common::dump("of reasons");
            }
            drop((s, r, r2));
        });
    });
    let outcome = outcome.run().ok();
    let shows_all = |dump: &str| {
        let count = |reason: &str| dump.matches(reason).count();
        (count("[chan receive"), count("[chan send"), count("[select"), count("[select (no cases)"))
            == (2, 1, 2, 1)
    };
    // One of the dumps shows all of them, however long they took to get there.
    assert!(outcome.stderr.split("all goroutines:").any(shows_all), "{}", outcome.stderr);
}

/// D6: neither hand-overs nor buffers nor selections allocate.
#[test]
fn nothing_is_allocated() {
    child("nothing_is_allocated", || {
        gosched::run(|| {
            let (ping, pinged) = bounded::<[u64; 4]>(0);
            let (pong, ponged) = unbounded::<u64>();
            let peer = go(move || {
                loop {
                    let got = select! {
                        recv(pinged) -> msg => msg,
                        recv(never::<u64>()) -> _ => unreachable!(),
                    };
                    let Ok(value) = got else { return };
                    select! { send(pong, value[0]) -> res => res.unwrap() }
                }
            });
            let round = |n: u64| {
                ping.send([n; 4]).unwrap();
                assert_eq!(ponged.recv(), Ok(n));
            };
            let (s, r) = bounded(128);
            let buffered = |n: u64| {
                s.send(n).unwrap();
                s.try_send(n).unwrap();
                assert_eq!((r.try_recv(), r.recv_timeout(Duration::from_secs(1))), (Ok(n), Ok(n)));
            };
            (0..500).for_each(round);
            (0..500).for_each(buffered);
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            (0..2_000).for_each(round);
            (0..2_000).for_each(buffered);
            let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
            // A thread that is started meanwhile allocates; a message does not.
            assert!(allocations < 100, "{allocations} allocations for 8,000 messages");
            drop(ping);
            peer.join().unwrap();
        });
    })
    .run()
    .ok();
}
