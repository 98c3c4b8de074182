//! The tree of contexts: which contexts end together.
//!
//! A node keeps its parent alive, never the other way round: the parent has the addresses of its
//! children. A child leaves its parent's list before its memory is freed. So the nodes in a list
//! are valid while its lock is held.
//!
//! Invariants:
//! - `end` is won once (`end.rs`). The winner is the *ender*: it alone uses `ended_link`, empties
//!   the lists of children and of waiters, closes `done` and starts the functions.
//! - A node is in its parent's list from its creation until its parent ends, or until it is
//!   dropped; `siblings`, its links, belong to the parent's lock. No two of these locks are held at
//!   once. A node that is [apart](Bond::Apart) is never in a list, and has its parent for the
//!   values only.
//! - `adopt` checks `end` under the list's lock, and the ender takes that lock after winning `end`.
//!   So a child that is created while its parent ends is found in the list, or is ended by its
//!   creator.
//! - The locks of children and of waiters are taken inside the runtime, and nothing is dropped
//!   there: values and causes are the user's.
//! - All waiters, channels and functions learn of an end before anything of the user's is dropped:
//!   that may panic.
//!
//! Neither the end nor the drop of a long chain of contexts recurses.
#![allow(unsafe_code)]

use core::any::Any;
use core::cell::{Cell, UnsafeCell};
use core::ptr::{NonNull, null};
use core::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use gosched_primitives::{DoubleList, DoublyLinked, Links, Lock};

use super::ContextError;
use super::after::Funcs;
use super::deadline::DeadlineTimer;
use super::end::{EndReason, EndWord};
use crate::chan::Receiver;
use crate::chan::timer::TimerChan;
use crate::g::slot::{ContextFunctions, ContextHead, SharedContext};
use crate::g::waiter::INTERRUPTED;
use crate::m::Worker;
use crate::panics::InTurn;
use crate::sched::{Inside, Visitor};

/// What a context may carry.
pub(super) type ContextValue = Arc<dyn Any + Send + Sync>;

/// How a context depends on its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bond {
    /// It ends with its parent, and has the parent's values.
    Child,
    /// It has the parent's values only.
    Apart,
}

/// A context other than the background.
#[repr(C)]
pub(crate) struct ContextNode {
    /// What its goroutines' slots know of it. First: a pointer to it is one to the node.
    head: ContextHead,
    this: Weak<ContextNode>,
    /// Taken out when nobody has a `Context` of this node any more, so that chains can be dropped
    /// in a loop.
    parent: UnsafeCell<Option<Arc<ContextNode>>>,
    bond: Bond,
    /// The earliest of its own and its ancestors'.
    pub(super) deadline: Option<Instant>,
    pub(super) value: Option<ContextValue>,
    end: EndWord,
    children: Lock<DoubleList<ContextNode>>,
    /// Under the parent's lock.
    siblings: Links<ContextNode>,
    /// Used by the ender only.
    ended_link: Cell<*const ContextNode>,
    /// The channel that `done` returned, as long as it has receivers. It keeps the node alive.
    done: Mutex<Weak<TimerChan>>,
    /// What runs at the end.
    pub(super) funcs: Funcs,
    /// Ends it at its own deadline; `None` if an ancestor's is earlier.
    deadline_timer: Option<DeadlineTimer>,
}

// SAFETY: the list of children belongs to its lock, the links and cells to the parent's lock or to
// the ender (see above).
unsafe impl Sync for ContextNode {}
// SAFETY: as above; the value is `Send` and `Sync`.
unsafe impl Send for ContextNode {}

// SAFETY: always the same field.
unsafe impl DoublyLinked for ContextNode {
    fn links(&self) -> &Links<ContextNode> {
        &self.siblings
    }
}

/// What a head of ours stands for: a node in an `Arc`.
static FUNCTIONS: ContextFunctions = ContextFunctions { share, release, has_ended };

/// # Safety
/// The head is that of a living node.
unsafe fn share(head: *const ContextHead) {
    // SAFETY: the head of a node, so the node's address, from `Arc::into_raw` or `Arc::as_ptr`; it
    // is alive.
    unsafe { Arc::increment_strong_count(head.cast::<ContextNode>()) };
}

/// # Safety
/// As for [`share`]; a count of it is the caller's, and given up.
unsafe fn release(head: *const ContextHead) {
    // SAFETY: as in `share`; the count is the caller's to give up.
    drop(unsafe { Arc::from_raw(head.cast::<ContextNode>()) });
}

/// # Safety
/// As for [`share`].
unsafe fn has_ended(head: *const ContextHead) -> bool {
    // SAFETY: as in `share`.
    unsafe { &*head.cast::<ContextNode>() }.error().is_some()
}

impl ContextNode {
    /// The node that a count is of.
    pub(super) fn of(shared: SharedContext) -> Arc<ContextNode> {
        // SAFETY: only nodes have heads, and only `into_shared` and `share` make counts.
        unsafe { Arc::from_raw(shared.into_raw().as_ptr().cast::<ContextNode>()) }
    }

    /// The count as goroutines have it.
    pub(super) fn into_shared(self: Arc<ContextNode>) -> SharedContext {
        // SAFETY: an `Arc`'s pointer is not null; the node begins with its head, whose functions
        // are those of nodes, and is `Send` and `Sync`.
        unsafe { SharedContext::from_raw(NonNull::new_unchecked(Arc::into_raw(self).cast_mut().cast())) }
    }

    /// A node derived from `parent`, or from the background.
    pub(super) fn derive(
        parent: Option<&Arc<ContextNode>>,
        bond: Bond,
        deadline: Option<Instant>,
        value: Option<ContextValue>,
    ) -> Arc<ContextNode> {
        let ends_with = parent.filter(|_| bond == Bond::Child);
        let inherited = ends_with.and_then(|parent| parent.deadline);
        let own = deadline.filter(|own| inherited.is_none_or(|inherited| *own < inherited));
        let late = own.is_some_and(|own| own <= Instant::now());
        let node = Arc::new_cyclic(|this| ContextNode {
            head: ContextHead::new(&FUNCTIONS),
            this: this.clone(),
            parent: UnsafeCell::new(parent.cloned()),
            bond,
            deadline: own.or(inherited),
            value,
            end: EndWord::new(),
            children: Lock::new(DoubleList::new()),
            siblings: Links::new(),
            ended_link: Cell::new(null()),
            done: Mutex::new(Weak::new()),
            funcs: Funcs::new(),
            deadline_timer: own.filter(|_| !late).map(|_| DeadlineTimer::new(this.clone())),
        });
        if let (Some(timer), Some(own)) = (&node.deadline_timer, own) {
            // SAFETY: the timer is in the node, which does not move, and whose destructor cancels
            // it.
            unsafe { timer.set(own) };
        }
        if let Some(why) = ends_with.and_then(|parent| parent.adopt(&node)) {
            node.end(&why);
        } else if late {
            node.end(&EndReason::DeadlineExceeded);
        }
        node
    }

    pub(super) fn parent(&self) -> Option<&Arc<ContextNode>> {
        // SAFETY: taken out only when nobody has a `Context` of this node: not now.
        unsafe { (*self.parent.get()).as_ref() }
    }

    /// Why it has ended. A deadline that has passed ends it, also before its timer fires.
    pub(super) fn error(&self) -> Option<ContextError> {
        let known = self.end.error();
        if known.is_some() || self.deadline.is_none_or(|deadline| Instant::now() < deadline) {
            return known;
        }
        self.end(&EndReason::DeadlineExceeded);
        self.end.error()
    }

    /// Whether it has a timer for a deadline of its own.
    pub(super) fn has_timer(&self) -> bool {
        self.deadline_timer.is_some()
    }

    /// Whether it has ended, without a look at the deadline.
    pub(super) fn has_ended(&self) -> bool {
        self.end.error().is_some()
    }

    /// As [`error`](ContextNode::error), with the cause.
    pub(super) fn why(&self) -> Option<EndReason> {
        self.error()?;
        self.end.why()
    }

    /// Cancels it, unless it has ended.
    pub(super) fn cancel(&self, why: &EndReason) {
        if self.error().is_none() {
            self.end(why);
        }
    }

    /// Adds `child` to the list, so that it ends with this node. If this node has ended, returns
    /// why.
    fn adopt(&self, child: &ContextNode) -> Option<EndReason> {
        let _inside = Worker::enter();
        let mut children = self.children.lock();
        let ended = self.end.why();
        if ended.is_none() {
            // SAFETY: just made, so in no list; it leaves this one before its memory goes.
            unsafe { children.push_front(child) };
        }
        ended
    }

    /// Takes a child off the list, if it is still there.
    fn disown(&self, child: &ContextNode) {
        let _worker = Worker::enter();
        // SAFETY: this is its parent, and a child is in no other's list.
        unsafe { self.children.lock().remove(child) };
    }

    /// Ends it and its descendants, unless it has ended: wakes their waiters, closes their
    /// channels, starts their functions.
    pub(super) fn end(&self, why: &EndReason) {
        let Some(this) = self.this.upgrade() else { return };
        if !self.end.win(why) {
            return;
        }
        let mut ended = Chain::new();
        let mut visitor = Visitor::enter();
        let mut todo = Chain::new();
        todo.push(this);
        while let Some(node) = todo.pop() {
            end_all(&mut node.children.lock(), why, &mut todo);
            node.head.interrupts.end(INTERRUPTED, |waiter| {
                // These waiters are goroutines or threads: no waker comes back.
                let _ = visitor.wake(waiter);
            });
            ended.push(node);
        }
        drop(visitor);
        let mut told = Chain::new();
        while let Some(node) = ended.pop() {
            node.tell();
            told.push(node);
        }
        // Last, because this may drop the user's values, and that may panic.
        let mut drops = InTurn::new();
        while let Some(node) = told.pop() {
            drops.call(|| drop(node));
        }
        drops.finish();
    }

    /// Cancels the timer, closes `done` and starts the functions. By the ender, outside the
    /// runtime.
    fn tell(self: &Arc<ContextNode>) {
        if let Some(timer) = &self.deadline_timer {
            timer.cancel();
        }
        let done = self.lock_done().upgrade();
        if let Some(done) = done {
            done.close();
        }
        self.funcs.take_all().for_each(|func| func.start(self));
    }

    /// A channel that is closed at the end.
    pub(super) fn done(self: &Arc<ContextNode>) -> Receiver<()> {
        let mut known = self.lock_done();
        let done = known.upgrade().unwrap_or_else(|| {
            let done = TimerChan::signal(Some(Arc::clone(self) as _));
            *known = Arc::downgrade(&done);
            done
        });
        drop(known);
        // The ender first wins `end` and then looks for the channel. If it did not find this one,
        // the end is visible here.
        if self.error().is_some() {
            done.close();
        }
        Receiver::of_signal(done)
    }

    /// Held for a moment only, outside the runtime.
    fn lock_done(&self) -> MutexGuard<'_, Weak<TimerChan>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ContextNode {
    fn drop(&mut self) {
        if let Some(timer) = &self.deadline_timer {
            timer.cancel();
        }
        let mut parent = self.leave();
        while let Some(node) = parent {
            // If this is the last count, `node` is dropped now: its parent is taken out first, so
            // that its `drop` does not recurse.
            parent = if node.is_last_count() { node.leave() } else { None };
        }
    }
}

impl ContextNode {
    /// Whether the caller has the only count of this node, and nobody who can still get a count
    /// uses its parent.
    ///
    /// There are two ways to get a count without having one. The ender of the parent finds the node
    /// in the parent's list; the functions that it starts may look for values, and so use the
    /// parent. So the node leaves the list first: an ender that came before has taken its count
    /// under the same lock, and `strong_count` shows it. And the node's own timer upgrades its weak
    /// reference. It does not use the parent: with functions to start, the node would have a count
    /// already (`after.rs`).
    fn is_last_count(self: &Arc<ContextNode>) -> bool {
        let is_only = || Arc::strong_count(self) == 1;
        if !is_only() {
            return false;
        }
        if let Some(parent) = self.parent() {
            parent.disown(self);
        }
        let last = is_only();
        // ORDERING: Acquire pairs with the Release with which others have given up their counts:
        // they no longer use the parent.
        fence(Ordering::Acquire);
        last
    }

    /// Leaves its parent's list, moves its functions to the parent, and returns the parent.
    fn leave(&self) -> Option<Arc<ContextNode>> {
        // SAFETY: nobody has a `Context` of this node: it is being dropped, or its only owner is
        // about to drop it.
        let parent = unsafe { (*self.parent.get()).take() }?;
        parent.disown(self);
        if self.bond == Bond::Child {
            self.funcs.move_to(&parent);
        }
        Some(parent)
    }
}

/// Empties a list of children. Those that end by this go to `todo`, except one that is just being
/// dropped: nobody has it.
fn end_all(children: &mut DoubleList<ContextNode>, why: &EndReason, todo: &mut Chain) {
    while let Some(child) = children.pop_front() {
        // SAFETY: before its memory is freed it takes this lock, which the caller holds.
        let child = unsafe { child.as_ref() };
        if child.end.win(why)
            && let Some(child) = child.this.upgrade()
        {
            todo.push(child);
        }
    }
}

/// Nodes that were won, each with a count of its own, linked through `ended_link`.
struct Chain {
    first: *const ContextNode,
}

impl Chain {
    fn new() -> Chain {
        Chain { first: null() }
    }

    fn push(&mut self, node: Arc<ContextNode>) {
        node.ended_link.set(self.first);
        self.first = Arc::into_raw(node);
    }

    fn pop(&mut self) -> Option<Arc<ContextNode>> {
        if self.first.is_null() {
            return None;
        }
        // SAFETY: came from `Arc::into_raw` in `push`, and leaves the chain.
        let node = unsafe { Arc::from_raw(self.first) };
        self.first = node.ended_link.get();
        Some(node)
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}
