//! `Timer` and `Ticker`, by Go 1.23's rules. A timer channel (`chan::timer`) with a handle that can
//! stop and reset it, or a function that runs in its own goroutine (`func`).

use core::fmt;
use core::panic::{Location, RefUnwindSafe, UnwindSafe};
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use super::func::{TimerFunc, Was};
use crate::chan::timer::TimerChan;
use crate::chan::{Receiver, never};
use crate::clock::{instant_after, when_after};
use crate::context;

/// One event in the future: a value on a channel, or a function that is run.
///
/// Any thread or goroutine can stop and reset it; clones are the same timer. After
/// [`stop`](Timer::stop) or [`reset`](Timer::reset) nobody receives a value that was due before;
/// there is nothing to drain. Nothing here is a moving call, except receiving from
/// [`receiver`](Timer::receiver). Dropping it does not stop it.
///
/// ```
/// use gosched::time::{Duration, Timer};
///
/// gosched::run(|| {
///     let timer = Timer::new(Duration::from_millis(1));
///     timer.receiver().recv().unwrap();
///     assert!(!timer.reset(Duration::from_secs(3600))); // it had fired
///     assert!(timer.stop()); // it had not
/// });
/// ```
#[derive(Clone)]
pub struct Timer {
    receiver: Receiver<Instant>,
    source: TimerSource,
}

#[derive(Clone)]
enum TimerSource {
    Channel(Arc<TimerChan>),
    Func(Arc<TimerFunc>),
}

impl UnwindSafe for Timer {}
impl RefUnwindSafe for Timer {}

impl Timer {
    /// A timer that sends on its channel when `d` has passed.
    ///
    /// ```
    /// use gosched::time::{Duration, Instant, Timer};
    ///
    /// gosched::run(|| {
    ///     let began = Instant::now();
    ///     let due = Timer::new(Duration::from_millis(2)).receiver().recv().unwrap();
    ///     assert!(due >= began + Duration::from_millis(2));
    /// });
    /// ```
    #[must_use]
    pub fn new(d: Duration) -> Timer {
        let chan = TimerChan::new(Some(instant_after(d)), None);
        Timer { receiver: Receiver::of_time(Arc::clone(&chan)), source: TimerSource::Channel(chan) }
    }

    /// A timer that runs `f` in a new goroutine when `d` has passed, under the caller's context.
    /// Until then it costs no stack.
    ///
    /// [`reset`](Timer::reset) can make it run `f` again. If `f` is still running then, the same
    /// goroutine runs it once more when it has returned. An `f` that has panicked is not run again.
    ///
    /// ```
    /// use gosched::chan;
    /// use gosched::time::{Duration, Timer};
    ///
    /// gosched::run(|| {
    ///     let (s, r) = chan::unbounded();
    ///     let timer = Timer::after_func(Duration::from_millis(1), move || s.send("ring").unwrap());
    ///     assert_eq!(r.recv(), Ok("ring"));
    ///     assert!(!timer.stop()); // too late
    /// });
    /// ```
    #[track_caller]
    pub fn after_func<F>(d: Duration, f: F) -> Timer
    where
        F: FnMut() + Send + 'static,
    {
        let func = TimerFunc::new(when_after(d), context::current(), Location::caller(), Box::new(f));
        Timer { receiver: never(), source: TimerSource::Func(func) }
    }

    /// The channel. That of [`after_func`](Timer::after_func) never has a value.
    ///
    /// ```
    /// use gosched::time::{Duration, Timer};
    ///
    /// let timer = Timer::new(Duration::from_secs(3600));
    /// assert!(timer.receiver().try_recv().is_err());
    /// ```
    #[must_use]
    pub fn receiver(&self) -> &Receiver<Instant> {
        &self.receiver
    }

    /// Stops it. Returns whether it was set: `false` if its value was received, its function has
    /// started, or it was stopped before.
    ///
    /// ```
    /// use gosched::time::{Duration, Timer};
    ///
    /// let timer = Timer::after_func(Duration::from_secs(3600), || unreachable!());
    /// assert!(timer.stop());
    /// assert!(!timer.stop());
    /// ```
    pub fn stop(&self) -> bool {
        match &self.source {
            TimerSource::Channel(chan) => chan.set(None, None),
            TimerSource::Func(func) => func.stop() == Was::Waiting,
        }
    }

    /// Sets it to fire when `d` has passed from now on, and no more at the time that was set
    /// before. Returns what [`stop`](Timer::stop) would have returned.
    ///
    /// ```
    /// use gosched::time::{Duration, Timer};
    ///
    /// gosched::run(|| {
    ///     let timer = Timer::new(Duration::from_secs(3600));
    ///     assert!(timer.reset(Duration::from_millis(1)));
    ///     timer.receiver().recv().unwrap();
    /// });
    /// ```
    pub fn reset(&self, d: Duration) -> bool {
        match &self.source {
            TimerSource::Channel(chan) => chan.set(Some(instant_after(d)), None),
            TimerSource::Func(func) => func.reset(when_after(d)) == Was::Waiting,
        }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").finish_non_exhaustive()
    }
}

/// A periodic event, as a value on a channel. A receiver that comes late gets one value for all
/// that it has missed.
///
/// Any thread or goroutine can stop and reset it. After [`stop`](Ticker::stop) or
/// [`reset`](Ticker::reset) nobody receives a value that was due before. Nothing here is a moving
/// call, except receiving from [`receiver`](Ticker::receiver).
///
/// ```
/// use gosched::time::{Duration, Instant, Ticker};
///
/// gosched::run(|| {
///     let began = Instant::now();
///     let ticker = Ticker::new(Duration::from_millis(1));
///     for _ in 0..3 {
///         ticker.receiver().recv().unwrap();
///     }
///     assert!(began.elapsed() >= Duration::from_millis(3));
///     ticker.stop();
/// });
/// ```
pub struct Ticker {
    receiver: Receiver<Instant>,
    chan: Arc<TimerChan>,
}

impl UnwindSafe for Ticker {}
impl RefUnwindSafe for Ticker {}

impl Ticker {
    /// A ticker whose first value comes when `d` has passed, and then one each `d`.
    ///
    /// # Panics
    ///
    /// If `d` is zero.
    ///
    /// ```
    /// use gosched::time::{Duration, Ticker};
    ///
    /// gosched::run(|| {
    ///     let ticker = Ticker::new(Duration::from_millis(1));
    ///     let (first, second) = (ticker.receiver().recv().unwrap(), ticker.receiver().recv().unwrap());
    ///     assert!(second >= first + Duration::from_millis(1));
    /// });
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new(d: Duration) -> Ticker {
        assert!(
            !d.is_zero(),
            "non-positive interval for Ticker::new: give it a duration above zero, or use Timer for one event"
        );
        let chan = TimerChan::new(Some(instant_after(d)), Some(d));
        Ticker { receiver: Receiver::of_time(Arc::clone(&chan)), chan }
    }

    /// The channel.
    ///
    /// ```
    /// use gosched::time::{Duration, Ticker};
    ///
    /// let ticker = Ticker::new(Duration::from_secs(3600));
    /// assert!(ticker.receiver().try_recv().is_err());
    /// ```
    #[must_use]
    pub fn receiver(&self) -> &Receiver<Instant> {
        &self.receiver
    }

    /// Stops it. The channel stays open: a receive waits until a [`reset`](Ticker::reset).
    ///
    /// ```
    /// use gosched::time::{Duration, Ticker};
    ///
    /// gosched::run(|| {
    ///     let ticker = Ticker::new(Duration::from_millis(1));
    ///     gosched::sleep(Duration::from_millis(2));
    ///     ticker.stop();
    ///     assert!(ticker.receiver().try_recv().is_err());
    /// });
    /// ```
    pub fn stop(&self) {
        self.chan.set(None, None);
    }

    /// Sets it to tick each `d`, the first time when `d` has passed from now on.
    ///
    /// # Panics
    ///
    /// If `d` is zero.
    ///
    /// ```
    /// use gosched::time::{Duration, Ticker};
    ///
    /// gosched::run(|| {
    ///     let ticker = Ticker::new(Duration::from_secs(3600));
    ///     ticker.reset(Duration::from_millis(1));
    ///     ticker.receiver().recv().unwrap();
    /// });
    /// ```
    #[track_caller]
    pub fn reset(&self, d: Duration) {
        assert!(
            !d.is_zero(),
            "non-positive interval for Ticker::reset: give it a duration above zero, or stop it"
        );
        self.chan.set(Some(instant_after(d)), Some(d));
    }
}

impl fmt::Debug for Ticker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticker").finish_non_exhaustive()
    }
}
