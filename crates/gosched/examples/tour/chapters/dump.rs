use std::process::Command;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use gosched::thread::{Builder, park};
use gosched::{go, runtime, sleep};

use super::{Chapter, Check, aside, ensure};
use crate::page::{Page, thousands};

pub const CHAPTER: Chapter = Chapter {
    name: "dump",
    title: "Who is doing what, and where",
    why: "A program that hangs says why, as in Go: on SIGQUIT (Ctrl-\\), on request, and when a test is over its time, every \
          goroutine is shown with its state, how long it has waited, its stack and who created it. Parked, queued, \
          computing or blocked in the kernel: each has its stack, and none is disturbed. Those that are alike are shown once.",
    source: include_str!("dump.rs"),
    run,
    aside: stuck,
};

static LOCK: Mutex<()> = Mutex::new(());

/// In a process of its own, since it ends by SIGQUIT.
fn stuck() {
    gosched::run(|| {
        // ---8<---
        let _held = LOCK.lock();
        for name in ["reader", "writer"] {
            Builder::new().name(name.into()).spawn(|| drop(LOCK.lock())).unwrap(); // blocks its thread
        }
        for _ in 0..1000 {
            go(|| sleep(Duration::from_secs(60)));
        }
        go(|| while busy() {}); // computes
        sleep(Duration::from_millis(1200));
        quit(); // kill -QUIT
        // ---8<---
        park();
    });
}

fn busy() -> bool {
    std::hint::black_box(true)
}

fn quit() {
    let this = std::process::id().to_string();
    let _ = Command::new("sh").args(["-c", "kill -QUIT \"$0\"", &this]).status();
}

fn run(page: &Page, big: bool) -> Check {
    let output = aside(&CHAPTER).map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    page.result("on standard error:");
    page.quote(&said);
    page.line("");
    ensure(output.status.code() == Some(2), format!("it ended by {}", output.status))?;
    let wanted = [
        "SIGQUIT: quit",
        "\"reader\" [running, blocked]",
        "999 others",
        "[sleep, 1 s]",
        "chapters/dump.rs:33",
    ];
    for text in wanted {
        ensure(said.contains(text), format!("{text:?} is missing"))?;
    }

    let n: u32 = if big { 1_000_000 } else { 10_000 };
    let (first, next, length) = gosched::run(|| {
        let (send, receive) = mpsc::channel();
        let parked = |send: mpsc::Sender<()>| {
            move || {
                send.send(()).unwrap();
                park();
            }
        };
        let handles: Vec<_> = (0..n).map(|_| go(parked(send.clone()))).collect();
        (0..n).for_each(|_| receive.recv().unwrap());
        let dump = || {
            let start = Instant::now();
            let text = runtime::stacks();
            (start.elapsed(), text.len())
        };
        let ((first, _), (next, length)) = (dump(), dump());
        handles.iter().for_each(|handle| handle.thread().unpark());
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        (first, next, length)
    });
    page.result(format_args!(
        "{} parked goroutines: first dump {first:.1?}, next {next:.1?}, {} ns each; {length} bytes of text",
        thousands(n),
        next.as_nanos() / u128::from(n)
    ));
    Ok(())
}
