//! hyper on goroutines (feature `hyper`): each connection is a goroutine that runs [`block_on`].
//!
//! [`TcpStream`](crate::net::TcpStream) and [`UnixStream`](crate::os::unix::net::UnixStream)
//! implement hyper's `Read` and `Write`; here are its `Executor` and `Timer`. The example
//! `http_hello` is a whole server.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::block_on;
use crate::clock::{instant_after, when_at};
use crate::sched::alarm::Alarm;
use crate::time;

/// Runs every future in a goroutine of its own.
///
/// ```
/// use gosched::future::hyper::Executor;
/// use hyper::rt::Executor as _;
///
/// gosched::run(|| {
///     let (sender, receiver) = gosched::chan::bounded(1);
///     Executor.execute(async move { sender.send("done").unwrap() });
///     assert_eq!(receiver.recv(), Ok("done"));
/// });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Executor;

impl<F> hyper::rt::Executor<F> for Executor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        crate::go(move || block_on(future));
    }
}

/// Sleeps for hyper's time-outs, by the runtime's timers. A sleep costs no goroutine's stack until
/// it is over. A duration beyond `Instant`'s range counts as a hundred years.
///
/// ```
/// use gosched::future::{block_on, hyper::Timer};
/// use hyper::rt::Timer as _;
/// use std::time::{Duration, Instant};
///
/// let began = Instant::now();
/// block_on(Timer.sleep(Duration::from_millis(5)));
/// assert!(began.elapsed() >= Duration::from_millis(5));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Timer;

impl hyper::rt::Timer for Timer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn hyper::rt::Sleep>> {
        Box::pin(Sleep::until(instant_after(duration)))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn hyper::rt::Sleep>> {
        Box::pin(Sleep::until(deadline))
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn hyper::rt::Sleep>>, new_deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<Sleep>() {
            Some(sleep) => {
                let sleep = sleep.get_mut();
                sleep.deadline = new_deadline;
                sleep.bell.reset(new_deadline);
            }
            None => *sleep = self.sleep_until(new_deadline),
        }
    }
}

/// A sleep. The clock decides whether it is over; the bell only wakes the task, which then looks at
/// the clock.
struct Sleep {
    deadline: Instant,
    /// Set at the first poll.
    bell: Bell,
}

enum Bell {
    Unset,
    /// For a task of our [`block_on`].
    Alarm(Pin<Box<Alarm>>),
    /// For a task of another executor: its waker is user code, which a timer can't call.
    Func(time::Timer, Arc<Mutex<Option<Waker>>>),
}

impl Bell {
    /// A bell that wakes this waker's task.
    fn set(waker: &Waker, deadline: Instant) -> Bell {
        if let Some(alarm) = Alarm::set(waker, when_at(deadline)) {
            return Bell::Alarm(alarm);
        }
        let waker = Arc::new(Mutex::new(Some(waker.clone())));
        let ring = {
            let waker = Arc::clone(&waker);
            move || {
                let waker = waker.lock().unwrap_or_else(PoisonError::into_inner).take();
                waker.into_iter().for_each(Waker::wake);
            }
        };
        Bell::Func(time::Timer::after_func(left(deadline), ring), waker)
    }

    /// Sets it to another time.
    fn reset(&mut self, deadline: Instant) {
        match self {
            Bell::Unset => {}
            Bell::Alarm(alarm) => alarm.as_mut().ring_by(when_at(deadline)),
            Bell::Func(timer, _) => {
                timer.reset(left(deadline));
            }
        }
    }

    /// Stops it, or leaves it to the task's next sleep.
    fn put_away(self) {
        match self {
            Bell::Unset => {}
            Bell::Alarm(alarm) => alarm.spare(),
            Bell::Func(timer, _) => {
                timer.stop();
            }
        }
    }

    /// Makes it wake this waker's task, if it can; returns whether it does.
    fn takes(&mut self, new: &Waker) -> bool {
        match self {
            Bell::Unset => false,
            Bell::Alarm(alarm) => alarm.wakes(new),
            Bell::Func(_, waker) => {
                let new = Some(new.clone());
                // Dropping the old one is user code: after the lock is released.
                let old = core::mem::replace(&mut *waker.lock().unwrap_or_else(PoisonError::into_inner), new);
                drop(old);
                true
            }
        }
    }
}

impl Sleep {
    fn until(deadline: Instant) -> Sleep {
        Sleep { deadline, bell: Bell::Unset }
    }

    fn set_bell(&mut self, bell: Bell) {
        core::mem::replace(&mut self.bell, bell).put_away();
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.set_bell(Bell::Unset);
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline;
        // The first poll does not look at the clock: the sleep is rarely over then, and a bell for
        // a past time rings at once.
        if !matches!(self.bell, Bell::Unset) && left(deadline).is_zero() {
            return Poll::Ready(());
        }
        if self.bell.takes(cx.waker()) {
            // Still set, or it has just rung, or was reset: one ring too many does no harm.
            self.bell.reset(deadline);
        } else {
            self.set_bell(Bell::set(cx.waker(), deadline));
        }
        Poll::Pending
    }
}

impl hyper::rt::Sleep for Sleep {}
