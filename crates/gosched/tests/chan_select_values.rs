//! `select!`: the expression for the value of a send may drop, replace or move the sender (S45).
//! Crossbeam compiles these, and uses freed memory.

use gosched::chan::{Sender, bounded, unbounded};
use gosched::{go, select};

/// A request that contains the sender for its answer.
struct Request {
    reply: Sender<Request>,
    n: i32,
}

/// S45: a value whose expression drops the sender is sent all the same, into a buffer or to a
/// waiting receiver; then the channel is closed.
#[gosched::test]
fn a_value_may_drop_its_sender() {
    for capacity in [Some(0), Some(1), None] {
        let (s, r) = capacity.map_or_else(unbounded, bounded);
        let receiver = go(move || (r.recv(), r.recv()));
        select! { send(s, { drop(s); gosched::yield_now(); 1 }) -> res => res.unwrap() }
        let (first, second) = receiver.join().unwrap();
        assert_eq!((first, second.is_err()), (Ok(1), true));
    }
}

/// S45: a value that replaces its sender goes to the one that was there when the selection was
/// made.
#[gosched::test]
fn a_value_may_replace_its_sender() {
    let ((mut s, r), (other, other_end)) = (unbounded(), unbounded());
    select! { send(s, { s = other; 1 }) -> res => res.unwrap(), default => unreachable!() }
    assert_eq!((r.recv(), r.recv().is_err()), (Ok(1), true));
    s.send(2).unwrap();
    assert_eq!(other_end.recv(), Ok(2));
}

/// S45: a value may be what its sender is part of.
#[gosched::test]
fn a_value_may_contain_its_sender() {
    let (reply, r) = unbounded();
    let request = Request { reply, n: 5 };
    select! { send(request.reply, request) -> res => assert!(res.is_ok()) }
    let request = r.recv().unwrap();
    assert!(request.n == 5 && request.reply.send(Request { reply: unbounded().0, n: 6 }).is_ok());
    assert_eq!(r.recv().unwrap().n, 6);
}

/// S45: a value whose expression drops the sender and then panics is not sent; the channel closes,
/// and the receiver learns of it.
#[gosched::test]
fn a_value_may_drop_its_sender_and_panic() {
    fn fail() -> i32 {
        panic!("no value")
    }
    for capacity in [0, 1] {
        let (s, r) = bounded(capacity);
        let receiver = go(move || r.recv());
        let failed = go(move || select! { send(s, { drop(s); fail() }) -> _ => unreachable!() });
        assert!(failed.join().is_err());
        assert!(receiver.join().unwrap().is_err());
    }
}

/// S45: a value whose expression leaves the selection (`?`) panics, as crossbeam's does: a peer may
/// already wait for the value.
#[gosched::test]
#[should_panic(expected = "dropped `SelectedOperation` without completing the operation")]
fn a_value_must_not_leave_the_selection() {
    fn leave(s: &Sender<i32>, value: Option<i32>) -> Option<()> {
        select! { send(s, value?) -> res => res.ok() }
    }
    let (s, _r) = unbounded();
    assert_eq!(leave(&s, Some(1)), Some(()));
    leave(&s, None);
}
