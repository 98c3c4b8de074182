//! A goroutine at one moment: what it is, what it does, and a copy of its stack.
//!
//! How each kind of stack is read, and why that is safe:
//! - **Parked, or runnable after it ran**: its registers are saved and no thread runs on its stack.
//!   Both are copied while the scan bit holds its status still, so that no M can begin to run it;
//!   afterwards only the copy is read.
//! - **On a thread that is blocked** in the kernel: the kernel tells stack pointer and program
//!   counter. The stack is copied under the scan bit, so that it stays this goroutine's, and the
//!   kernel is asked again: if it says the same, the thread has not moved. It is not interrupted:
//!   not every call is restarted after a signal.
//! - **On a thread that computes**: its thread copies its stack itself, in a signal handler
//!   (`ask`).
//! - **The one that asks**: it copies its own stack before it asks.
//!
//! Stacks are never unmapped, so a stack that has changed hands can at worst be read as nonsense,
//! which unwinding tolerates.

#![allow(unsafe_code)]

use core::ops::Range;
use std::time::Duration;

use gosched_primitives::{Scan, Status};
use gosched_switch::arch::{self, Registers};

use super::ask::{Answer, Asker};
use super::copy::StackCopy;
use crate::g::{G, View};
use crate::m::{M, current};
use crate::sys::task::{self, Activity};

/// How often to look at a goroutine whose status keeps changing.
const TRIES: u32 = 10;
/// The pause between two such looks.
const PAUSE: Duration = Duration::from_micros(50);

/// What is known of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum StackState {
    /// In the copy; the goroutine is parked or runnable.
    Resting,
    /// In the copy; its thread is blocked in the kernel.
    Blocked,
    /// In the copy; its thread runs, or is runnable.
    Computing,
    /// None yet: it has not run.
    NotStarted,
    /// It could not be read.
    Unavailable,
}

/// The stack of the goroutine that asks for a dump, copied by itself.
pub(super) struct OwnStack {
    pub(super) id: u64,
    pub(super) copy: StackCopy,
}

impl OwnStack {
    /// The stack of the caller; `None` if that is not a goroutine.
    #[inline(never)]
    pub(super) fn take() -> Option<OwnStack> {
        let g = current::current()?.cur_g()?;
        // SAFETY: the calling goroutine's own stack.
        let top = unsafe { (*g.stack.get()).as_ref() }?.top();
        let here = arch::here();
        let mut copy = StackCopy::new();
        // SAFETY: the caller's stack, from where it is to its end.
        unsafe { copy.take(here, top) };
        Some(OwnStack { id: g.id(), copy })
    }
}

/// What was seen of a goroutine under the scan bit.
enum Glance {
    Done(StackState),
    /// It is on a thread, with a stack that lies there.
    On(&'static M, Range<usize>),
    /// In transition: another look is needed.
    Moving,
}

/// A goroutine, and its stack in `copy`. `None` if the header has no goroutine, or another one than
/// `id`.
pub(super) fn take(
    g: &'static G,
    id: Option<u64>,
    asker: &mut Asker,
    copy: &mut StackCopy,
) -> Option<(View, StackState)> {
    for tried in 0..TRIES {
        let (scan, view) = g.hold()?;
        if id.is_some_and(|id| id != view.id) {
            return None;
        }
        let glance = glance(g, &scan, copy);
        drop(scan);
        let last = tried + 1 == TRIES;
        match glance {
            Glance::Done(stack) => return Some((view, stack)),
            Glance::On(m, stack) => match on_thread(g, &view, m, stack, asker, copy) {
                Some(stack) => return Some((view, stack)),
                None if last => return Some((view, StackState::Unavailable)),
                None => {}
            },
            Glance::Moving if last => return Some((view, StackState::Unavailable)),
            Glance::Moving => std::thread::sleep(PAUSE),
        }
    }
    None
}

fn glance(g: &'static G, scan: &Scan<'_>, copy: &mut StackCopy) -> Glance {
    match scan.status() {
        // It has not run. An M that picks it may be attaching its stack right now.
        Status::Runnable if g.m().is_none() => Glance::Done(StackState::NotStarted),
        Status::Runnable | Status::Waiting => {
            let Some(bounds) = bounds(g, scan) else { return Glance::Done(StackState::NotStarted) };
            // SAFETY: it has run and is not running, so its registers are saved; they change only
            // after its status.
            let registers = unsafe { (*g.buf.get()).registers() };
            if !bounds.contains(&registers.sp) {
                return Glance::Done(StackState::Unavailable);
            }
            // SAFETY: between its stack pointer and its end the stack is mapped.
            unsafe { copy.take(registers, bounds.end) };
            Glance::Done(StackState::Resting)
        }
        Status::Running | Status::Blocking => match (where_is(g), bounds(g, scan)) {
            (Some(m), Some(bounds)) => Glance::On(m, bounds),
            _ => Glance::Moving,
        },
        _ => Glance::Moving,
    }
}

/// Where its stack lies. Its scan bit is held, and it has begun to run.
fn bounds(g: &G, _: &Scan<'_>) -> Option<Range<usize>> {
    // SAFETY: a goroutine that has begun keeps its stack until it is dead, which it can't become
    // now.
    unsafe { (*g.stack.get()).as_ref() }.map(|stack| stack.limit()..stack.top())
}

/// The M that it runs on, if that M says the same.
fn where_is(g: &'static G) -> Option<&'static M> {
    let m = g.m()?;
    m.cur_g().is_some_and(|current| core::ptr::eq(current, g)).then_some(m)
}

/// Copies the stack of a goroutine that is on a thread; `None` if it no longer is.
fn on_thread(
    g: &'static G,
    view: &View,
    m: &'static M,
    stack: Range<usize>,
    asker: &mut Asker,
    copy: &mut StackCopy,
) -> Option<StackState> {
    match task::look(m.tid()) {
        Activity::Running => match asker.ask(m, g, view.id, stack, copy) {
            Answer::Copied => Some(StackState::Computing),
            Answer::Elsewhere => None,
            Answer::None => Some(StackState::Unavailable),
        },
        before @ Activity::Blocked { sp, pc, .. } => {
            let (scan, now) = g.hold()?;
            let same = now.id == view.id
                && matches!(scan.status(), Status::Running | Status::Blocking)
                && where_is(g).is_some_and(|now| core::ptr::eq(now, m));
            if !same || !stack.contains(&sp) {
                return None;
            }
            // SAFETY: between its stack pointer and its end the stack is mapped.
            unsafe { copy.take(Registers { pc, sp, bp: None, lr: None }, stack.end) };
            (task::look(m.tid()) == before).then_some(StackState::Blocked)
        }
        Activity::Unknown => Some(StackState::Unavailable),
    }
}
