//! Time slices of the kernel: threads with a P are run sooner than those that compute without one
//! (D1).
//!
//! **Problem.** With more busy threads than CPUs the kernel lets each run for some milliseconds. An
//! M with a P then waits behind threads that have lost theirs, and the monitor behind all of them.
//!
//! **Hook**: when a thread begins, loses its P while it computes, or has one again. The kernel is
//! asked for a shorter or longer slice, if it supports that (Linux 6.12): it runs threads with
//! shorter slices sooner.
//!
//! **Without it** all threads have the kernel's default.

use crate::debug::Policy;
use crate::sys::thread;

/// How long the kernel is to let a thread run at a time while others want the CPU, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum TimeSlice {
    /// For the monitor, which has a few microseconds of work and is to run at once.
    Shortest = 100_000,
    /// For threads that have a P.
    Short = 200_000,
    /// For threads that compute without one.
    Long = 100_000_000,
}

/// Asks for a time slice for a thread of this process; 0 is the calling one.
pub(crate) fn ask(tid: i32, slice: TimeSlice) {
    if Policy::TimeSlices.is_on() {
        thread::set_time_slice(tid, slice as u64);
    }
}
