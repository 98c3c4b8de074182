//! `select!`, `select_biased!` and `Select`: exactly one, fairly, in the order of evaluation that
//! crossbeam has (S45).

mod common;

use std::cell::RefCell;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::join_all;
use gosched::chan::{
    Receiver, RecvError, Select, SendError, Sender, TryRecvError, after, bounded, never, never_sender, tick,
    unbounded,
};
use gosched::context::{background, enter};
use gosched::{go, select, select_biased};

const BRIEF: Duration = Duration::from_millis(1);

/// S45: each case that is ready is chosen about as often as the others, whatever else is in the
/// selection.
#[gosched::test]
fn fair_among_the_ready() {
    const ROUNDS: usize = 6_000;
    let (s1, r1) = unbounded();
    let (s2, r2) = bounded(1);
    let (gone, r3) = bounded::<u32>(0);
    let (_s4, r4) = bounded::<u32>(0);
    drop(gone);
    let mut hits = [0; 4];
    for _ in 0..ROUNDS {
        if r1.is_empty() {
            s1.send(1).unwrap();
        }
        select! {
            recv(r4) -> _ => unreachable!(),
            recv(r1) -> msg => { msg.unwrap(); hits[0] += 1 }
            send(s2, 2) -> res => { res.unwrap(); r2.recv().unwrap(); hits[1] += 1 }
            recv(never::<u32>()) -> _ => unreachable!(),
            recv(r3) -> msg => { assert_eq!(msg, Err(RecvError)); hits[2] += 1 }
            recv(after(Duration::ZERO)) -> _ => hits[3] += 1,
        }
    }
    assert!(hits.iter().all(|hits| *hits > ROUNDS / 4 * 8 / 10), "{hits:?}");
}

/// S45: fair also when it has to wait, among cases on one channel.
#[gosched::test]
fn fair_among_those_that_wait() {
    let (s, r) = bounded(0);
    let sender = go(move || (0..4_000).for_each(|n| s.send(n).unwrap()));
    let mut hits = [0; 3];
    for _ in 0..4_000 {
        select! {
            recv(r) -> _ => hits[0] += 1,
            recv(r) -> _ => hits[1] += 1,
            recv(r) -> _ => hits[2] += 1,
        }
    }
    sender.join().unwrap();
    assert!(hits.iter().all(|hits| *hits > 1_000), "{hits:?}");
}

/// S45: the biased ones take the first that is ready.
#[gosched::test]
fn biased_is_biased() {
    let (s, r) = unbounded();
    for n in 0..100 {
        s.send(n).unwrap();
        select_biased! {
            recv(never::<u32>()) -> _ => unreachable!(),
            recv(r) -> msg => assert_eq!(msg, Ok(n)),
            send(s, 7) -> _ => unreachable!(),
        }
        let mut sel = Select::new_biased();
        let send = sel.send(&s);
        sel.send(&s);
        let oper = sel.select();
        assert_eq!(oper.index(), send);
        oper.send(&s, n).unwrap();
        assert_eq!(r.recv(), Ok(n));
    }
}

/// S45: selections on both sides of four channels, some of which give up: what was sent was
/// received, once.
#[gosched::test(timeout = "120s")]
fn exactly_one() {
    for capacity in [0, 1, 3] {
        let channels: Vec<(Sender<u64>, Receiver<u64>)> = (0..4).map(|_| bounded(capacity)).collect();
        let (done, all_sent) = bounded::<()>(0);
        let senders: Vec<_> = (0..8u64)
            .map(|n| {
                let s: Vec<_> = channels.iter().map(|(s, _)| s.clone()).collect();
                go(move || {
                    let mut sum = 0;
                    for value in 1..=500 {
                        let value = n * 1000 + value;
                        let sent = select! {
                            send(s[0], value) -> res => res,
                            send(s[3], value) -> res => res,
                            send(s[1], value) -> res => res,
                            send(s[2], value) -> res => res,
                            default(Duration::from_micros(100)) => continue,
                        };
                        sent.unwrap();
                        sum += value;
                    }
                    sum
                })
            })
            .collect();
        let receivers: Vec<_> = (0..8)
            .map(|n| {
                let r: Vec<_> = channels.iter().map(|(_, r)| r.clone()).collect();
                let all_sent = all_sent.clone();
                let receive = move || {
                    let mut sum = 0;
                    loop {
                        sum += select! {
                            recv(r[2]) -> msg => msg.unwrap(),
                            recv(r[1]) -> msg => msg.unwrap(),
                            recv(all_sent) -> _ => break,
                            recv(r[0]) -> msg => msg.unwrap(),
                            recv(r[3]) -> msg => msg.unwrap(),
                        };
                    }
                    sum
                };
                if n == 0 { go(move || std::thread::spawn(receive).join().unwrap()) } else { go(receive) }
            })
            .collect();
        let sent: u64 = join_all(senders).into_iter().sum();
        while channels.iter().any(|(_, r)| !r.is_empty()) {
            gosched::yield_now();
        }
        drop(done);
        assert_eq!(join_all(receivers).into_iter().sum::<u64>(), sent);
    }
}

/// S45: handles are evaluated in the order written, then the time-out. The value of a send is
/// evaluated last, and only if its case is selected.
#[gosched::test]
fn order_of_evaluation() {
    let (s, r) = bounded(1);
    let log = RefCell::new(Vec::new());
    let note = |what: &'static str| log.borrow_mut().push(what);
    for _ in 0..2 {
        select! {
            recv({ note("receiver"); &r }) -> msg => { msg.unwrap(); note("received") }
            send({ note("sender"); &s }, { note("value"); 1 }) -> res => { res.unwrap(); note("sent") }
            default({ note("timeout"); BRIEF }) => unreachable!(),
        }
    }
    let first = ["receiver", "sender", "timeout", "value", "sent"];
    let second = ["receiver", "sender", "timeout", "received"];
    assert_eq!(log.into_inner(), [&first[..], &second].concat());
}

/// S45: the whole grammar: commas or none, blocks, patterns, control flow out of the bodies,
/// handles of all kinds.
#[gosched::test]
fn grammar() {
    fn early(r: &Receiver<u32>) -> Result<u32, RecvError> {
        select! {
            recv(r) -> msg => { let n = msg?; return Ok(n + 1) }
            default => {}
        }
        Ok(0)
    }
    let (s, r) = unbounded();
    assert_eq!(early(&r), Ok(0));
    s.send(1).unwrap();
    assert_eq!(early(&r), Ok(2));

    let boxed = Box::new(r.clone());
    let shared = std::sync::Arc::new(s.clone());
    let mut rounds = 0;
    loop {
        rounds += 1;
        select! {
            recv(boxed,) -> msg => if msg == Ok(9) { break } else { continue },
            send(*shared, 9,) -> _ => {}
            default(Duration::from_secs(1),) => unreachable!(),
        }
    }
    assert!(rounds >= 2);
    boxed.try_iter().for_each(drop);

    let (s, r) = bounded(1);
    s.send((1, "one")).unwrap();
    let text = select! {
        recv(r) -> mut msg => {
            msg = msg.map(|(n, text)| (n + 1, text));
            match msg { Ok((2, text)) => text, _ => "another" }
        }
    };
    assert_eq!(text, "one");
    let moved = String::from("only if it is sent");
    let (s, _r) = bounded(0);
    let back = select! { send(s, moved) -> _ => unreachable!(), default => moved };
    assert_eq!(back, "only if it is sent");
}

/// S45: selections with nothing but `default` or a time-out, and an empty `Select`.
#[gosched::test]
fn nothing_to_select() {
    assert_eq!(select! { default => 1 }, 1);
    let began = Instant::now();
    assert_eq!(select! { default(Duration::from_millis(10)) => 2 }, 2);
    assert!(began.elapsed() >= Duration::from_millis(10));
    assert!(Select::new().try_select().is_err() && Select::new().try_ready().is_err());
    assert!(Select::new().select_timeout(BRIEF).is_err() && Select::new().ready_timeout(BRIEF).is_err());
}

/// S45: more cases than a selection keeps in its frame (8): the rest is on the heap.
#[gosched::test]
fn many_cases() {
    let channels: Vec<(Sender<usize>, Receiver<usize>)> = (0..100).map(|_| bounded(0)).collect();
    let receivers: Vec<Receiver<usize>> = channels.iter().map(|(_, r)| r.clone()).collect();
    let selecting = go(move || {
        let mut got = Vec::new();
        let mut sel = Select::new();
        receivers.iter().for_each(|r| {
            sel.recv(r);
        });
        for _ in 0..100 {
            let oper = sel.select();
            let index = oper.index();
            got.push((index, oper.recv(&receivers[index]).unwrap()));
            sel.remove(index);
        }
        got
    });
    let senders: Vec<_> =
        channels.into_iter().enumerate().map(|(n, (s, _r))| go(move || s.send(n).unwrap())).collect();
    let mut got = selecting.join().unwrap();
    got.sort_unstable();
    assert_eq!(got, (0..100).map(|n| (n, n)).collect::<Vec<_>>());
    join_all(senders);
}

/// S45: removing an operation does not change the numbers of the others.
#[gosched::test]
fn numbers_stay() {
    let (s, r) = unbounded();
    let (other, _r) = unbounded::<u8>();
    let mut sel = Select::new();
    assert_eq!((sel.send(&other), sel.recv(&r), sel.recv(&r)), (0, 1, 2));
    sel.remove(0);
    sel.remove(1);
    assert_eq!(sel.recv(&r), 3);
    let mut copy = sel.clone();
    s.send(1).unwrap();
    let index = copy.ready();
    assert!(index == 2 || index == 3);
    copy.remove(2);
    assert_eq!(copy.try_ready(), Ok(3));
    assert_eq!(copy.select().recv(&r), Ok(1));
    assert_eq!(format!("{copy:?}"), "Select { .. }");
    let panics = |index: usize| {
        let mut sel = sel.clone();
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || sel.remove(index)));
        let panic = failed.unwrap_err();
        panic
            .downcast_ref::<String>()
            .cloned()
            .unwrap_or_else(|| panic.downcast_ref::<&str>().unwrap().to_string())
    };
    assert_eq!(panics(4), "index out of bounds; 4 >= 4");
    assert_eq!(panics(0), "no operation with this index");
}

/// S45: `ready` waits until an operation is ready, and gives up at its time-out.
#[gosched::test]
fn ready_waits() {
    let (s, r) = bounded(0);
    let (full, rest) = bounded(1);
    full.send(0).unwrap();
    let mut sel = Select::new();
    let (receive, send) = (sel.recv(&r), sel.send(&full));
    assert!(sel.try_ready().is_err() && sel.ready_timeout(BRIEF).is_err());
    assert!(sel.ready_deadline(Instant::now() + BRIEF).is_err());
    let sender = go(move || s.send(1));
    assert_eq!(sel.ready(), receive);
    assert_eq!(r.recv(), Ok(1));
    sender.join().unwrap().unwrap();
    sel.remove(receive);
    let receiver = go(move || rest.recv().map(|_| rest));
    assert_eq!(sel.ready(), send);
    let rest = receiver.join().unwrap().unwrap();
    assert_eq!(full.try_send(1), Ok(()));
    drop(rest);
    assert_eq!(sel.ready(), send);
    assert_eq!(sel.select().send(&full, 2), Err(SendError(2)));
}

/// S45: channels of time in a selection: the earliest ends the wait.
#[gosched::test]
fn time_in_selections() {
    let (_s, r) = bounded::<u32>(0);
    let (began, ticker) = (Instant::now(), tick(Duration::from_millis(3)));
    let mut ticks = 0;
    let end = after(Duration::from_millis(30));
    let elapsed = loop {
        select! {
            recv(ticker) -> _ => ticks += 1,
            recv(r) -> _ => unreachable!(),
            recv(end) -> due => break due.unwrap() - began,
            recv(after(Duration::from_secs(3600))) -> _ => unreachable!(),
        }
    };
    let most = began.elapsed().as_millis() / 3;
    assert!(elapsed >= Duration::from_millis(30) && ticks <= most, "{elapsed:?}, {ticks} ticks");
    assert_eq!(end.try_recv(), Err(TryRecvError::Empty));
    let until = Instant::now() + Duration::from_millis(5);
    let mut sel = Select::new();
    sel.recv(&r);
    assert!(sel.select_deadline(until).is_err());
    assert!(Instant::now() >= until);
}

/// D1: tries never move their goroutine, whatever they meet.
#[gosched::test]
fn trying_never_moves() {
    let (s, r) = bounded(0);
    let senders: Vec<_> = (0..4)
        .map(|_| {
            let s = s.clone();
            go(move || (0..100).for_each(|n| select! { send(s, n) -> res => res.unwrap() }))
        })
        .collect();
    let mut received = 0;
    while received < 400 {
        let thread = common::tid();
        let got = match received % 2 {
            0 => r.try_recv().is_ok(),
            _ => {
                let mut sel = Select::new();
                sel.recv(&r);
                sel.try_select().is_ok_and(|oper| oper.recv(&r).is_ok())
            }
        };
        assert_eq!(common::tid(), thread);
        if got {
            received += 1;
        } else {
            gosched::yield_now();
        }
    }
    join_all(senders);
}

/// No send on it completes, in whichever way; values come back, and the channel is never closed.
#[gosched::test]
fn a_sender_on_which_no_send_completes() {
    let s = never_sender();
    let value = Arc::new(1);
    assert!(s.try_send(Arc::clone(&value)).is_err_and(|error| error.is_full()));
    assert!(s.send_timeout(Arc::clone(&value), BRIEF).is_err_and(|error| error.is_timeout()));
    let ctx = background().with_timeout(BRIEF);
    assert!(enter(&ctx, || s.send_ctx(Arc::clone(&value))).is_err_and(|error| error.is_done()));
    assert!(!s.close() && !s.clone().is_closed());
    assert_eq!((s.capacity(), s.len(), s.is_full()), (Some(0), 0, true));
    assert!(!s.same_channel(&never_sender()));
    let (other, r) = bounded(1);
    for _ in 0..100 {
        select! {
            send(s, Arc::clone(&value)) -> _ => unreachable!(),
            send(other, 1) -> sent => sent.unwrap(),
        }
        select! {
            send(s, Arc::clone(&value)) -> _ => unreachable!(),
            recv(r) -> one => assert_eq!(one, Ok(1)),
        }
        select! {
            send(s, Arc::clone(&value)) -> _ => unreachable!(),
            default => {}
        }
    }
    select! {
        send(s, Arc::clone(&value)) -> _ => unreachable!(),
        default(BRIEF) => {}
    }
    let mut pending = Box::pin(s.send_async(Arc::clone(&value)));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(pending.as_mut().poll(&mut cx).is_pending());
    drop(pending);
    drop(s);
    assert_eq!(Arc::strong_count(&value), 1);
}
