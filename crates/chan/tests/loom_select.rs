//! Models of selections: each takes part in exactly one operation, nothing is lost, nobody sleeps
//! for ever.
//!
//! Seen to fail (2026-11-16):
//! - locks taken in the order of the cases, not of their addresses: two selections wait for each
//!   other;
//! - the same lock taken once for each case: a selection waits for itself;
//! - nodes left in the queues of the other channels: peers touch freed memory;
//! - a ticket is claimed by a load and a store: a selection takes part in two operations;
//! - a receiver that accepts an offer does not bind itself to the sender: the value is not
//!   delivered;
//! - a reserved place that is filled stays reserved: the buffer has lost a place.

#![cfg(loom)]

mod support;

use loom::sync::Arc;
use loom::thread;
use support::{Case, End, Model, Patience, Selected, Value, check, select};

fn send(model: &Arc<Model>, n: usize, patience: Patience) -> thread::JoinHandle<bool> {
    let model = model.clone();
    thread::spawn(move || match model.send(Value::new(n), patience) {
        Ok(()) => true,
        Err((value, _)) => {
            assert_eq!(value.open(), n);
            false
        }
    })
}

/// A selection over two channels and a sender on each: it gets one value, the other one is still to
/// be had.
#[test]
fn receives_one_of_two() {
    for capacity in [0, 1] {
        check(3, move || {
            let (a, b) = (Model::bounded(capacity), Model::bounded(capacity));
            let senders = [send(&a, 1, Patience::Endless), send(&b, 2, Patience::Endless)];
            let left = match select(&[Case::recv(&a), Case::recv(&b)], 0, Patience::Endless) {
                Selected::Received(0, 1) => b.recv(Patience::Endless).unwrap().open(),
                Selected::Received(1, 2) => a.recv(Patience::Endless).unwrap().open() + 1,
                other => panic!("{other:?}"),
            };
            assert_eq!(left, 2);
            assert!(senders.into_iter().all(|sender| sender.join().unwrap()));
        });
    }
}

/// As above, with time running out for the selection and for the senders: exactly the values that
/// were sent are received.
#[test]
fn times_out() {
    check(3, || {
        let (a, b) = (Model::bounded(0), Model::bounded(0));
        let senders = [send(&a, 1, Patience::Some), send(&b, 2, Patience::Some)];
        let selected = select(&[Case::recv(&a), Case::recv(&b)], 0, Patience::Some);
        let sent = senders.map(|sender| sender.join().unwrap());
        match selected {
            Selected::Received(0, 1) => assert_eq!(sent, [true, false]),
            Selected::Received(1, 2) => assert_eq!(sent, [false, true]),
            Selected::TimedOut => assert_eq!(sent, [false, false]),
            other => panic!("{other:?}"),
        }
    });
}

/// A selection that sends to one of two channels, with a receiver on each: one receives.
#[test]
fn sends_to_one_of_two() {
    check(3, || {
        let (a, b) = (Model::bounded(0), Model::bounded(0));
        let receivers = [a.clone(), b.clone()]
            .map(|model| thread::spawn(move || model.recv(Patience::Some).map(Value::open)));
        let selected = select(&[Case::send(&a), Case::send(&b)], 7, Patience::Some);
        let got = receivers.map(|receiver| receiver.join().unwrap());
        let nothing = || Err(End::TimedOut);
        match selected {
            Selected::Sent(0) => assert_eq!(got, [Ok(7), nothing()]),
            Selected::Sent(1) => assert_eq!(got, [nothing(), Ok(7)]),
            Selected::TimedOut => assert_eq!(got, [nothing(), nothing()]),
            other => panic!("{other:?}"),
        }
    });
}

/// Two selections meet: one sends, the other receives, over two channels in opposite order.
#[test]
fn two_selections_meet_once() {
    check(3, || {
        let (a, b) = (Model::bounded(0), Model::bounded(0));
        let other = {
            let (a, b) = (a.clone(), b.clone());
            thread::spawn(move || select(&[Case::send(&b), Case::send(&a)], 7, Patience::Endless))
        };
        let here = select(&[Case::recv(&a), Case::recv(&b)], 0, Patience::Endless);
        match (here, other.join().unwrap()) {
            (Selected::Received(0, 7), Selected::Sent(1)) | (Selected::Received(1, 7), Selected::Sent(0)) => {
            }
            other => panic!("{other:?}"),
        }
    });
}

/// A selection that can send or receive on the same channel does not meet itself.
#[test]
fn does_not_meet_itself() {
    check(3, || {
        let a = Model::bounded(0);
        let sender = send(&a, 1, Patience::Some);
        let selected = select(&[Case::send(&a), Case::recv(&a)], 2, Patience::Some);
        match (selected, sender.join().unwrap()) {
            (Selected::Received(1, 1), true) | (Selected::TimedOut, false) => {}
            other => panic!("{other:?}"),
        }
    });
}

/// A selection and a close: the selection ends, by the close or by a value that came first.
#[test]
fn is_told_of_a_close() {
    check(3, || {
        let (a, b) = (Model::bounded(0), Model::bounded(0));
        let closer = {
            let b = b.clone();
            thread::spawn(move || b.close())
        };
        let sender = send(&a, 1, Patience::Some);
        match select(&[Case::recv(&a), Case::recv(&b)], 0, Patience::Endless) {
            Selected::Received(0, 1) => assert!(sender.join().unwrap()),
            Selected::Closed(1) => assert!(!sender.join().unwrap()),
            other => panic!("{other:?}"),
        }
        closer.join().unwrap();
    });
}

/// A selection that has a place in a full buffer reserved for it, a sender behind it, and a
/// receiver: both values arrive.
#[test]
fn a_reserved_place_is_filled() {
    check(3, || {
        let a = Model::bounded(1);
        assert!(a.send(Value::new(1), Patience::None).is_ok());
        let selecting = {
            let a = a.clone();
            thread::spawn(move || select(&[Case::send(&a)], 2, Patience::Endless))
        };
        let sender = send(&a, 3, Patience::Endless);
        let mut got = [(); 3].map(|()| a.recv(Patience::Endless).unwrap().open());
        assert_eq!(got[0], 1);
        got.sort_unstable();
        assert_eq!(got, [1, 2, 3]);
        assert_eq!(selecting.join().unwrap(), Selected::Sent(0));
        assert!(sender.join().unwrap());
        assert!(a.send(Value::new(4), Patience::None).is_ok(), "the place is free again");
    });
}
