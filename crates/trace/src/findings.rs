//! `findings`: what looks worst, the worst first, and what could not be measured.
//!
//! The trace is read twice: first the longest delays are found, then what ran on the Ps meanwhile.
//! So memory does not grow with the trace.

mod first;
mod meanwhile;
mod report;

use std::path::Path;

pub use report::{
    BlockedProc, DelayFinding, FindingsReport, ForgottenGroup, MeanwhileShare, WaitFinding, WaitPlace,
};

use crate::failure::ToolError;
use crate::source::show_file;
use first::FirstReading;
use meanwhile::SecondReading;

/// The `top` worst of each kind.
///
/// # Errors
/// If the trace can't be read.
pub fn of_file(path: &Path, top: usize) -> Result<FindingsReport, ToolError> {
    let mut first = FirstReading::new(top);
    show_file(path, &mut first)?;
    let mut report = first.finish();
    let mut second = SecondReading::new(&report.delays);
    show_file(path, &mut second)?;
    second.finish(&mut report.delays);
    Ok(report)
}
