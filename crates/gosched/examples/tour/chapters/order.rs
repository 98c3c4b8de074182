use std::sync::Mutex;

use gosched::go;
use gosched::runtime::Config;

use super::{Chapter, Check, ensure, nothing};
use crate::page::Page;

pub const CHAPTER: Chapter = Chapter {
    name: "order",
    title: "9 0 1 2 3 4 5 6 7 8",
    why: "The order that puzzles everyone once. With one P a new goroutine goes into the P's runnext slot and kicks the\n\
          one before it to the tail of the ring: so the last one created runs first. The same as in Go.",
    source: include_str!("order.rs"),
    run,
    aside: nothing,
};

fn run(page: &Page, _: bool) -> Check {
    Config::new().maxprocs(1).install().map_err(|error| error.to_string())?;
    static SEEN: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    gosched::run(|| {
        // ---8<---
        let handles: Vec<_> = (0..10).map(|i| go(move || SEEN.lock().unwrap().push(i))).collect();
        for handle in handles {
            handle.join().unwrap();
        }
        // ---8<---
    });
    let seen = SEEN.lock().map_err(|_| "a goroutine panicked")?.clone();
    let text: Vec<String> = seen.iter().map(u32::to_string).collect();
    page.result("when the creator waits:   runnext [9]   ring [0 1 2 3 4 5 6 7 8]");
    page.result(format_args!("they ran in the order:            {}", text.join(" ")));
    ensure(seen == [9, 0, 1, 2, 3, 4, 5, 6, 7, 8], "another order")
}
