//! `Barrier`: std's, for goroutines.

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};

use gosched_locks::{Arrival, Node};

use super::seam::{wait_at, wake_line};
use crate::g::waiter::{WaitReason, Waiter};
use crate::sched::{Caller, Inside, Visitor};

/// A place where a number of goroutines, or threads, wait for each other, as `std::sync::Barrier`.
///
/// ```
/// use gosched::sync::Barrier;
///
/// let barrier = Barrier::new(10);
/// gosched::scope(|s| {
///     for _ in 0..10 {
///         s.spawn(|| {
///             println!("before");
///             barrier.wait();
///             println!("after: everybody was here");
///         });
///     }
/// });
/// ```
pub struct Barrier {
    core: gosched_locks::Barrier<Waiter>,
    n: usize,
}

impl UnwindSafe for Barrier {}
impl RefUnwindSafe for Barrier {}

/// What [`Barrier::wait`] returns: whether the caller is the leader.
///
/// ```
/// assert!(gosched::sync::Barrier::new(1).wait().is_leader());
/// ```
pub struct BarrierWaitResult(bool);

impl Barrier {
    /// A barrier for `n`.
    ///
    /// ```
    /// static ALL: gosched::sync::Barrier = gosched::sync::Barrier::new(1);
    /// ALL.wait();
    /// ```
    #[must_use]
    #[inline]
    pub const fn new(n: usize) -> Barrier {
        Barrier { core: gosched_locks::Barrier::new(), n }
    }

    /// Waits until `n` have called it; then all return, one of them as the leader, and the barrier
    /// can be used again. A moving call.
    ///
    /// ```
    /// use gosched::sync::Barrier;
    ///
    /// let barrier = Barrier::new(2);
    /// gosched::scope(|s| {
    ///     let other = s.spawn(|| barrier.wait().is_leader());
    ///     let leads = barrier.wait().is_leader();
    ///     assert_ne!(leads, other.join().unwrap());
    /// });
    /// ```
    pub fn wait(&self) -> BarrierWaitResult {
        let caller = match Caller::enter_moving() {
            Ok(caller) => caller,
            Err(stopped) => {
                let others = {
                    let _inside = Visitor::enter();
                    self.core.arrive_last(self.n)
                };
                wake_line(stopped.complete(others));
                return BarrierWaitResult(true);
            }
        };
        match self.core.arrive(self.n) {
            Arrival::Last(others) => {
                caller.leave();
                wake_line(others);
                BarrierWaitResult(true)
            }
            Arrival::Wait(place) => {
                wait_at(caller, WaitReason::Barrier, place, &Node::new(0));
                BarrierWaitResult(false)
            }
        }
    }
}

impl BarrierWaitResult {
    /// Whether this is the leader.
    ///
    /// ```
    /// let result = gosched::sync::Barrier::new(0).wait();
    /// assert!(result.is_leader());
    /// ```
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.is_leader()).finish()
    }
}
