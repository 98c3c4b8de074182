//! Models of one channel: every value arrives once, whole, or comes back; nobody sleeps for ever.
//!
//! Seen to fail (2026-11-16):
//! - a receive from the buffer does not give the place to a waiting sender: that one sleeps for
//!   ever;
//! - `send` puts its value into the buffer though a receiver waits: both sleep for ever;
//! - `end_one` forgets the senders: they sleep for ever at a closed channel;
//! - the lock is released `Relaxed`: the receiver does not see what is in the value;
//! - a ticket is claimed by a load and a store: a value goes to a receiver that has given up.

#![cfg(loom)]

mod support;

use loom::sync::Arc;
use loom::thread;
use support::{End, Model, Patience, Value, check};

fn spawn_send(model: &Arc<Model>, n: usize, patience: Patience) -> thread::JoinHandle<Option<End>> {
    let model = model.clone();
    thread::spawn(move || {
        model.send(Value::new(n), patience).err().map(|(value, end)| {
            assert_eq!(value.open(), n);
            end
        })
    })
}

/// Without a buffer: two senders and a receiver that takes both.
#[test]
fn hand_over() {
    check(3, || {
        let model = Model::bounded(0);
        let senders = [1, 2].map(|n| spawn_send(&model, n, Patience::Endless));
        let got = [(); 2].map(|()| model.recv(Patience::Endless).unwrap().open());
        assert!(got == [1, 2] || got == [2, 1]);
        assert!(senders.into_iter().all(|sender| sender.join().unwrap().is_none()));
    });
}

/// With one place: a sender's values arrive in its order, also when it has to wait for the place.
#[test]
fn buffered_in_order() {
    check(3, || {
        let model = Model::bounded(1);
        let sender = {
            let model = model.clone();
            thread::spawn(move || {
                for n in 1..=3 {
                    assert!(model.send(Value::new(n), Patience::Endless).is_ok());
                }
            })
        };
        assert_eq!([(); 3].map(|()| model.recv(Patience::Endless).unwrap().open()), [1, 2, 3]);
        sender.join().unwrap();
    });
}

/// A receive that frees a place gives it to the waiting sender, which needs no second receive to
/// proceed.
#[test]
fn a_place_goes_to_who_waits() {
    check(3, || {
        let model = Model::bounded(1);
        assert!(model.send(Value::new(1), Patience::None).is_ok());
        let sender = spawn_send(&model, 2, Patience::Endless);
        assert_eq!(model.recv(Patience::Endless).unwrap().open(), 1);
        assert_eq!(sender.join().unwrap(), None);
        let overtakes = model.send(Value::new(3), Patience::None);
        assert_eq!(overtakes.map_err(|(value, end)| (value.open(), end)), Err((3, End::TimedOut)));
        assert_eq!(model.recv(Patience::None).unwrap().open(), 2);
    });
}

/// A receiver whose time runs out, and a sender: the value is received or not, and the sender knows
/// which.
#[test]
fn receiver_times_out() {
    for capacity in [0, 1] {
        check(3, move || {
            let model = Model::bounded(capacity);
            let sender = spawn_send(&model, 7, Patience::Some);
            let got = model.recv(Patience::Some).map(Value::open);
            let sent = sender.join().unwrap();
            match got {
                Ok(n) => assert_eq!((n, sent), (7, None)),
                Err(end) => {
                    assert_eq!(end, End::TimedOut);
                    let left = model.recv(Patience::None).map(Value::open);
                    assert_eq!(left.is_ok(), sent.is_none());
                }
            }
        });
    }
}

/// A close ends every wait, and no value is lost: it was received, is in the buffer, or came back.
#[test]
fn close_against_send_and_receive() {
    for capacity in [0, 1] {
        check(3, move || {
            let model = Model::bounded(capacity);
            let sender = spawn_send(&model, 7, Patience::Endless);
            let closer = {
                let model = model.clone();
                thread::spawn(move || model.close())
            };
            let got = model.recv(Patience::Endless).map(Value::open);
            let sent = sender.join().unwrap();
            closer.join().unwrap();
            match (got, sent) {
                (Ok(7), None) => {}
                (Err(End::Closed), Some(End::Closed)) => {}
                other => panic!("{other:?}"),
            }
            assert_eq!(model.recv(Patience::Endless).map(Value::open), Err(End::Closed));
        });
    }
}

/// A close with nobody to receive: waiting senders are woken, and have their values back.
#[test]
fn a_close_tells_senders() {
    check(3, || {
        let model = Model::bounded(0);
        let senders = [1, 2].map(|n| spawn_send(&model, n, Patience::Endless));
        model.close();
        assert!(senders.into_iter().all(|sender| sender.join().unwrap() == Some(End::Closed)));
    });
}

/// Two receivers, one of which may give up, and one value: it goes to the one that waits.
#[test]
fn a_waiter_that_gives_up_is_passed_over() {
    check(3, || {
        let model = Model::bounded(0);
        let impatient = {
            let model = model.clone();
            thread::spawn(move || model.recv(Patience::Some).map(Value::open))
        };
        let sender = spawn_send(&model, 1, Patience::Endless);
        let got = match impatient.join().unwrap() {
            Ok(n) => n,
            Err(_) => model.recv(Patience::Endless).unwrap().open(),
        };
        assert_eq!((got, sender.join().unwrap()), (1, None));
    });
}
