//! The command line, by hand.

use crate::chapters::{CHAPTERS, Chapter};

pub const HELP: &str = "\
A tour of gosched: what works, shown and measured.

usage: cargo run --release --example tour -- [options]

  --list        the chapters
  --only NAME   one chapter
  --big         park a million goroutines instead of 100,000 (5 GB)
  --help        this
";

/// What to do.
pub enum What {
    All,
    Only(&'static Chapter),
    /// The part of a chapter that runs in a process of its own, whose output the chapter shows.
    Aside(&'static Chapter),
    List,
    Help,
}

pub struct Args {
    pub what: What,
    pub big: bool,
}

impl Args {
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
        let mut args = Args { what: What::All, big: false };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--help" | "-h" => args.what = What::Help,
                "--list" => args.what = What::List,
                "--big" => args.big = true,
                "--only" => args.what = What::Only(chapter(words.next())?),
                "--aside" => args.what = What::Aside(chapter(words.next())?),
                other => return Err(format!("unknown argument {other:?}; --help shows those there are")),
            }
        }
        Ok(args)
    }
}

fn chapter(name: Option<String>) -> Result<&'static Chapter, String> {
    let name = name.ok_or("a chapter's name is missing; --list shows them")?;
    CHAPTERS
        .iter()
        .copied()
        .find(|chapter| chapter.name == name)
        .ok_or_else(|| format!("no chapter {name:?}; --list shows those there are"))
}
