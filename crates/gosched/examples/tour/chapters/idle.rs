use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use gosched::go;
use gosched::thread::park;

use super::{Chapter, Check, ensure, nothing};
use crate::measure::Work;
use crate::page::{Page, thousands};

pub const CHAPTER: Chapter = Chapter {
    name: "idle",
    title: "Doing nothing costs nothing",
    why: "With nothing to run every worker sleeps in the kernel: no ticking, no polling, no spinning. Ten thousand parked\n\
          goroutines, and what the process does in a second:",
    source: include_str!("idle.rs"),
    run,
    aside: nothing,
};

const N: u32 = 10_000;
/// CPU time in a second below which the process counts as idle: reading /proc takes some.
const NOTHING: Duration = Duration::from_millis(5);

fn run(page: &Page, _: bool) -> Check {
    static PARKED: AtomicU32 = AtomicU32::new(0);
    let parked = || {
        PARKED.fetch_add(1, Ordering::Relaxed);
        park();
    };
    let handles: Vec<_> = (0..N).map(|_| go(parked)).collect();
    while PARKED.load(Ordering::Relaxed) < N {
        sleep(Duration::from_millis(1));
    }
    sleep(Duration::from_millis(50));

    // ---8<---
    let before = Work::now(); // from /proc/self/task/*/schedstat
    sleep(Duration::from_secs(1));
    let after = Work::now();
    // ---8<---

    handles.iter().for_each(|handle| handle.thread().unpark());
    let failed = handles.into_iter().filter_map(|handle| handle.join().err()).count();
    ensure(failed == 0, "a goroutine failed")?;
    let (Some(before), Some(after)) = (before, after) else {
        page.result("This kernel keeps no account of threads (CONFIG_SCHED_INFO), so it can't be shown.");
        return Ok(());
    };
    let (cpu, turns) = (after.cpu - before.cpu, after.turns - before.turns);
    page.result(format_args!(
        "{} goroutines, {} threads: {} µs of CPU time in 1 s; threads were put on a CPU {turns} times",
        thousands(N),
        after.threads,
        cpu.as_micros()
    ));
    page.result("(the thread that measures is one of them)");
    ensure(cpu < NOTHING, format!("{cpu:?} are more than nothing"))
}
