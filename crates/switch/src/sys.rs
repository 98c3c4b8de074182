//! The system calls on memory that this crate makes. Failure is a raw `errno`. (Those on a
//! `userfaultfd` are in `uffd.rs`.)
//!
//! Invariants: nothing here allocates; nothing here knows the layout of a slab. Functions that
//! change existing memory (unmap, protect, discard, guard) are `unsafe`; their callers own it.

use core::ptr::{self, NonNull};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::arch::PAGE_SIZE;

/// A raw error number of the system.
pub(crate) type Errno = i32;

/// Linux 6.13; not in every version of `libc`.
const MADV_GUARD_INSTALL: libc::c_int = 102;
/// Ranges per `process_madvise`. The kernel takes 1,024; a vector of this many is 2 KiB, which fits
/// on a small stack.
const MAX_IOV: usize = 128;

fn errno() -> Errno {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)
}

fn check(result: libc::c_int) -> Result<(), Errno> {
    if result == 0 { Ok(()) } else { Err(errno()) }
}

/// The size of the kernel's signal frame on this CPU.
pub(crate) fn min_sigstksz() -> usize {
    // SAFETY: reads the auxiliary vector; an unknown entry gives 0.
    let size = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    if size == 0 { libc::MINSIGSTKSZ } else { size }
}

/// Reserves address space for stacks: readable, writable, zero, without huge pages. Memory is
/// charged when it is touched (except under strict overcommit, which ignores `MAP_NORESERVE`).
pub(crate) fn map_stacks(len: usize) -> Result<NonNull<u8>, Errno> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
    // SAFETY: a new anonymous mapping at an address the kernel chooses touches no memory of ours.
    let at = unsafe { libc::mmap(ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if at == libc::MAP_FAILED {
        return Err(errno());
    }
    // SAFETY: advice on the fresh mapping, which nobody else knows. EINVAL (a kernel without huge
    // pages) is fine.
    unsafe { libc::madvise(at, len, libc::MADV_NOHUGEPAGE) };
    NonNull::new(at.cast()).ok_or(libc::ENOMEM)
}

/// Gives address space back.
///
/// # Safety
///
/// The caller owns `[at, at + len)`, page-aligned, and nobody uses it any more.
pub(crate) unsafe fn unmap(at: *mut u8, len: usize) -> Result<(), Errno> {
    // SAFETY: the caller's promise.
    check(unsafe { libc::munmap(at.cast(), len) })
}

/// Makes a range inaccessible; splits its mapping.
///
/// # Safety
///
/// The caller owns the page-aligned range and nothing in it is in use.
pub(crate) unsafe fn protect_none(at: *mut u8, len: usize) -> Result<(), Errno> {
    // SAFETY: the caller's promise.
    check(unsafe { libc::mprotect(at.cast(), len, libc::PROT_NONE) })
}

/// Gives the pages of a range back to the system; they read as zero afterwards.
///
/// # Safety
///
/// The caller owns the page-aligned range and needs nothing in it.
pub(crate) unsafe fn discard(at: *mut u8, len: usize) -> Result<(), Errno> {
    // SAFETY: the caller's promise.
    check(unsafe { libc::madvise(at.cast(), len, libc::MADV_DONTNEED) })
}

/// How many bytes of the range are in memory.
pub(crate) fn resident(at: *mut u8, len: usize) -> Result<usize, Errno> {
    let mut map = [0u8; 1024];
    let mut pages = 0;
    let mut offset = 0;
    while offset < len {
        let step = (len - offset).min(map.len() * PAGE_SIZE);
        // SAFETY: mincore only looks; `map` has one byte for each page of `step`.
        check(unsafe { libc::mincore(at.wrapping_add(offset).cast(), step, map.as_mut_ptr()) })?;
        pages += map[..step.div_ceil(PAGE_SIZE)].iter().filter(|&&m| m & 1 != 0).count();
        offset += step;
    }
    Ok(pages * PAGE_SIZE)
}

/// What happens to a mapping made from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paging {
    /// Pages come when touched.
    OnDemand,
    /// `mlockall(MCL_FUTURE)`: the whole mapping is filled at once.
    AtOnce,
}

/// Finds out by mapping one page and asking whether it is in memory.
pub(crate) fn paging() -> Paging {
    let Ok(probe) = map_stacks(PAGE_SIZE) else { return Paging::OnDemand };
    let there = resident(probe.as_ptr(), PAGE_SIZE);
    // SAFETY: the probe is ours, and nobody else has seen it. If it can't be unmapped, one page of
    // address space is lost.
    let _ = unsafe { unmap(probe.as_ptr(), PAGE_SIZE) };
    match there {
        Ok(0) | Err(_) => Paging::OnDemand,
        Ok(_) => Paging::AtOnce,
    }
}

/// Installs guards of `len` bytes at each of `count` places, `stride` apart, with as few calls as
/// the kernel allows.
///
/// # Safety
///
/// The caller owns the ranges and nothing in them is in use.
pub(crate) unsafe fn install_guards(
    first: *mut u8,
    len: usize,
    stride: usize,
    count: usize,
) -> Result<(), Errno> {
    let range = |i: usize| libc::iovec { iov_base: first.wrapping_add(i * stride).cast(), iov_len: len };
    let mut done = 0;
    if let Some(me) = pidfd_of_self() {
        let mut batch = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; MAX_IOV];
        while done < count {
            let n = (count - done).min(MAX_IOV);
            for (slot, i) in batch.iter_mut().zip(done..done + n) {
                *slot = range(i);
            }
            // SAFETY: the caller owns the ranges; `batch` holds `n` of them.
            let advised = unsafe {
                libc::syscall(
                    libc::SYS_process_madvise,
                    me.as_raw_fd(),
                    batch.as_ptr(),
                    n,
                    MADV_GUARD_INSTALL as libc::c_long,
                    0 as libc::c_long,
                )
            };
            if advised < len as libc::c_long {
                break;
            }
            done += advised as usize / len;
        }
    }
    for i in done..count {
        let guard = range(i);
        // SAFETY: the caller owns the range. Installing a guard twice is harmless.
        check(unsafe { libc::madvise(guard.iov_base, guard.iov_len, MADV_GUARD_INSTALL) })?;
    }
    Ok(())
}

fn pidfd_of_self() -> Option<OwnedFd> {
    // SAFETY: opens a descriptor (always close-on-exec) for our own process; touches no memory.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) };
    // SAFETY: the descriptor was just opened, and only we know it.
    if fd < 0 { None } else { Some(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) }) }
}
