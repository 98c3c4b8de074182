//! Anonymous memory for things that live as long as the process, or that must not come from Rust's
//! allocator.

use core::ptr::NonNull;

use gosched_switch::arch::PAGE_SIZE;
use gosched_switch::sanitizer;

/// Maps `bytes` of zeroed, page-aligned memory that is never unmapped and costs nothing until
/// touched. `None` when the system has none left.
pub(crate) fn map_forever(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: an anonymous private mapping at an address of the kernel's choice touches no existing
    // memory.
    let ptr = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if ptr == libc::MAP_FAILED {
        return None;
    }
    sanitizer::root(ptr.cast(), bytes);
    NonNull::new(ptr.cast())
}

/// Unmaps a mapping of [`map_forever`] after all.
///
/// # Safety
/// `base` and `bytes` are those of one such mapping, and nobody uses it any more.
pub(crate) unsafe fn unmap(base: *mut u8, bytes: usize) {
    // SAFETY: by contract.
    unsafe {
        sanitizer::unroot(base, bytes);
        libc::munmap(base.cast(), bytes);
    }
}

/// Changes the size of such a mapping, and its address if need be; what fits is kept. `None` when
/// the system has no memory left: then nothing has changed.
///
/// # Safety
/// `base` and `old` are those of one such mapping; after a success it is used at the returned
/// address only.
pub(crate) unsafe fn remap(base: NonNull<u8>, old: usize, new: usize) -> Option<NonNull<u8>> {
    // SAFETY: by contract.
    let ptr = unsafe { libc::mremap(base.as_ptr().cast(), old, new, libc::MREMAP_MAYMOVE) };
    if ptr == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: by contract `map_forever` or the last `remap` said that it is a root.
    unsafe { sanitizer::unroot(base.as_ptr(), old) };
    sanitizer::root(ptr.cast(), new);
    NonNull::new(ptr.cast())
}

/// Asks for large pages behind a mapping: fewer faults and fewer TLB misses. The kernel may refuse.
pub(crate) fn prefer_large_pages(base: NonNull<u8>, bytes: usize) {
    // SAFETY: advice about the caller's memory; it changes no contents.
    unsafe { libc::madvise(base.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
}

/// Makes the lowest page of a mapping inaccessible, so that running over its lower end faults.
pub(crate) fn guard_lowest_page(base: NonNull<u8>) -> bool {
    // SAFETY: the caller owns the mapping; nothing lives in its lowest page yet.
    unsafe { libc::mprotect(base.as_ptr().cast(), PAGE_SIZE, libc::PROT_NONE) == 0 }
}
