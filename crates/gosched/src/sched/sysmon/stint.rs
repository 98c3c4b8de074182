//! Which goroutines have held their thread too long (`GOSCHED_DEBUG=stall=ms`), whether or not work
//! waits, and whether or not their P was taken meanwhile. The reporter is told, and tells the user.
//!
//! A goroutine holds its thread from its pick until it leaves the thread. While it has its P, the
//! P's count of picks does not change; while it has none, nobody else can be picked on its M. One
//! that computes is judged by its thread's CPU time, so time in which the kernel runs other threads
//! does not count.

use core::sync::atomic::Ordering;

use gosched_primitives::Intr;
use gosched_rules::pace::Tick;

use super::super::SCHED;
use crate::dump;
use crate::m::M;
use crate::sys::clock;

/// Looks at every M; tells the reporter of those whose goroutine has held the thread for `limit`.
pub(super) fn look(limit: u64, now: u64) -> Tick {
    let mut tick = Tick::Idle;
    for m in SCHED.all_m() {
        let stint = &m.stint;
        let Some((id, picks)) = running(m) else {
            stint.id.store(0, Ordering::Relaxed);
            continue;
        };
        tick = Tick::Busy;
        if m.owner.in_runtime() {
            continue;
        }
        let known = stint.picks.load(Ordering::Relaxed);
        if stint.id.load(Ordering::Relaxed) != id || picks.is_some_and(|picks| picks != known) {
            stint.begin(id, picks.unwrap_or(known), clock::cpu_of(m.tid()), now);
            continue;
        }
        // The reporter may have failed to read its stack; it is asked again after `limit`.
        let since = stint.since.load(Ordering::Relaxed);
        let is_due = now.saturating_sub(stint.asked.load(Ordering::Relaxed)) >= limit;
        if is_due && !stint.is_told(since) && holds(m, limit, now) {
            stint.asked.store(now, Ordering::Relaxed);
            dump::stall(dump::Stall { m, id, since });
        }
    }
    tick
}

/// Whether the thread has computed for `limit`, or is blocked now.
fn holds(m: &'static M, limit: u64, now: u64) -> bool {
    let (cpu, before) = (clock::cpu_of(m.tid()), m.stint.cpu.load(Ordering::Relaxed));
    let computed = match cpu {
        0 => now.saturating_sub(m.stint.since.load(Ordering::Relaxed)),
        cpu => cpu.saturating_sub(before),
    };
    if computed >= limit {
        return true;
    }
    // Under the lock, or the M's thread could end between the two questions, and the probe ask
    // about a thread that is gone.
    let _taker = SCHED.taker.lock();
    let blocked = m.has_thread() && m.probe.is_blocked(m.tid());
    if m.owner.intr() == Intr::Taken {
        m.probe.close();
    }
    blocked
}

/// The goroutine that runs on `m`, and its P's count of picks, if it has one.
fn running(m: &'static M) -> Option<(u64, Option<u64>)> {
    let id = m.cur_g()?.id();
    match m.owner.intr() {
        Intr::Blocking => None,
        Intr::Taken => Some((id, None)),
        Intr::None | Intr::Preempt | Intr::Retaking => Some((id, Some(m.p()?.picks()))),
    }
}
