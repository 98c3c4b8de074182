//! Threads by `pthread_create`, without the output capture of the test harness that `std::thread`
//! passes on; what replaces the signal mask, affinity and timer slack that every thread inherits
//! ([`Defaults`]); and the few things an M asks of its own thread.

use core::ffi::{CStr, c_void};
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::io;

/// The type of a thread's first function.
pub(crate) type ThreadMain = extern "C" fn(*mut c_void) -> *mut c_void;

/// The number of threads that [`spawn`] has made and [`count_end`] has not counted out.
static OURS: AtomicU32 = AtomicU32::new(0);

/// How many threads are ours.
pub(crate) fn ours() -> usize {
    OURS.load(Ordering::Relaxed) as usize
}

/// Counts the calling thread out: it is about to end. Destructors of thread-locals still run on it.
/// They are user code on a foreign thread, and may wake others.
pub(crate) fn count_end() {
    OURS.fetch_sub(1, Ordering::Relaxed);
}

/// How many threads the process has; `None` where the system does not say. Allocates nothing.
pub(crate) fn in_process() -> Option<usize> {
    let mut text = [0_u8; 512];
    // SAFETY: a nul-terminated path; pointer and length describe `text`; the descriptor is ours to
    // close.
    let n = unsafe {
        let fd = libc::open(c"/proc/self/stat".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let n = libc::read(fd, text.as_mut_ptr().cast(), text.len());
        libc::close(fd);
        usize::try_from(n).ok()?
    };
    let text = core::str::from_utf8(&text[..n]).ok()?;
    // The command's name, in brackets, may contain anything; the number is the 18th word after it.
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(17)?.parse().ok()
}

/// Starts a detached thread with a stack of `stack_bytes`.
pub(crate) fn spawn(stack_bytes: usize, start: ThreadMain, arg: *mut c_void) -> io::Result<()> {
    let mut attr = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut id = MaybeUninit::<libc::pthread_t>::uninit();
    OURS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: `attr` is initialised by the first call and destroyed by the last; `id` is written by
    // pthread_create. What `start` does with `arg` is between the caller and `start`.
    let rc = unsafe {
        libc::pthread_attr_init(attr.as_mut_ptr());
        libc::pthread_attr_setdetachstate(attr.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(attr.as_mut_ptr(), stack_bytes + taken_by_libc(attr.as_ptr()));
        let rc = libc::pthread_create(id.as_mut_ptr(), attr.as_ptr(), start, arg);
        libc::pthread_attr_destroy(attr.as_mut_ptr());
        rc
    };
    if rc == 0 {
        return Ok(());
    }
    OURS.fetch_sub(1, Ordering::Relaxed);
    Err(io::Error::from_raw_os_error(rc))
}

/// What glibc takes out of a thread's stack for itself: above all room for the program's
/// thread-locals.
fn taken_by_libc(attr: *const libc::pthread_attr_t) -> usize {
    // SAFETY: looks a name up in what is loaded; the function, private to glibc but used by std
    // too, has this signature.
    unsafe {
        let symbol = libc::dlsym(libc::RTLD_DEFAULT, c"__pthread_get_minstack".as_ptr());
        if symbol.is_null() {
            return 0;
        }
        let minimum = core::mem::transmute::<
            *mut c_void,
            unsafe extern "C" fn(*const libc::pthread_attr_t) -> usize,
        >(symbol);
        minimum(attr)
    }
}

/// Affinity, signal mask and timer slack of the process's first thread. Our threads start with
/// these, and not with those of the thread that happened to start the runtime.
#[derive(Clone, Copy)]
pub(crate) struct Defaults {
    affinity: Option<libc::cpu_set_t>,
    /// One bit per signal, from 1.
    blocked: u64,
    /// Nanoseconds.
    slack: Option<u64>,
}

/// Signals that a fault raises on the thread that caused it. Never blocked: the process would end
/// without a message.
const FAULTS: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP];
/// How often the mask is read again while all [`FAULTS`] are blocked.
const MASK_TRIES: u32 = 100;

impl Defaults {
    /// Read before any thread of ours is made.
    pub(crate) fn read() -> Defaults {
        // SAFETY: cpu_set_t is plain data; size and pointer describe `set`.
        let affinity = unsafe {
            let mut set: libc::cpu_set_t = core::mem::zeroed();
            (libc::sched_getaffinity(libc::getpid(), size_of_val(&set), &mut set) == 0).then_some(set)
        };
        let slack = std::fs::read_to_string("/proc/self/timerslack_ns").ok();
        let slack = slack.and_then(|text| text.trim().parse().ok());
        let faults = FAULTS.iter().fold(0, |bits, signal| bits | bit(*signal));
        // glibc blocks all signals while a thread is inside pthread_create or fork: not what the
        // program asked for.
        for _ in 0..MASK_TRIES {
            let blocked = blocked_in_first_thread().unwrap_or(0);
            if blocked & faults != faults {
                return Defaults { affinity, blocked: blocked & !faults, slack };
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        Defaults { affinity, blocked: 0, slack }
    }

    /// Gives them to the calling thread; threads that it creates inherit them.
    pub(crate) fn adopt(&self) {
        // SAFETY: sizes and pointers describe the sets, which are initialised; pid 0 is the calling
        // thread.
        unsafe {
            if let Some(set) = &self.affinity {
                libc::sched_setaffinity(0, size_of_val(set), set);
            }
            if let Some(slack) = self.slack {
                libc::prctl(libc::PR_SET_TIMERSLACK, slack);
            }
            let mut set = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(set.as_mut_ptr());
            for signal in (1..=64).filter(|signal| self.blocked & bit(*signal) != 0) {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, set.as_ptr(), core::ptr::null_mut());
        }
    }
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// The `SigBlk` line of `/proc/self/status`, which is the first thread's.
fn blocked_in_first_thread() -> Option<u64> {
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

/// While it lives, the calling thread has a timer slack of 1 ns instead of the usual 50 µs. When it
/// is dropped, the thread has its default again: the slack that it was created with. So threads and
/// programs that user code starts on it get that.
#[must_use]
pub(crate) struct TightTimerSlack(PhantomData<*mut ()>);

impl TightTimerSlack {
    pub(crate) fn begin() -> TightTimerSlack {
        set_timer_slack(1);
        TightTimerSlack(PhantomData)
    }
}

impl Drop for TightTimerSlack {
    fn drop(&mut self) {
        set_timer_slack(0);
    }
}

/// 0 is the thread's default.
fn set_timer_slack(nanos: u64) {
    // SAFETY: PR_SET_TIMERSLACK takes a number.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, nanos);
    }
}

/// Asks the kernel to let a thread of this process run for `nanos` at a time while others want the
/// CPU; `tid` 0 is the calling thread. A kernel without such slices ignores it.
///
/// Threads and programs that the thread starts get the kernel's default slice: user code starts
/// both, and we do not see it. The flag for that also resets a nice value below 0 in what is
/// started, so nothing is asked for a thread with such a value.
pub(crate) fn set_time_slice(tid: i32, nanos: u64) {
    /// The kernel's `struct sched_attr`, as far as it is needed here.
    #[repr(C)]
    struct SchedAttr {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let size = size_of::<SchedAttr>() as u32;
    let mut attr =
        SchedAttr { size, policy: 0, flags: 0, nice: 0, priority: 0, runtime: 0, deadline: 0, period: 0 };
    // SAFETY: the kernel writes and reads no more than `size` bytes of `attr`.
    unsafe {
        let got = libc::syscall(libc::SYS_sched_getattr, tid, &raw mut attr, size, 0);
        if got == 0 && attr.policy == libc::SCHED_OTHER as u32 && attr.nice >= 0 {
            attr.size = size;
            attr.flags |= libc::SCHED_FLAG_RESET_ON_FORK as u64;
            attr.runtime = nanos;
            libc::syscall(libc::SYS_sched_setattr, tid, &raw const attr, 0);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The system's number counts every thread of the process.
    #[test]
    fn threads_are_counted() {
        let before = in_process().unwrap();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || wait.recv());
        // Other tests' threads come and go beside this one.
        assert!(in_process().unwrap() >= 2, "{before}");
        drop(go);
        let _ = thread.join();
    }
}
