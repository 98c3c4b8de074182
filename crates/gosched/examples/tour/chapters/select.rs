use std::time::Duration;

use gosched::chan::{after, bounded, tick};
use gosched::{go, select};

use super::{Chapter, Check, ensure, nothing};
use crate::page::{Page, thousands};

pub const CHAPTER: Chapter = Chapter {
    name: "select",
    title: "Select",
    why: "select! waits for several channels at once and takes part in exactly one; among those that are ready, each has the\n\
          same chance. Time comes through channels, too. close ends it for everyone:",
    source: include_str!("select.rs"),
    run,
    aside: nothing,
};

fn run(page: &Page, _: bool) -> Check {
    let (counts, ticks, refused) = gosched::run(|| {
        // ---8<---
        let (apples, a) = bounded(0);
        let (pears, b) = bounded(4);
        let (stop, stopped) = bounded::<()>(0);
        for s in [apples, pears.clone()] {
            let stopped = stopped.clone();
            go(move || {
                loop {
                    select! {
                        send(s, "fresh") -> _ => {}
                        recv(stopped) -> _ => return, // closed below
                    }
                }
            });
        }
        let (mut counts, mut ticks) = ([0u64; 2], 0);
        let (clock, end) = (tick(Duration::from_millis(10)), after(Duration::from_millis(100)));
        loop {
            select! {
                recv(a) -> _ => counts[0] += 1,
                recv(b) -> _ => counts[1] += 1,
                recv(clock) -> _ => ticks += 1,
                recv(end) -> _ => break,
            }
        }
        stop.close();
        b.close();
        let refused = pears.send("stale").is_err();
        // ---8<---
        (counts, ticks, refused)
    });
    page.result(format_args!(
        "{} values from one, {} from the other, and {ticks} ticks in 100 ms",
        thousands(counts[0]),
        thousands(counts[1])
    ));
    ensure(refused, "a closed channel takes nothing")?;
    ensure(counts.iter().all(|count| *count > 0), "one of the two got no turn")?;
    ensure(ticks <= 10, format!("{ticks} ticks in 100 ms"))
}
