//! Whose turn it is to stop the world, and the queue of those who wait for theirs.
//!
//! Invariants: at most one [`Turn`] exists, and while one does, `taken` is set. `drop` passes it on
//! to the first in line, and wakes that one, without clearing `taken`. The nodes lie in the frames
//! of those who wait, stay there until they are woken, and are touched under the lock only.

use core::cell::Cell;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::AtomicPtr;

use gosched_primitives::{Linked, List, Lock};

use super::{Caller, Inside, MayWait, Visitor};
use crate::fatal::fatal;
use crate::g::waiter::{WaitReason, Waiter};

/// "It is my turn to stop the world." Passed on when dropped.
#[must_use]
pub(super) struct Turn(());

struct TurnLine {
    taken: bool,
    waiting: List<InLine>,
}

/// A waiter, in its own frame.
struct InLine {
    waiter: Cell<Option<Waiter>>,
    link: AtomicPtr<InLine>,
}

// SAFETY: `link` is always the same field, to which only lists write.
unsafe impl Linked for InLine {
    fn link(&self) -> &AtomicPtr<InLine> {
        &self.link
    }
}

static LINE: Lock<TurnLine> = Lock::new(TurnLine { taken: false, waiting: List::new() });

impl Turn {
    /// Waits until nobody else has stopped the world, or is about to.
    pub(super) fn take(may_wait: &MayWait) -> Turn {
        let caller = Caller::enter_by(may_wait);
        let mut line = LINE.lock();
        if !line.taken {
            line.taken = true;
            let [] = caller.conclude(line, []);
            return Turn(());
        }
        let node = InLine { waiter: Cell::new(None), link: AtomicPtr::new(null_mut()) };
        caller.wait(WaitReason::StopTheWorld, |waiter| {
            node.waiter.set(Some(waiter));
            // SAFETY: in no list; it stays in this frame until it is taken out.
            unsafe { line.waiting.push_back(NonNull::from(&node)) };
            drop(line);
        });
        Turn(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let visitor = Visitor::enter();
        let mut line = LINE.lock();
        let first = line.waiting.pop_front();
        line.taken = first.is_some();
        // SAFETY: it waits, in a frame that stays until it is woken.
        let next = first.and_then(|node| unsafe { node.as_ref() }.waiter.take());
        if let [Some(_)] = visitor.conclude(line, [next]) {
            fatal!("an async task waits for its turn to stop the world, which it can't");
        }
    }
}
