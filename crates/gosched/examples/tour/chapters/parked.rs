use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use gosched::thread::park;
use gosched::{go, yield_now};

use super::{Chapter, Check, ensure, nothing};
use crate::measure::{Memory, available_memory};
use crate::page::{Page, thousands};

pub const CHAPTER: Chapter = Chapter {
    name: "parked",
    title: "A hundred thousand waiting at once",
    why: "Goroutines mostly wait, so waiting must be cheap: one page of stack, the header, and the kernel's page tables,\n\
          which are counted here too. (--big parks a million.)",
    source: include_str!("parked.rs"),
    run,
    aside: nothing,
};

/// The most bytes that a parked goroutine may take, handle included.
const BYTES_AT_MOST: u64 = 5_200;

fn run(page: &Page, big: bool) -> Check {
    let n: u32 = if big { 1_000_000 } else { 100_000 };
    let needed = u64::from(n) * BYTES_AT_MOST;
    ensure(
        available_memory() > needed,
        format!("needs {} MB of free memory", thousands(needed / 1_000_000)),
    )?;
    gosched::run(|| {
        let (start, before) = (Instant::now(), Memory::now());
        // ---8<---
        static PARKED: AtomicU32 = AtomicU32::new(0);
        let handles: Vec<_> = (0..n)
            .map(|_| {
                go(|| {
                    PARKED.fetch_add(1, Ordering::Relaxed);
                    park();
                })
            })
            .collect();
        while PARKED.load(Ordering::Relaxed) < n {
            yield_now();
        }
        // ---8<---
        let (parked, memory) = (start.elapsed(), Memory::now().since(before));
        let alive = gosched::runtime::num_goroutine();
        let start = Instant::now();
        handles.iter().for_each(|handle| handle.thread().unpark());
        let failed = handles.into_iter().filter_map(|handle| handle.join().err()).count();
        let woken = start.elapsed();

        let each = |bytes: u64| bytes / u64::from(n);
        let total = each(memory.resident) + each(memory.page_tables);
        page.result(format_args!(
            "{} goroutines alive; parked in {parked:.0?}, woken and joined in {woken:.0?}",
            thousands(alive as u64)
        ));
        page.line("");
        let row =
            |label, bytes: u64| page.bar(label, bytes as f64, 10_000.0, format_args!("{bytes} bytes each"));
        row("stack and header", each(memory.resident));
        row("page tables", each(memory.page_tables));
        row("together", total);
        ensure(failed == 0, "a goroutine failed")?;
        ensure(alive > n as usize, format!("only {alive} goroutines were alive"))?;
        ensure(total <= BYTES_AT_MOST, format!("{total} bytes each are more than {BYTES_AT_MOST}"))
    })
}
