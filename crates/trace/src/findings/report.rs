//! What is found, as text and for JSON. Times are nanoseconds; moments count from the first event.

use std::io::{self, Write};

use serde::Serialize;

use crate::text::duration;

/// Everything that was found.
#[derive(Debug, Default, Serialize)]
pub struct FindingsReport {
    /// The longest times from runnable to running.
    pub delays: Vec<DelayFinding>,
    /// Ps that were held by blocking calls, or by goroutines that computed on, the longest first.
    pub held: Vec<BlockedProc>,
    /// Locks and channels that were waited for, by place, the longest in sum first.
    pub waits: Vec<WaitFinding>,
    /// Goroutines that never ran again.
    pub forgotten: Vec<ForgottenGroup>,
    /// What could not be measured.
    pub unmeasured: Vec<String>,
}

/// Somebody was runnable for long.
#[derive(Clone, Debug, Serialize)]
pub struct DelayFinding {
    /// Which goroutine.
    pub goroutine: u64,
    /// What it began with.
    pub function: String,
    /// Since when it was runnable.
    pub since: u64,
    /// For how long.
    pub delay: u64,
    /// Who made it runnable: a goroutine, if one did.
    pub readied_by: Option<u64>,
    /// What ran on the Ps meanwhile, the longest first.
    pub meanwhile: Vec<MeanwhileShare>,
    /// In the trace's own time.
    #[serde(skip)]
    pub span: (i64, i64),
}

/// What a P did during a delay.
#[derive(Clone, Debug, Serialize)]
pub struct MeanwhileShare {
    /// Which P.
    pub p: u64,
    /// What: a function, or what a P does without one.
    pub what: String,
    /// For how long.
    pub time: u64,
}

/// A P that could not be used for long.
#[derive(Clone, Debug, Serialize)]
pub struct BlockedProc {
    /// Which P.
    pub p: u64,
    /// By which goroutine.
    pub goroutine: u64,
    /// What it began with.
    pub function: String,
    /// `blocking call`, or `computed`.
    pub how: &'static str,
    /// Since when.
    pub since: u64,
    /// For how long.
    pub time: u64,
    /// Where: function and place, if there is a stack.
    pub place: Option<(String, String)>,
}

/// A place in the source where goroutines waited, or that others waited for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct WaitPlace {
    /// Why, in the words of the trace.
    pub reason: String,
    /// The function.
    pub function: String,
    /// File and line.
    pub place: String,
}

/// A lock or channel that was waited for.
#[derive(Clone, Debug, Serialize)]
pub struct WaitFinding {
    /// Where the waiters stood.
    #[serde(flatten)]
    pub place: WaitPlace,
    /// How often.
    pub count: u64,
    /// How long in all.
    pub total: u64,
    /// The longest.
    pub max: u64,
    /// Who ended most of that: function and place.
    pub woken_by: Option<(String, String)>,
}

/// Goroutines that never ran again.
#[derive(Clone, Debug, Serialize)]
pub struct ForgottenGroup {
    /// What they began with.
    pub function: String,
    /// `runnable`, or why they waited.
    pub state: String,
    /// How many.
    pub count: u64,
    /// For how long the first of them.
    pub longest: u64,
    /// One of them.
    pub example: u64,
}

fn at(place: &Option<(String, String)>) -> String {
    place.as_ref().map_or_else(String::new, |(function, place)| format!(" at {function} ({place})"))
}

impl FindingsReport {
    /// Writes it as text.
    ///
    /// # Errors
    /// If the output can't be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_delays(out)?;
        writeln!(out, "\nPs held longest")?;
        for held in &self.held {
            let BlockedProc { p, goroutine, function, how, .. } = held;
            let (time, since) = (duration(held.time), duration(held.since));
            writeln!(
                out,
                "  {time} P{p} by G{goroutine} ({function}), {how}{}, at {since}",
                at(&held.place)
            )?;
        }
        writeln!(out, "\nWaited for longest")?;
        for wait in &self.waits {
            let WaitPlace { reason, function, place } = &wait.place;
            let (total, max) = (duration(wait.total), duration(wait.max));
            writeln!(
                out,
                "  {total} in {} waits (longest {max}): {reason} at {function} ({place})",
                wait.count
            )?;
            if wait.woken_by.is_some() {
                writeln!(out, "      mostly ended{}", at(&wait.woken_by))?;
            }
        }
        writeln!(out, "\nNever ran again")?;
        for group in &self.forgotten {
            let ForgottenGroup { function, state, count, example, .. } = group;
            let longest = duration(group.longest);
            writeln!(out, "  {count} of {function}, {state}, up to {longest}; one is G{example}")?;
        }
        writeln!(out, "\nNot measured")?;
        for what in &self.unmeasured {
            writeln!(out, "  {what}")?;
        }
        Ok(())
    }

    fn write_delays(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "Longest from runnable to running")?;
        for delay in &self.delays {
            let DelayFinding { goroutine, function, .. } = delay;
            let by = delay.readied_by.map_or(String::new(), |g| format!(", readied by G{g}"));
            let (time, since) = (duration(delay.delay), duration(delay.since));
            writeln!(out, "  {time} G{goroutine} ({function}), at {since}{by}")?;
            for share in &delay.meanwhile {
                writeln!(out, "      P{} meanwhile: {} {}", share.p, duration(share.time), share.what)?;
            }
        }
        Ok(())
    }
}
