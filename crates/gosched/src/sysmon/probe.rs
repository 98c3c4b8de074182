//! Is a thread blocked or computing (D2)? The kernel says: `/proc/self/task/TID/syscall` begins with `r` for a thread that
//! runs or could, with a number for one that sleeps in a system call or a page fault.
//!
//! The file is opened when an M is first asked about, and kept while it has a P. Where it can't be had, the thread's CPU clock decides: it stands
//! still while the thread is blocked (and while the kernel runs others, which is why it is second choice).

use core::ffi::CStr;
use core::fmt::Write;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use crate::fatal::Message;

/// Not opened yet.
const UNOPENED: i32 = -1;
/// Can't be opened.
const UNAVAILABLE: i32 = -2;

/// What the monitor keeps of an M to ask about its thread. Nobody else touches it.
pub(crate) struct Probe {
    fd: AtomicI32,
    last_cpu: AtomicU64,
}

impl Probe {
    pub(crate) const fn new() -> Probe {
        Probe { fd: AtomicI32::new(UNOPENED), last_cpu: AtomicU64::new(0) }
    }

    /// Whether the thread is blocked in the kernel.
    pub(super) fn is_blocked(&self, tid: i32) -> bool {
        if self.fd.load(Ordering::Relaxed) == UNOPENED {
            self.fd.store(open(tid), Ordering::Relaxed);
        }
        match self.fd.load(Ordering::Relaxed) {
            UNAVAILABLE => self.clock_stands_still(tid),
            fd => {
                let mut first = 0_u8;
                // SAFETY: reads one byte into `first` from a descriptor that is ours.
                let n = unsafe { libc::pread(fd, (&raw mut first).cast(), 1, 0) };
                if n != 1 {
                    self.close();
                    self.fd.store(UNAVAILABLE, Ordering::Relaxed);
                }
                n == 1 && first != b'r'
            }
        }
    }

    /// The M has lost its P: there is nothing to ask until it has one again, and descriptors are the program's.
    pub(crate) fn close(&self) {
        let fd = self.fd.swap(UNOPENED, Ordering::Relaxed);
        if fd >= 0 {
            // SAFETY: opened by `open`, and no longer in its place.
            unsafe { libc::close(fd) };
        }
    }

    fn clock_stands_still(&self, tid: i32) -> bool {
        let cpu = cpu_time(tid);
        let before = self.last_cpu.load(Ordering::Relaxed);
        self.last_cpu.store(cpu, Ordering::Relaxed);
        before != 0 && before == cpu
    }
}

fn open(tid: i32) -> i32 {
    let mut path = Message::new();
    let _ = write!(path, "/proc/self/task/{tid}/syscall\0");
    let Ok(path) = CStr::from_bytes_until_nul(path.as_bytes()) else { return UNAVAILABLE };
    // SAFETY: a nul-terminated path.
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if fd < 0 { UNAVAILABLE } else { fd }
}

/// CPU time used by a thread of this process, in nanoseconds; 0 if it can't be told.
pub(super) fn cpu_time(tid: i32) -> u64 {
    // The kernel's encoding of a thread's CPU clock (CPUCLOCK_SCHED | CPUCLOCK_PERTHREAD).
    let clock = (!tid << 3) | 6;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec, or fails.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return 0;
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CPU time used by the calling thread, in nanoseconds.
pub(super) fn own_cpu_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::thread::tid;
    use core::sync::atomic::AtomicBool;
    use core::time::Duration;

    /// D2: a thread in a system call is blocked, one that computes is not.
    #[test]
    fn tells_blocked_from_computing() {
        static TID: AtomicI32 = AtomicI32::new(0);
        static STOP: AtomicBool = AtomicBool::new(false);
        let computing = std::thread::spawn(|| {
            TID.store(tid(), Ordering::Relaxed);
            while !STOP.load(Ordering::Relaxed) {
                core::hint::spin_loop();
            }
        });
        while TID.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        let probe = Probe::new();
        // Its first moments may be in the kernel; from then on it only computes.
        while probe.is_blocked(TID.load(Ordering::Relaxed)) {
            std::thread::yield_now();
        }
        assert!((0..100).all(|_| !probe.is_blocked(TID.load(Ordering::Relaxed))));
        assert!(cpu_time(TID.load(Ordering::Relaxed)) > 0);
        STOP.store(true, Ordering::Relaxed);
        computing.join().unwrap();

        let (send, receive) = std::sync::mpsc::channel();
        let sleeping = std::thread::spawn(move || {
            send.send(tid()).unwrap();
            std::thread::sleep(Duration::from_secs(30));
        });
        let sleeper = receive.recv().unwrap();
        let probe = Probe::new();
        while !probe.is_blocked(sleeper) {
            std::thread::yield_now();
        }
        drop(sleeping);
    }
}
