//! The scheduler in one line, every so often (S50): `GOSCHED_DEBUG=schedtrace=ms`, and with
//! `scheddetail=1` a line for each P, M and G too. The form is that of Go's runtime.
//!
//! The reporter prints it, which needs no P: so lines come while all is idle, beside endless loops
//! and in a stopped world. Everything is read without a lock, one after the other, while the
//! scheduler goes on: the numbers of one line need not fit together.
//!
//! What Go prints and we do not have is left out: `gfreecnt` and `timerslen` of a P, which only its
//! owner may read; `mallocing`, `throwing`, `preemptoff`, `locks` and `dying` of an M.

use core::fmt::{self, Write};
use core::time::Duration;
use std::time::Instant;

use gosched_primitives::Status;

use super::overview::{Overview, scheduler};
use crate::clock::now;
use crate::debug;
use crate::fatal::offer_stderr;
use crate::g::{G, since};
use crate::m::M;
use crate::p::{P, PStatus};

/// How much is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    Line,
    All,
}

/// When the next line is due, and what it shows.
pub(super) struct SchedTrace {
    every: Duration,
    next: Instant,
    detail: Detail,
}

impl SchedTrace {
    /// As `GOSCHED_DEBUG` wants it; the first line is due at once. `None` if it wants none.
    pub(super) fn wanted() -> Option<SchedTrace> {
        let debug = debug::get();
        let detail = if debug.scheddetail { Detail::All } else { Detail::Line };
        debug.schedtrace.map(|every| SchedTrace { every, next: Instant::now(), detail })
    }

    /// How long until the next line is due.
    pub(super) fn pause(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Prints a line if one is due. Of lines that are late, because the thread did not get a CPU,
    /// one is printed.
    pub(super) fn print_if_due(&mut self) {
        let time = Instant::now();
        if time < self.next {
            return;
        }
        while self.next <= time {
            self.next += self.every;
        }
        if let Some(scheduler) = scheduler() {
            offer_stderr(text(scheduler, self.detail).as_bytes());
        }
    }
}

fn text(scheduler: &dyn Overview, detail: Detail) -> String {
    let mut text = String::new();
    // Writing to a String can't fail.
    let _ = match detail {
        Detail::Line => write_line(&mut text, scheduler),
        Detail::All => write_all(&mut text, scheduler),
    };
    text
}

/// The Ps that GOMAXPROCS counts.
fn ps(scheduler: &dyn Overview) -> impl Iterator<Item = &'static P> {
    scheduler.ps().filter(|p| p.status() != PStatus::Dead)
}

/// What is queued at a P: its ring, and `runnext`.
fn queued(p: &P) -> usize {
    p.ring.len() + usize::from(!p.next.is_empty())
}

/// Ms whose goroutine is bound to them and waits.
fn locked_ms(scheduler: &dyn Overview) -> usize {
    scheduler.gs().filter(|g| is_alive(g) && g.locked_m().is_some()).count()
}

fn is_alive(g: &G) -> bool {
    !matches!(g.status(), Status::Idle | Status::Dead)
}

/// Whether an M sleeps until it is given a P, or is about to.
fn is_idle(m: &M) -> bool {
    m.p_hint().is_none() && m.cur_g().is_none()
}

fn write_head(text: &mut String, scheduler: &dyn Overview) -> fmt::Result {
    let books = scheduler.books();
    let idle_ms = scheduler.ms().filter(|m| is_idle(m)).count();
    write!(
        text,
        "SCHED {}ms: gomaxprocs={} idleprocs={} threads={} spinningthreads={} needspinning=0 idlethreads={} \
         runqueue={}",
        since::uptime(now()).as_millis(),
        books.procs,
        books.idle.idle_ps,
        scheduler.ms().count(),
        books.idle.spinning,
        idle_ms.saturating_sub(locked_ms(scheduler)),
        books.runq_len,
    )
}

/// `SCHED 1004ms: gomaxprocs=2 … runqueue=0 [3 1]`: the last are the Ps' queues.
fn write_line(text: &mut String, scheduler: &dyn Overview) -> fmt::Result {
    write_head(text, scheduler)?;
    let queues: Vec<String> = ps(scheduler).map(|p| queued(p).to_string()).collect();
    writeln!(text, " [{}]", queues.join(" "))
}

fn write_all(text: &mut String, scheduler: &dyn Overview) -> fmt::Result {
    write_head(text, scheduler)?;
    let books = scheduler.books();
    writeln!(
        text,
        " gcwaiting={} nmidlelocked={} stopwait={} sysmonwait={}",
        books.stopping,
        locked_ms(scheduler),
        books.still_running,
        books.monitor_sleeps,
    )?;
    ps(scheduler).try_for_each(|p| write_p(text, p))?;
    scheduler.ms().try_for_each(|m| write_m(text, m))?;
    scheduler.gs().filter(|g| is_alive(g)).try_for_each(|g| write_g(text, g))
}

/// A number, or Go's word for none.
fn or_nil(id: Option<u64>) -> String {
    id.map_or_else(|| "nil".to_owned(), |id| id.to_string())
}

fn write_p(text: &mut String, p: &P) -> fmt::Result {
    writeln!(
        text,
        "  P{}: status={} schedtick={} syscalltick={} m={} runqsize={}",
        p.id,
        p.status() as u32,
        p.sched_tick(),
        p.blocking_tick(),
        or_nil(p.m().map(|m| m.id)),
        queued(p),
    )
}

fn write_m(text: &mut String, m: &M) -> fmt::Result {
    writeln!(
        text,
        "  M{}: p={} curg={} spinning={} blocked={} lockedg={}",
        m.id,
        or_nil(m.p_hint().map(|p| u64::from(p.id))),
        or_nil(m.cur_g().map(G::id)),
        m.is_spinning(),
        is_idle(m),
        or_nil(m.cur_g().filter(|g| g.locks() > 0).map(G::id)),
    )
}

fn write_g(text: &mut String, g: &G) -> fmt::Result {
    let status = g.status();
    let m = match status {
        Status::Running | Status::Blocking => g.m().map(|m| m.id),
        _ => None,
    };
    writeln!(
        text,
        "  G{}: status={}({}) m={} lockedm={}",
        g.id(),
        number_in_go(status),
        g.reason().text(),
        or_nil(m),
        or_nil(g.locked_m().map(|m| m.id)),
    )
}

/// The number that Go's runtime has for this status.
fn number_in_go(status: Status) -> u32 {
    match status {
        Status::Idle => 0,
        Status::Runnable => 1,
        Status::Running | Status::Parking | Status::ParkingReady => 2,
        Status::Blocking => 3,
        Status::Waiting => 4,
        Status::Dead => 6,
    }
}
