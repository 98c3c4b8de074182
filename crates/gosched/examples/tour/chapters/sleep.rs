use std::time::{Duration, Instant};

use gosched::{go, sleep};

use super::{Chapter, Check, ensure, nothing};
use crate::page::{Page, thousands};

pub const CHAPTER: Chapter = Chapter {
    name: "sleep",
    title: "Ten thousand sleepers",
    why: "sleep parks the goroutine, not the thread; the workers run the timers, so no thread is needed for them. Each \
          sleeps between 0 and 500 ms and then says how late it woke:",
    source: include_str!("sleep.rs"),
    run,
    aside: nothing,
};

const N: u32 = 10_000;

fn run(page: &Page, _: bool) -> Check {
    let start = Instant::now();
    let lateness: Vec<Option<Duration>> = gosched::run(|| {
        let sleepers: Vec<_> = (0..N)
            .map(|i| {
                let time = Duration::from_micros(u64::from(i) * 50);
                // ---8<---
                go(move || {
                    let start = Instant::now();
                    sleep(time);
                    start.elapsed().checked_sub(time) // None: too early
                })
                // ---8<---
            })
            .collect();
        sleepers.into_iter().map(|sleeper| sleeper.join().unwrap()).collect()
    });
    let time = start.elapsed();
    let early = lateness.iter().filter(|late| late.is_none()).count();
    let mut late: Vec<Duration> = lateness.into_iter().flatten().collect();
    late.sort_unstable();
    let (mut from, mut shown) = (Duration::ZERO, 0);
    for to in [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, u64::MAX].map(Duration::from_micros) {
        let count = late.iter().filter(|late| (from..to).contains(late)).count();
        let label = if to > Duration::from_secs(1) { "more".to_owned() } else { format!("under {to:?}") };
        if shown < late.len() {
            page.bar(&label, count as f64, f64::from(N), thousands(count as u64));
        }
        shown += count;
        from = to;
    }
    page.line("");
    page.result(format_args!("{} sleepers done after {time:.0?}; {early} woke too early", thousands(N)));
    ensure(early == 0 && late.len() == N as usize, "a sleep may be late, never early")
}
