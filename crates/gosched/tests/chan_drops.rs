//! Values that nobody receives are dropped once, outside the runtime: their destructors may call
//! the library (S44).

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::Duration;

use common::join_all;
use gosched::chan::{Receiver, Select, Sender, bounded, unbounded};
use gosched::{go, select};

/// Counts those alive.
#[derive(Clone, Default)]
struct Alive(Arc<AtomicIsize>);

struct Value(Alive);

impl Alive {
    fn value(&self) -> Value {
        self.0.fetch_add(1, Ordering::Relaxed);
        Value(self.clone())
    }

    fn count(&self) -> isize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        assert!(self.0.0.fetch_sub(1, Ordering::Relaxed) > 0, "dropped twice");
        gosched::go(|| ()); // a call that must not come from inside the runtime
    }
}

/// S44: values in the channel are dropped with the last receiver, at once.
#[gosched::test]
fn what_is_left_goes_with_the_receivers() {
    for capacity in [Some(10), None] {
        let alive = Alive::default();
        let (s, r) = capacity.map_or_else(unbounded, bounded);
        (0..10).for_each(|_| s.send(alive.value()).unwrap_or_else(|_| panic!("closed")));
        drop(r.recv());
        assert_eq!(alive.count(), 9);
        drop(r);
        assert_eq!(alive.count(), 0);
        drop(s.send(alive.value()));
        assert_eq!(alive.count(), 0);

        let (s, r) = capacity.map_or_else(unbounded, bounded);
        (0..10).for_each(|_| s.send(alive.value()).unwrap_or_else(|_| panic!("closed")));
        drop(s);
        assert_eq!(alive.count(), 10);
        drop(r);
        assert_eq!(alive.count(), 0);
    }
}

/// S44: senders, receivers, time-outs, selections and closes at random: at the end nothing is
/// alive.
#[gosched::test]
fn everything_is_dropped_once() {
    for round in 0..60u64 {
        let alive = Alive::default();
        let (s, r): (Sender<Value>, Receiver<Value>) = bounded(round as usize % 4);
        let mut handles = Vec::new();
        for n in 0..16u64 {
            let (s, r, alive) = (s.clone(), r.clone(), alive.clone());
            handles.push(go(move || {
                let mut random = common::Random::new(round * 100 + n);
                for _ in 0..50 {
                    let brief = Duration::from_micros(random.below(30));
                    match random.below(8) {
                        0 => drop(s.try_send(alive.value())),
                        1 => drop(r.try_recv()),
                        2 => drop(s.send_timeout(alive.value(), brief)),
                        3 => drop(r.recv_timeout(brief)),
                        4 => select! {
                            send(s, alive.value()) -> res => drop(res),
                            recv(r) -> msg => drop(msg),
                            default(brief) => {}
                        },
                        5 => select! { recv(r) -> msg => drop(msg), default => {} },
                        6 => select! { send(s, alive.value()) -> res => drop(res), default => {} },
                        _ => gosched::yield_now(),
                    }
                }
            }));
        }
        if round % 3 == 0 {
            (0..10).for_each(|_| gosched::yield_now());
            s.close();
        }
        join_all(handles);
        drop((s, r));
        assert_eq!(alive.count(), 0);
    }
}

/// A destructor that panics: the channel's memory is freed, and other channels and goroutines are
/// as before.
#[gosched::test]
fn a_panicking_destructor() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a bomb");
        }
    }
    let (s, r) = unbounded();
    (0..3).for_each(|_| s.send(Bomb).unwrap());
    catch_unwind(AssertUnwindSafe(|| drop(r.try_recv()))).unwrap_err();
    assert_eq!(r.len(), 2);
    let (s2, r2) = (s.clone(), r.clone());
    catch_unwind(AssertUnwindSafe(move || drop((r, r2)))).unwrap_err();
    assert!(s.is_closed());
    let back = s2.send(Bomb).unwrap_err().into_inner();
    std::mem::forget(back);
    let (s, r) = bounded(1);
    s.send(1).unwrap();
    assert_eq!(r.recv(), Ok(1));
}

/// S45: dropping a selected receive without completing it panics, and the value stays in its old
/// place. A selected send that is not completed takes no place.
#[gosched::test]
fn an_operation_that_is_not_completed() {
    let (s, r) = bounded(3);
    (1..=3).for_each(|n| s.send(n).unwrap());
    let dropped = catch_unwind(AssertUnwindSafe(|| {
        let mut sel = Select::new();
        sel.recv(&r);
        drop(sel.select());
    }));
    let message = *dropped.unwrap_err().downcast::<&str>().unwrap();
    assert_eq!(message, "dropped `SelectedOperation` without completing the operation");
    assert_eq!(r.try_iter().collect::<Vec<_>>(), [1, 2, 3]);

    let dropped = catch_unwind(AssertUnwindSafe(|| {
        let mut sel = Select::new();
        sel.send(&s);
        drop(sel.select());
    }));
    assert!(dropped.is_err());
    (1..=3).for_each(|n| s.try_send(n).unwrap());
    assert!(s.is_full());
}

/// Completing with another handle than the one selected is refused, in the model's words, and
/// nothing is lost.
#[gosched::test]
fn the_wrong_handle() {
    let (s, r) = bounded(1);
    let (other_s, other_r) = (s.clone(), r.clone());
    let refused =
        |f: &mut dyn FnMut()| *catch_unwind(AssertUnwindSafe(f)).unwrap_err().downcast::<&str>().unwrap();
    let message = refused(&mut || {
        let mut sel = Select::new();
        sel.send(&s);
        let _ = sel.select().send(&other_s, 1);
    });
    assert_eq!(message, "passed a sender that wasn't selected");
    s.send(2).unwrap();
    let message = refused(&mut || {
        let mut sel = Select::new();
        sel.recv(&r);
        let _ = sel.select().recv(&other_r);
    });
    assert_eq!(message, "passed a receiver that wasn't selected");
    assert_eq!(r.recv(), Ok(2));
}
