use std::time::{Duration, Instant};

use gosched::chan::bounded;
use gosched::context::{ContextError, background, enter};
use gosched::{go, time};

use super::{Chapter, Check, ensure, nothing};
use crate::page::{Page, thousands};

pub const CHAPTER: Chapter = Chapter {
    name: "context",
    title: "A deadline for everybody",
    why: "What is started under a context can end with it, wherever it waits: in a receive, a send, a lock, a sleep, in I/O. Nobody\n\
          passes it along; goroutines inherit it. Here ten thousand wait for what never comes, with 20 ms to live:",
    source: include_str!("context.rs"),
    run,
    aside: nothing,
};

const WORKERS: usize = 10_000;
const HOUR: Duration = Duration::from_secs(3600);

fn run(page: &Page, _: bool) -> Check {
    let (ended, late, error) = gosched::run(|| {
        // ---8<---
        let ctx = background().with_timeout(Duration::from_millis(20));
        let (_sender, never) = bounded::<()>(0);
        let worker = |i| {
            let never = never.clone();
            go(move || match i % 2 {
                0 => never.recv_ctx().is_err_and(|error| error.is_done()),
                _ => time::sleep(HOUR).is_err(),
            })
        };
        let workers: Vec<_> = enter(&ctx, || (0..WORKERS).map(worker).collect());
        let ended =
            workers.into_iter().filter_map(|worker| worker.join().ok()).filter(|ended| *ended).count();
        // ---8<---
        let late = ctx.deadline().map(|deadline| Instant::now().saturating_duration_since(deadline));
        (ended, late, ctx.err())
    });
    page.result(format_args!(
        "{} ended, the last one {:.1?} after the deadline",
        thousands(ended as u64),
        late.unwrap_or_default()
    ));
    ensure(ended == WORKERS && error == Some(ContextError::DeadlineExceeded), "somebody was not told")
}
