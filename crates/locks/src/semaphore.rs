//! The semaphore: a number of permits, given out strictly in the order they were asked for.
//!
//! Invariants:
//! - nobody is overtaken: a caller that comes while others wait waits too, however little it wants
//!   (only 0 permits can always be had);
//! - while somebody is in line there are fewer permits than the first one wants, or somebody is
//!   about to [`serve`](Semaphore::serve): a caller that has added permits, or one that has left
//!   the line and may have been its first.

use gosched_primitives::Lock;

use crate::const_fn;
use crate::line::{Acquire, GRANTED, Line, LineEnd, LinePlace, Node};

/// The core of a semaphore. `W` is how to wake a waiter. The tag of a waiter's node is the number
/// of permits it wants.
///
/// ```
/// use gosched_locks::{Acquire, Semaphore, Served};
///
/// let semaphore: Semaphore<std::thread::Thread> = Semaphore::new(3);
/// assert!(matches!(semaphore.acquire(2), Acquire::Acquired));
/// assert!(!semaphore.try_acquire(2));
/// assert_eq!(semaphore.release(2), Ok(Served::All));
/// assert_eq!(semaphore.available(), 3);
/// ```
pub struct Semaphore<W>(Lock<Permits<W>>);

/// The permits and those who wait for some.
pub struct Permits<W> {
    available: usize,
    line: Line<W>,
}

/// More permits than can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyPermits;

/// Whether somebody may have to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Served {
    /// Nobody is in line.
    All,
    /// [`serve`](Semaphore::serve) has to be called until it returns `None`.
    NotYet,
}

impl<W> Permits<W> {
    fn served(&self) -> Served {
        if self.line.is_empty() { Served::All } else { Served::NotYet }
    }

    fn take(&mut self, n: usize) -> bool {
        let enough = n == 0 || (self.line.is_empty() && n <= self.available);
        if enough {
            self.available -= n;
        }
        enough
    }
}

impl<W> Semaphore<W> {
    const_fn! {
        /// A semaphore with `n` permits.
        pub const fn new(n: usize) -> Semaphore<W> {
            Semaphore(Lock::new(Permits { available: n, line: Line::new() }))
        }
    }

    /// Takes `n` permits, if they are there and nobody waits, or if `n` is 0. Returns whether it
    /// did.
    #[must_use]
    pub fn try_acquire(&self, n: usize) -> bool {
        self.0.lock().take(n)
    }

    /// Takes `n` permits, or gets a place in the line. A waiter that is woken there has them.
    pub fn acquire(&self, n: usize) -> Acquire<'_, W, Permits<W>> {
        let mut permits = self.0.lock();
        if permits.take(n) {
            return Acquire::Acquired;
        }
        Acquire::Wait(LinePlace::new(permits, |permits| &mut permits.line, LineEnd::Back))
    }

    /// Adds `n` permits.
    ///
    /// # Errors
    ///
    /// If there are too many permits to count; nothing has changed then.
    pub fn release(&self, n: usize) -> Result<Served, TooManyPermits> {
        let mut permits = self.0.lock();
        permits.available = permits.available.checked_add(n).ok_or(TooManyPermits)?;
        Ok(permits.served())
    }

    /// Gives the first in line the permits it wants, if they are there, and returns it for the
    /// caller to wake.
    pub fn serve(&self) -> Option<W> {
        let mut permits = self.0.lock();
        while let Some(wanted) = permits.line.first_tag() {
            let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
            if wanted > permits.available {
                break;
            }
            // A node whose waiter has given up is only taken out.
            if let Some(waiter) = permits.line.pop().and_then(|node| node.claim(GRANTED)) {
                permits.available -= wanted;
                return Some(waiter);
            }
        }
        None
    }

    /// Takes the node out of the line, if it is still there: those behind it may be next. Called
    /// after a wait that something else than [`serve`](Semaphore::serve) has ended.
    pub fn leave(&self, node: &Node<W>) -> Served {
        let mut permits = self.0.lock();
        permits.line.remove(node);
        permits.served()
    }

    /// How many permits are there.
    pub fn available(&self) -> usize {
        self.0.lock().available
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::line::Node;

    /// A waiter that wants much blocks those behind it, however little they want; they are served
    /// in order.
    #[test]
    fn nobody_is_overtaken() {
        let semaphore: Semaphore<&str> = Semaphore::new(2);
        let nodes = [Node::new(3), Node::new(1), Node::new(2)];
        for (node, name) in nodes.iter().zip(["three", "one", "two"]) {
            let Acquire::Wait(place) = semaphore.acquire(node.tag() as usize) else {
                panic!("{name} must wait")
            };
            // SAFETY: the nodes outlive the semaphore's line.
            unsafe { place.take(node, name) };
        }
        assert!(!semaphore.try_acquire(1));
        assert!(semaphore.try_acquire(0), "nothing is always there");
        let serve_all = || core::iter::from_fn(|| semaphore.serve()).collect::<Vec<_>>();
        assert_eq!(semaphore.release(1), Ok(Served::NotYet));
        assert!(!semaphore.try_acquire(1), "it is for the first in line");
        assert_eq!((serve_all(), semaphore.available()), (vec!["three"], 0));
        assert_eq!(semaphore.release(3), Ok(Served::NotYet));
        assert_eq!(serve_all(), ["one", "two"]);
        assert_eq!(semaphore.release(usize::MAX), Ok(Served::All));
        assert!(semaphore.release(1).is_err());
        assert_eq!(semaphore.available(), usize::MAX);
    }

    /// When a waiter gives up, those behind it can be served; one that has given up and is still in
    /// line gets nothing.
    #[test]
    fn who_gives_up_is_passed_over() {
        const GAVE_UP: gosched_primitives::Outcome = gosched_primitives::Outcome::MIN;
        let semaphore: Semaphore<&str> = Semaphore::new(1);
        let nodes = [Node::new(2), Node::new(2), Node::new(1)];
        for (node, name) in nodes.iter().zip(["first", "second", "third"]) {
            let Acquire::Wait(place) = semaphore.acquire(node.tag() as usize) else {
                panic!("{name} must wait")
            };
            // SAFETY: the nodes outlive the semaphore's line.
            unsafe { place.take(node, name) };
        }
        assert_eq!(nodes[0].ticket().claim(GAVE_UP), Some("first"));
        assert_eq!(semaphore.leave(&nodes[0]), Served::NotYet);
        assert_eq!(semaphore.serve(), None, "the second wants 2");
        assert_eq!(nodes[1].ticket().claim(GAVE_UP), Some("second"));
        assert_eq!(semaphore.release(1), Ok(Served::NotYet));
        assert_eq!(semaphore.serve(), Some("third"));
        assert_eq!(semaphore.leave(&nodes[1]), Served::All, "it was taken out");
        assert_eq!((semaphore.serve(), semaphore.available()), (None, 1));
    }
}
