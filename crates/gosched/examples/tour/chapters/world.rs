use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use gosched::go;
use gosched::runtime::{maxprocs, stop_the_world};

use super::{Chapter, Check, ensure, nothing};
use crate::page::Page;

pub const CHAPTER: Chapter = Chapter {
    name: "world",
    title: "The world stands still",
    why: "All processors can be stopped for a moment, also while goroutines compute that never enter the library: what is taken \
          from them is their processor. So a program can be looked at as it is at one moment, and the number of processors \
          changed while it runs.",
    source: include_str!("world.rs"),
    run,
    aside: nothing,
};

fn run(page: &Page, _: bool) -> Check {
    static STOP: AtomicBool = AtomicBool::new(false);
    let (stopped, changed, computing, processors) = gosched::run(|| {
        // ---8<---
        for _ in 0..8 {
            go(|| {
                while !STOP.load(Ordering::Relaxed) {
                    std::hint::spin_loop()
                }
            }); // never enters the library
        }
        let start = Instant::now();
        let computing = stop_the_world(|world| world.goroutines().filter(|g| g.without_p).count());
        let stopped = start.elapsed();

        let start = Instant::now();
        maxprocs(Some(7));
        let changed = start.elapsed();
        // ---8<---
        STOP.store(true, Ordering::Relaxed);
        (stopped, changed, computing, maxprocs(None))
    });
    page.result(format_args!(
        "stopped and started again in {stopped:.1?}, {computing} goroutines computing beside it"
    ));
    page.result(format_args!("{processors} processors now, in {changed:.1?}"));
    ensure(processors == 7, format!("there are {processors} processors"))?;
    ensure(computing <= 8, format!("{computing} of 8 compute"))
}
