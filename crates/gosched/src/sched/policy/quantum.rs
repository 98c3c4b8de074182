//! Quantum: a goroutine may compute for longer while many already compute without a P (D1).
//!
//! **Problem.** A thread that loses its P is one more for the kernel to run. With many of them each
//! goroutine that computes soon loses its P too, and the kernel switches among hundreds of threads.
//!
//! **Hook**: the monitor's judgement of a P that runs. The slice grows with the number of those
//! that compute without a P (`gosched_rules::slice::quantum`).
//!
//! **Without it** the slice is 10 ms, whatever else runs.

use gosched_rules::slice;

use crate::debug::Policy;
use crate::sched::SCHED;

/// How long a goroutine may compute now, while others wait.
pub(crate) fn now() -> u64 {
    match Policy::Quantum.is_on() {
        true => slice::quantum(SCHED.computing_without_p(), SCHED.procs()),
        false => slice::TIME_SLICE,
    }
}
