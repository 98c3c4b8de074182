use std::cell::Cell;
use std::time::Duration;

use gosched::{go, yield_now};

use super::{Chapter, Check, ensure, nothing};
use crate::measure::compute;
use crate::page::Page;

pub const CHAPTER: Chapter = Chapter {
    name: "locals",
    title: "A value for each goroutine",
    why: "A goroutine changes threads when it waits or yields, so a thread_local is not its own: it counts whoever was on\n\
          that thread. A goroutine_local goes with the goroutine wherever it runs.",
    source: include_str!("locals.rs"),
    run,
    aside: nothing,
};

const GOROUTINES: usize = 4;
const STEPS: u32 = 500;

// ---8<---
thread_local! {
    static OF_THREAD: Cell<u32> = const { Cell::new(0) };
}
gosched::goroutine_local! {
    static MINE: Cell<u32> = const { Cell::new(0) };
}

fn count() -> (u32, u32) {
    for _ in 0..STEPS {
        step();
        yield_now();
    }
    (MINE.get(), of_thread())
}
// ---8<---

// Neither is inlined: the compiler may keep the address of a thread-local across a moving call of
// the same function.
#[inline(never)]
fn step() {
    MINE.set(MINE.get() + 1);
    OF_THREAD.set(OF_THREAD.get() + 1);
    compute(Duration::from_micros(20));
}

#[inline(never)]
fn of_thread() -> u32 {
    OF_THREAD.get()
}

fn run(page: &Page, _: bool) -> Check {
    let counts: Vec<(u32, u32)> = gosched::run(|| {
        let handles: Vec<_> = (0..GOROUTINES).map(|_| go(count)).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    for (i, (mine, of_thread)) in counts.iter().enumerate() {
        page.result(format_args!(
            "goroutine {}: goroutine_local {mine:>5}   thread_local {of_thread:>5}",
            i + 1
        ));
    }
    ensure(counts.iter().all(|(mine, _)| *mine == STEPS), "a goroutine_local was shared")
}
