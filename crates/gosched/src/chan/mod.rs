//! Channels, with the names of `crossbeam_channel`, for goroutines, threads and async tasks alike;
//! and Go's `close`.
//!
//! ```
//! use gosched::chan::{bounded, unbounded};
//! use gosched::{go, select};
//!
//! let (jobs, work) = bounded(2); // holds two, then senders wait
//! let (results, sums) = unbounded();
//! for _ in 0..3 {
//!     let (work, results) = (work.clone(), results.clone());
//!     go(move || work.iter().for_each(|n: u64| results.send(n * n).unwrap()));
//! }
//! drop(results);
//! go(move || (1..=10).for_each(|n| jobs.send(n).unwrap())); // and then `jobs` is dropped: the workers end
//!
//! let mut sum = 0;
//! loop {
//!     select! {
//!         recv(sums) -> square => match square {
//!             Ok(square) => sum += square,
//!             Err(_) => break, // all workers have ended
//!         },
//!         default(std::time::Duration::from_secs(5)) => panic!("nothing for five seconds"),
//!     }
//! }
//! assert_eq!(sum, 385);
//! ```
//!
//! A goroutine that waits is parked, and its thread runs others; a thread that is not ours is
//! blocked; an async task ([`send_async`](Sender::send_async),
//! [`recv_async`](Receiver::recv_async)) is woken through its waker. They may all use the same
//! channel. A value goes directly to a receiver that waits, and not through the buffer.
//!
//! **First come, first served.** Waiters get their turn in the order in which they came, even
//! senders that wait for a place in a buffer: nobody overtakes them.
//!
//! **The end.** A channel is closed when all its senders or all its receivers are gone, or by
//! [`close`](Sender::close). Then receivers get what is in it and after that errors; senders get
//! their values back.
//!
//! **Contexts** have no effect on plain operations: they are the same whether the current
//! [context](crate::context) has ended or not. [`recv_ctx`](Receiver::recv_ctx),
//! [`iter_ctx`](Receiver::iter_ctx) and [`send_ctx`](Sender::send_ctx) wait no longer than the
//! context lasts; their errors tell a closed channel from a context that has ended. In `select!`
//! the context is a case, as in Go: `recv(context::current().done()) -> _ => …`.
//!
//! # Coming from Go
//!
//! | Go | here |
//! |---|---|
//! | `c := make(chan T)` | `let (s, r) = bounded(0)` |
//! | `c := make(chan T, n)` | `let (s, r) = bounded(n)` |
//! | `c <- v` | `s.send(v)`; on a closed channel an error with the value, no panic |
//! | `v := <-c` | `r.recv()` |
//! | `v, ok := <-c` | `match r.recv() { Ok(v) => .., Err(_) => .. }` |
//! | `for v := range c` | `for v in &r` |
//! | `close(c)` | [`s.close()`](Sender::close), or let the last sender go; closing twice is no panic, it returns `false` |
//! | `len(c)`, `cap(c)` | `r.len()`, `r.capacity()` |
//! | `select { case v := <-a: f(v) case b <- w: g() }` | `select! { recv(a) -> v => f(v), send(b, w) -> res => g() }` |
//! | `select { ... default: h() }` | `select! { ..., default => h() }` |
//! | `select { ... case <-time.After(d): h() }` | `select! { ..., default(d) => h() }`, or `recv(after(d)) -> _ => h()` |
//! | `select {}` | `select! {}` |
//! | `reflect.Select` | [`Select`] |
//! | `select { case v := <-c: f(v) case <-ctx.Done(): return ctx.Err() }` | [`f(r.recv_ctx()?)`](Receiver::recv_ctx), or the `select!` |
//! | a nil channel in a `select` | [`never()`](never()), [`never_sender()`](never_sender) |
//! | `time.After(d)`, `time.Tick(d)` | [`after(d)`](after), [`tick(d)`](tick) |
//!
//! In Go the value of a `case b <- w` is computed before the selection, here only if the case is
//! selected. A channel here has two ends: keep clones of the ones you need. A forgotten clone keeps
//! the channel open: then use `close`.
//!
//! # Coming from crossbeam
//!
//! `use gosched::chan as crossbeam_channel;` and everything compiles and behaves as before: all
//! names, errors and their texts, the grammar of the macros. What is different:
//!
//! | crossbeam | here |
//! |---|---|
//! | a waiting thread sleeps | a waiting goroutine is parked; on other threads as in crossbeam |
//! | senders that wait for a place compete for it | first come, first served |
//! | – | [`Sender::close`], [`Receiver::close`], `is_closed` |
//! | – | [`never_sender`] |
//! | – | [`send_async`](Sender::send_async), [`recv_async`](Receiver::recv_async) |
//! | – | [`send_ctx`](Sender::send_ctx), [`recv_ctx`](Receiver::recv_ctx), [`iter_ctx`](Receiver::iter_ctx) |
//! | `select! {}` does not compile | waits for ever |
//! | a send's value that panics in `select!` ends the process | the panic is propagated; the receiver that was to get the value keeps waiting |
//! | a send's value in `select!` that drops or replaces its sender uses freed memory | it is sent to the channel that was selected |
//! | a time-out or operand in `select!` that drops or replaces another operand uses freed memory | does not compile |
//! | [`tick`] counts its period from when a value was received late | stays a whole number of periods away from the first |
//!
//! # Moving calls
//!
//! Calls that may wait are moving calls (see the [crate's page](crate#moving-calls)): `send`,
//! `recv`, their variants with a time limit or a context, iterating, `select!` and `Select`'s
//! waiting methods. `try_send`, `try_recv`, `try_select`, `try_ready`, `close`, `len`, clones and
//! drops never move.
//!
//! In one case a call that never moves has to wait: `try_recv` and `try_select` on a channel
//! without a buffer at which a `select!` waits to send. That `select!` computes its value only
//! then, and the calling thread is blocked meanwhile.

mod case;
pub(crate) mod change;
mod err;
mod future;
#[doc(hidden)]
pub mod internal;
mod iter;
mod macros;
pub(crate) mod ops;
pub(crate) mod patience;
mod receiver;
mod run;
mod select;
mod sender;
mod shared;
mod stand_in;
#[cfg(test)]
mod tests;
pub(crate) mod timer;
mod value_slot;

use core::time::Duration;
use std::time::Instant;

pub use crate::{select, select_biased};
pub use err::{
    ReadyTimeoutError, RecvError, RecvTimeoutError, SelectTimeoutError, SendError, SendTimeoutError,
    TryReadyError, TryRecvError, TrySelectError, TrySendError,
};
pub use future::{RecvFuture, SendFuture};
pub use iter::{IntoIter, Iter, IterCtx, TryIter};
pub use receiver::Receiver;
pub use select::{Select, SelectedOperation};
pub use sender::Sender;

pub(crate) use shared::ReceiversGone;
use timer::TimerChan;

/// A channel that holds at most `cap` values. With 0 it holds none: a send waits until its value is
/// received.
///
/// Never moves.
///
/// ```
/// use gosched::chan::bounded;
///
/// let (s, r) = bounded(1);
/// let sender = gosched::go(move || {
///     s.send(1).unwrap();
///     s.send(2).unwrap(); // waits until 1 is received
/// });
/// assert_eq!((r.recv(), r.recv()), (Ok(1), Ok(2)));
/// sender.join().unwrap();
/// ```
pub fn bounded<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    let (sending, receiving) = shared::new(Some(cap), None);
    (Sender::new(sending), Receiver::new(receiving))
}

/// As [`bounded`]; `gone` is told when nobody will receive any more.
pub(crate) fn bounded_until<T>(cap: usize, gone: ReceiversGone) -> (Sender<T>, Receiver<T>) {
    let (sending, receiving) = shared::new(Some(cap), Some(gone));
    (Sender::new(sending), Receiver::new(receiving))
}

/// A channel that holds any number of values: a send never waits.
///
/// Never moves.
///
/// ```
/// use gosched::chan::unbounded;
///
/// let (s, r) = unbounded();
/// (0..1000).for_each(|n| s.send(n).unwrap());
/// assert_eq!(r.recv(), Ok(0));
/// ```
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    let (sending, receiving) = shared::new(None, None);
    (Sender::new(sending), Receiver::new(receiving))
}

/// A receiver that gets one value after `duration`: the moment at which it was due. Never moves.
///
/// No timer runs until somebody waits for the value.
///
/// ```
/// use gosched::chan::{after, unbounded};
/// use gosched::select;
/// use std::time::Duration;
///
/// let (_s, r) = unbounded::<i32>();
/// select! {
///     recv(r) -> _ => unreachable!(),
///     recv(after(Duration::from_millis(5))) -> _ => println!("timed out"),
/// }
/// ```
pub fn after(duration: Duration) -> Receiver<Instant> {
    Instant::now().checked_add(duration).map_or_else(never, at)
}

/// A receiver that gets one value, `when` itself, at that moment. Never moves.
///
/// ```
/// use gosched::chan::at;
/// use std::time::{Duration, Instant};
///
/// let when = Instant::now() + Duration::from_millis(5);
/// assert_eq!(at(when).recv(), Ok(when));
/// assert!(Instant::now() >= when);
/// ```
pub fn at(when: Instant) -> Receiver<Instant> {
    Receiver::of_time(TimerChan::new(Some(when), None))
}

/// A receiver that never gets a value, and is never closed. Never moves.
///
/// ```
/// use gosched::chan::{TryRecvError, never};
///
/// assert_eq!(never::<i32>().try_recv(), Err(TryRecvError::Empty));
/// ```
pub const fn never<T>() -> Receiver<T> {
    Receiver::never()
}

/// A sender on which no send ever completes: there is no receiver, and it is never closed. For a
/// `select!` whose case is to be switched off, as a nil channel is in Go. Never moves.
///
/// ```
/// use gosched::chan::{TrySendError, bounded, never_sender};
/// use gosched::select;
///
/// assert_eq!(never_sender().try_send(1), Err(TrySendError::Full(1)));
///
/// let (out, _r) = bounded(1);
/// for ready in [true, false] {
///     let out = if ready { out.clone() } else { never_sender() };
///     select! {
///         send(out, "value") -> sent => sent.unwrap(),
///         default => assert!(!ready),
///     }
/// }
/// ```
pub fn never_sender<T>() -> Sender<T> {
    Sender::new(shared::new_without_receiver())
}

/// A receiver that gets a value each `duration`: the moment at which it was due. Never moves.
///
/// It holds at most one value: a receiver that comes late gets one for all that it has missed.
/// Later values stay a whole number of durations away from the first.
///
/// ```
/// use gosched::chan::tick;
/// use std::time::{Duration, Instant};
///
/// let (start, ticker) = (Instant::now(), tick(Duration::from_millis(5)));
/// ticker.recv().unwrap();
/// ticker.recv().unwrap();
/// assert!(start.elapsed() >= Duration::from_millis(10));
/// ```
pub fn tick(duration: Duration) -> Receiver<Instant> {
    match Instant::now().checked_add(duration) {
        Some(first) => Receiver::of_time(TimerChan::new(Some(first), Some(duration))),
        None => never(),
    }
}
