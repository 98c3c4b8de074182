//! Functions that run when a context ends: `Context::after_func`.
//!
//! Invariants:
//! - whoever takes a function out of the list may run or drop it: the ender, which takes all, or
//!   [`AfterFunc::stop`];
//! - `add_func` checks under the list's lock whether the context has ended, and the ender takes
//!   that lock after winning the end. So a function that is added while the context ends is found
//!   in the list, or is started at once;
//! - a function stays in a list as long as something can end its context, even if nobody has the
//!   context. A context with a timer is kept alive by its functions until it ends. One without a
//!   timer that nobody has can end with its parent only: when it is dropped, it moves its functions
//!   to the parent ([`Funcs::move_to`]);
//! - the lock is std's, held for a moment, outside the runtime. Functions are the user's: they run
//!   and are dropped without it.
#![allow(unsafe_code)]

use core::fmt;
use core::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::node::{Bond, ContextNode};
use crate::sched;

/// A function, and where `after_func` was called.
pub(super) struct EndFunc {
    f: Box<dyn FnOnce() + Send>,
    place: &'static Location<'static>,
}

impl EndFunc {
    pub(super) fn new<F>(place: &'static Location<'static>, f: F) -> EndFunc
    where
        F: FnOnce() + Send + 'static,
    {
        EndFunc { f: Box::new(f), place }
    }

    /// Runs it in a new goroutine, under a context with the values of `ended` that has not ended
    /// itself.
    pub(super) fn start(self, ended: &Arc<ContextNode>) {
        let context = ContextNode::derive(Some(ended), Bond::Apart, None, None);
        let goroutine = sched::prepare(self.place, Some(context.into_shared()), self.f);
        // SAFETY: just prepared, and nobody else knows it.
        unsafe { goroutine.start() };
    }
}

/// The functions of one context.
pub(super) struct Funcs(Mutex<Pending>);

struct Pending {
    funcs: BTreeMap<u64, EndFunc>,
    next: u64,
    /// The context itself, while there are functions that its timer will start.
    keep: Option<Arc<ContextNode>>,
}

impl Funcs {
    pub(super) const fn new() -> Funcs {
        Funcs(Mutex::new(Pending { funcs: BTreeMap::new(), next: 0, keep: None }))
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, number: u64) -> Option<EndFunc> {
        let mut pending = self.lock();
        let func = pending.funcs.remove(&number);
        let keep = if pending.funcs.is_empty() { pending.keep.take() } else { None };
        drop(pending);
        drop(keep);
        func
    }

    /// By the ender, and when the context is dropped.
    pub(super) fn take_all(&self) -> impl Iterator<Item = EndFunc> + use<> {
        let mut pending = self.lock();
        let (funcs, keep) = (core::mem::take(&mut pending.funcs), pending.keep.take());
        drop(pending);
        // Not the last count: the caller has the context, too.
        drop(keep);
        funcs.into_values()
    }

    /// When the context is dropped: moves its functions to `parent`, or starts them if that has
    /// ended.
    pub(super) fn move_to(&self, parent: &Arc<ContextNode>) {
        for func in self.take_all() {
            let _ = parent.add_func(func);
        }
    }
}

impl ContextNode {
    /// Adds a function and returns its number; starts it if the context has ended.
    fn add_func(self: &Arc<ContextNode>, func: EndFunc) -> Option<u64> {
        // If the deadline has passed, this ends the context, before the list's lock is taken.
        let _ = self.error();
        let mut pending = self.funcs.lock();
        if self.has_ended() {
            drop(pending);
            func.start(self);
            return None;
        }
        let number = pending.next;
        pending.next += 1;
        pending.funcs.insert(number, func);
        if self.has_timer() {
            pending.keep.get_or_insert_with(|| Arc::clone(self));
        }
        Some(number)
    }
}

/// A function that runs when a context ends; see
/// [`Context::after_func`](super::Context::after_func). Dropping this does not stop it.
///
/// ```
/// use gosched::context::{AfterFunc, background};
///
/// let ctx = background().with_cancel();
/// let never: AfterFunc = ctx.after_func(|| unreachable!("it is stopped"));
/// assert!(never.stop());
/// ctx.cancel();
/// ```
pub struct AfterFunc {
    node: Arc<ContextNode>,
    /// `None` if it was started at once.
    number: Option<u64>,
}

impl UnwindSafe for AfterFunc {}
impl RefUnwindSafe for AfterFunc {}

impl AfterFunc {
    pub(super) fn new(node: Arc<ContextNode>, func: EndFunc) -> AfterFunc {
        let number = node.add_func(func);
        AfterFunc { node, number }
    }

    /// Keeps the function from running, and drops it. Returns whether it did: `false` if the
    /// function was started or stopped before. Does not wait for a function that runs. Never moves.
    ///
    /// ```
    /// let ctx = gosched::context::background().with_cancel();
    /// let after = ctx.after_func(|| ());
    /// assert!(after.stop());
    /// assert!(!after.stop());
    /// ```
    pub fn stop(&self) -> bool {
        self.number.and_then(|number| self.node.funcs.remove(number)).is_some()
    }
}

impl fmt::Debug for AfterFunc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AfterFunc").finish_non_exhaustive()
    }
}
