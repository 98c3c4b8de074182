//! `errno`, which is a thread's and must follow a goroutine that changes threads (S19).
//!
//! Never inlined: the compiler must not keep its address across a switch.

/// The calling thread's.
#[inline(never)]
pub(crate) fn get() -> i32 {
    // SAFETY: always a valid address.
    unsafe { *libc::__errno_location() }
}

/// Sets the calling thread's.
#[inline(never)]
pub(crate) fn set(value: i32) {
    // SAFETY: always a valid address, and the thread's own.
    unsafe { *libc::__errno_location() = value };
}
