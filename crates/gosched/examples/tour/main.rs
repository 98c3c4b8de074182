//! A tour of gosched in the terminal: `cargo run --release --example tour`.
//!
//! One chapter for each thing that works. Every chapter is a file in `chapters/` with a place in
//! its `mod.rs`; the code that it shows is cut out of that file, so what is shown is what runs, and
//! every figure is measured while you watch.
//!
//! The tour runs each chapter in a process of its own (`tour --only NAME`): a process has one
//! runtime, and each chapter wants a fresh one. A chapter that fails its own check, crashes or
//! hangs makes the tour's exit status 1.

#![forbid(unsafe_code)]

mod args;
mod chapters;
mod measure;
mod page;

use std::env;
use std::io;
use std::process::{Command, ExitCode, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use args::{Args, What};
use chapters::{CHAPTERS, Chapter};
use page::Page;

/// A chapter takes seconds, also on a busy machine; one that takes this long hangs.
const PATIENCE: Duration = Duration::from_secs(200);

fn main() -> ExitCode {
    let args = match Args::parse(env::args().skip(1)) {
        Ok(args) => args,
        Err(message) => {
            eprintln!("tour: {message}");
            return ExitCode::from(2);
        }
    };
    let page = Page::new();
    match args.what {
        What::Help => page.line(args::HELP.trim_end()),
        What::List => CHAPTERS.iter().for_each(|c| page.line(format_args!("{:<12} {}", c.name, c.title))),
        What::Aside(chapter) => (chapter.aside)(),
        What::Only(chapter) => return only(&page, chapter, args.big),
        What::All => return all(&page, args.big),
    }
    ExitCode::SUCCESS
}

/// One chapter, in this process.
fn only(page: &Page, chapter: &Chapter, big: bool) -> ExitCode {
    let number = CHAPTERS.iter().take_while(|c| c.name != chapter.name).count() + 1;
    page.heading(number, CHAPTERS.len(), chapter.title);
    page.why(chapter.why);
    page.code(chapter.source);
    match (chapter.run)(page, big) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            page.failure(&why);
            ExitCode::FAILURE
        }
    }
}

/// All chapters, each in a process of its own.
fn all(page: &Page, big: bool) -> ExitCode {
    let start = Instant::now();
    let failed: Vec<&str> =
        CHAPTERS.iter().filter(|chapter| !succeeds(page, chapter, big)).map(|chapter| chapter.name).collect();
    page.rule();
    if failed.is_empty() {
        page.line(format_args!("{} chapters, {:.1?}. All checks hold.", CHAPTERS.len(), start.elapsed()));
        return ExitCode::SUCCESS;
    }
    page.failure(&failed.join(", "));
    ExitCode::FAILURE
}

fn succeeds(page: &Page, chapter: &Chapter, big: bool) -> bool {
    match run_apart(chapter, big) {
        Ok(status) if status.success() => true,
        // It has said why itself.
        Ok(status) if status.code() == Some(1) => false,
        Ok(status) => {
            page.failure(&format!("the chapter ended by {status}"));
            false
        }
        Err(why) => {
            page.failure(&why.to_string());
            false
        }
    }
}

fn run_apart(chapter: &Chapter, big: bool) -> io::Result<ExitStatus> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["--only", chapter.name]).args(big.then_some("--big"));
    let mut child = command.spawn()?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if start.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other(format!("the chapter did not end within {PATIENCE:?}")));
        }
        thread::sleep(Duration::from_millis(2));
    }
}
