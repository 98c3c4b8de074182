//! The barrier: each arrival waits, until the last one releases all.
//!
//! Invariant: the line holds those who have arrived and were not released yet; they are fewer than
//! the barrier's number.

use gosched_primitives::Lock;

use crate::const_fn;
use crate::line::{Line, LineEnd, LinePlace};

/// The core of a barrier. `W` is how to wake a waiter.
///
/// ```
/// use gosched_locks::{Arrival, Barrier};
///
/// let barrier: Barrier<std::thread::Thread> = Barrier::new();
/// assert!(matches!(barrier.arrive(1), Arrival::Last(others) if others.is_empty()));
/// ```
pub struct Barrier<W>(Lock<Gathering<W>>);

/// Those who have arrived.
pub struct Gathering<W> {
    line: Line<W>,
    arrived: usize,
}

/// What an arrival means.
#[must_use]
pub enum Arrival<'l, W> {
    /// It was the last one: these have to be woken.
    Last(Line<W>),
    /// The caller has to wait. When it is woken, all have arrived.
    Wait(LinePlace<'l, W, Gathering<W>>),
}

impl<W> Gathering<W> {
    /// All who have arrived, to be woken.
    fn let_go(&mut self) -> Line<W> {
        self.arrived = 0;
        core::mem::take(&mut self.line)
    }
}

impl<W> Barrier<W> {
    const_fn! {
        /// A barrier at which nobody has arrived.
        pub const fn new() -> Barrier<W> {
            Barrier(Lock::new(Gathering { line: Line::new(), arrived: 0 }))
        }
    }

    /// Arrives, as one of `n`.
    pub fn arrive(&self, n: usize) -> Arrival<'_, W> {
        let mut gathering = self.0.lock();
        gathering.arrived += 1;
        if gathering.arrived < n {
            return Arrival::Wait(LinePlace::new(gathering, |gathering| &mut gathering.line, LineEnd::Back));
        }
        Arrival::Last(gathering.let_go())
    }

    /// Arrives if that is the last of `n` arrivals, and returns those who have to be woken; else
    /// does nothing.
    pub fn arrive_last(&self, n: usize) -> Option<Line<W>> {
        let mut gathering = self.0.lock();
        (gathering.arrived + 1 >= n).then(|| gathering.let_go())
    }
}

impl<W> Default for Barrier<W> {
    fn default() -> Barrier<W> {
        Barrier::new()
    }
}
