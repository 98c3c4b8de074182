use std::thread::sleep as block_the_thread;
use std::time::{Duration, Instant};

use gosched::{go, runtime};

use super::{Chapter, Check, ensure, nothing};
use crate::page::{Page, thousands};

pub const CHAPTER: Chapter = Chapter {
    name: "blocked",
    title: "A hundred blocked threads",
    why: "Code that blocks its thread (a file, DNS, a C library, here std's sleep) needs no announcement: the monitor sees \
          the thread asleep and hands its processor on. A hundred goroutines block for 50 ms, twice; one after the other \
          that would take 10 seconds. Announced, it costs the neighbours nothing at all:",
    source: include_str!("blocked.rs"),
    run,
    aside: nothing,
};

const N: u32 = 100;
const TIME: Duration = Duration::from_millis(50);

fn run(page: &Page, _: bool) -> Check {
    let in_turn = TIME * 2 * N;
    // ---8<---
    let unannounced = all(|| block_the_thread(TIME));
    let announced = all(|| runtime::blocking(|| block_the_thread(TIME)));
    // ---8<---
    let call = Instant::now();
    gosched::run(|| (0..CALLS).for_each(|_| runtime::blocking(|| ())));
    let each = call.elapsed() / CALLS;
    for (label, time) in [("one by one", in_turn), ("unannounced", unannounced), ("announced", announced)] {
        page.bar(label, time.as_secs_f64(), in_turn.as_secs_f64(), format!("{time:.0?}"));
    }
    page.line("");
    page.result(format_args!(
        "an announced call that does not block costs {each:?} (mean of {})",
        thousands(u64::from(CALLS))
    ));
    ensure(
        unannounced < in_turn / 2 && announced < in_turn / 2,
        "blocked goroutines must not wait for each other",
    )
}

const CALLS: u32 = 100_000;

/// How long it takes until `N` goroutines have blocked twice each.
fn all(block: fn()) -> Duration {
    let start = Instant::now();
    gosched::run(|| {
        let goroutines: Vec<_> = (0..N)
            .map(|_| {
                go(move || {
                    block();
                    block();
                })
            })
            .collect();
        goroutines.into_iter().for_each(|goroutine| goroutine.join().unwrap());
    });
    start.elapsed()
}
