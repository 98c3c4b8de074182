//! How long a channel's operation waits: for ever, for a time, or as long as the caller's context
//! lasts.
//!
//! Invariant: a duration becomes a deadline once in a call, by [`Patience::limit`] or
//! [`Patience::begun`], however often the operation looks again. Who looks again goes on with the
//! patience [of](Patience::of) that limit. (An operation that is done at once reads no clock.)

use core::time::Duration;
use std::time::Instant;

use crate::clock::{now, when_after, when_at};
use crate::sched::{Interruptible, Limit, context_has_ended};

/// How long an operation may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    Endless,
    /// Until the caller's context ends.
    Context,
    /// For a time that has not begun yet.
    For(Duration),
    Until(Instant),
    /// As `Until`, by the clock of timers.
    At(u64),
}

impl Patience {
    /// The limit for a wait that begins now; `None` if there is no time left.
    #[inline]
    pub(super) fn limit(self) -> Option<Limit> {
        if let Patience::Endless = self { Some(Limit::NONE) } else { self.other_limit() }
    }

    #[inline(never)]
    fn other_limit(self) -> Option<Limit> {
        let when = match self {
            Patience::Endless => return Some(Limit::NONE),
            Patience::Context => return Some(Limit::of_context(None)),
            Patience::For(d) if d.is_zero() => return None,
            Patience::For(d) => return Some(Limit::until(when_after(d))),
            Patience::Until(instant) => when_at(instant),
            Patience::At(when) => when,
        };
        (when > now()).then_some(Limit::until(when))
    }

    /// The same patience with its time running from now on: what it becomes before the first thing
    /// that takes time.
    #[cold]
    pub(super) fn begun(self) -> Patience {
        match self {
            Patience::For(d) => Patience::At(when_after(d)),
            Patience::Endless | Patience::Context | Patience::Until(_) | Patience::At(_) => self,
        }
    }

    /// Whether no time is left, or the context has ended.
    pub(super) fn is_over(self) -> bool {
        match self {
            Patience::Context => context_has_ended(),
            _ => self.limit().is_none(),
        }
    }

    /// The patience that is left after a wait with `limit` has begun. (A limit has a deadline or a
    /// context here, not both.)
    pub(super) fn of(limit: Limit) -> Patience {
        match (limit.deadline, limit.interruptible) {
            (Some(when), _) => Patience::At(when),
            (None, Interruptible::Yes) => Patience::Context,
            (None, Interruptible::No) => Patience::Endless,
        }
    }
}
