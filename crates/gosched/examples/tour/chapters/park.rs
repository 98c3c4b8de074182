use std::time::Instant;

use gosched::go;
use gosched::thread::{Thread, current, park};

use super::{Chapter, Check, ensure, nothing};
use crate::page::{Page, thousands};

pub const CHAPTER: Chapter = Chapter {
    name: "park",
    title: "Park and unpark",
    why: "The bottom of everything that waits: park waits for a token, unpark leaves one, and a token that comes first\n\
          is not lost. A thousand goroutines in a ring pass it on, a thousand laps.",
    source: include_str!("park.rs"),
    run,
    aside: nothing,
};

const RUNNERS: u32 = 1_000;
const LAPS: u32 = 1_000;

// ---8<---
fn runner(next: Thread) {
    for _ in 0..LAPS {
        park();
        next.unpark();
    }
}
// ---8<---

fn run(page: &Page, _: bool) -> Check {
    let (time, failed) = gosched::run(|| {
        // ---8<---
        let (mut next, mut runners) = (current(), Vec::new());
        for _ in 0..RUNNERS {
            let handle = go(move || runner(next));
            next = handle.thread().clone();
            runners.push(handle);
        }
        // ---8<---
        let start = Instant::now();
        // ---8<---
        for _ in 0..LAPS {
            next.unpark();
            park(); // until the token has come round
        }
        // ---8<---
        let time = start.elapsed();
        (time, runners.into_iter().filter_map(|runner| runner.join().err()).count())
    });
    let hops = (RUNNERS + 1) * LAPS;
    page.result(format_args!("{} hops in {time:.0?}: {} ns each", thousands(hops), (time / hops).as_nanos()));
    ensure(failed == 0, "a runner failed")
}
