//! Preempted last: a goroutine that was preempted, or needs a P again after it lost its own, queues
//! behind those that were woken (D1).
//!
//! **Problem.** A goroutine that computes has had its turn; one that was woken has not. In a single
//! queue each request of a server would wait for as many slices of 10 ms as there are computing
//! goroutines before it.
//!
//! **Hook**: `class_of_preempted`, at the post-switch step that queues it. So that the lower
//! classes don't wait for ever, every fourth grab that finds one not empty takes from it first
//! (`gosched_rules::batch`).
//!
//! **Without it** the goroutine goes to the tail of the class of woken ones, as in Go's single
//! queue.

use crate::debug::Policy;
use crate::sched::QueueClass;

/// The class of a goroutine that was preempted, or needs a P again after it lost its own.
pub(in crate::sched) fn class_of_preempted() -> QueueClass {
    if Policy::PreemptedLast.is_on() { QueueClass::Preempted } else { QueueClass::Woken }
}
