use std::hint::black_box;
use std::thread::sleep;
use std::time::{Duration, Instant};

use gosched::thread::Builder;

use super::{Chapter, Check, aside, ensure};
use crate::measure::Memory;
use crate::page::Page;

pub const CHAPTER: Chapter = Chapter {
    name: "deep",
    title: "Small stacks that grow",
    why: "A stack is address space, filled page by page as it is used: 256 KiB unless you say otherwise, up to 1 GiB. What\n\
          a goroutine used goes back to the system after it. Running over the end is caught, never silent.",
    source: include_str!("deep.rs"),
    run,
    aside: overflow,
};

const LEVELS: u32 = 8;
const PER_LEVEL: u32 = 8_000;
const MIB: f64 = 1024.0 * 1024.0;

// ---8<---
fn descend(depth: u32, seen: &mut Vec<Memory>) -> u64 {
    let frame = black_box([depth; 128]); // 512 bytes
    if depth.is_multiple_of(PER_LEVEL) {
        seen.push(Memory::now());
    }
    if depth == 0 { 0 } else { descend(depth - 1, seen) + u64::from(frame[7]) }
}
// ---8<---

fn run(page: &Page, _: bool) -> Check {
    let before = Memory::now();
    // ---8<---
    let deep = Builder::new().stack_size(256 << 20).spawn(|| {
        let mut seen = Vec::new();
        (descend(LEVELS * PER_LEVEL, &mut seen), seen)
    });
    // ---8<---
    let (sum, seen) = deep.map_err(|error| error.to_string())?.join().map_err(|_| "it panicked")?;
    let growth = |memory: Memory| memory.since(before).resident as f64 / MIB;
    let used: Vec<f64> = seen.into_iter().map(growth).collect();
    let most = used.iter().copied().fold(1.0, f64::max);
    let after = settled(|| growth(Memory::now()), most / 20.0);
    for (i, used) in used.iter().enumerate() {
        page.bar(
            &format!("{:>6} calls deep", i * PER_LEVEL as usize),
            *used,
            most,
            format_args!("{used:.1} MiB"),
        );
    }
    page.bar("after its end", after, most, format_args!("{after:.1} MiB"));

    page.line("");
    page.result("And one that never stops calling itself, on a default stack of 256 KiB:");
    let output = aside(&CHAPTER).map_err(|error| error.to_string())?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    page.quote(&stderr);
    page.result(format_args!("({})", output.status));

    let n = u64::from(LEVELS * PER_LEVEL);
    ensure(sum == n * (n + 1) / 2, format!("the sum is {sum}"))?;
    ensure(most > f64::from(LEVELS * PER_LEVEL) * 512.0 / MIB, "the stack did not grow")?;
    ensure(after < most / 20.0, "its memory was not given back")?;
    ensure(
        output.status.code() == Some(2) && stderr.contains("stack overflow"),
        "the overflow was not caught",
    )
}

/// The memory in use once it is below `below`, or after two seconds: `join` may return before the
/// stack is given back.
fn settled(memory: impl Fn() -> f64, below: f64) -> f64 {
    let start = Instant::now();
    while memory() > below && start.elapsed() < Duration::from_secs(2) {
        sleep(Duration::from_millis(1));
    }
    memory()
}

fn overflow() {
    fn for_ever(n: u64) -> u64 {
        if black_box(n) == u64::MAX { n } else { black_box(for_ever(n + 1)) + 1 }
    }
    gosched::run(|| {
        let endless = Builder::new().name("endless".into()).spawn(|| for_ever(0));
        endless.map(|handle| handle.join().is_ok()).unwrap_or_default()
    });
}
