//! First come, first served: tests that look inside, to know who waits already.

use super::*;
use std::process::ExitCode;

use gosched_chan::{Chan, Side};

use crate::g::waiter::Waiter;
use crate::{go, yield_now};

fn chan_of<T>(receiver: &Receiver<T>) -> &Chan<T, Waiter> {
    match receiver.flavor() {
        receiver::Flavor::Chan(chan) => chan,
        _ => unreachable!(),
    }
}

/// Runs a test as a goroutine; one that hangs fails after a dump.
fn watched(body: impl FnOnce() + Send + 'static) {
    let limit = Duration::from_secs(60);
    let test = move || {
        body();
        ExitCode::SUCCESS
    };
    assert!(crate::__private::test("of channels", limit, test).is_ok());
}

/// Yields until `n` wait on that side.
fn until_waiting<T>(chan: &Chan<T, Waiter>, side: Side, n: usize) {
    while ops::look(chan, |state| state.waiting(side)) != n {
        yield_now();
    }
}

/// S44: receivers get their turn in the order in which they came, foreign threads and goroutines
/// alike.
#[test]
fn receivers_first_come_first_served() {
    for capacity in [Some(0), Some(3), None] {
        watched(move || {
            let (s, r) = capacity.map_or_else(unbounded, bounded);
            let mut goroutines = Vec::new();
            let mut threads = Vec::new();
            for n in 0..20 {
                let receiver = r.clone();
                let receive = move || (n, receiver.recv().unwrap());
                if n % 3 == 0 {
                    threads.push(std::thread::spawn(receive));
                } else {
                    goroutines.push(go(receive));
                }
                until_waiting(chan_of(&r), Side::Recv, n + 1);
            }
            (0..20).for_each(|n| s.send(n).unwrap());
            for (place, got) in goroutines.into_iter().map(|handle| handle.join().unwrap()) {
                assert_eq!(place, got);
            }
            for (place, got) in threads.into_iter().map(|handle| handle.join().unwrap()) {
                assert_eq!(place, got);
            }
        });
    }
}

/// S44: senders get their turn in the order in which they came, also those who wait for a place in
/// a buffer; a `try_send` or a new `send` does not overtake them, though places become free.
#[test]
fn senders_first_come_first_served() {
    for capacity in [0, 1, 4] {
        watched(move || {
            let (s, r) = bounded(capacity);
            (0..capacity).for_each(|n| s.send(n).unwrap());
            let mut senders = Vec::new();
            for n in 0..20 {
                let s = s.clone();
                senders.push(go(move || s.send(capacity + n).unwrap()));
                until_waiting(chan_of(&r), Side::Send, n + 1);
            }
            for expected in 0..capacity + 20 {
                assert_eq!(r.recv(), Ok(expected));
                if expected < 19 {
                    assert_eq!(s.try_send(usize::MAX), Err(TrySendError::Full(usize::MAX)));
                }
            }
            senders.into_iter().for_each(|handle| handle.join().unwrap());
        });
    }
}

/// S44: one that gives up is out of the queue, and what it wanted to send is not received.
#[test]
fn those_who_give_up_are_passed_over() {
    watched(|| {
        let (s, r) = bounded(0);
        let mut senders = Vec::new();
        for n in 0..10usize {
            let sender = s.clone();
            if n % 2 == 0 {
                senders.push(go(move || sender.send(n).unwrap()));
                until_waiting(chan_of(&r), Side::Send, n / 2 + 1);
            } else {
                let late = go(move || sender.send_timeout(n, Duration::from_millis(1)));
                assert_eq!(late.join().unwrap(), Err(SendTimeoutError::Timeout(n)));
            }
        }
        assert_eq!((0..5).map(|_| r.recv().unwrap()).collect::<Vec<_>>(), [0, 2, 4, 6, 8]);
        senders.into_iter().for_each(|handle| handle.join().unwrap());
    });
}

/// S45: a selection that has ended leaves nothing behind in the queues of its other channels.
#[test]
fn a_selection_leaves_nothing_behind() {
    watched(|| {
        let (s1, r1) = bounded::<u32>(0);
        let (s2, r2) = bounded::<u32>(0);
        for round in 0..100 {
            let (r1c, r2c) = (r1.clone(), r2.clone());
            let selecting = go(move || {
                crate::select! {
                    recv(r1c) -> msg => msg.unwrap(),
                    recv(r2c) -> msg => msg.unwrap(),
                }
            });
            until_waiting(chan_of(&r1), Side::Recv, 1);
            let sender = if round % 2 == 0 { &s1 } else { &s2 };
            sender.send(round).unwrap();
            assert_eq!(selecting.join().unwrap(), round);
            let waiting = |r| ops::look(chan_of(r), |state| state.waiting(Side::Recv));
            assert_eq!((waiting(&r1), waiting(&r2)), (0, 0));
        }
    });
}

/// S44, D6: a receiver that meets a selection which has yet to compute its value gets that value,
/// whatever the receiver is.
#[test]
fn a_value_that_is_computed_late() {
    watched(|| {
        for round in 0..40 {
            let (s, r) = bounded(0);
            let selecting = go(move || {
                crate::select! {
                    send(s, { (0..round % 4).for_each(|_| yield_now()); round }) -> res => res.unwrap(),
                }
            });
            until_waiting(chan_of(&r), Side::Send, 1);
            let got = match round % 5 {
                0 => r.recv().unwrap(),
                1 => r.try_recv().unwrap(),
                2 => crate::select! { recv(r) -> msg => msg.unwrap(), default => unreachable!() },
                3 => {
                    let mut sel = Select::new();
                    sel.recv(&r);
                    sel.try_select().unwrap().recv(&r).unwrap()
                }
                _ => std::thread::scope(|scope| scope.spawn(|| r.recv().unwrap()).join().unwrap()),
            };
            assert_eq!(got, round);
            selecting.join().unwrap();
        }
    });
}

fn no_value() -> u32 {
    panic!("no value")
}

/// S45: a selection whose value panics, or that is not completed, lets the receiver it had met wait
/// on for another value.
#[test]
fn a_receiver_outlives_a_sender_that_changes_its_mind() {
    watched(|| {
        let (s, r) = bounded(0);
        for round in 0..20 {
            let receiver = {
                let r = r.clone();
                go(move || match round % 2 {
                    0 => r.recv().unwrap(),
                    _ => crate::select! { recv(r) -> msg => msg.unwrap() },
                })
            };
            until_waiting(chan_of(&r), Side::Recv, 1);
            let sender = s.clone();
            let failed = go(move || {
                if round % 4 < 2 {
                    crate::select! { send(sender, no_value()) -> _ => unreachable!() }
                } else {
                    let mut sel = Select::new();
                    sel.send(&sender);
                    drop(sel.select());
                }
            });
            failed.join().unwrap_err();
            until_waiting(chan_of(&r), Side::Recv, 1);
            s.send(round).unwrap();
            assert_eq!(receiver.join().unwrap(), round);
        }
    });
}

/// S45: `ready` sees a peer that comes to wait, and takes no part itself.
#[test]
fn ready_takes_no_part() {
    watched(|| {
        let (s, r) = bounded(0);
        let watching = {
            let r = r.clone();
            go(move || {
                let mut sel = Select::new();
                sel.recv(&r);
                sel.ready()
            })
        };
        until_waiting(chan_of(&r), Side::WatchRecv, 1);
        assert_eq!(s.try_send(1), Err(TrySendError::Full(1)));
        let sender = go(move || s.send(2));
        assert_eq!(watching.join().unwrap(), 0);
        assert_eq!(r.recv(), Ok(2));
        sender.join().unwrap().unwrap();
    });
}

/// Go 1.23's rule: a receiver that waits for a timer that is stopped or reset gets no value of
/// before.
#[test]
fn a_timer_that_is_set_anew() {
    use crate::chan::timer::TimerChan;

    watched(|| {
        let chan = TimerChan::new(Some(Instant::now()), None);
        let r = Receiver::of_time(chan.clone());
        assert!(chan.set(None, None), "due, but not received");
        assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
        assert!(!chan.set(Some(Instant::now() + Duration::from_secs(3600)), None));
        let waiting = {
            let r = r.clone();
            go(move || r.recv().unwrap())
        };
        let selecting = {
            let r = r.clone();
            go(move || crate::select! { recv(r) -> due => due.unwrap() })
        };
        (0..10).for_each(|_| yield_now());
        let soon = Instant::now() + Duration::from_millis(10);
        assert!(chan.set(Some(soon), Some(Duration::from_millis(1))));
        let got = [waiting.join().unwrap(), selecting.join().unwrap()];
        assert!(got.contains(&soon) && got.iter().all(|due| *due >= soon));
        assert!(r.close());
        assert!(r.iter().count() <= 1, "what was due when it was closed, and then nothing");
    });
}
