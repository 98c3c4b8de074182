use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gosched::runtime::num_goroutine;
use gosched::time::{Ticker, Timer};

use super::{Chapter, Check, ensure, nothing};
use crate::page::{Page, thousands};

pub const CHAPTER: Chapter = Chapter {
    name: "timers",
    title: "A hundred thousand timers",
    why: "A timer can be stopped and set anew from anywhere, and then nobody gets a stale value. One that runs a function\n\
          is no goroutine before its time: most timers are time limits, and are stopped.",
    source: include_str!("timers.rs"),
    run,
    aside: nothing,
};

const TIMERS: u64 = 100_000;
const HOUR: Duration = Duration::from_secs(3600);

fn run(page: &Page, _: bool) -> Check {
    static RAN: AtomicU64 = AtomicU64::new(0);
    let (goroutines, stopped, time, ticks) = gosched::run(|| {
        let start = Instant::now();
        // ---8<---
        let timers: Vec<Timer> = (0..TIMERS)
            .map(|_| {
                Timer::after_func(HOUR, || {
                    RAN.fetch_add(1, Ordering::Relaxed);
                })
            })
            .collect();
        let goroutines = num_goroutine();
        for timer in timers.iter().step_by(10) {
            timer.reset(Duration::ZERO);
        }
        let ticker = Ticker::new(Duration::from_millis(1));
        let mut ticks = 0;
        while RAN.load(Ordering::Relaxed) < TIMERS / 10 {
            ticks += ticker.receiver().iter().take(1).count();
        }
        let stopped = timers.iter().filter(|timer| timer.stop()).count() as u64;
        // ---8<---
        (goroutines, stopped, start.elapsed(), ticks)
    });
    let ran = RAN.load(Ordering::Relaxed);
    page.result(format_args!(
        "{} armed beside {goroutines} goroutine; {} ran, {} were stopped; {ticks} ticks, {time:.0?} in all",
        thousands(TIMERS),
        thousands(ran),
        thousands(stopped)
    ));
    ensure(
        goroutines == 1 && ran == TIMERS / 10 && ran + stopped == TIMERS,
        "a timer ran twice, or not at all",
    )
}
