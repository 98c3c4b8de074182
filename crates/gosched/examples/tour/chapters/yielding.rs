use std::collections::HashMap;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use gosched::{go, yield_now};

use super::{Chapter, Check, ensure, nothing};
use crate::measure::{compute, os_thread};
use crate::page::Page;

pub const CHAPTER: Chapter = Chapter {
    name: "yield",
    title: "Taking turns",
    why: "yield_now (Go's Gosched) puts the caller at the tail of the global queue. Eight goroutines, a to h, compute 2 ms\n\
          and yield, six times over. One row is one OS thread, one letter 1 ms: they take turns, and change threads.",
    source: include_str!("yielding.rs"),
    run,
    aside: nothing,
};

const SLICE: Duration = Duration::from_millis(2);
const COLUMN: Duration = Duration::from_millis(1);
const COLUMNS: usize = 80;

struct Turn {
    letter: char,
    thread: ThreadId,
    from: Instant,
}

fn run(page: &Page, _: bool) -> Check {
    let start = Instant::now();
    let turns: Vec<Turn> = gosched::run(|| {
        // ---8<---
        let handles: Vec<_> = ('a'..='h')
            .map(|letter| {
                go(move || {
                    let mut turns = Vec::new();
                    for _ in 0..6 {
                        turns.push(Turn { letter, thread: os_thread(), from: Instant::now() });
                        compute(SLICE);
                        yield_now();
                    }
                    turns
                })
            })
            .collect();
        // ---8<---
        handles.into_iter().flat_map(|handle| handle.join().unwrap()).collect()
    });
    let mut rows: Vec<(ThreadId, Vec<char>)> = Vec::new();
    let mut seen_on: HashMap<char, Vec<ThreadId>> = HashMap::new();
    for turn in &turns {
        let i = rows.iter().position(|(thread, _)| *thread == turn.thread).unwrap_or_else(|| {
            rows.push((turn.thread, vec!['·'; COLUMNS]));
            rows.len() - 1
        });
        let first = ((turn.from - start).as_micros() / COLUMN.as_micros()) as usize;
        let columns = (SLICE.as_micros() / COLUMN.as_micros()) as usize;
        rows[i].1.iter_mut().skip(first).take(columns).for_each(|column| *column = turn.letter);
        let threads = seen_on.entry(turn.letter).or_default();
        if !threads.contains(&turn.thread) {
            threads.push(turn.thread);
        }
    }
    for (i, (_, row)) in rows.iter().enumerate() {
        page.result(format_args!("thread {} {}", i + 1, row.iter().collect::<String>()));
    }
    page.line("");
    let moved = seen_on.values().filter(|threads| threads.len() > 1).count();
    page.result(format_args!("{moved} of 8 goroutines ran on more than one thread"));
    ensure(turns.len() == 48, format!("{} turns instead of 48", turns.len()))
}
