//! The current context, in the slot that `g/slot.rs` keeps for each goroutine and thread.
#![allow(unsafe_code)]

use core::marker::PhantomData;
use std::sync::Arc;

use super::Context;
use super::node::ContextNode;
use crate::g::slot::{ContextHead, ContextSlot, with_slot_of};
use crate::m::{M, current};

/// The slot of the calling goroutine or thread. `f` makes no moving call.
fn with_slot<R>(f: impl FnOnce(&ContextSlot) -> R) -> R {
    with_slot_of(current::current().and_then(M::cur_g), f)
}

/// The current context's node.
pub(super) fn current() -> Option<Arc<ContextNode>> {
    with_slot(ContextSlot::share).map(ContextNode::of)
}

/// "This context is current." Restores the previous one when dropped.
#[must_use]
pub(crate) struct EnteredContext<'a> {
    before: *const ContextHead,
    lent: PhantomData<&'a Context>,
}

impl<'a> EnteredContext<'a> {
    pub(super) fn new(context: &'a Context) -> EnteredContext<'a> {
        let head = context.0.as_ref().map_or(core::ptr::null(), |node| Arc::as_ptr(node).cast());
        EnteredContext { before: with_slot(|slot| slot.replace(head)), lent: PhantomData }
    }
}

impl Drop for EnteredContext<'_> {
    fn drop(&mut self) {
        with_slot(|slot| slot.replace(self.before));
    }
}
