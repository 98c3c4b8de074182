use std::time::{Duration, Instant};

use gosched::sync::{ErrGroup, Mutex, Semaphore, WaitGroup};

use super::{Chapter, Check, ensure, nothing};
use crate::measure::Work;
use crate::page::{Page, thousands};

pub const CHAPTER: Chapter = Chapter {
    name: "locks",
    title: "Locks",
    why: "std's locks, poisoning included, for goroutines: who has to wait is parked, costs no thread and no allocation. Go's\n\
          WaitGroup, a Semaphore and an ErrGroup come with them.",
    source: include_str!("locks.rs"),
    run,
    aside: nothing,
};

const GOROUTINES: u32 = 10_000;
const TURNS: u32 = 100;

// ---8<---
static COUNT: Mutex<u32> = Mutex::new(0);
static SEATS: Semaphore = Semaphore::new(3);
// ---8<---

fn run(page: &Page, _: bool) -> Check {
    let (time, threads) = gosched::run(|| {
        let start = Instant::now();
        // ---8<---
        let all = WaitGroup::new();
        for _ in 0..GOROUTINES {
            all.go(|| {
                for _ in 0..TURNS {
                    *COUNT.lock().unwrap() += 1;
                }
            });
        }
        all.wait();
        // ---8<---
        (start.elapsed(), Work::now().map_or(0, |work| work.threads))
    });
    let turns = GOROUTINES * TURNS;
    page.result(format_args!(
        "{} goroutines locked one mutex {} times: {} ns each, {threads} threads in all",
        thousands(GOROUTINES),
        thousands(turns),
        (time / turns).as_nanos()
    ));
    page.line("");
    let count = COUNT.lock().map_err(|_| "the mutex is poisoned")?;
    ensure(*count == turns, format!("counted {} of {turns}", *count))?;
    // ---8<--- The first error of a group; the others see it by the group's context.
    let group = ErrGroup::with_limit(10);
    for n in 1..=100 {
        let ctx = group.context();
        group.go(move || {
            let _seat = SEATS.acquire(); // three at a time
            gosched::sleep(Duration::from_millis(1));
            if n == 7 {
                Err(format!("number {n} failed"))
            } else if ctx.is_cancelled() {
                Err("too late".into())
            } else {
                Ok(())
            }
        });
    }
    let result = group.wait();
    // ---8<---
    page.result(format_args!("the group: {result:?}"));
    ensure(result == Err("number 7 failed".into()), "the group returned something else")
}
