use gosched::go;
use gosched::runtime::goroutine_id;

use super::{Chapter, Check, ensure, nothing};
use crate::page::Page;

pub const CHAPTER: Chapter = Chapter {
    name: "goroutines",
    title: "Goroutines",
    why: "go starts a function beside the caller; join waits for it and brings its value back. It is ordinary blocking\n\
          code: no async, no await, no colour of functions. Only the goroutine waits, never the thread under it.",
    source: include_str!("goroutines.rs"),
    run,
    aside: nothing,
};

fn run(page: &Page, _: bool) -> Check {
    let (sum, lines) = gosched::run(|| {
        // ---8<---
        let squares: Vec<_> = (1..=5).map(|n| go(move || (goroutine_id(), n * n))).collect();
        let results = squares.into_iter().map(|handle| handle.join().unwrap());
        // ---8<---
        let results: Vec<(Option<u64>, u32)> = results.collect();
        let lines: Vec<String> = results
            .iter()
            .map(|(id, square)| format!("goroutine {} returned {square}", id.unwrap_or(0)))
            .collect();
        (results.iter().map(|(_, square)| square).sum::<u32>(), lines)
    });
    lines.iter().for_each(|line| page.result(line));
    page.result(format_args!("sum: {sum}, and goroutine 1 is the closure given to gosched::run"));
    ensure(sum == 55, format!("1 + 4 + 9 + 16 + 25 gave {sum}"))
}
