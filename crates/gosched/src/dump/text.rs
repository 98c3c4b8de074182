//! The dump as text: the scheduler in a paragraph, and each goroutine with its stack, in Go's form.
//!
//! Each goroutine has its own head and stack (S48, S49), unless more than ten differ only in their
//! number: those are shown once, with a count.

use core::fmt::{self, Write};
use core::hash::{Hash, Hasher};
use core::panic::Location;
use core::time::Duration;
use std::rc::Rc;

use super::ask::Asker;
use super::copy::StackCopy;
use super::hash::Map;
use super::overview::{Overview, scheduler};
use super::snapshot::{self, OwnStack, StackState};
use super::stacks::{Shown, Stacks};
use crate::clock::now;
use crate::g::{G, MAIN_ID, Name, View, since};

/// How many entries are listed; the goroutines of the rest are only counted.
const LISTED: usize = 1000;
/// Up to so many goroutines that are alike are listed singly.
const FEW: usize = 10;
/// How many ids of goroutines that are shown once are listed.
const IDS: usize = 10;

/// Makes dumps, and keeps what is known of stacks between two of them.
pub(super) struct Dumper {
    asker: Asker,
    stacks: Stacks,
    copy: StackCopy,
}

/// Goroutines that look the same.
struct AlikeGroup {
    first: View,
    longest: Duration,
    others: Vec<u64>,
    stack: Rc<Shown>,
    state: ShownState,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ShownState {
    text: &'static str,
    stack: StackState,
}

/// What goroutines of a group have in common.
#[derive(PartialEq, Eq, Hash)]
struct Alike {
    name: Option<Name>,
    state: ShownState,
    stack: *const Shown,
    creator: u64,
    place: CreatedAt,
}

/// Where they were created. The hash leaves out the file's name, which is long.
#[derive(PartialEq, Eq)]
struct CreatedAt(Option<&'static Location<'static>>);

impl Hash for CreatedAt {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.map(|place| (place.line(), place.column())).hash(state);
    }
}

impl Dumper {
    pub(super) fn new(asker: Asker) -> Dumper {
        Dumper { asker, stacks: Stacks::new(), copy: StackCopy::new() }
    }

    /// All goroutines; `own` is the one that asked. The times that they have waited are as of the
    /// beginning of the call, though reading all the stacks can take a second.
    pub(super) fn goroutines(&mut self, own: Option<&OwnStack>) -> String {
        let asked = now();
        self.stacks.refresh();
        let mut seen = Vec::new();
        for g in scheduler().map(Overview::gs).into_iter().flatten() {
            let since_asked = Duration::from_nanos(now().saturating_sub(asked));
            if let Some((mut view, stack, shown)) = self.look(g, None, own) {
                view.waited = view.waited.saturating_sub(since_asked);
                seen.push((view, stack, shown));
            }
        }
        seen.sort_unstable_by_key(|(view, ..)| (view.id != MAIN_ID, view.id));
        let mut text = String::new();
        // Writing to a String can't fail.
        let _ = write_groups(&mut text, group(seen));
        text
    }

    /// A goroutine and its stack; `None` if the header has no goroutine, or not the one called
    /// `id`, if that is given.
    pub(super) fn look(
        &mut self,
        g: &'static G,
        id: Option<u64>,
        own: Option<&OwnStack>,
    ) -> Option<(View, StackState, Rc<Shown>)> {
        if let Some(own) = own.filter(|own| own.id == g.id()) {
            return Some((g.inspect()?, StackState::Computing, self.stacks.show(&own.copy)));
        }
        let (view, stack) = snapshot::take(g, id, &mut self.asker, &mut self.copy)?;
        let shown = match stack {
            StackState::Resting | StackState::Blocked | StackState::Computing => self.stacks.show(&self.copy),
            StackState::NotStarted | StackState::Unavailable => self.stacks.nothing(),
        };
        Some((view, stack, shown))
    }
}

/// One group per goroutine, but one for all that are alike if there are more than [`FEW`].
fn group(seen: Vec<(View, StackState, Rc<Shown>)>) -> Vec<AlikeGroup> {
    let mut kinds: Map<Alike, AlikeCount> = Map::default();
    for (view, stack, shown) in &seen {
        kinds.entry(alike(view, *stack, shown)).or_default().members += 1;
    }
    let mut groups: Vec<AlikeGroup> = Vec::new();
    for (view, stack, shown) in seen {
        let kind = kinds.entry(alike(&view, stack, &shown)).or_default();
        match kind.group {
            Some(index) if kind.members > FEW => {
                let group = &mut groups[index];
                group.longest = group.longest.max(view.waited);
                group.others.push(view.id);
            }
            _ => {
                kind.group = Some(groups.len());
                let state = ShownState { text: view.state, stack };
                let longest = view.waited;
                groups.push(AlikeGroup { first: view, others: Vec::new(), longest, stack: shown, state });
            }
        }
    }
    groups
}

/// Goroutines that are alike: how many there are, and the last group that was made for one.
#[derive(Default)]
struct AlikeCount {
    members: usize,
    group: Option<usize>,
}

fn alike(view: &View, stack: StackState, shown: &Rc<Shown>) -> Alike {
    Alike {
        name: view.name.clone(),
        state: ShownState { text: view.state, stack },
        stack: Rc::as_ptr(shown),
        creator: view.creator,
        place: CreatedAt(view.place),
    }
}

fn write_groups(text: &mut String, groups: Vec<AlikeGroup>) -> fmt::Result {
    let more: usize = groups.iter().skip(LISTED).map(|group| 1 + group.others.len()).sum();
    for (n, group) in groups.iter().take(LISTED).enumerate() {
        text.push_str(if n == 0 { "" } else { "\n" });
        write_head(text, group)?;
        match group.state.stack {
            StackState::NotStarted => writeln!(text, "(not started)")?,
            StackState::Unavailable => writeln!(text, "(stack unavailable)")?,
            StackState::Resting | StackState::Blocked | StackState::Computing => {
                text.push_str(&group.stack.text)
            }
        }
        write_origin(text, &group.first)?;
    }
    if more > 0 {
        writeln!(text, "\n... and {more} more")?;
    }
    Ok(())
}

/// `goroutine 18 "name" [sleep, 3 minutes] (and 2 others with this stack: 19 20):`
fn write_head(text: &mut String, group: &AlikeGroup) -> fmt::Result {
    write!(text, "{} [{}", Who(&group.first), group.state.text)?;
    if group.state.stack == StackState::Blocked && group.state.text == "running" {
        text.push_str(", blocked");
    }
    if let Some(longest) = waited(group.longest) {
        let first = waited(group.first.waited);
        let up_to = if first.as_ref() == Some(&longest) { "" } else { "up to " };
        write!(text, ", {up_to}{longest}")?;
    }
    text.push(']');
    if !group.others.is_empty() {
        let others = if group.others.len() == 1 { "other" } else { "others" };
        write!(text, " (and {} {others} with this stack:", group.others.len())?;
        for id in group.others.iter().take(IDS) {
            write!(text, " {id}")?;
        }
        text.push_str(if group.others.len() > IDS { " ...)" } else { ")" });
    }
    text.push_str(":\n");
    Ok(())
}

/// As in Go, but from one second on instead of one minute.
fn waited(time: Duration) -> Option<String> {
    match time.as_secs() {
        0 => None,
        s @ 1..60 => Some(format!("{s} s")),
        s => Some(format!("{} minutes", s / 60)),
    }
}

/// `goroutine 7 "name"`
pub(super) struct Who<'a>(pub(super) &'a View);

impl fmt::Display for Who<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "goroutine {}", self.0.id)?;
        match &self.0.name {
            Some(name) => write!(f, " {:?}", &***name),
            None => Ok(()),
        }
    }
}

/// Who created it, and where.
pub(super) fn write_origin(text: &mut String, view: &View) -> fmt::Result {
    match (view.creator, view.place) {
        (0, Some(place)) => writeln!(text, "created at {place}"),
        (creator, Some(place)) => writeln!(text, "created by goroutine {creator} at {place}"),
        _ => Ok(()),
    }
}

/// A line for the scheduler, in Go's words, and one for each P and M. Reads only what may be read
/// at any time.
pub(super) fn scheduler_state() -> String {
    let mut text = String::new();
    if let Some(scheduler) = scheduler() {
        // Writing to a String can't fail.
        let _ = write_scheduler(&mut text, scheduler);
    }
    text
}

fn write_scheduler(text: &mut String, scheduler: &dyn Overview) -> fmt::Result {
    let books = scheduler.books();
    writeln!(
        text,
        "SCHED {}ms: gomaxprocs={} idleprocs={} threads={} spinningthreads={} runqueue={} goroutines={}",
        since::uptime(now()).as_millis(),
        books.procs,
        books.idle.idle_ps,
        scheduler.ms().count(),
        books.idle.spinning,
        books.runq_len,
        books.goroutines,
    )?;
    for p in scheduler.ps() {
        let status = p.status().name();
        let next = if p.next.is_empty() { "" } else { "+1" };
        let m = p.m().map_or(-1, |m| m.id as i64);
        let tick = p.sched_tick();
        writeln!(text, "  P{}: {status} m={m} schedtick={tick} runqsize={}{next}", p.id, p.ring.len())?;
    }
    for m in scheduler.ms() {
        let p = m.p_hint().map_or(-1, |p| i64::from(p.id));
        let g = m.cur_g().map_or(0, |g| g.id());
        let inside = if m.owner.in_runtime() { " in-runtime" } else { "" };
        let spinning = if m.is_spinning() { " spinning" } else { "" };
        writeln!(text, "  M{}: tid={} p={p} curg={g} {:?}{inside}{spinning}", m.id, m.tid(), m.owner.intr())?;
    }
    Ok(())
}
