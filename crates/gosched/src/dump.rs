//! What every goroutine, P and M is doing, as text for a person (S5): the watchdog's last words.

use core::fmt::Write;

use crate::fatal::{EXIT_STATUS, write_stderr};
use crate::sched::SCHED;

/// How many goroutines are listed; the others are counted.
const LISTED: usize = 1000;

/// One paragraph for the scheduler, one line for each P, M and goroutine.
pub(crate) fn all(headline: &str) -> String {
    let mut text = format!("gosched: {headline}\n");
    // Writing to a String can't fail.
    let _ = write_all(&mut text);
    text
}

/// All goroutines are asleep for ever: says so, shows them, and ends the process (S48).
pub(crate) fn deadlock() -> ! {
    let mut text = String::from("fatal error: all goroutines are asleep - deadlock!\n");
    let _ = write_goroutines(&mut text);
    write_stderr(text.as_bytes());
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(EXIT_STATUS) }
}

fn write_all(text: &mut String) -> core::fmt::Result {
    let idle = SCHED.idle_snapshot();
    writeln!(
        text,
        "gomaxprocs={} idleprocs={} spinningthreads={} threads={} runqueue={} goroutines={}",
        SCHED.procs(),
        idle.idle_ps,
        idle.spinning,
        SCHED.all_m().count(),
        SCHED.runq_len(),
        SCHED.num_goroutine(),
    )?;
    for p in SCHED.all_p() {
        let status = p.status().name();
        let next = if p.next.is_empty() { "" } else { "+1" };
        let m = p.m().map_or(-1, |m| m.id as i64);
        let tick = p.sched_tick();
        writeln!(text, "  P{}: {status} m={m} schedtick={tick} runqsize={}{next}", p.id, p.ring.len())?;
    }
    for m in SCHED.all_m() {
        let p = m.p().map_or(-1, |p| i64::from(p.id));
        let g = m.cur_g().map_or(0, |g| g.id());
        let inside = if m.owner.in_runtime() { " in-runtime" } else { "" };
        let spinning = if m.is_spinning() { " spinning" } else { "" };
        writeln!(text, "  M{}: tid={} p={p} curg={g} {:?}{inside}{spinning}", m.id, m.tid(), m.owner.intr())?;
    }
    write_goroutines(text)
}

fn write_goroutines(text: &mut String) -> core::fmt::Result {
    let mut more = 0;
    let mut listed = 0;
    for g in SCHED.all_g() {
        let Some(view) = g.inspect() else { continue };
        if listed == LISTED {
            more += 1;
            continue;
        }
        listed += 1;
        let name = view.name.map(|name| format!(" {name:?}")).unwrap_or_default();
        writeln!(text, "\ngoroutine {}{name} [{}]:", view.id, view.state)?;
        match (view.creator, view.place) {
            (0, Some(place)) => writeln!(text, "created at {place}")?,
            (creator, Some(place)) => writeln!(text, "created by goroutine {creator} at {place}")?,
            _ => {}
        }
    }
    if more > 0 {
        writeln!(text, "\n... and {more} more")?;
    }
    Ok(())
}
