//! `Once`: std's, for goroutines.
//!
//! Invariant: a run of the closure is always marked as ended, even if it unwinds: by the drop of
//! [`Running`].

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};

use gosched_locks::{OnceStage, Poison, Start, Until};

use super::seam::{obtain, wake_line};
use crate::g::waiter::{WaitReason, Waiter};

type OnceCore = gosched_locks::Once<Waiter>;

/// Runs something once, as `std::sync::Once`: the first caller runs it, others wait until it has
/// ended.
///
/// ```
/// use gosched::sync::Once;
///
/// static START: Once = Once::new();
/// START.call_once(|| println!("only once"));
/// START.call_once(|| unreachable!());
/// ```
pub struct Once(OnceCore);

impl UnwindSafe for Once {}
impl RefUnwindSafe for Once {}

/// The argument of the closure of [`Once::call_once_force`]: whether the once was poisoned.
///
/// ```
/// gosched::sync::Once::new().call_once_force(|state| assert!(!state.is_poisoned()));
/// ```
pub struct OnceState {
    poisoned: bool,
}

/// A once that has not run.
///
/// ```
/// # #![allow(deprecated)]
/// use gosched::sync::{ONCE_INIT, Once};
///
/// static START: Once = ONCE_INIT;
/// assert!(!START.is_completed());
/// ```
#[deprecated(note = "the `Once::new()` function is now preferred")]
#[allow(clippy::declare_interior_mutable_const, reason = "as std's: it is there to be copied")]
pub const ONCE_INIT: Once = Once::new();

/// Ends the run when dropped, and leaves the once in this state.
struct Running<'a> {
    once: &'a OnceCore,
    leave: OnceStage,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if self.once.finish(self.leave) {
            wake_waiters(self.once);
        }
    }
}

#[cold]
fn wake_waiters(once: &OnceCore) {
    let line = {
        let _inside = crate::sched::Visitor::enter();
        once.line()
    };
    wake_line(line);
}

impl Once {
    /// A once that has not run.
    ///
    /// ```
    /// assert!(!gosched::sync::Once::new().is_completed());
    /// ```
    #[allow(clippy::new_without_default, reason = "std's has none")]
    #[inline]
    #[must_use]
    pub const fn new() -> Once {
        Once(OnceCore::new())
    }

    /// Runs `f` if no closure has run; waits if one is running. When this returns, a closure has
    /// run to its end.
    ///
    /// A moving call, if it has to wait. A closure that calls `call_once` on the same once waits
    /// for ever.
    ///
    /// # Panics
    ///
    /// If the closure does, which poisons the once; and if the once is poisoned.
    ///
    /// ```
    /// use gosched::sync::{Once, atomic::{AtomicU32, Ordering}};
    ///
    /// static RUNS: AtomicU32 = AtomicU32::new(0);
    /// static ONCE: Once = Once::new();
    /// gosched::scope(|s| {
    ///     for _ in 0..10 {
    ///         s.spawn(|| ONCE.call_once(|| drop(RUNS.fetch_add(1, Ordering::Relaxed))));
    ///     }
    /// });
    /// assert_eq!(RUNS.load(Ordering::Relaxed), 1);
    /// ```
    #[inline]
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        if !self.is_completed() {
            let mut f = Some(f);
            self.call(Poison::Respected, &mut |_| {
                if let Some(f) = f.take() {
                    f();
                }
            });
        }
    }

    /// As [`call_once`](Once::call_once), but runs `f` even if the once is poisoned; the argument
    /// says whether it is.
    ///
    /// # Panics
    ///
    /// If `f` does, which poisons the once.
    ///
    /// ```
    /// use gosched::sync::Once;
    ///
    /// static ONCE: Once = Once::new();
    /// assert!(gosched::go(|| ONCE.call_once(|| panic!("poisons it"))).join().is_err());
    /// assert!(gosched::go(|| ONCE.call_once(|| {})).join().is_err());
    /// ONCE.call_once_force(|state| assert!(state.is_poisoned()));
    /// ONCE.call_once(|| unreachable!());
    /// ```
    #[inline]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        if !self.is_completed() {
            let mut f = Some(f);
            self.call(Poison::Ignored, &mut |state| {
                if let Some(f) = f.take() {
                    f(state);
                }
            });
        }
    }

    #[cold]
    #[track_caller]
    fn call(&self, poison: Poison, f: &mut dyn FnMut(&OnceState)) {
        loop {
            match self.0.start(poison) {
                Start::Complete => return,
                Start::Poisoned => poisoned(),
                Start::Running => self.await_end(Until::Finished),
                Start::Run(before) => {
                    let mut running = Running { once: &self.0, leave: OnceStage::Poisoned };
                    f(&OnceState { poisoned: before == OnceStage::Poisoned });
                    running.leave = OnceStage::Complete;
                    return;
                }
            }
        }
    }

    /// Whether some closure has run to its end. Never moves.
    ///
    /// ```
    /// let once = gosched::sync::Once::new();
    /// once.call_once(|| assert!(!once.is_completed()));
    /// assert!(once.is_completed());
    /// ```
    #[inline]
    pub fn is_completed(&self) -> bool {
        self.0.is_complete()
    }

    /// Waits until some closure has run to its end. A moving call, if it has to wait.
    ///
    /// # Panics
    ///
    /// If the once is poisoned.
    ///
    /// ```
    /// use gosched::sync::Once;
    ///
    /// static READY: Once = Once::new();
    /// let waiter = gosched::go(|| READY.wait());
    /// READY.call_once(|| println!("getting ready"));
    /// waiter.join().unwrap();
    /// ```
    #[track_caller]
    pub fn wait(&self) {
        while !self.is_completed() {
            self.await_end(Until::Complete(Poison::Respected));
            if self.0.state() == OnceStage::Poisoned {
                poisoned();
            }
        }
    }

    /// As [`wait`](Once::wait), but keeps waiting if the once is poisoned.
    ///
    /// ```
    /// let once = gosched::sync::Once::new();
    /// once.call_once(|| {});
    /// once.wait_force();
    /// ```
    pub fn wait_force(&self) {
        while !self.is_completed() {
            self.await_end(Until::Complete(Poison::Ignored));
        }
    }

    /// Waits until the running closure has ended, or until one has run to its end.
    fn await_end(&self, until: Until) {
        obtain(WaitReason::Once, 0, || !self.0.is_pending(until), || self.0.wait(until));
    }

    /// The state. No closure is running, since the caller has exclusive access.
    #[inline]
    pub(super) fn state(&mut self) -> OnceStage {
        self.0.state()
    }

    /// Sets the state. No closure is running, since the caller has exclusive access.
    #[inline]
    pub(super) fn set_state(&mut self, state: OnceStage) {
        self.0 = OnceCore::in_state(state);
    }
}

#[cold]
#[track_caller]
fn poisoned() -> ! {
    panic!("Once instance has previously been poisoned")
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl OnceState {
    /// Whether the once was poisoned before this closure was called.
    ///
    /// ```
    /// gosched::sync::Once::new().call_once_force(|state| assert!(!state.is_poisoned()));
    /// ```
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl fmt::Debug for OnceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceState").field("poisoned", &self.is_poisoned()).finish()
    }
}
