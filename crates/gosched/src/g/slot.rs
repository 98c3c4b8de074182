//! Where the current context is kept: a word in the goroutine's header, or in a thread-local of a
//! foreign thread.
//!
//! The tree of contexts (`context/node.rs`) needs channels and the scheduler. A header knows only
//! what a node begins with, its [`ContextHead`]: who waits under it, and how counts of it are
//! shared and given up.
//!
//! Invariants:
//! - A goroutine begins with one count of the context that it was given, mostly its creator's. Its
//!   slot owns that count until the end.
//! - [`replace`](ContextSlot::replace) lends the slot another context, and its caller puts back
//!   what it found; so at its end the goroutine finds its own. A thread's slot owns nothing: what
//!   is in it is lent.
//! - Only the goroutine or thread itself reads or changes its slot. So a context that is current
//!   stays alive while its goroutine waits.

use core::cell::Cell;
use core::ptr::NonNull;

use gosched_primitives::Interrupts;

use super::G;
use super::waiter::Waiter;

/// What a context begins with. It lies in an `Arc` of something larger, which is reached by the
/// functions alone.
pub(crate) struct ContextHead {
    /// Those who wait under it.
    pub(crate) interrupts: Interrupts<Waiter>,
    functions: &'static ContextFunctions,
}

/// What can be done with a living context by the address of its head, which is that of the `Arc`'s
/// contents.
pub(crate) struct ContextFunctions {
    /// Adds a count.
    pub(crate) share: unsafe fn(*const ContextHead),
    /// Gives up a count. With the last one the context is dropped, and with it the user's values.
    pub(crate) release: unsafe fn(*const ContextHead),
    /// Whether it has ended.
    pub(crate) has_ended: unsafe fn(*const ContextHead) -> bool,
}

impl ContextHead {
    pub(crate) const fn new(functions: &'static ContextFunctions) -> ContextHead {
        ContextHead { interrupts: Interrupts::new(), functions }
    }
}

/// A count of a context.
pub(crate) struct SharedContext(NonNull<ContextHead>);

// SAFETY: the `Arc`'s contents are `Send` and `Sync`, by the contract of `from_raw`.
unsafe impl Send for SharedContext {}
// SAFETY: as above.
unsafe impl Sync for SharedContext {}

impl SharedContext {
    /// # Safety
    /// The pointer is to the contents of an `Arc`, which begin with a head whose functions are for
    /// that `Arc`, and which are `Send` and `Sync`. A count of it passes to the result.
    pub(crate) unsafe fn from_raw(head: NonNull<ContextHead>) -> SharedContext {
        SharedContext(head)
    }

    /// The pointer that it was made of; the count passes to the caller.
    pub(crate) fn into_raw(self) -> NonNull<ContextHead> {
        let head = self.0;
        core::mem::forget(self);
        head
    }
}

impl Drop for SharedContext {
    fn drop(&mut self) {
        // SAFETY: alive, since this is a count of it, and this count is given up here.
        unsafe { (self.0.as_ref().functions.release)(self.0.as_ptr()) };
    }
}

/// A pointer to the current context; null for the background.
pub(crate) struct ContextSlot(Cell<*const ContextHead>);

impl ContextSlot {
    pub(crate) const fn new() -> ContextSlot {
        ContextSlot(Cell::new(core::ptr::null()))
    }

    /// Gives a new goroutine its context.
    #[inline]
    pub(super) fn put(&self, context: Option<SharedContext>) {
        self.0.set(context.map_or(core::ptr::null(), |context| context.into_raw().as_ptr()));
    }

    /// Takes back what `put` gave.
    #[inline]
    pub(crate) fn take(&self) -> Option<SharedContext> {
        // Outside all `replace`s the slot holds what `put` made of a count; that count is taken out
        // here.
        NonNull::new(self.0.replace(core::ptr::null()).cast_mut()).map(SharedContext)
    }

    /// Another count of what is there.
    #[inline]
    pub(crate) fn share(&self) -> Option<SharedContext> {
        let head = NonNull::new(self.0.get().cast_mut())?;
        // SAFETY: alive: a count of it is owned by the slot, or lent to it.
        unsafe { (head.as_ref().functions.share)(head.as_ptr()) };
        Some(SharedContext(head))
    }

    /// Whether the context that is there has ended. May end it, if its deadline has passed: outside
    /// the runtime.
    pub(crate) fn has_ended(&self) -> bool {
        let Some(head) = NonNull::new(self.0.get().cast_mut()) else { return false };
        // SAFETY: as in `share`.
        unsafe { (head.as_ref().functions.has_ended)(head.as_ptr()) }
    }

    /// Puts a context there that is lent; returns what was there, which is to be put back.
    pub(crate) fn replace(&self, lent: *const ContextHead) -> *const ContextHead {
        self.0.replace(lent)
    }

    /// # Safety
    /// The slot keeps its contents for as long as the reference lives.
    unsafe fn interrupts<'a>(&self) -> Option<&'a Interrupts<Waiter>> {
        // SAFETY: the slot's contents are alive, by contract for long enough.
        unsafe { self.0.get().as_ref() }.map(|head| &head.interrupts)
    }
}

thread_local! {
    /// The slot of a thread that is not ours.
    static THREAD: ContextSlot = const { ContextSlot::new() };
}

/// The slot of `g`, the calling goroutine; or of the calling thread, which is not ours. `f` makes
/// no moving call.
#[inline]
pub(crate) fn with_slot_of<R>(g: Option<&G>, f: impl FnOnce(&ContextSlot) -> R) -> R {
    match g {
        Some(g) => f(&g.context),
        None => THREAD.with(f),
    }
}

/// The list of those who wait under the context of `g`, the calling goroutine, for a wait that it
/// begins now.
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
