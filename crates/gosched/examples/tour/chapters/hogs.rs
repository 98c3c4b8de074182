use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gosched::runtime::Config;
use gosched::{go, sleep};

use super::{Chapter, Check, ensure, nothing};
use crate::page::Page;

pub const CHAPTER: Chapter = Chapter {
    name: "hogs",
    title: "A loop that never lets go",
    why: "Four goroutines compute on two processors and never call gosched. After 10 ms the monitor takes each one's \
          processor away and hands it to others; the loop goes on where it is, undisturbed. Beside them, fifty \
          goroutines sleep for a millisecond, again and again:",
    source: include_str!("hogs.rs"),
    run,
    aside: nothing,
};

const HOGS: usize = 4;
const SLEEPERS: usize = 50;
const NAPS: usize = 100;

fn run(page: &Page, _: bool) -> Check {
    static STOP: AtomicBool = AtomicBool::new(false);
    let nap = Duration::from_millis(1);
    Config::new().maxprocs(2).install().map_err(|error| error.to_string())?;
    let (counted, mut late) = gosched::run(|| {
        // ---8<---
        let hog = || {
            let mut n = 0_u64;
            while !STOP.load(Ordering::Relaxed) {
                n += black_box(1); // no call into gosched, ever
            }
            n
        };
        let hogs: Vec<_> = (0..HOGS).map(|_| go(hog)).collect();
        // ---8<---
        let nappers: Vec<_> = (0..SLEEPERS)
            .map(|_| {
                go(move || {
                    let naps = (0..NAPS).map(|_| {
                        let start = Instant::now();
                        sleep(nap);
                        start.elapsed().saturating_sub(nap)
                    });
                    naps.collect::<Vec<_>>()
                })
            })
            .collect();
        let late: Vec<Duration> = nappers.into_iter().flat_map(|napper| napper.join().unwrap()).collect();
        STOP.store(true, Ordering::Relaxed);
        let counted: Vec<u64> = hogs.into_iter().map(|hog| hog.join().unwrap()).collect();
        (counted, late)
    });
    late.sort_unstable();
    let most = counted.iter().copied().max().unwrap_or(1);
    for (i, n) in counted.iter().enumerate() {
        page.bar(&format!("loop {}", i + 1), *n as f64, most as f64, format!("{} million", n / 1_000_000));
    }
    page.line("");
    page.result(format_args!(
        "{} naps of {nap:?} ended {:.0?} late at the median, {:.0?} at the worst; all {HOGS} loops went on",
        late.len(),
        late[late.len() / 2],
        late[late.len() - 1],
    ));
    ensure(
        late.len() == SLEEPERS * NAPS && counted.iter().all(|n| *n > 0),
        "everybody must get on, loops and sleepers",
    )
}
