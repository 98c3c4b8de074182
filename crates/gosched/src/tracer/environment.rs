//! `GOSCHED_TRACE=file`: a trace of the whole run. `GOSCHED_TRACE=flight:10s:file`: the last ten
//! seconds, written when something goes wrong, or at the end. `%p` in the name is the process id.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use super::session::{PreparedTrace, Session};
use super::sink::TraceSink;
use crate::dump::Overview;
use crate::fatal::warn;
use crate::sys::process;

const VARIABLE: &str = "GOSCHED_TRACE";
/// The most that a flight recorder keeps which the environment asks for.
const FLIGHT_BYTES: usize = 64 << 20;

/// The trace of the whole run.
static WHOLE_RUN: OnceLock<Session> = OnceLock::new();

/// What the environment asks for.
#[derive(Debug, PartialEq, Eq)]
enum WantedTrace {
    Whole(PathBuf),
    Flight(Duration, PathBuf),
}

/// Starts the trace that the environment asks for. Called when the runtime starts, before there is
/// an M.
pub(crate) fn start_by_environment(scheduler: &dyn Overview) {
    let Some(text) = env::var_os(VARIABLE).filter(|text| !text.is_empty()) else { return };
    let prepared = match parse(&text, std::process::id()) {
        Ok(WantedTrace::Whole(path)) => PreparedTrace::with_file(&path, TraceSink::of)
            .map_err(|error| format!("cannot write {}: {error}", path.display())),
        Ok(WantedTrace::Flight(age, path)) => {
            PreparedTrace::new(TraceSink::ring_with_file(age, FLIGHT_BYTES, path))
                .map_err(|error| error.to_string())
        }
        Err(complaint) => Err(complaint),
    };
    match prepared {
        Ok(prepared) => {
            let _ = WHOLE_RUN.set(prepared.begin(scheduler, None));
            process::at_exit(finish);
        }
        Err(error) => warn(format_args!("gosched: {VARIABLE}: {error}; going on without a trace\n")),
    }
}

/// At the end of the process: completes the trace.
extern "C" fn finish() {
    if let Some(session) = WHOLE_RUN.get()
        && let Err(error) = session.stop()
    {
        warn(format_args!("gosched: {VARIABLE}: {error}\n"));
    }
}

fn parse(text: &OsStr, process: u32) -> Result<WantedTrace, String> {
    let Some(rest) = text.as_bytes().strip_prefix(b"flight:") else {
        return Ok(WantedTrace::Whole(with_process_id(text.as_bytes(), process)));
    };
    let parts = rest.iter().position(|byte| *byte == b':').map(|at| (&rest[..at], &rest[at + 1..]));
    let wrong = || format!("{text:?} is neither a file nor flight:10s:file");
    let (age, name) = parts.filter(|(_, name)| !name.is_empty()).ok_or_else(wrong)?;
    let age = std::str::from_utf8(age).ok().and_then(duration).ok_or_else(wrong)?;
    Ok(WantedTrace::Flight(age, with_process_id(name, process)))
}

/// `10s`, `500ms`, `2m`.
fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let number: u64 = number.parse().ok().filter(|number| *number > 0)?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        _ => None,
    }
}

/// The name with `%p` replaced.
fn with_process_id(mut name: &[u8], process: u32) -> PathBuf {
    let mut path = Vec::new();
    while let Some(at) = name.windows(2).position(|two| two == b"%p") {
        path.extend_from_slice(&name[..at]);
        path.extend_from_slice(process.to_string().as_bytes());
        name = &name[at + 2..];
    }
    path.extend_from_slice(name);
    OsString::from_vec(path).into()
}

#[cfg(test)]
mod tests {
    //! Seen to fail: with `%p` replaced once only.
    use super::*;

    /// Names, ages, and what is neither.
    #[test]
    fn the_variable_is_understood() {
        let parse = |text: &str| parse(OsStr::new(text), 7);
        assert_eq!(parse("a.trace"), Ok(WantedTrace::Whole("a.trace".into())));
        assert_eq!(parse("%p/b%p.trace%"), Ok(WantedTrace::Whole("7/b7.trace%".into())));
        let flight = |age, path: &str| Ok(WantedTrace::Flight(age, path.into()));
        assert_eq!(parse("flight:10s:c:d%p"), flight(Duration::from_secs(10), "c:d7"));
        assert_eq!(parse("flight:500ms:c"), flight(Duration::from_millis(500), "c"));
        assert_eq!(parse("flight:2m:c"), flight(Duration::from_secs(120), "c"));
        for wrong in ["flight:", "flight:c", "flight:10:c", "flight:0s:c", "flight:10s:", "flight:xs:c"] {
            let complaint = parse(wrong).unwrap_err();
            assert!(complaint.contains("flight:10s:file"), "{wrong}: {complaint}");
        }
    }
}
