//! The kernel's clocks, in nanoseconds.

use core::mem::MaybeUninit;

/// Time since some fixed moment; never goes back.
#[inline]
pub(crate) fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// CPU time used by the calling thread.
pub(crate) fn own_cpu() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// CPU time used by a thread of this process; 0 if it is not known.
pub(crate) fn cpu_of(tid: i32) -> u64 {
    // The kernel's encoding of a thread's CPU clock (CPUCLOCK_SCHED | CPUCLOCK_PERTHREAD).
    read((!tid << 3) | 6).unwrap_or(0)
}

#[inline]
fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: writes one timespec, or fails.
    if unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: written.
    let time = unsafe { time.assume_init() };
    Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
