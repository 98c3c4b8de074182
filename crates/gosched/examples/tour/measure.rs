//! What the kernel says about this process, read from `/proc`.

use std::fs;
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Resident memory and page tables, in bytes.
#[derive(Clone, Copy)]
pub struct Memory {
    pub resident: u64,
    pub page_tables: u64,
}

impl Memory {
    pub fn now() -> Memory {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        Memory { resident: kib(&status, "VmRSS:"), page_tables: kib(&status, "VmPTE:") }
    }

    pub fn since(self, before: Memory) -> Memory {
        Memory {
            resident: self.resident.saturating_sub(before.resident),
            page_tables: self.page_tables.saturating_sub(before.page_tables),
        }
    }
}

/// What the machine could still give, in bytes.
pub fn available_memory() -> u64 {
    kib(&fs::read_to_string("/proc/meminfo").unwrap_or_default(), "MemAvailable:")
}

fn kib(text: &str, key: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("");
    value.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}

/// What all threads of the process have used so far.
#[derive(Clone, Copy, Default)]
pub struct Work {
    pub threads: u32,
    pub cpu: Duration,
    /// How often a thread was put on a CPU.
    pub turns: u64,
}

impl Work {
    /// `None` where the kernel keeps no such account.
    pub fn now() -> Option<Work> {
        let mut work = Work::default();
        for task in fs::read_dir("/proc/self/task").ok()? {
            let account = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            let mut numbers = account.split_whitespace().map(|n| n.parse::<u64>().ok());
            work.threads += 1;
            work.cpu += Duration::from_nanos(numbers.next()??);
            work.turns += numbers.nth(1)??;
        }
        Some(work)
    }
}

/// The OS thread of the caller. Never inlined: a goroutine may call it from another thread next
/// time, which the compiler does not know.
#[inline(never)]
pub fn os_thread() -> ThreadId {
    thread::current().id()
}

/// Computes for about this long.
pub fn compute(time: Duration) {
    let start = std::time::Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}
