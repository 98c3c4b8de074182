use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use gosched::go;
use gosched::thread::{current, park};

use super::{Chapter, Check, ensure, nothing};
use crate::page::{Page, thousands};

pub const CHAPTER: Chapter = Chapter {
    name: "foreign",
    title: "Threads and async code join in",
    why: "Every call works from threads that are not gosched's too, where it blocks the thread; and a JoinHandle is a\n\
          future, for any executor. So goroutines can move into a program one function at a time.",
    source: include_str!("foreign.rs"),
    run,
    aside: nothing,
};

const ROUNDS: u32 = 20_000;

fn run(page: &Page, _: bool) -> Check {
    // ---8<--- A std thread and a goroutine wake each other:
    let thread = std::thread::spawn(|| {
        let (me, start) = (current(), Instant::now());
        let partner = go(move || {
            for _ in 0..ROUNDS {
                park();
                me.unpark();
            }
        });
        for _ in 0..ROUNDS {
            partner.thread().unpark();
            park(); // the same park as a goroutine's; here it blocks the thread
        }
        partner.join().map(|()| start.elapsed())
    });
    // ---8<---
    let time = thread.join().ok().and_then(Result::ok).ok_or("thread or goroutine failed")?;
    page.result(format_args!("{} round trips, {} ns each", thousands(ROUNDS), (time / ROUNDS).as_nanos()));
    page.line("");
    // ---8<--- Async code awaits goroutines:
    let sum = block_on(async {
        let (a, b) = (go(|| 40), go(|| 2));
        Ok(a.await? + b.await?)
    });
    // ---8<---
    let sum: gosched::thread::Result<i32> = sum;
    let sum = sum.map_err(|_| "a goroutine failed")?;
    page.result(format_args!("an async block awaited two goroutines: {sum}"));
    ensure(sum == 42, format!("40 + 2 gave {sum}"))
}

/// A whole executor: polls, and sleeps until woken.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}
