//! The chapters, in the order of the tour.
//!
//! A new one: a file here with a `CHAPTER`, a `mod` line and a place in [`CHAPTERS`]. Its `run` is
//! called on the process's main thread, before the runtime has started; what lies between the
//! file's cut marks is shown as its code.

use std::env;
use std::io;
use std::process::{Command, Output};

use crate::page::Page;

mod blocked;
mod channels;
mod context;
mod deadlock;
mod deep;
mod dump;
mod echo;
mod foreign;
mod goroutines;
mod hogs;
mod idle;
mod locals;
mod locks;
mod million;
mod order;
mod panics;
mod park;
mod parked;
mod scope;
mod select;
mod sleep;
mod stealing;
mod timers;
mod world;
mod yielding;

pub static CHAPTERS: [&Chapter; 25] = [
    &goroutines::CHAPTER,
    &million::CHAPTER,
    &parked::CHAPTER,
    &order::CHAPTER,
    &stealing::CHAPTER,
    &yielding::CHAPTER,
    &park::CHAPTER,
    &channels::CHAPTER,
    &select::CHAPTER,
    &sleep::CHAPTER,
    &timers::CHAPTER,
    &context::CHAPTER,
    &locks::CHAPTER,
    &hogs::CHAPTER,
    &blocked::CHAPTER,
    &echo::CHAPTER,
    &scope::CHAPTER,
    &panics::CHAPTER,
    &locals::CHAPTER,
    &deep::CHAPTER,
    &foreign::CHAPTER,
    &world::CHAPTER,
    &dump::CHAPTER,
    &deadlock::CHAPTER,
    &idle::CHAPTER,
];

/// Whether the chapter's own check holds; if not, what is wrong.
pub type Check = Result<(), String>;

pub struct Chapter {
    pub name: &'static str,
    pub title: &'static str,
    /// What is shown and why it matters, in a line or two.
    pub why: &'static str,
    /// The chapter's own file.
    pub source: &'static str,
    pub run: fn(&Page, big: bool) -> Check,
    /// What `run` does in a process of its own, by [`aside`]: things that end a process, or whose
    /// output it quotes.
    pub aside: fn(),
}

/// For chapters without an aside.
fn nothing() {}

/// Runs a chapter's aside in a process of its own.
fn aside(chapter: &Chapter) -> io::Result<Output> {
    Command::new(env::current_exe()?).args(["--aside", chapter.name]).env("RUST_BACKTRACE", "0").output()
}

/// The check itself.
fn ensure(holds: bool, otherwise: impl Into<String>) -> Check {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}
