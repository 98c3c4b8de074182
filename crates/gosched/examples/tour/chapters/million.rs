use std::thread;
use std::time::{Duration, Instant};

use gosched::go;

use super::{Chapter, Check, ensure, nothing};
use crate::page::{Page, thousands};

pub const CHAPTER: Chapter = Chapter {
    name: "million",
    title: "A million goroutines",
    why: "All created before any is waited for. A queued goroutine is a 256-byte header; it gets a stack when it first\n\
          runs, and one that ends leaves its stack, still hot, to the next.",
    source: include_str!("million.rs"),
    run,
    aside: nothing,
};

const N: u32 = 1_000_000;
const THREADS: u32 = 2_000;

fn run(page: &Page, _: bool) -> Check {
    let (sum, time) = gosched::run(|| {
        let start = Instant::now();
        // ---8<---
        let handles: Vec<_> = (0..1_000_000u64).map(|i| go(move || i)).collect();
        let sum: u64 = handles.into_iter().map(|handle| handle.join().unwrap()).sum();
        // ---8<---
        (sum, start.elapsed())
    });
    let start = Instant::now();
    let threads: Vec<_> = (0..THREADS).map(|i| thread::spawn(move || i)).collect();
    let joined = threads.into_iter().filter_map(|thread| thread.join().ok()).count();
    let (goroutine, thread) = (time / N, start.elapsed() / THREADS);

    page.result(format_args!(
        "created, run and joined in {time:.0?}: {} a second",
        thousands((f64::from(N) / time.as_secs_f64()) as u64)
    ));
    page.line("");
    let row = |label, each: Duration| {
        page.bar(
            label,
            each.as_secs_f64(),
            thread.as_secs_f64(),
            format_args!("{} ns each", each.as_nanos()),
        );
    };
    row("goroutines", goroutine);
    row("OS threads", thread);
    page.result(format_args!("(the threads: {} of them, measured just now)", thousands(THREADS)));
    ensure(joined == THREADS as usize, "an OS thread failed")?;
    ensure(sum == u64::from(N) * u64::from(N - 1) / 2, format!("the sum is {sum}"))
}
