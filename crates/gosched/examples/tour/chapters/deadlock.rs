use gosched::{chan, go};

use super::{Chapter, Check, aside, ensure};
use crate::page::Page;

pub const CHAPTER: Chapter = Chapter {
    name: "deadlock",
    title: "Nobody can ever run again",
    why: "Two goroutines wait for each other, and the main one for both. No timer, no thread, no socket can wake any of them: that is \
          noticed at once, and said with every goroutine's stack, instead of hanging for ever.",
    source: include_str!("deadlock.rs"),
    run,
    aside: wait_for_each_other,
};

/// In a process of its own, since it ends it.
fn wait_for_each_other() {
    gosched::run(|| {
        // ---8<---
        let (to_b, from_a) = chan::bounded::<u32>(0);
        let (to_a, from_b) = chan::bounded::<u32>(0);
        let a = go(move || (from_b.recv(), to_b.send(1)));
        let b = go(move || (from_a.recv(), to_a.send(2)));
        let _ = (a.join(), b.join());
        // ---8<---
    });
}

fn run(page: &Page, _: bool) -> Check {
    let output = aside(&CHAPTER).map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    page.result("on standard error:");
    page.quote(&said);
    ensure(output.status.code() == Some(2), format!("it ended by {}", output.status))?;
    for text in ["all goroutines are asleep - deadlock!", "goroutine 1 [join]:", "[chan receive]"] {
        ensure(said.contains(text), format!("{text:?} is missing"))?;
    }
    Ok(())
}
