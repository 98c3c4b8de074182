//! Who is who: goroutines by what they run, and places in the source.
//!
//! A goroutine's group is the function that it began with and the place that created it. One that
//! was there before the trace is known by its stack, if its status came with one.

use std::collections::HashMap;

use gosched_traceformat::order::{EventKind, GoState, TraceEvent};
use gosched_traceformat::read::{IdMap, Tables};
use serde::Serialize;

/// A group of goroutines.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct GroupName {
    /// The function that they began with.
    pub function: String,
    /// Where they were created: file and line.
    pub created: String,
}

/// The groups, and to which of them each goroutine that is alive belongs.
#[derive(Debug, Default)]
pub struct People {
    names: Vec<GroupName>,
    numbers: HashMap<GroupName, usize>,
    groups: IdMap<usize>,
}

/// What is said where nothing is known.
pub const UNKNOWN: &str = "(unknown)";

/// The innermost frame that is not the scheduler's or its runtime's own: function, and file and
/// line.
#[must_use]
pub fn place(tables: &Tables, stack: u64) -> Option<(String, String)> {
    let frames = tables.stack(stack).map(|frame| {
        let text = |id| tables.string(id).unwrap_or_default().to_owned();
        (text(frame.function), format!("{}:{}", text(frame.file), frame.line))
    });
    let mut first = None;
    for (function, place) in frames {
        if !is_inner(&function) {
            return Some((function, place));
        }
        first.get_or_insert((function, place));
    }
    first
}

/// Whether a function is part of a runtime, which users do not look for.
fn is_inner(function: &str) -> bool {
    ["runtime.", "internal/", "gosched::", "gosched_"].iter().any(|prefix| function.starts_with(prefix))
}

impl People {
    /// To be shown every event.
    pub fn event(&mut self, event: &TraceEvent, tables: &Tables) {
        let EventKind::GoChange { g, from, to, stack, .. } = &event.kind else { return };
        match (from, to) {
            (GoState::NotExist, _) => {
                let function = tables.stack(*stack).next();
                let function = function.and_then(|frame| tables.string(frame.function)).unwrap_or(UNKNOWN);
                let created = place(tables, event.stack).map_or(UNKNOWN.to_owned(), |(_, place)| place);
                self.put(*g, GroupName { function: function.to_owned(), created });
            }
            (GoState::Undetermined, _) => {
                let function = tables.stack(*stack).next_back();
                let function = function.and_then(|frame| tables.string(frame.function)).unwrap_or(UNKNOWN);
                let created = "before the trace".to_owned();
                self.put(*g, GroupName { function: function.to_owned(), created });
            }
            _ => {}
        }
    }

    /// To be told of a goroutine that has ended, once everything about its end was said.
    pub fn forget(&mut self, g: u64) {
        self.groups.remove(&g);
    }

    fn put(&mut self, g: u64, name: GroupName) {
        let next = self.names.len();
        let number = *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        });
        self.groups.insert(g, number);
    }

    /// The number of a goroutine's group.
    #[must_use]
    pub fn group(&self, g: u64) -> Option<usize> {
        self.groups.get(&g).copied()
    }

    /// A group's name.
    #[must_use]
    pub fn name(&self, group: usize) -> &GroupName {
        &self.names[group]
    }

    /// What a goroutine's group began with.
    #[must_use]
    pub fn function(&self, g: u64) -> &str {
        self.group(g).map_or(UNKNOWN, |group| &self.names[group].function)
    }
}
