//! Functions that run when a context ends: `Context::after_func`.
//!
//! Invariants:
//! - who takes a function out of the list may run or drop it: the ender, which takes all, or the one who stops it;
//! - whoever adds one looks under the list's lock whether the context has ended, and the ender takes that lock after winning
//!   the end: so a function that is added while the context ends is found in the list, or is refused;
//! - the lock is std's, held for a moment, outside the runtime. Functions are the user's: they are run and dropped without it.
#![allow(unsafe_code)]

use core::fmt;
use core::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::node::{Bond, Node};
use crate::sched;

/// A function, and where it was given.
pub(super) struct Func {
    f: Box<dyn FnOnce() + Send>,
    place: &'static Location<'static>,
}

impl Func {
    pub(super) fn new<F>(place: &'static Location<'static>, f: F) -> Func
    where
        F: FnOnce() + Send + 'static,
    {
        Func { f: Box::new(f), place }
    }

    /// Runs it in a new goroutine, with the values of the context that has ended, but not ended itself.
    pub(super) fn start(self, ended: &Arc<Node>) {
        let context = Node::derive(Some(ended), Bond::Apart, None, None);
        let goroutine = sched::prepare(self.place, Some(context), self.f);
        // SAFETY: just prepared, and nobody else knows it.
        unsafe { goroutine.start() };
    }
}

/// The functions of one context.
pub(super) struct Funcs(Mutex<Pending>);

struct Pending {
    funcs: BTreeMap<u64, Func>,
    next: u64,
}

impl Funcs {
    pub(super) const fn new() -> Funcs {
        Funcs(Mutex::new(Pending { funcs: BTreeMap::new(), next: 0 }))
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one and returns its number; gives it back if the context has ended.
    fn add(&self, func: Func, has_ended: impl FnOnce() -> bool) -> Result<u64, Func> {
        let mut pending = self.lock();
        if has_ended() {
            return Err(func);
        }
        let number = pending.next;
        pending.next += 1;
        pending.funcs.insert(number, func);
        Ok(number)
    }

    fn remove(&self, number: u64) -> Option<Func> {
        self.lock().funcs.remove(&number)
    }

    /// By the ender.
    pub(super) fn take_all(&self) -> impl Iterator<Item = Func> + use<> {
        core::mem::take(&mut self.lock().funcs).into_values()
    }
}

/// A function that runs when a context ends; see [`Context::after_func`](super::Context::after_func). Dropping this does not
/// stop it.
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
    node: Arc<Node>,
    /// `None` if it was started at once.
    number: Option<u64>,
}

impl UnwindSafe for AfterFunc {}
impl RefUnwindSafe for AfterFunc {}

impl AfterFunc {
    pub(super) fn new(node: Arc<Node>, func: Func) -> AfterFunc {
        // A deadline that has passed ends it here, before the list's lock is taken.
        let _ = node.error();
        let number = match node.funcs.add(func, || node.has_ended()) {
            Ok(number) => Some(number),
            Err(func) => {
                func.start(&node);
                None
            }
        };
        AfterFunc { node, number }
    }

    /// Stops it. Returns whether it did: `false` if the function was started or stopped before. Does not wait for one that
    /// runs. Never moves.
    ///
    /// A function that was kept from running is dropped in this call.
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
