use std::collections::HashMap;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use gosched::go;

use super::{Chapter, Check, ensure, nothing};
use crate::measure::{compute, os_thread};
use crate::page::{Page, thousands};

pub const CHAPTER: Chapter = Chapter {
    name: "stealing",
    title: "Work finds idle threads",
    why: "One goroutine creates them all, on its own P. A P with nothing to do takes from the global queue, then steals\n\
          half of another's ring, without a lock: nobody has to distribute anything.",
    source: include_str!("stealing.rs"),
    run,
    aside: nothing,
};

const N: usize = 10_000;

fn run(page: &Page, _: bool) -> Check {
    let start = Instant::now();
    let ran_on: Vec<ThreadId> = gosched::run(|| {
        // ---8<---
        let handles: Vec<_> = (0..10_000)
            .map(|_| {
                go(|| {
                    compute(Duration::from_micros(20));
                    os_thread()
                })
            })
            .collect();
        let ran_on = handles.into_iter().map(|handle| handle.join().unwrap());
        // ---8<---
        ran_on.collect()
    });
    let time = start.elapsed();
    let mut counts: HashMap<ThreadId, u32> = HashMap::new();
    ran_on.iter().for_each(|thread| *counts.entry(*thread).or_default() += 1);
    let mut counts: Vec<u32> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    for (i, count) in counts.iter().enumerate() {
        let share = f64::from(*count) / N as f64;
        page.bar(
            &format!("thread {}", i + 1),
            share,
            1.0,
            format_args!("{} goroutines ({:.0} %)", thousands(*count), share * 100.0),
        );
    }
    let procs = gosched::thread::available_parallelism().map_err(|error| error.to_string())?.get();
    page.line("");
    page.result(format_args!("{procs} Ps, {time:.0?} for 200 ms of computing"));
    ensure(ran_on.len() == N, "some were lost")?;
    ensure(procs == 1 || counts.len() > 1, "one thread did it all")
}
