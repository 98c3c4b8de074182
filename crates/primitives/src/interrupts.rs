//! The waits under one context, and its end, which ends them all.
//!
//! Each waiter has an [`Interrupt`] in its frame, with its [`Claim`], and lists it for as long as
//! it waits. The end of the context goes through the list and claims every wait that nobody else
//! has claimed.
//!
//! Invariants:
//! - the list and its nodes' links are read and written under the lock only, with one exception: a
//!   node whose claim [`Interrupts::end`] has won belongs to the ender, which links it into a list
//!   of its own, until its waiter is woken;
//! - a node is listed, or belongs to the ender that won its claim, or to its owner alone;
//! - after [`Interrupts::end`] nothing is listed any more: a later waiter is told so, and ends its
//!   wait itself.
//!
//! Why no end is missed: registering and ending exclude each other by the lock. A waiter that
//! registers first is in the list that the ender goes through; one that comes second sees that the
//! end has come.
//!
//! Why no node is touched after its frame is gone: the owner leaves its frame after its claim was
//! won and it was woken. If the ender won, it has taken the node off the list before, and does not
//! touch it after the wake-up. If somebody else won, the owner first calls
//! [`Interrupts::unregister`]: after that the node is not listed, so the ender can't find it; and
//! an ender that found it earlier, under the lock, lost the claim and dropped its reference before
//! it released the lock.

use core::cell::UnsafeCell;
use core::ptr::NonNull;

use crate::claim::{Claim, Outcome};
use crate::double_list::{DoubleList, DoublyLinked, Links};
use crate::lock::Lock;
use crate::sync::const_fn;

/// Whether a wait was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Registration {
    /// It is, and has to be unregistered.
    Listed,
    /// It is not, because the end has come before: nobody will interrupt this wait.
    Over,
}

/// A wait's place in the list. Lies in the waiter's frame.
pub struct Interrupt<W> {
    claim: NonNull<Claim<W>>,
    links: Links<Interrupt<W>>,
    /// Belongs to the ender, between winning the claim and waking.
    won: UnsafeCell<Option<W>>,
}

impl<W> Interrupt<W> {
    /// A place for the wait of `claim`, which outlives it.
    pub fn new(claim: &Claim<W>) -> Interrupt<W> {
        Interrupt { claim: NonNull::from(claim), links: Links::new(), won: UnsafeCell::new(None) }
    }
}

// SAFETY: always the same field.
unsafe impl<W> DoublyLinked for Interrupt<W> {
    fn links(&self) -> &Links<Interrupt<W>> {
        &self.links
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
    waits: DoubleList<Interrupt<W>>,
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
            Interrupts(Lock::new(Listed { waits: DoubleList::new(), over: false }))
        }
    }

    /// Lists a wait whose claim already has its waiter. Called by the waiter.
    ///
    /// # Safety
    ///
    /// The node is not listed. It and its claim stay where they are until the wait was ended and,
    /// unless [`end`](Interrupts::end) has ended it, until [`unregister`](Interrupts::unregister)
    /// has returned. Meanwhile `unregister` is not called on another list with this node.
    pub unsafe fn register(&self, node: &Interrupt<W>) -> Registration {
        let mut list = self.0.lock();
        if list.over {
            return Registration::Over;
        }
        // SAFETY: by contract.
        unsafe { list.waits.push_back(node) };
        Registration::Listed
    }

    /// Takes a wait off the list, if it is there. Called by the waiter, when its wait is over.
    pub fn unregister(&self, node: &Interrupt<W>) {
        // SAFETY: its waiter listed it here and nowhere else; its wait is over, so it is not in the
        // ender's own list either.
        let _was_listed = unsafe { self.0.lock().waits.remove(node) };
    }

    /// Ends with `outcome` all listed waits that nobody else has ended, and calls `wake` for each
    /// of their waiters, without the lock. From here on nothing can be listed.
    pub fn end(&self, outcome: Outcome, mut wake: impl FnMut(W)) {
        let mut won = self.0.lock().claim_all(outcome);
        while let Some(node) = won.pop_front() {
            // SAFETY: its waiter has not been woken, so it is alive; its claim was won here, so it
            // is ours.
            let waiter = unsafe { (*node.as_ref().won.get()).take() };
            // The last access to the node was above: when it is woken, its owner may free it.
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
    /// Empties the list for good. Returns the nodes whose claims were won, the longest waiting
    /// first.
    fn claim_all(&mut self, outcome: Outcome) -> DoubleList<Interrupt<W>> {
        self.over = true;
        let mut won = DoubleList::new();
        while let Some(node) = self.waits.pop_front() {
            // SAFETY: its owner takes the lock before it frees the node, unless its claim is won
            // here.
            let node = unsafe { node.as_ref() };
            // SAFETY: a listed node's claim is alive.
            if let Some(waiter) = unsafe { node.claim.as_ref() }.claim(outcome) {
                // SAFETY: won, so the node is ours until its waiter is woken.
                unsafe { *node.won.get() = Some(waiter) };
                // SAFETY: in no list; as above.
                unsafe { won.push_back(node) };
            }
        }
        won
    }
}
