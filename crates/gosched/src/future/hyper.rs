//! hyper on goroutines (feature `hyper`): each connection is a goroutine that runs [`block_on`].
//!
//! [`TcpStream`](crate::net::TcpStream) and [`UnixStream`](crate::os::unix::net::UnixStream) implement hyper's `Read` and
//! `Write`; here are its `Executor` and `Timer`. The example `http_hello` is a whole server.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::block_on;
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

/// Time for hyper's time-outs, from the runtime's timers. A sleep that is not over costs no goroutine's stack.
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
        Box::pin(Sleep::until(Instant::now() + duration))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn hyper::rt::Sleep>> {
        Box::pin(Sleep::until(deadline))
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn hyper::rt::Sleep>>, new_deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<Sleep>() {
            Some(sleep) => sleep.get_mut().reset(new_deadline),
            None => *sleep = self.sleep_until(new_deadline),
        }
    }
}

/// A time that is awaited. Whether it is over, the clock says; the timer only wakes whoever waits to look at it again.
struct Sleep {
    deadline: Instant,
    waker: Arc<Mutex<Option<Waker>>>,
    /// Made when somebody first waits.
    timer: Option<time::Timer>,
}

impl Sleep {
    fn until(deadline: Instant) -> Sleep {
        Sleep { deadline, waker: Arc::default(), timer: None }
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn reset(&mut self, deadline: Instant) {
        self.deadline = deadline;
        if let Some(timer) = &self.timer {
            timer.reset(self.left());
        }
    }
}

fn take(waker: &Mutex<Option<Waker>>) -> Option<Waker> {
    waker.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let left = self.left();
        if left.is_zero() {
            return Poll::Ready(());
        }
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        match &self.timer {
            // Armed still, or it has rung just now, or was reset: a ring too many does no harm.
            Some(timer) => {
                timer.reset(left);
            }
            None => {
                let waker = Arc::clone(&self.waker);
                let ring = move || {
                    if let Some(waker) = take(&waker) {
                        waker.wake();
                    }
                };
                self.timer = Some(time::Timer::after_func(left, ring));
            }
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.stop();
        }
    }
}

impl hyper::rt::Sleep for Sleep {}
