//! What can go wrong, in words that say what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;

use gosched_traceformat::TraceError;

/// Why a command could not do its work.
#[derive(Debug)]
pub enum ToolError {
    /// A file can't be opened, created or written.
    File(PathBuf, io::Error),
    /// The trace is broken, or none.
    Trace(PathBuf, TraceError),
    /// The output can't be written.
    Output(io::Error),
    /// The arguments make no sense together, or not with this trace.
    Usage(String),
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolError::File(path, error) => write!(f, "{}: {error}", path.display()),
            ToolError::Trace(path, error) => {
                write!(f, "{}: {error}\n{}", path.display(), advice(&error.message))
            }
            ToolError::Output(error) => write!(f, "can't write the output: {error}"),
            ToolError::Usage(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for ToolError {}

/// What to do about a trace that can't be read.
fn advice(message: &str) -> &'static str {
    if message.contains("no Go execution trace") {
        "Give a file that an execution tracer wrote; it begins with `go 1.26 trace`."
    } else if message.contains("Go 1.21 or before") || message.contains("unknown version") {
        "`go tool trace` of the matching version opens it."
    } else if message.contains("ends") {
        "The file is not complete: was the program killed, or the disk full? What stands before that place can be \
         had by `gosched-trace cut --to`."
    } else {
        "The trace contradicts itself; `gosched-trace check` says the same, and `go tool trace -d=parsed` should."
    }
}

impl From<io::Error> for ToolError {
    fn from(error: io::Error) -> ToolError {
        ToolError::Output(error)
    }
}
