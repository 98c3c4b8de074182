//! Which goroutines have held their thread too long (`GOSCHED_DEBUG=stall=ms`), whether or not anybody waits for it, and
//! whether or not their P was taken from them meanwhile. The reporter is told, and tells the user.
//!
//! A goroutine holds its thread from the pick that began it until it leaves it. As long as it has its P, that one's
//! count of picks stands still; without a P, nobody else can be picked on its M. One that computes is judged by its
//! thread's CPU time: it can't help it if the kernel runs others.

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
        // The reporter may have found it on the move; it is asked again after a while.
        let since = stint.since.load(Ordering::Relaxed);
        let is_due = now.saturating_sub(stint.asked.load(Ordering::Relaxed)) >= limit;
        if is_due && !stint.is_told(since) && holds(m, limit, now) {
            stint.asked.store(now, Ordering::Relaxed);
            dump::stall(dump::Stall { m, id, since });
        }
    }
    tick
}

/// Whether the thread has computed for `limit`, or has been held so long and is blocked.
fn holds(m: &'static M, limit: u64, now: u64) -> bool {
    let (cpu, before) = (clock::cpu_of(m.tid()), m.stint.cpu.load(Ordering::Relaxed));
    let computed = match cpu {
        0 => now.saturating_sub(m.stint.since.load(Ordering::Relaxed)),
        cpu => cpu.saturating_sub(before),
    };
    if computed >= limit {
        return true;
    }
    // Else the M might end meanwhile, and close what is asked.
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
