//! Async code called from goroutines: [`block_on`]. Modelled on `futures::executor`.
//!
//! The other way round, the handles of goroutines, channel operations and sockets can be awaited
//! from any executor.

#![deny(unsafe_code)]

#[cfg(feature = "hyper")]
pub mod hyper;

use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll};

use crate::runtime;

use crate::sched::task::BlockedTask;
#[cfg(feature = "hyper")]
use crate::sched::task::Closing;

/// Runs a future to its end. While the future waits, the goroutine is parked, and its thread runs
/// others.
///
/// A moving call. On a thread that is not a goroutine it blocks the thread. It runs nothing but
/// this future: a future that needs a particular executor (as tokio's sockets and timers do) needs
/// that one as well.
///
/// ```
/// use gosched::future::block_on;
///
/// gosched::run(|| {
///     let handle = gosched::go(|| 6 * 7);
///     let answer = block_on(async { handle.await.unwrap() });
///     assert_eq!(answer, 42);
/// });
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let task = BlockedTask::new();
    #[cfg(feature = "hyper")]
    let _closing = Closing(&task);
    let waker = task.waker();
    let mut cx = Context::from_waker(&waker);
    let mut waited = false;
    loop {
        if let Poll::Ready(value) = poll(future.as_mut(), &mut cx) {
            if !waited {
                runtime::checkpoint();
            }
            return value;
        }
        task.wait();
        waited = true;
    }
}

/// Polls once. Never inlined: between two polls the goroutine may move to another thread, and
/// within one function the compiler may reuse the address of a thread-local (D5). When it was
/// inlined, two threads used hyper's cached date at once.
#[inline(never)]
fn poll<F: Future>(future: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    future.poll(cx)
}
