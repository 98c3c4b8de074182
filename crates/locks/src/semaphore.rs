//! The semaphore: a number of permits, given out strictly in the order they were asked for.
//!
//! Invariant: while somebody is in line there are fewer permits than the first one wants. So nobody is overtaken: one that
//! comes while others wait waits too, however little it wants.

use gosched_queue::Lock;

use crate::const_fn;
use crate::line::{Acquire, End, Line, Place};

/// The core of a semaphore. `W` is how to wake a waiter. The tag of a waiter's node is the number of permits it wants.
///
/// ```
/// use gosched_locks::{Acquire, Semaphore};
///
/// let semaphore: Semaphore<std::thread::Thread> = Semaphore::new(3);
/// assert!(matches!(semaphore.acquire(2), Acquire::Acquired));
/// assert!(!semaphore.try_acquire(2));
/// assert!(semaphore.release(2).unwrap().is_empty());
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

impl<W> Permits<W> {
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

    /// Takes `n` permits, if they are there and nobody waits.
    #[must_use]
    pub fn try_acquire(&self, n: usize) -> bool {
        self.0.lock().take(n)
    }

    /// Takes `n` permits, or gets a place in the line; being woken there means having them.
    pub fn acquire(&self, n: usize) -> Acquire<'_, W, Permits<W>> {
        let mut permits = self.0.lock();
        if permits.take(n) {
            return Acquire::Acquired;
        }
        Acquire::Wait(Place::new(permits, |permits| &mut permits.line, End::Back))
    }

    /// Adds `n` permits. Returns those who have what they want by it, to be woken.
    ///
    /// # Errors
    ///
    /// If there are too many permits to count; nothing has changed then.
    pub fn release(&self, n: usize) -> Result<Line<W>, TooManyPermits> {
        let mut permits = self.0.lock();
        permits.available = permits.available.checked_add(n).ok_or(TooManyPermits)?;
        let mut served = Line::new();
        while let Some(wanted) = permits.line.first_tag() {
            let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
            if wanted > permits.available {
                break;
            }
            permits.available -= wanted;
            if let Some(node) = permits.line.pop() {
                // SAFETY: just taken out of the one line; valid until claimed, which it is when it is woken.
                unsafe { served.push(node.node(), End::Back) };
            }
        }
        Ok(served)
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

    /// One that wants much and waits blocks those behind it, however little they want; they are served in order.
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
        assert_eq!(semaphore.release(1).unwrap().collect::<Vec<_>>(), ["three"]);
        assert_eq!(semaphore.available(), 0);
        assert_eq!(semaphore.release(3).unwrap().collect::<Vec<_>>(), ["one", "two"]);
        assert!(semaphore.release(usize::MAX).unwrap().is_empty());
        assert!(semaphore.release(1).is_err());
        assert_eq!(semaphore.available(), usize::MAX);
    }
}
