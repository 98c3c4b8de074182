//! Contexts and channels: what the end of a context does to those who send, receive and select (API: `context`), and the
//! channel that says so, `done`.

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{join_all, within};
use gosched::chan::{
    RecvError, RecvTimeoutError, Select, SendError, SendTimeoutError, TryRecvError, bounded,
};
use gosched::context::{background, enter};
use gosched::{go, select, thread, time};

/// Longer than any test may last: who waits this long to the end has missed something.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// Sends and receives end as if disconnected, and the value comes back; those with a time limit too, not as timed out.
#[gosched::test]
fn sends_and_receives_end_as_if_disconnected() {
    for ended_before in [false, true] {
        let ctx = background().with_cancel();
        let (s, r) = bounded::<String>(0);
        let (full, _r) = bounded::<u8>(1);
        full.send(1).unwrap();
        if ended_before {
            ctx.cancel();
        }
        enter(&ctx, || {
            let (s1, s2, r1, r2) = (s.clone(), full, r.clone(), r.clone());
            let (_t, idle) = bounded::<u8>(0);
            let (idle1, idle2) = (idle.clone(), idle.clone());
            let waits: Vec<gosched::JoinHandle<()>> = vec![
                go(move || assert_eq!(idle1.recv(), Err(RecvError))),
                go(move || assert_eq!(idle2.recv_timeout(FOR_EVER), Err(RecvTimeoutError::Disconnected))),
                go(move || assert_eq!(idle.iter().count(), 0)),
                go(move || assert_eq!(s2.send(7), Err(SendError(7)))),
            ];
            let canceller = {
                let ctx = ctx.clone();
                go(move || {
                    thread::sleep(Duration::from_millis(2));
                    ctx.cancel();
                })
            };
            join_all(waits);
            canceller.join().unwrap();
            drop((r1, r2));
            let sent = s1.send_timeout("back".to_owned(), FOR_EVER);
            assert_eq!(sent, Err(SendTimeoutError::Disconnected("back".to_owned())));
        });
        // The channels themselves are as they were.
        let receiver = go(move || r.recv());
        s.send("through".to_owned()).unwrap();
        assert_eq!(receiver.join().unwrap().as_deref(), Ok("through"));
    }
}

/// A `select` ends as one of its operations disconnected.
#[gosched::test]
fn a_select_ends_as_one_of_its_operations_disconnected() {
    let ctx = background().with_timeout(Duration::from_millis(3));
    let (s, r) = bounded::<u8>(0);
    let (s2, _r2) = bounded::<u8>(0);
    enter(&ctx, || {
        let received = select! { recv(r) -> value => value.is_ok() };
        assert!(!received);
        let sent = select! { send(s2, 5) -> sent => sent.map_err(|error| error.into_inner()) };
        assert_eq!(sent, Err(5));
        let mut select = Select::new();
        select.recv(&r);
        let operation = select.select();
        assert!(operation.recv(&r).is_err());
    });
    let sender = go(move || s.send(9));
    assert_eq!(r.recv(), Ok(9));
    sender.join().unwrap().unwrap();
}

/// What is ready at once succeeds under a context that has ended: channels.
#[gosched::test]
fn what_is_ready_in_a_channel_succeeds() {
    let ctx = background().with_cancel();
    let (s, r) = bounded::<u8>(2);
    let (rendezvous, meets) = bounded::<u8>(0);
    s.send(1).unwrap();
    let waiting = go(move || meets.recv());
    while rendezvous.try_send(9).is_err() {
        thread::yield_now();
    }
    assert_eq!(waiting.join().unwrap(), Ok(9));
    ctx.cancel();
    enter(&ctx, || {
        assert_eq!(r.recv(), Ok(1));
        s.send(2).unwrap();
        assert_eq!(select! { recv(r) -> value => value }, Ok(2));
        assert!(select! { send(s, 3) -> sent => sent.is_ok() });
        assert_eq!(r.try_recv(), Ok(3));
        assert!(r.recv().is_err());
    });
}

/// No value is lost between a send and the end of its context: it is received, or it comes back.
#[test]
fn values_against_cancellation() {
    within(Duration::from_secs(60), || {
        for round in 0..400_u64 {
            let ctx = background().with_cancel();
            let (s, r) = bounded::<u64>((round % 3) as usize);
            let sender = enter(&ctx, || go(move || s.send(round)));
            let receiver = go(move || r.recv());
            if round % 2 == 0 {
                gosched::run(|| time::sleep(Duration::from_micros(round % 20)).unwrap());
            }
            ctx.cancel();
            match sender.join().unwrap() {
                Ok(()) => assert_eq!(receiver.join().unwrap(), Ok(round)),
                Err(back) => {
                    assert_eq!(back.into_inner(), round);
                    assert!(receiver.join().unwrap().is_err());
                }
            }
        }
    });
}

/// `done` is closed at the end, for those who wait and those who come later; of the background it never is.
#[gosched::test]
fn done_is_closed_at_the_end() {
    let parent = background().with_cancel();
    let ctx = parent.with_value(1).with_timeout(FOR_EVER);
    let done = ctx.done();
    assert!(done.same_channel(&ctx.done()));
    assert_eq!(done.try_recv(), Err(TryRecvError::Empty));
    let waiters = vec![go({
        let done = done.clone();
        move || done.recv().is_err()
    })];
    thread::yield_now();
    parent.cancel();
    assert!(join_all(waiters).into_iter().all(|ended| ended));
    assert!(done.recv().is_err() && done.is_closed());
    assert!(ctx.done().recv().is_err() && parent.done().recv().is_err());
    assert_eq!(parent.with_cancel().done().try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(background().done().try_recv(), Err(TryRecvError::Empty));
}

/// Whoever has `done` need not keep the context: it is closed at the end all the same, and not before.
#[gosched::test]
fn done_outlives_the_handle() {
    let began = Instant::now();
    let done = background().with_timeout(Duration::from_millis(5)).done();
    assert!(done.recv().is_err());
    assert!(began.elapsed() >= Duration::from_millis(5));
    let parent = background().with_cancel();
    let done = parent.with_value(1).with_cancel().done();
    assert_eq!(done.try_recv(), Err(TryRecvError::Empty));
    parent.cancel();
    assert!(done.recv().is_err());
    let value = Arc::new(());
    let done = background().with_value(Arc::clone(&value)).done();
    assert_eq!(Arc::strong_count(&value), 2);
    drop(done);
    assert_eq!(Arc::strong_count(&value), 1);
}
