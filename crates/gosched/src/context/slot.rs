//! Where the current context is stored: in a word of the goroutine's header, or in a thread-local of a foreign thread.
//!
//! Invariants:
//! - A goroutine is created with one count of its creator's context, which its slot owns until its end.
//! - `enter` puts another context there, which its caller lends to it, and restores the previous one. So at its
//!   end the goroutine finds its own. A foreign thread's slot owns nothing: what is in it is lent.
//! - Only the goroutine or thread itself reads or changes its slot, once it runs. So a context that is current stays alive while its
//!   goroutine waits.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::marker::PhantomData;
use std::sync::Arc;

use gosched_primitives::Interrupts;

use super::Context;
use super::node::ContextNode;
use crate::g::G;
use crate::m;
use crate::m::Worker;
use crate::waiter::Waiter;

/// A pointer to the current context's node; null for the background.
pub(crate) struct ContextSlot(Cell<*const ContextNode>);

impl ContextSlot {
    pub(crate) const fn new() -> ContextSlot {
        ContextSlot(Cell::new(core::ptr::null()))
    }

    /// Gives a goroutine that is being created its context.
    #[inline]
    pub(crate) fn put(&self, node: Option<Arc<ContextNode>>) {
        self.0.set(node.map_or(core::ptr::null(), Arc::into_raw));
    }

    /// Takes back what `put` gave.
    #[inline]
    pub(crate) fn take(&self) -> Option<Arc<ContextNode>> {
        let node = self.0.replace(core::ptr::null());
        // SAFETY: outside all `enter`s the slot holds what `put` made of an `Arc`, and that is taken out here.
        (!node.is_null()).then(|| unsafe { Arc::from_raw(node) })
    }

    /// Another count of what is there.
    #[inline]
    fn share(&self) -> Option<Arc<ContextNode>> {
        let node = self.0.get();
        if node.is_null() {
            return None;
        }
        // SAFETY: the pointer came from an `Arc` of which a count is owned by the slot, or lent to it.
        unsafe {
            Arc::increment_strong_count(node);
            Some(Arc::from_raw(node))
        }
    }

    /// # Safety
    /// The slot keeps its contents for as long as the reference lives.
    unsafe fn interrupts<'a>(&self) -> Option<&'a Interrupts<Waiter>> {
        // SAFETY: the slot's node is alive, and by contract stays so as long as the reference.
        unsafe { self.0.get().as_ref() }.map(|node| &node.interrupts)
    }
}

thread_local! {
    /// The slot of a thread that is not ours.
    static THREAD: ContextSlot = const { ContextSlot::new() };
}

/// The slot of the calling goroutine or thread. `f` makes no moving call.
fn with_slot<R>(f: impl FnOnce(&ContextSlot) -> R) -> R {
    match m::current::current().and_then(m::M::cur_g) {
        Some(g) => f(&g.context),
        None => THREAD.with(f),
    }
}

/// The current context's node.
pub(super) fn current() -> Option<Arc<ContextNode>> {
    with_slot(ContextSlot::share)
}

/// The context for a goroutine that is created now.
#[inline]
pub(crate) fn inherited(worker: Option<&Worker>) -> Option<Arc<ContextNode>> {
    match worker {
        Some(worker) => worker.g().context.share(),
        None => THREAD.with(ContextSlot::share),
    }
}

/// The list of waits that the context of `g`, the calling goroutine, ends: for a wait that it begins now.
#[inline]
pub(crate) fn interrupts_of<'a>(g: &G) -> Option<&'a Interrupts<Waiter>> {
    // SAFETY: while it waits the goroutine does not change its slot.
    unsafe { g.context.interrupts() }
}

/// As [`interrupts_of`], for the calling foreign thread.
pub(crate) fn interrupts_of_thread<'a>() -> Option<&'a Interrupts<Waiter>> {
    // SAFETY: while it waits the thread does not change its slot.
    THREAD.with(|slot| unsafe { slot.interrupts() })
}

/// "This context is current." Restores the previous one when dropped.
#[must_use]
pub(crate) struct EnteredContext<'a> {
    before: *const ContextNode,
    lent: PhantomData<&'a Context>,
}

impl<'a> EnteredContext<'a> {
    pub(super) fn new(context: &'a Context) -> EnteredContext<'a> {
        let node = context.0.as_ref().map_or(core::ptr::null(), Arc::as_ptr);
        EnteredContext { before: with_slot(|slot| slot.0.replace(node)), lent: PhantomData }
    }
}

impl Drop for EnteredContext<'_> {
    fn drop(&mut self) {
        with_slot(|slot| slot.0.set(self.before));
    }
}
