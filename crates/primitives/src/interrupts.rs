//! Those who wait under one context, and its end, which ends all their waits.
//!
//! Whoever waits has an [`Interrupt`] in its frame, with its [`Claim`], and lists it for as long as it waits. The end of
//! the context goes through the list and claims every wait that nobody else has claimed.
//!
//! Invariants:
//! - the list, its nodes' links and `listed` are read and written under the lock only, with one exception: a node whose
//!   claim [`Interrupts::end`] has won is the ender's until its waiter is woken;
//! - a node is listed, or belongs to the ender that won its claim, or is its owner's alone;
//! - after [`Interrupts::end`] nothing is listed any more: who comes later is told so, and ends its wait itself.
//!
//! Why no end is missed: registering and ending exclude each other by the lock. Who registers first is in the list that
//! the ender goes through; who comes second sees that it is over.
//!
//! Why no node is touched after its frame is gone: the owner leaves its frame after its claim was won and it was woken. If
//! the ender won, it has taken the node off the list before, and wakes the owner with its last word to that node. If
//! somebody else won, the owner calls [`Interrupts::unregister`] first: after that the node is not listed, so the ender
//! can't come upon it; and an ender that came upon it earlier, under the lock, found the claim lost and forgot the node
//! before it released the lock.

use core::cell::{Cell, UnsafeCell};
use core::ptr::{NonNull, null};

use crate::claim::{Claim, Outcome};
use crate::lock::Lock;
use crate::sync::const_fn;

/// Whether a wait was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Registration {
    /// It is, and has to be unregistered.
    Listed,
    /// The end has come before: nobody will interrupt this wait.
    Over,
}

/// A wait's place in the list. Lies in the frame of whoever waits.
pub struct Interrupt<W> {
    claim: NonNull<Claim<W>>,
    /// Under the lock.
    listed: Cell<bool>,
    prev: Cell<*const Interrupt<W>>,
    next: Cell<*const Interrupt<W>>,
    /// The ender's, between winning the claim and waking.
    won: UnsafeCell<Option<W>>,
}

impl<W> Interrupt<W> {
    /// A place for the wait of `claim`, which outlives it.
    pub fn new(claim: &Claim<W>) -> Interrupt<W> {
        Interrupt {
            claim: NonNull::from(claim),
            listed: Cell::new(false),
            prev: Cell::new(null()),
            next: Cell::new(null()),
            won: UnsafeCell::new(None),
        }
    }
}

/// The waits that end when a context does. `W` is the waiter.
///
/// ```
/// use gosched_primitives::{Claim, Interrupt, Interrupts, Outcome, Registration};
///
/// let interrupts = Interrupts::new();
/// let claim = Claim::new();
/// claim.put("the waiter");
/// let place = Interrupt::new(&claim);
/// // SAFETY: the place stays where it is until the end has come.
/// assert_eq!(unsafe { interrupts.register(&place) }, Registration::Listed);
///
/// let mut woken = Vec::new();
/// interrupts.end(Outcome::MIN, |waiter| woken.push(waiter));
/// assert_eq!((woken, claim.outcome()), (vec!["the waiter"], Some(Outcome::MIN)));
/// ```
pub struct Interrupts<W>(Lock<Listed<W>>);

struct Listed<W> {
    first: *const Interrupt<W>,
    over: bool,
}

// SAFETY: the nodes are touched under the lock, or by the one ender that owns them (see above).
unsafe impl<W: Send> Sync for Interrupts<W> {}
// SAFETY: as above.
unsafe impl<W: Send> Send for Interrupts<W> {}

impl<W> Interrupts<W> {
    const_fn! {
        /// An empty list.
        pub const fn new() -> Interrupts<W> {
            Interrupts(Lock::new(Listed { first: null(), over: false }))
        }
    }

    /// Lists a wait whose claim has its waiter. By the waiter.
    ///
    /// # Safety
    ///
    /// The node is not listed. It and its claim stay where they are until the wait was ended and, unless that was done by
    /// [`end`](Interrupts::end), until [`unregister`](Interrupts::unregister) has returned.
    pub unsafe fn register(&self, node: &Interrupt<W>) -> Registration {
        let mut list = self.0.lock();
        if list.over {
            return Registration::Over;
        }
        node.prev.set(null());
        node.next.set(list.first);
        // SAFETY: what is listed is alive, by contract, and its links are ours under the lock.
        if let Some(first) = unsafe { list.first.as_ref() } {
            first.prev.set(node);
        }
        list.first = node;
        node.listed.set(true);
        Registration::Listed
    }

    /// Takes a wait off the list, if it is there. By the waiter, when its wait is over.
    pub fn unregister(&self, node: &Interrupt<W>) {
        let mut list = self.0.lock();
        if node.listed.get() {
            list.unlink(node);
        }
    }

    /// Ends all listed waits that nobody has ended, with `outcome`, and calls `wake` for each of their waiters. From here on
    /// nothing can be listed.
    pub fn end(&self, outcome: Outcome, mut wake: impl FnMut(W)) {
        let mut won = self.0.lock().claim_all(outcome);
        // SAFETY: its waiter has not been woken, so it is alive; its claim was won here, so it is ours.
        while let Some(node) = unsafe { won.as_ref() } {
            won = node.next.get();
            // SAFETY: as above.
            let waiter = unsafe { (*node.won.get()).take() };
            // The last word: when it is woken its owner may go away.
            if let Some(waiter) = waiter {
                wake(waiter);
            }
        }
    }
}

impl<W> Default for Interrupts<W> {
    fn default() -> Interrupts<W> {
        Interrupts::new()
    }
}

impl<W> Listed<W> {
    fn unlink(&mut self, node: &Interrupt<W>) {
        node.listed.set(false);
        // SAFETY: neighbours in the list are alive, and their links are ours under the lock.
        match unsafe { node.prev.get().as_ref() } {
            Some(prev) => prev.next.set(node.next.get()),
            None => self.first = node.next.get(),
        }
        // SAFETY: as above.
        if let Some(next) = unsafe { node.next.get().as_ref() } {
            next.prev.set(node.prev.get());
        }
    }

    /// Empties the list for good. Returns the first of the nodes whose claims were won, the longest waiting first.
    fn claim_all(&mut self, outcome: Outcome) -> *const Interrupt<W> {
        self.over = true;
        let mut chain = null();
        // SAFETY: what is listed is alive.
        while let Some(node) = unsafe { self.first.as_ref() } {
            self.unlink(node);
            // SAFETY: a listed node's claim is alive.
            if let Some(waiter) = unsafe { node.claim.as_ref() }.claim(outcome) {
                // SAFETY: won, so the node is ours until its waiter is woken.
                unsafe { *node.won.get() = Some(waiter) };
                node.next.set(chain);
                chain = node;
            }
        }
        chain
    }
}
