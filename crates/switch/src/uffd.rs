//! Guards by `userfaultfd` for kernels 6.6 to 6.12: `UFFDIO_POISON` marks pages so that touching
//! them is SIGBUS.
//!
//! The slab is registered for write-protect faults only, and nothing is ever write-protected: so no
//! fault is ever delivered to the descriptor, missing pages come as usual, and nobody needs to read
//! it.
//!
//! Invariants: the descriptor stays open as long as the process lives (closing it would unregister
//! the slabs); poisoned ranges are never discarded, because `MADV_DONTNEED` wipes the marks: only
//! usable parts of stacks are.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::sys::Errno;

const UFFD_USER_MODE_ONLY: libc::c_int = 1;
const UFFD_API: u64 = 0xAA;
/// The type byte of its `ioctl` numbers.
const UFFDIO: u32 = 0xAA;
const UFFD_FEATURE_POISON: u64 = 1 << 14;
const UFFDIO_API: libc::Ioctl = libc::_IOWR::<Api>(UFFDIO, 0x3F);
const UFFDIO_REGISTER: libc::Ioctl = libc::_IOWR::<RangeRequest>(UFFDIO, 0x00);
const UFFDIO_REGISTER_MODE_WP: u64 = 1 << 1;
const UFFDIO_POISON: libc::Ioctl = libc::_IOWR::<RangeRequest>(UFFDIO, 0x08);

/// `struct uffdio_api`.
#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

/// `struct uffdio_register` and `struct uffdio_poison`, which have one layout.
#[repr(C)]
struct RangeRequest {
    start: u64,
    len: u64,
    mode: u64,
    /// Out: the allowed ioctls, or how many bytes were poisoned.
    result: u64,
}

/// An open `userfaultfd` that knows `UFFDIO_POISON`.
#[derive(Debug)]
pub(crate) struct Uffd(OwnedFd);

impl Uffd {
    /// Opens one, if this kernel and its policy allow it. Needs no privilege, since it does not ask
    /// for kernel-mode faults.
    pub(crate) fn open() -> Result<Uffd, Errno> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | UFFD_USER_MODE_ONLY;
        // SAFETY: opens a descriptor; touches no memory.
        let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
        if fd < 0 {
            return Err(last_errno());
        }
        // SAFETY: the descriptor was just opened, and only we know it.
        let uffd = Uffd(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) });
        uffd.ioctl(UFFDIO_API, &mut Api { api: UFFD_API, features: UFFD_FEATURE_POISON, ioctls: 0 })?;
        Ok(uffd)
    }

    /// Makes ranges of this mapping poisonable.
    pub(crate) fn register(&self, at: *mut u8, len: usize) -> Result<(), Errno> {
        let mode = UFFDIO_REGISTER_MODE_WP;
        self.ioctl(UFFDIO_REGISTER, &mut RangeRequest { start: at as u64, len: len as u64, mode, result: 0 })
    }

    /// Poisons an untouched range of a registered mapping. (The kernel refuses pages that are
    /// already there.)
    pub(crate) fn poison(&self, at: *mut u8, len: usize) -> Result<(), Errno> {
        let (start, len) = (at as u64, len as u64);
        let mut done = 0;
        while done < len {
            let mut request = RangeRequest { start: start + done, len: len - done, mode: 0, result: 0 };
            let outcome = self.ioctl(UFFDIO_POISON, &mut request);
            match (outcome, request.result as i64) {
                (Ok(()), _) => return Ok(()),
                (Err(libc::EAGAIN), poisoned) if poisoned > 0 => done += poisoned as u64,
                (Err(libc::EAGAIN), _) => continue,
                (Err(e), _) => return Err(e),
            }
        }
        Ok(())
    }

    fn ioctl<T>(&self, request: libc::Ioctl, arg: &mut T) -> Result<(), Errno> {
        // SAFETY: `arg` is the structure that `request` names (both are chosen in this file,
        // together); the kernel reads and writes nothing else of ours.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), request, arg as *mut T) } {
            0 => Ok(()),
            _ => Err(last_errno()),
        }
    }
}

fn last_errno() -> Errno {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)
}
