use std::collections::{HashMap, HashSet};
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
          and yield, six times over. One row is one OS thread, time goes to the right: they take turns, and change threads.",
    source: include_str!("yielding.rs"),
    run,
    aside: nothing,
};

const SLICE: Duration = Duration::from_millis(2);
/// As many places as fit on a line; a place is at least 1 ms.
const COLUMNS: usize = 80;

struct Turn {
    letter: char,
    thread: ThreadId,
    from: Instant,
    to: Instant,
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
                        let (thread, from) = (os_thread(), Instant::now());
                        compute(SLICE);
                        turns.push(Turn { letter, thread, from, to: Instant::now() });
                        yield_now();
                    }
                    turns
                })
            })
            .collect();
        // ---8<---
        handles.into_iter().flat_map(|handle| handle.join().unwrap()).collect()
    });
    let column = (start.elapsed() / COLUMNS as u32).max(Duration::from_millis(1));
    let mut rows: Vec<(ThreadId, Vec<char>)> = Vec::new();
    let mut seen_on: HashMap<char, HashSet<ThreadId>> = HashMap::new();
    for turn in &turns {
        let i = rows.iter().position(|(thread, _)| *thread == turn.thread).unwrap_or_else(|| {
            rows.push((turn.thread, vec!['·'; COLUMNS]));
            rows.len() - 1
        });
        let at = |moment: Instant| ((moment - start).as_secs_f64() / column.as_secs_f64()) as usize;
        let (first, last) = (at(turn.from), at(turn.to));
        rows[i].1.iter_mut().take(last.max(first + 1)).skip(first).for_each(|place| *place = turn.letter);
        seen_on.entry(turn.letter).or_default().insert(turn.thread);
    }
    for (i, (_, row)) in rows.iter().enumerate() {
        page.result(format_args!("thread {} {}", i + 1, row.iter().collect::<String>()));
    }
    page.line("");
    let moved = seen_on.values().filter(|threads| threads.len() > 1).count();
    page.result(format_args!("one letter is {column:.1?}; {moved} of 8 ran on more than one thread"));
    ensure(turns.len() == 48, format!("{} turns instead of 48", turns.len()))
}
