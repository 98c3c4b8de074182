//! Preempted last: a goroutine that was preempted, or comes back without its P, stands behind those that were woken (D1).
//!
//! **Problem.** A goroutine that computes has had its turn; one that was woken waits for its first. In one queue each request of a
//! server waits for as many slices of 10 ms as there are computing goroutines before it.
//!
//! **Hook**: `class_of_preempted`, at the post-switch step that queues it. Lest the lower classes wait for ever, every fourth grab
//! takes one of them first (`gosched_rules::batch`).
//!
//! **Without it** it goes to the tail of the one queue, as in Go.

use crate::debug::Policy;
use crate::sched::QueueClass;

/// Where in the global queue a goroutine belongs that was preempted, or is back without its P.
pub(in crate::sched) fn class_of_preempted() -> QueueClass {
    if Policy::PreemptedLast.is_on() { QueueClass::Preempted } else { QueueClass::Woken }
}
