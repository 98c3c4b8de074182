//! Threads by `pthread_create`, free of what `std::thread` passes on (output capture of the test harness, the
//! creator's signal mask and affinity), and the few things an M asks of its own thread.

use core::ffi::{CStr, c_void};
use core::mem::MaybeUninit;
use std::io;

/// What a thread's first function looks like to pthread.
pub(crate) type Start = extern "C" fn(*mut c_void) -> *mut c_void;

/// Starts a detached thread with a stack of `stack_bytes`.
pub(crate) fn spawn(stack_bytes: usize, start: Start, arg: *mut c_void) -> io::Result<()> {
    let mut attr = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut id = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: `attr` is initialised by the first call and destroyed by the last; `id` is written by pthread_create.
    // What `start` does with `arg` is between the caller and `start`.
    let rc = unsafe {
        libc::pthread_attr_init(attr.as_mut_ptr());
        libc::pthread_attr_setdetachstate(attr.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(attr.as_mut_ptr(), stack_bytes);
        let rc = libc::pthread_create(id.as_mut_ptr(), attr.as_ptr(), start, arg);
        libc::pthread_attr_destroy(attr.as_mut_ptr());
        rc
    };
    if rc == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(rc)) }
}

/// Gives the calling thread the affinity and the signal mask of the process's first thread: those of whoever
/// happened to start the runtime are not meant for it.
pub(crate) fn adopt_process_defaults() {
    // SAFETY: cpu_set_t is plain data; size and pointers describe `set`; pid 0 is the calling thread.
    unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        if libc::sched_getaffinity(libc::getpid(), size_of_val(&set), &mut set) == 0 {
            libc::sched_setaffinity(0, size_of_val(&set), &set);
        }
    }
    if let Some(blocked) = blocked_signals_of_first_thread() {
        // SAFETY: sigset_t is initialised by sigemptyset; sigaddset and pthread_sigmask only read and write it.
        unsafe {
            let mut set = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(set.as_mut_ptr());
            for signal in (1..=64).filter(|s| blocked & (1 << (s - 1)) != 0) {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, set.as_ptr(), core::ptr::null_mut());
        }
    }
}

/// The `SigBlk` line of `/proc/self/status`, which is the first thread's.
fn blocked_signals_of_first_thread() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("SigBlk:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Names the calling thread for `ps`, `gdb` and `perf` (15 bytes are shown).
pub(crate) fn set_name(name: &CStr) {
    // SAFETY: PR_SET_NAME reads a nul-terminated string.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
    }
}

/// Makes the calling thread's timed sleeps end within a nanosecond of slack instead of the usual 50 µs.
pub(crate) fn set_tight_timer_slack() {
    // SAFETY: PR_SET_TIMERSLACK takes a number.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64);
    }
}

/// The kernel's id of the calling thread.
pub(crate) fn tid() -> i32 {
    // SAFETY: gettid has no preconditions.
    unsafe { libc::gettid() }
}

/// Runs `in_child` in the child after every `fork`.
pub(crate) fn on_fork(in_child: unsafe extern "C" fn()) {
    // SAFETY: registering a function has no preconditions.
    unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
    }
}
