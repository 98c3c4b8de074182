//! What ran where and when, for pictures. A run that draws nothing pays nothing: [`NoTrace`] is
//! compiled away.

use crate::job::JobId;
use crate::time::Time;

/// Where a job ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On this processor.
    Proc(u32),
    /// Beside the processors: its P was taken, and it went on without.
    WithoutP,
}

/// One stretch of running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strip {
    /// Who.
    pub job: JobId,
    /// Where.
    pub place: Place,
    /// From when.
    pub from: Time,
    /// Until when.
    pub to: Time,
}

/// Who wants to know what ran.
pub trait Trace {
    /// A job ran, and has stopped for now.
    fn ran(&mut self, strip: Strip);
}

/// Nobody does.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTrace;

impl Trace for NoTrace {
    #[inline]
    fn ran(&mut self, _strip: Strip) {}
}

/// All of it, in order.
#[derive(Clone, Debug, Default)]
pub struct Strips(pub Vec<Strip>);

impl Trace for Strips {
    fn ran(&mut self, strip: Strip) {
        if strip.to > strip.from {
            self.0.push(strip);
        }
    }
}
