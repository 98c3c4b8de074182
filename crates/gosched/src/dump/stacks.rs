//! From a copied stack to its text. Results are kept: a process has many goroutines and few
//! different stacks.
//!
//! Two stacks with the same program counter, link register and length, and with the same return
//! addresses in the same places, count as the same stack. Comparing those places saves the
//! unwinding, which is most of a dump's time (2026-11-16, debug build, 10,000 parked goroutines
//! with 16 frames each: 12 µs each without, 3 with).

use core::fmt::Write;
use std::collections::HashMap;
use std::rc::Rc;

use super::cfi::{CodeTable, Refreshed};
use super::copy::StackCopy;
use super::hash::Map;
use super::symbols::{StackCall, Symbols};
use super::unwind::{Frame, UnwindEnd, unwind};

/// How many calls of a stack are shown, as in Go.
const CALLS: usize = 100;
/// The most stacks that are kept for the next dump.
const KEPT: usize = 10_000;
/// The most stacks that are kept for one program counter, link register and length.
const ALIKE: usize = 8;

/// A stack as it is shown.
pub(super) struct Shown {
    pub(super) text: String,
    /// The innermost call in the user's code, or else the innermost that is not in ours.
    pub(super) users: Option<Rc<StackCall>>,
}

/// A stack that was unwound: where its return addresses lie, from its stack pointer on, and how it
/// is shown.
struct Known {
    returns: Box<[(usize, usize)]>,
    shown: Rc<Shown>,
}

/// What is known of stacks so far.
pub(super) struct Stacks {
    places: CodeTable,
    symbols: Symbols,
    frames: Vec<Frame>,
    /// By program counter, link register and length.
    known: Map<(usize, Option<usize>, usize), Vec<Known>>,
    /// By how it ended and the addresses of its frames.
    shown: Map<(UnwindEnd, Box<[usize]>), Rc<Shown>>,
    texts: HashMap<String, Rc<Shown>>,
    nothing: Rc<Shown>,
}

impl Stacks {
    pub(super) fn new() -> Stacks {
        Stacks {
            places: CodeTable::new(),
            symbols: Symbols::new(),
            frames: Vec::new(),
            known: Map::default(),
            shown: Map::default(),
            texts: HashMap::new(),
            nothing: Rc::new(Shown { text: String::new(), users: None }),
        }
    }

    /// What is shown where there is no stack.
    pub(super) fn nothing(&self) -> Rc<Shown> {
        Rc::clone(&self.nothing)
    }

    /// What is shown of a stack.
    pub(super) fn show(&mut self, copy: &StackCopy) -> Rc<Shown> {
        let key = (copy.registers.pc, copy.registers.lr, copy.length());
        let alike = self.known.entry(key).or_default();
        if let Some(known) = alike.iter().find(|known| is_it(copy, known)) {
            return Rc::clone(&known.shown);
        }
        let ended = unwind(copy, &mut self.places, &mut self.frames);
        let addresses: Box<[usize]> = self.frames.iter().map(|frame| frame.address).collect();
        let shown = self.shown.entry((ended, addresses)).or_insert_with_key(|(ended, addresses)| {
            let shown = Rc::new(show(&self.symbols.calls(addresses), *ended));
            // Stacks that differ only in hidden frames are shown as one.
            Rc::clone(self.texts.entry(shown.text.clone()).or_insert(shown))
        });
        if alike.len() == ALIKE {
            alike.remove(0);
        }
        let base = copy.registers.sp;
        let returns = self.frames.iter().filter_map(|frame| frame.returns);
        let returns = returns.map(|(at, to)| (at - base, to)).collect();
        alike.push(Known { returns, shown: Rc::clone(shown) });
        Rc::clone(shown)
    }

    /// Forgets everything if a module was unloaded, or if too much is kept. Called before each
    /// dump.
    pub(super) fn refresh(&mut self) {
        let places = self.places.refresh();
        if places == Refreshed::Forgotten {
            self.symbols.forget();
        }
        if places == Refreshed::Forgotten || self.known.len() > KEPT || self.shown.len() > KEPT {
            self.known.clear();
            self.shown.clear();
            self.texts.clear();
        }
    }
}

fn is_it(copy: &StackCopy, known: &Known) -> bool {
    let base = copy.registers.sp;
    known.returns.iter().all(|(at, to)| copy.read(base + at) == Some(*to))
}

fn show(calls: &[Rc<StackCall>], ended: UnwindEnd) -> Shown {
    let users = calls.iter().find(|call| call.is_users()).or(calls.iter().find(|call| !call.is_ours()));
    let mut text = String::new();
    for call in calls.iter().take(CALLS) {
        let line = call.place.as_deref().unwrap_or("?");
        // Writing to a String can't fail.
        let _ = writeln!(text, "{}(...)\n\t{line}", call.function);
    }
    if calls.len() > CALLS || ended == UnwindEnd::Cut {
        text.push_str("...additional frames elided...\n");
    } else if ended == UnwindEnd::Lost {
        text.push_str("...callers unknown...\n");
    }
    Shown { text, users: users.cloned() }
}
