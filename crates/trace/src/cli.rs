//! The command line.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};
use serde::Serialize;

use crate::check::{Bounds, CheckObserver};
use crate::cut::cut_file;
use crate::explain::{ExplainObserver, ExplainRange};
use crate::failure::ToolError;
use crate::findings;
use crate::perfetto;
use crate::source::{open, show, show_file};
use crate::summary::SummaryObserver;
use crate::text::parse_duration;

/// Reads execution traces in Go's format (Go 1.22 to 1.26, and gosched's).
///
/// Times are counted from the trace's first event. Exit status: 0; 1 if `check` found something; 2
/// if it did not work.
#[derive(Debug, Parser)]
#[command(name = "gosched-trace", version)]
struct TraceArgs {
    #[command(subcommand)]
    command: TraceCommand,
}

#[derive(Debug, Subcommand)]
enum TraceCommand {
    /// Where the time of goroutines and Ps went
    Summary {
        #[command(flatten)]
        input: InputArgs,
    },
    /// What looks worst, the worst first
    Findings {
        #[command(flatten)]
        input: InputArgs,
        /// How many of each kind
        #[arg(long, default_value_t = 5)]
        top: usize,
    },
    /// What the scheduler did and by which rule, a sentence for each decision
    Explain {
        /// The trace
        file: PathBuf,
        /// From this time on: 250us, 10ms, 1.5s
        #[arg(long, value_parser = parse_duration, default_value = "0s")]
        from: u64,
        /// Up to this time
        #[arg(long, value_parser = parse_duration)]
        to: Option<u64>,
        /// Only what is about this goroutine
        #[arg(long)]
        goroutine: Option<u64>,
    },
    /// Turns it into a trace for Perfetto (ui.perfetto.dev)
    Perfetto {
        /// The trace
        file: PathBuf,
        /// Where to
        #[arg(short, long)]
        output: PathBuf,
    },
    /// Cuts a span of time out, as a trace of its own
    Cut {
        /// The trace
        file: PathBuf,
        /// From this time on: 250us, 10ms, 1.5s
        #[arg(long, value_parser = parse_duration, default_value = "0s")]
        from: u64,
        /// Up to this time [default: the end]
        #[arg(long, value_parser = parse_duration)]
        to: Option<u64>,
        /// Where to
        #[arg(short, long)]
        output: PathBuf,
    },
    /// Whether the trace keeps the scheduler's promises
    Check {
        #[command(flatten)]
        input: InputArgs,
        /// For how long a P may be idle while a goroutine is runnable
        #[arg(long, value_parser = parse_duration, default_value = "20ms")]
        idle_bound: u64,
        /// For how long a goroutine may be runnable
        #[arg(long, value_parser = parse_duration, default_value = "1s")]
        latency_bound: u64,
    },
}

#[derive(Debug, Args)]
struct InputArgs {
    /// The trace
    file: PathBuf,
    /// As JSON, with times in nanoseconds
    #[arg(long)]
    json: bool,
}

/// Does what the arguments say; the exit status.
///
/// # Errors
/// If it could not be done.
pub fn main(args: impl IntoIterator<Item = OsString>, out: &mut dyn Write) -> Result<u8, ToolError> {
    let args = match TraceArgs::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            let is_mistake = error.use_stderr();
            let _ = error.print();
            return Ok(if is_mistake { 2 } else { 0 });
        }
    };
    match args.command {
        TraceCommand::Summary { input } => {
            let mut observer = SummaryObserver::default();
            show_file(&input.file, &mut observer)?;
            let report = observer.finish();
            if input.json { json(out, &report)? } else { report.write(out)? }
        }
        TraceCommand::Findings { input, top } => {
            let report = findings::of_file(&input.file, top)?;
            if input.json { json(out, &report)? } else { report.write(out)? }
        }
        TraceCommand::Explain { file, from, to, goroutine } => {
            let mut observer = ExplainObserver::new(out, ExplainRange { from, to, goroutine });
            show_file(&file, &mut observer)?;
            observer.finish()?;
        }
        TraceCommand::Perfetto { file, output } => perfetto::convert_file(&file, &output)?,
        TraceCommand::Cut { file, from, to, output } => {
            if to.is_some_and(|to| to <= from) {
                return Err(ToolError::Usage("--to must be later than --from".to_owned()));
            }
            cut_file(&file, from, to, &output)?;
        }
        TraceCommand::Check { input, idle_bound, latency_bound } => {
            return check(&input, Bounds { idle: idle_bound, latency: latency_bound }, out);
        }
    }
    Ok(0)
}

fn json(out: &mut dyn Write, report: &impl Serialize) -> Result<(), ToolError> {
    serde_json::to_writer_pretty(&mut *out, report).map_err(std::io::Error::from)?;
    Ok(writeln!(out)?)
}

fn check(input: &InputArgs, bounds: Bounds, out: &mut dyn Write) -> Result<u8, ToolError> {
    let (file, mut progress) = open(&input.file)?;
    let mut observer = CheckObserver::new(bounds);
    let broken = match show(file, &mut observer, &mut progress) {
        Ok(_) => None,
        // A file that can't be read, or is none, is no trace that breaks a promise.
        Err(error) if error.source.is_some() || error.offset < 16 => {
            return Err(ToolError::Trace(input.file.clone(), error));
        }
        Err(error) => Some(error.to_string()),
    };
    drop(progress);
    let report = observer.finish(broken);
    if input.json {
        json(out, &report)?
    } else {
        report.write(out)?
    }
    Ok(u8::from(report.total > 0))
}

/// Writes a whole file by way of a neighbour, so that no half of one is left behind.
///
/// # Errors
/// If it can't be created or written.
pub(crate) fn write_file<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, ToolError>,
) -> Result<T, ToolError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let failed = |error| ToolError::File(path.to_owned(), error);
    let mut file = std::io::BufWriter::new(std::fs::File::create(&part).map_err(failed)?);
    let result = write(&mut file)
        .map_err(|error| match error {
            ToolError::Output(error) => failed(error),
            error => error,
        })
        .and_then(|value| file.flush().map(|()| value).map_err(failed))
        .and_then(|value| std::fs::rename(&part, path).map(|()| value).map_err(failed));
    if result.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    result
}
