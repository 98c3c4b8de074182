//! `sync::mpsc`: std's API over our channels (S18, S44).

mod common;

use std::time::Duration;

use common::{child, join_all};
use gosched::sync::mpsc::{
    Receiver, RecvError, RecvTimeoutError, SendError, Sender, SyncSender, TryRecvError, TrySendError,
    channel, sync_channel,
};
use gosched::{context, go, yield_now};

/// A sender of either kind.
#[derive(Clone)]
enum Tx {
    Endless(Sender<(u32, u32)>),
    Bounded(SyncSender<(u32, u32)>),
}

impl Tx {
    fn pair(bound: Option<usize>) -> (Tx, Receiver<(u32, u32)>) {
        match bound {
            None => {
                let (tx, rx) = channel();
                (Tx::Endless(tx), rx)
            }
            Some(n) => {
                let (tx, rx) = sync_channel(n);
                (Tx::Bounded(tx), rx)
            }
        }
    }

    fn send_all(self, id: u32) {
        for n in 0..200 {
            match &self {
                Tx::Endless(tx) => tx.send((id, n)).unwrap(),
                Tx::Bounded(tx) => tx.send((id, n)).unwrap(),
            }
        }
    }
}

/// Everything that was sent is received, each sender's in its order; goroutines and threads.
#[test]
fn everything_arrives() {
    let arrives = child("everything_arrives", || {
        gosched::run(|| {
            for bound in [None, Some(0), Some(1), Some(16)] {
                let (tx, rx) = Tx::pair(bound);
                let senders: Vec<_> = (0..4)
                    .map(|id| {
                        let tx = tx.clone();
                        go(move || tx.send_all(id))
                    })
                    .collect();
                let thread = std::thread::spawn(move || tx.send_all(4));
                let mut next = [0; 5];
                for (sender, n) in rx {
                    assert_eq!(n, next[sender as usize]);
                    next[sender as usize] += 1;
                }
                assert_eq!(next, [200; 5]);
                join_all(senders);
                thread.join().unwrap();
            }
        });
    });
    for procs in [1, 2, 8] {
        arrives.clone().procs(procs).run().ok();
    }
}

/// Errors are std's own, with the value inside.
#[gosched::test]
fn errors_are_those_of_std() {
    let (tx, rx) = channel();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(rx.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout));
    tx.send(1).unwrap();
    drop(tx);
    assert_eq!(rx.iter().collect::<Vec<_>>(), [1]);
    let std_error: std::sync::mpsc::RecvError = rx.recv().unwrap_err();
    assert_eq!(std_error, RecvError);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    let (tx, rx) = sync_channel(1);
    tx.send(1).unwrap();
    assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!(rx.try_iter().collect::<Vec<_>>(), [1]);
    drop(rx);
    assert_eq!(tx.send(3), Err(SendError(3)));
    assert_eq!(tx.try_send(4), Err(TrySendError::Disconnected(4)));
    let (tx, rx) = channel::<u8>();
    let (std_tx, std_rx) = std::sync::mpsc::channel::<u8>();
    assert_eq!(
        format!("{tx:?} {rx:?} {:?}", rx.iter()),
        format!("{std_tx:?} {std_rx:?} {:?}", std_rx.iter())
    );
}

/// A context that ends does not end a receive.
#[gosched::test]
fn a_context_does_not_end_a_receive() {
    let (tx, rx) = channel();
    let ctx = context::background().with_cancel();
    tx.send(1).unwrap();
    let receiver = context::enter(&ctx, || go(move || (rx.recv(), rx.recv())));
    yield_now();
    ctx.cancel();
    yield_now();
    assert!(!receiver.is_finished());
    tx.send(2).unwrap();
    assert_eq!(receiver.join().unwrap(), (Ok(1), Ok(2)));
}

/// A receiver drops the values that were not received.
#[gosched::test]
fn a_receiver_drops_the_rest() {
    let (tx, rx) = channel();
    let value = std::sync::Arc::new(());
    for _ in 0..10 {
        tx.send(std::sync::Arc::clone(&value)).unwrap();
    }
    drop(rx);
    assert_eq!(std::sync::Arc::strong_count(&value), 1);
    assert!(tx.send(value).is_err());
}
