//! Channels, with the names of `crossbeam_channel`, and Go's `close`.

mod case;
mod err;
mod future;
mod iter;
mod macros;
mod ops;
mod receiver;
mod run;
mod select;
mod sender;
mod shared;
mod slot;
#[cfg(test)]
mod tests;
pub(crate) mod timer;

use core::time::Duration;
use std::time::Instant;

pub use crate::{select, select_biased};
pub use err::{
    ReadyTimeoutError, RecvError, RecvTimeoutError, SelectTimeoutError, SendError, SendTimeoutError,
    TryReadyError, TryRecvError, TrySelectError, TrySendError,
};
pub use future::{RecvFuture, SendFuture};
pub use iter::{IntoIter, Iter, TryIter};
pub use receiver::Receiver;
#[doc(hidden)]
pub use select::internal;
pub use select::{Select, SelectedOperation};
pub use sender::Sender;

use timer::TimerChan;

/// A channel that holds at most `cap` values. With 0 it holds none: a send waits until its value is received.
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
    let (sending, receiving) = shared::new(Some(cap));
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
    let (sending, receiving) = shared::new(None);
    (Sender::new(sending), Receiver::new(receiving))
}

/// A receiver that gets one value, the moment it was due, after `duration`. Never moves.
///
/// It costs nothing until it is used: whoever receives before the time waits for it.
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

/// A receiver that gets a value, the moment it was due, each `duration`. Never moves.
///
/// It holds at most one: values that nobody has received in time are not there twice. The next ones stay a whole number of
/// durations away from the first.
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
