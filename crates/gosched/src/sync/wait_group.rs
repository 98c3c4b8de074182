//! `WaitGroup`: Go's.
//!
//! The counter is on the heap, because the goroutines of [`WaitGroup::go`] may outlive the group
//! that started them. It is created at first use, so that a group can be a `static`.
//!
//! Invariant: nobody waits for the counter to be created. Of several first uses each makes one, and
//! one is kept: so a use never moves its caller, and is allowed in a stopped world.
#![allow(unsafe_code)]

use core::fmt;
use core::panic::{Location, RefUnwindSafe, UnwindSafe};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use core::time::Duration;
use std::sync::Arc;

use gosched_locks::Add;

use super::seam::{Obtained, obtain, obtain_within, wake_each};
use crate::clock::when_after;
use crate::context::{self, ContextError};
use crate::g::task::Argument;
use crate::g::waiter::{WaitReason, Waiter};
use crate::runtime::checkpoint;
use crate::sched::{Limit, Visitor};
use crate::thread::{Around, go_around};

type GroupCore = gosched_locks::Group<Waiter>;

/// Waits for a number of goroutines to be done, as Go's `sync.WaitGroup`.
///
/// A counter: [`add`](WaitGroup::add) adds the number of goroutines, each calls
/// [`done`](WaitGroup::done) at its end, and [`wait`](WaitGroup::wait) waits until the counter is
/// 0; or [`go`](WaitGroup::go) does the counting. The group can be used again at once after that.
/// Clones share the counter.
///
/// What happened before a `done` happens before the return of the `wait` that it ends.
///
/// ```
/// use gosched::sync::{WaitGroup, atomic::{AtomicU32, Ordering}};
///
/// static SUM: AtomicU32 = AtomicU32::new(0);
///
/// let group = WaitGroup::new();
/// for n in 1..=10 {
///     group.go(move || SUM.fetch_add(n, Ordering::Relaxed));
/// }
/// group.wait();
/// assert_eq!(SUM.load(Ordering::Relaxed), 55);
/// ```
pub struct WaitGroup {
    core: CoreCell,
}

/// A place for the counter.
///
/// Invariant: null, or a count of an `Arc` that this owns. What is there stays until the place is
/// dropped.
struct CoreCell(AtomicPtr<GroupCore>);

/// What the place holds may be used by several threads, and dropped by another.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Arc<GroupCore>>();
};

impl CoreCell {
    const fn new() -> CoreCell {
        CoreCell(AtomicPtr::new(ptr::null_mut()))
    }

    fn of(core: Arc<GroupCore>) -> CoreCell {
        CoreCell(AtomicPtr::new(Arc::into_raw(core).cast_mut()))
    }

    #[inline]
    fn get(&self) -> Option<&GroupCore> {
        // ORDERING: Acquire: what is there was written before; partner is the CAS in `make`.
        let core = self.0.load(Ordering::Acquire);
        // SAFETY: null, or from an `Arc` whose count lives as long as this.
        unsafe { core.as_ref() }
    }

    #[inline]
    fn get_or_make(&self) -> &GroupCore {
        self.get().unwrap_or_else(|| self.make())
    }

    /// Puts a new counter there, unless somebody else was faster.
    #[cold]
    fn make(&self) -> &GroupCore {
        let new = CoreCell::of(Arc::new(GroupCore::new()));
        // ORDERING: Release: the counter was written before, partner is the load in `get`; Acquire
        // on failure, as that load.
        let put = self.0.compare_exchange(
            ptr::null_mut(),
            new.0.load(Ordering::Relaxed),
            Ordering::Release,
            Ordering::Acquire,
        );
        if put.is_ok() {
            // The count belongs to this place now. (A second counter is freed here.)
            core::mem::forget(new);
        }
        self.get().unwrap_or_else(|| unreachable!("one was put there"))
    }

    fn share(&self) -> Arc<GroupCore> {
        let core = ptr::from_ref(self.get_or_make());
        // SAFETY: from `Arc::into_raw`, of a count that lives as long as this; another is added,
        // and returned.
        unsafe {
            Arc::increment_strong_count(core);
            Arc::from_raw(core)
        }
    }
}

impl Drop for CoreCell {
    fn drop(&mut self) {
        let core = *self.0.get_mut();
        if !core.is_null() {
            // SAFETY: the count is this place's own, which ends here.
            drop(unsafe { Arc::from_raw(core) });
        }
    }
}

/// A goroutine that was counted; dropping this takes it off the counter.
struct Counted(Arc<GroupCore>);

impl Drop for Counted {
    fn drop(&mut self) {
        if let Err(counter) = add(&self.0, -1)
            && !std::thread::panicking()
        {
            out_of_range(counter);
        }
    }
}

impl UnwindSafe for WaitGroup {}
impl RefUnwindSafe for WaitGroup {}

impl WaitGroup {
    /// A group whose counter is 0.
    ///
    /// ```
    /// static ALL: gosched::sync::WaitGroup = gosched::sync::WaitGroup::new();
    /// ALL.wait();
    /// ```
    #[must_use]
    pub const fn new() -> WaitGroup {
        WaitGroup { core: CoreCell::new() }
    }

    /// Adds `n`, which may be negative, to the counter. At 0 all waiters are woken. Never moves.
    ///
    /// Call it before starting the goroutine that is counted, not in that goroutine: `wait` might
    /// be called before it runs.
    ///
    /// # Panics
    ///
    /// If the counter would become negative, or too large; it does not change then.
    ///
    /// ```
    /// let group = gosched::sync::WaitGroup::new();
    /// group.add(2);
    /// group.add(-2);
    /// group.wait();
    /// ```
    #[track_caller]
    pub fn add(&self, n: isize) {
        if let Err(counter) = add(self.core.get_or_make(), n) {
            out_of_range(counter);
        }
    }

    /// Takes one off the counter. Never moves.
    ///
    /// # Panics
    ///
    /// If the counter is 0.
    ///
    /// ```
    /// let group = gosched::sync::WaitGroup::new();
    /// group.add(1);
    /// gosched::scope(|s| {
    ///     s.spawn(|| group.done());
    ///     group.wait();
    /// });
    /// ```
    #[track_caller]
    pub fn done(&self) {
        self.add(-1);
    }

    /// Waits until the counter is 0. A moving call.
    ///
    /// ```
    /// let group = gosched::sync::WaitGroup::new();
    /// group.go(|| println!("done soon"));
    /// group.wait();
    /// ```
    pub fn wait(&self) {
        match self.core.get().filter(|core| !core.is_zero()) {
            None => checkpoint(),
            Some(core) => obtain(WaitReason::WaitGroup, 0, || core.is_zero(), || core.wait()),
        }
    }

    /// As [`wait`](WaitGroup::wait), until the current [context](crate::context) ends. A moving
    /// call.
    ///
    /// Succeeds if the counter is 0, even if the context has ended.
    ///
    /// # Errors
    ///
    /// Why the context has ended, if it did before the counter was 0.
    ///
    /// ```
    /// use gosched::context::{ContextError, background, enter};
    /// use std::time::Duration;
    ///
    /// let group = gosched::sync::WaitGroup::new();
    /// assert_eq!(group.wait_ctx(), Ok(()));
    /// group.add(1);
    /// let ctx = background().with_timeout(Duration::from_millis(1));
    /// assert_eq!(enter(&ctx, || group.wait_ctx()), Err(ContextError::DeadlineExceeded));
    /// ```
    pub fn wait_ctx(&self) -> Result<(), ContextError> {
        match self.wait_within(Limit::of_context(None)) {
            Obtained::Yes => Ok(()),
            Obtained::Late => Err(context::why_ended()),
        }
    }

    /// As [`wait`](WaitGroup::wait), for `timeout` at most. Returns whether the counter was 0. A
    /// moving call.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let group = gosched::sync::WaitGroup::new();
    /// group.add(1);
    /// assert!(!group.wait_timeout(Duration::from_millis(1)));
    /// group.done();
    /// assert!(group.wait_timeout(Duration::ZERO));
    /// ```
    #[must_use = "says whether the counter was 0"]
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.wait_within(Limit::until(when_after(timeout))) == Obtained::Yes
    }

    fn wait_within(&self, limit: Limit) -> Obtained {
        let Some(core) = self.core.get().filter(|core| !core.is_zero()) else {
            checkpoint();
            return Obtained::Yes;
        };
        let at_once = || core.is_zero();
        obtain_within(WaitReason::WaitGroup, 0, limit, at_once, || core.wait(), |node| core.leave(node))
    }

    /// Runs `f` in a new goroutine that is counted until it has ended, even by a panic. Never
    /// moves.
    ///
    /// The group need not outlive the goroutine.
    ///
    /// ```
    /// let group = gosched::sync::WaitGroup::new();
    /// group.go(|| panic!("is reported, and counted out"));
    /// group.wait();
    /// ```
    #[track_caller]
    pub fn go<F, T>(&self, f: F)
    where
        F: FnOnce() -> T + Send + 'static,
        T: 'static,
    {
        self.add(1);
        let counted = Counted(self.core.share());
        // SAFETY: forgotten below.
        unsafe { go_around(Argument::new(&f), counted, Location::caller()) };
        core::mem::forget(f);
    }
}

impl<T> Around<T> for Counted {
    fn call(self, f: impl FnOnce() -> T) {
        f();
    }
}

/// Adds `n`; if that is out of range, returns what the counter would have become.
fn add(core: &GroupCore, n: isize) -> Result<(), i128> {
    match core.add(n) {
        Add::Counted => Ok(()),
        Add::OutOfRange(counter) => Err(counter),
        Add::Last | Add::Zero(_) => add_last(core, n),
    }
}

#[cold]
fn add_last(core: &GroupCore, n: isize) -> Result<(), i128> {
    let added = {
        let _inside = Visitor::enter();
        core.add_last(n)
    };
    match added {
        Add::Zero(bound) => wake_each(|| core.next_before(bound)),
        Add::OutOfRange(counter) => return Err(counter),
        Add::Counted | Add::Last => {}
    }
    Ok(())
}

#[cold]
#[track_caller]
fn out_of_range(counter: i128) -> ! {
    if counter < 0 {
        panic!("sync: negative WaitGroup counter ({counter}): done was called more often than was added");
    }
    panic!("sync: the WaitGroup counter can't be {counter}");
}

impl Clone for WaitGroup {
    fn clone(&self) -> WaitGroup {
        WaitGroup { core: CoreCell::of(self.core.share()) }
    }
}

impl Default for WaitGroup {
    fn default() -> WaitGroup {
        WaitGroup::new()
    }
}

impl fmt::Debug for WaitGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.core.get().map_or(0, |core| core.count());
        f.debug_struct("WaitGroup").field("count", &count).finish()
    }
}
