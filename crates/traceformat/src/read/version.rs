//! The versions of the format that can be read.

use crate::wire::EventType;

/// A version of the format, by the version of Go that brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Go 1.22.
    Go122,
    /// Go 1.23: coroutines, stacks in statuses, experiments.
    Go123,
    /// Go 1.25: clocks.
    Go125,
    /// Go 1.26: generations end by an event of their own.
    Go126,
}

impl Version {
    /// The version of which a trace's first 16 bytes tell.
    pub(super) fn of_header(header: &[u8]) -> Result<Version, &'static str> {
        let text = header.strip_prefix(b"go 1.").and_then(|rest| rest.strip_suffix(b" trace\0\0\0"));
        match text {
            Some(b"22") => Ok(Version::Go122),
            Some(b"23") => Ok(Version::Go123),
            Some(b"25") => Ok(Version::Go125),
            Some(b"26") => Ok(Version::Go126),
            Some(b"11" | b"19" | b"21") => Err("a trace of Go 1.21 or before: its format is another one"),
            Some(_) => Err("a trace of an unknown version: traces of Go 1.22 to 1.26 can be read"),
            None => Err("this is no Go execution trace"),
        }
    }

    /// Whether generations end by an event; before, by the first batch of the next.
    pub(super) fn has_ends(self) -> bool {
        self >= Version::Go126
    }

    /// Whether each generation says what the clocks read.
    pub(super) fn has_clocks(self) -> bool {
        self >= Version::Go125
    }

    /// What the batch begins with that has the frequency.
    pub(super) fn sync_event(self) -> EventType {
        if self.has_clocks() { EventType::Sync } else { EventType::Frequency }
    }
}
