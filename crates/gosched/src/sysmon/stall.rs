//! Which goroutines have held their thread too long (`GOSCHED_DEBUG=stall=ms`), whether or not anybody waits for it, and
//! whether or not their P was taken from them meanwhile. The reporter is told, and tells the user.
//!
//! A goroutine holds its thread from the pick that began it until it leaves it. As long as it has its P, that one's
//! count of picks stands still; without a P, nobody else can be picked on its M.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gosched_queue::Intr;

use super::Tick;
use crate::dump;
use crate::m::M;
use crate::sched::SCHED;

/// What the monitor last saw of an M. Its own.
pub(crate) struct Held {
    id: AtomicU64,
    picks: AtomicU64,
    /// When it was first seen so.
    since: AtomicU64,
    told: AtomicBool,
}

impl Held {
    pub(crate) const fn new() -> Held {
        Held {
            id: AtomicU64::new(0),
            picks: AtomicU64::new(0),
            since: AtomicU64::new(0),
            told: AtomicBool::new(false),
        }
    }

    fn begin(&self, id: u64, picks: u64, now: u64) {
        self.id.store(id, Ordering::Relaxed);
        self.picks.store(picks, Ordering::Relaxed);
        self.since.store(now, Ordering::Relaxed);
        self.told.store(false, Ordering::Relaxed);
    }
}

/// Looks at every M; tells of those whose goroutine has held the thread for `limit`, once each time.
pub(super) fn look(limit: u64, now: u64) -> Tick {
    let mut tick = Tick::Idle;
    for m in SCHED.all_m() {
        let Some((id, picks)) = running(m) else {
            m.held.begin(0, 0, now);
            continue;
        };
        tick = Tick::Busy;
        if m.owner.in_runtime() {
            continue;
        }
        let known = m.held.picks.load(Ordering::Relaxed);
        if m.held.id.load(Ordering::Relaxed) != id || picks.is_some_and(|picks| picks != known) {
            m.held.begin(id, picks.unwrap_or(known), now);
        } else if now.saturating_sub(m.held.since.load(Ordering::Relaxed)) >= limit
            && !m.held.told.swap(true, Ordering::Relaxed)
        {
            dump::stall(m, id);
        }
    }
    tick
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
