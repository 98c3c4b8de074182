//! What can be wrong with a trace, and where.

use std::fmt;
use std::io;

/// A trace that can't be read.
#[derive(Debug)]
pub struct TraceError {
    /// How many bytes stand before the place where it was noticed.
    pub offset: u64,
    /// What is wrong.
    pub message: String,
    /// If the trace could not be got at: why.
    pub source: Option<io::Error>,
}

impl TraceError {
    pub(crate) fn new(offset: u64, message: impl Into<String>) -> TraceError {
        TraceError { offset, message: message.into(), source: None }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(f, "byte {}: {}: {source}", self.offset, self.message),
            None => write!(f, "byte {}: {}", self.offset, self.message),
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
