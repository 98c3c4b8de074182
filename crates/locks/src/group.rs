//! The core of a wait group: a counter, and waiters for its being zero.
//!
//! ```text
//!   word   QUEUED        somebody may be in line (written under the line's lock)
//!          the rest      the counter
//! ```
//!
//! The nodes in line have numbers. Invariant: `QUEUED` is set only while the counter is above 0.
//! While it is set, the step to 0 is made under the line's lock, and returns the number below which
//! all have to be woken: so a group may be used again at once, and the waiters of the last round
//! are not confused with those of the next.

use gosched_primitives::Lock;
use gosched_primitives::sync::{AtomicU64, Ordering};

use crate::const_fn;
use crate::line::{Acquire, GRANTED, LineEnd, LinePlace, Node, Numbered};

const QUEUED: u64 = 1;
const ONE: u64 = 2;

/// The core of a wait group. `W` is how to wake a waiter.
///
/// ```
/// use gosched_locks::{Acquire, Add, Group};
///
/// let group: Group<std::thread::Thread> = Group::new();
/// assert!(matches!(group.add(2), Add::Counted));
/// assert!(matches!(group.add(-2), Add::Counted), "nobody waited");
/// assert!(matches!(group.add(-1), Add::OutOfRange(-1)));
/// assert!(matches!(group.wait(), Acquire::Acquired));
/// ```
pub struct Group<W> {
    word: AtomicU64,
    line: Lock<Numbered<W>>,
}

/// What adding to the counter came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Add {
    /// It was added.
    Counted,
    /// It was added, the counter is 0 now, and those whose number is below this one have to be
    /// woken: call [`next_before`](Group::next_before).
    Zero(u64),
    /// It was not added yet: call [`add_last`](Group::add_last), which takes the line's lock.
    Last,
    /// It was not added: the counter would be this, which is out of its range.
    OutOfRange(i128),
}

impl<W> Group<W> {
    const_fn! {
        /// A group whose counter is 0.
        pub const fn new() -> Group<W> {
            Group { word: AtomicU64::new(0), line: Lock::new(Numbered::new()) }
        }
    }

    /// Adds `n` to the counter, unless that makes it 0 while somebody waits.
    #[inline]
    pub fn add(&self, n: isize) -> Add {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let next = match after(word, n) {
                Ok(next) => next,
                Err(counter) => return Add::OutOfRange(counter),
            };
            if next == QUEUED {
                return Add::Last;
            }
            // ORDERING: Release pairs with the Acquire of `is_zero`: a thread that sees 0 sees what
            // was done before each step. Acquire pairs with the Release of the earlier steps: the
            // step to 0 passes on what the others did.
            match self.word.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Add::Counted,
                Err(now) => word = now,
            }
        }
    }

    /// As [`add`](Group::add), after [`Add::Last`]: it may also make the counter 0 while somebody
    /// waits.
    #[cold]
    pub fn add_last(&self, n: isize) -> Add {
        let line = self.line.lock();
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let next = match after(word, n) {
                Ok(next) => next,
                Err(counter) => return Add::OutOfRange(counter),
            };
            let last = next == QUEUED;
            let next = if last { 0 } else { next };
            // ORDERING: as in `add`.
            match self.word.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) if last => return Add::Zero(line.next),
                Ok(_) => return Add::Counted,
                Err(now) => word = now,
            }
        }
    }

    /// Whether the counter is 0.
    #[inline]
    pub fn is_zero(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `add`.
        self.word.load(Ordering::Acquire) == 0
    }

    /// The counter.
    pub fn count(&self) -> u64 {
        self.word.load(Ordering::Relaxed) / ONE
    }

    /// Takes the first in line out, if its number is below `bound`, for the caller to wake.
    pub fn next_before(&self, bound: u64) -> Option<W> {
        let mut line = self.line.lock();
        while line.line.first_tag().is_some_and(|number| number < bound) {
            // A node whose waiter has given up is only taken out.
            if let Some(waiter) = line.line.pop().and_then(|node| node.claim(GRANTED)) {
                return Some(waiter);
            }
        }
        None
    }

    /// Takes the node out of the line, if it is still there. Called after a wait that something
    /// else than [`next_before`](Group::next_before) has ended.
    pub fn leave(&self, node: &Node<W>) {
        self.line.lock().line.remove(node);
    }

    /// Returns `Acquired` if the counter is 0, else a place in the line. A waiter that is woken
    /// there knows that the counter was 0.
    pub fn wait(&self) -> Acquire<'_, W, Numbered<W>> {
        let mut line = self.line.lock();
        loop {
            if self.is_zero() {
                return Acquire::Acquired;
            }
            let word = self.word.load(Ordering::Relaxed);
            let queued = word | QUEUED;
            if word != 0
                && self.word.compare_exchange_weak(word, queued, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                let number = line.next;
                line.next += 1;
                return Acquire::Wait(
                    LinePlace::new(line, |line| &mut line.line, LineEnd::Back).tagged(number),
                );
            }
        }
    }
}

/// The word when `n` has been added; or what the counter would be, if it can't.
fn after(word: u64, n: isize) -> Result<u64, i128> {
    let counter = i128::from(word / ONE) + n as i128;
    match u64::try_from(counter) {
        Ok(counter) if counter <= u64::MAX / ONE => Ok((counter * ONE) | (word & QUEUED)),
        _ => Err(counter),
    }
}

impl<W> Default for Group<W> {
    fn default() -> Group<W> {
        Group::new()
    }
}
