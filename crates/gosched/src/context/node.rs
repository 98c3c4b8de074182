//! The tree of contexts: who ends with whom.
//!
//! A node keeps its parent alive, never the other way round: the parent knows its children by address. A child leaves its
//! parent's list before its memory goes; so whoever holds the lock of a list may look at the nodes in it.
//!
//! Invariants:
//! - `end` is won once (`end.rs`). Who wins it is the *ender*: it alone uses `ended_link`, empties the lists of children, of
//!   waiters and of functions, and tells `done`.
//! - A node is in its parent's list from its making until its end or its parent's, or until it is dropped; `linked` and the
//!   links belong to the parent's lock. No two of these locks are held at once. One that stands [apart](Bond::Apart) is never
//!   in it, and has its parent for the values only.
//! - Whoever adopts a child looks at `end` under the list's lock, and the ender takes that lock after winning `end`: so a
//!   child that is born while its parent ends is found in the list, or is told.
//! - Locks are taken inside the runtime, and nothing is dropped there: values and causes are the user's.
//! - An end is told to all whom it concerns before anything of the user's is dropped: that may panic.
//!
//! Neither the end nor the drop of a long chain of contexts recurses.
#![allow(unsafe_code)]

use core::any::Any;
use core::cell::{Cell, UnsafeCell};
use core::ptr::null;
use core::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use gosched_primitives::{Interrupts, Lock};

use super::ContextError;
use super::after::Funcs;
use super::alarm::Alarm;
use super::end::{End, Why};
use crate::chan::Receiver;
use crate::chan::timer::TimerChan;
use crate::panics::InTurn;
use crate::sched::{Rt, Visitor};
use crate::waiter::{INTERRUPTED, Waiter};

/// What a context may carry.
pub(super) type Value = Arc<dyn Any + Send + Sync>;

/// What ties a context to the one that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bond {
    /// It ends with it, and has its values.
    Child,
    /// It has its values.
    Apart,
}

/// A context other than the background.
pub(crate) struct Node {
    this: Weak<Node>,
    /// Taken out when nobody has a `Context` of this node any more, so that chains can be dropped in a loop.
    parent: UnsafeCell<Option<Arc<Node>>>,
    bond: Bond,
    /// The earliest of its own and its ancestors'.
    pub(super) deadline: Option<Instant>,
    pub(super) value: Option<Value>,
    end: End,
    /// Those who wait under it.
    pub(super) interrupts: Interrupts<Waiter>,
    children: Lock<Children>,
    /// Under the parent's lock.
    linked: Cell<bool>,
    prev: Cell<*const Node>,
    next: Cell<*const Node>,
    /// The ender's.
    ended_link: Cell<*const Node>,
    /// What `done` gave out, while somebody has it: that keeps the node alive.
    done: Mutex<Weak<TimerChan>>,
    /// What runs at the end.
    pub(super) funcs: Funcs,
    /// Rings at its own deadline, if no ancestor's is earlier.
    alarm: Option<Alarm>,
}

struct Children {
    first: *const Node,
}

// SAFETY: the cells belong to the parent's lock or to the ender (see above).
unsafe impl Sync for Node {}
// SAFETY: as above; the value is `Send` and `Sync`.
unsafe impl Send for Node {}

impl Node {
    /// One that comes from `parent`, or from the background.
    pub(super) fn derive(
        parent: Option<&Arc<Node>>,
        bond: Bond,
        deadline: Option<Instant>,
        value: Option<Value>,
    ) -> Arc<Node> {
        let ends_with = parent.filter(|_| bond == Bond::Child);
        let inherited = ends_with.and_then(|parent| parent.deadline);
        let own = deadline.filter(|own| inherited.is_none_or(|inherited| *own < inherited));
        let late = own.is_some_and(|own| own <= Instant::now());
        let node = Arc::new_cyclic(|this| Node {
            this: this.clone(),
            parent: UnsafeCell::new(parent.cloned()),
            bond,
            deadline: own.or(inherited),
            value,
            end: End::new(),
            interrupts: Interrupts::new(),
            children: Lock::new(Children { first: null() }),
            linked: Cell::new(false),
            prev: Cell::new(null()),
            next: Cell::new(null()),
            ended_link: Cell::new(null()),
            done: Mutex::new(Weak::new()),
            funcs: Funcs::new(),
            alarm: own.filter(|_| !late).map(|_| Alarm::new(this.clone())),
        });
        if let (Some(alarm), Some(own)) = (&node.alarm, own) {
            // SAFETY: the alarm lies in the node, whose destructor silences it.
            unsafe { alarm.set(own) };
        }
        if let Some(why) = ends_with.and_then(|parent| parent.adopt(&node)) {
            node.end(&why);
        } else if late {
            node.end(&Why::DeadlineExceeded);
        }
        node
    }

    pub(super) fn parent(&self) -> Option<&Arc<Node>> {
        // SAFETY: taken out only when nobody has a `Context` of this node: not now.
        unsafe { (*self.parent.get()).as_ref() }
    }

    /// Why it has ended. A deadline that has passed ends it, also before its alarm rings.
    pub(super) fn error(&self) -> Option<ContextError> {
        let known = self.end.error();
        if known.is_some() || self.deadline.is_none_or(|deadline| Instant::now() < deadline) {
            return known;
        }
        self.end(&Why::DeadlineExceeded);
        self.end.error()
    }

    /// Whether it ends by itself, at a deadline of its own.
    pub(super) fn has_alarm(&self) -> bool {
        self.alarm.is_some()
    }

    /// Whether it has ended, as far as is known.
    pub(super) fn has_ended(&self) -> bool {
        self.end.error().is_some()
    }

    /// As [`error`](Node::error), with the cause.
    pub(super) fn why(&self) -> Option<Why> {
        self.error()?;
        self.end.why()
    }

    /// Cancels it, unless it has ended.
    pub(super) fn cancel(&self, why: &Why) {
        if self.error().is_none() {
            self.end(why);
        }
    }

    /// Makes `child` one that ends with this; says why, if this has ended.
    fn adopt(&self, child: &Node) -> Option<Why> {
        let _rt = Rt::enter();
        let mut children = self.children.lock();
        let ended = self.end.why();
        if ended.is_none() {
            children.link(child);
        }
        ended
    }

    /// Takes a child off the list, if it is still there.
    fn disown(&self, child: &Node) {
        let _rt = Rt::enter();
        let mut children = self.children.lock();
        if child.linked.get() {
            children.unlink(child);
        }
    }

    /// Ends it and all that end with it, unless it has ended: their waiters are woken, their functions are started.
    pub(super) fn end(&self, why: &Why) {
        let Some(this) = self.this.upgrade() else { return };
        if !self.end.win(why) {
            return;
        }
        let mut ended = Chain::new();
        let visitor = Visitor::enter();
        let mut todo = Chain::new();
        todo.push(this);
        while let Some(node) = todo.pop() {
            node.children.lock().end_all(why, &mut todo);
            node.interrupts.end(INTERRUPTED, |waiter| {
                // Who waits under a context is a goroutine or a thread: no waker comes back.
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
        // Only now that everybody knows: if nobody else has it, what the user has put into it goes with it.
        let mut drops = InTurn::new();
        while let Some(node) = told.pop() {
            drops.call(|| drop(node));
        }
        drops.finish();
    }

    /// Tells those who do not wait under it that it has ended. By the ender, outside the runtime.
    fn tell(self: &Arc<Node>) {
        if let Some(alarm) = &self.alarm {
            alarm.silence();
        }
        let done = self.lock_done().upgrade();
        if let Some(done) = done {
            done.close();
        }
        self.funcs.take_all().for_each(|func| func.start(self));
    }

    /// A channel that is closed at the end.
    pub(super) fn done(self: &Arc<Node>) -> Receiver<()> {
        let mut known = self.lock_done();
        let done = known.upgrade().unwrap_or_else(|| {
            let done = TimerChan::signal(Some(Arc::clone(self) as _));
            *known = Arc::downgrade(&done);
            done
        });
        drop(known);
        // The ender wins the end first and asks for the channel then: if it did not find this one, its end is seen here.
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

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(alarm) = &self.alarm {
            alarm.silence();
        }
        let mut parent = self.leave();
        while let Some(node) = parent {
            // If we alone have it, it goes now: its parent is taken out first, so that its drop does not come here.
            parent = if node.is_last_count() { node.leave() } else { None };
        }
    }
}

impl Node {
    /// Whether the caller has the only count of this node, and nobody who may get another asks for its parent.
    ///
    /// Others can get a count by address, in two ways. The ender of its parent finds it in that one's list; what it starts
    /// then may ask for values, and so for the parent. So the node leaves the list first: an ender that came before has
    /// taken its count under the same lock, and is seen. Its own alarm ends it, and asks for no parent: with functions to start
    /// the alarm would have a count already (`after.rs`).
    fn is_last_count(self: &Arc<Node>) -> bool {
        let is_only = || Arc::strong_count(self) == 1;
        if !is_only() {
            return false;
        }
        if let Some(parent) = self.parent() {
            parent.disown(self);
        }
        let last = is_only();
        // ORDERING: Acquire pairs with the Release with which others have given up their counts: they are through with the
        // parent.
        fence(Ordering::Acquire);
        last
    }

    /// Leaves its parent's list, and gives up its parent, which takes over what runs at the end.
    fn leave(&self) -> Option<Arc<Node>> {
        // SAFETY: nobody has a `Context` of this node: it is being dropped, or its only owner is about to drop it.
        let parent = unsafe { (*self.parent.get()).take() }?;
        parent.disown(self);
        if self.bond == Bond::Child {
            self.funcs.move_to(&parent);
        }
        Some(parent)
    }
}

impl Children {
    fn link(&mut self, child: &Node) {
        child.prev.set(null());
        child.next.set(self.first);
        // SAFETY: nodes in the list are alive, and their links are ours under the lock.
        if let Some(first) = unsafe { self.first.as_ref() } {
            first.prev.set(child);
        }
        self.first = child;
        child.linked.set(true);
    }

    fn unlink(&mut self, child: &Node) {
        child.linked.set(false);
        // SAFETY: as in `link`.
        match unsafe { child.prev.get().as_ref() } {
            Some(prev) => prev.next.set(child.next.get()),
            None => self.first = child.next.get(),
        }
        // SAFETY: as in `link`.
        if let Some(next) = unsafe { child.next.get().as_ref() } {
            next.prev.set(child.prev.get());
        }
    }

    /// Empties the list. Those that end by this go to `todo`; one that is just being dropped does not: nobody can tell.
    fn end_all(&mut self, why: &Why, todo: &mut Chain) {
        // SAFETY: as in `link`.
        while let Some(child) = unsafe { self.first.as_ref() } {
            self.unlink(child);
            if child.end.win(why)
                && let Some(child) = child.this.upgrade()
            {
                todo.push(child);
            }
        }
    }
}

/// Nodes that were won, each with a count of its own, linked through `ended_link`.
struct Chain {
    first: *const Node,
}

impl Chain {
    fn new() -> Chain {
        Chain { first: null() }
    }

    fn push(&mut self, node: Arc<Node>) {
        node.ended_link.set(self.first);
        self.first = Arc::into_raw(node);
    }

    fn pop(&mut self) -> Option<Arc<Node>> {
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
