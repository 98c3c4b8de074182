//! Stack overflow, caught: an alternate signal stack for each M and a handler for SIGSEGV and
//! SIGBUS.
//!
//! The handler passes the address of the fault to a function given at installation. If the address
//! lies in the guard of the stack that runs on this thread, that function does not return. Every
//! other fault goes to the handler that was there before, or to the default action.
//!
//! Invariant: the handler runs on the M's own alternate stack, since the goroutine's is used up. It
//! reads only the M and its goroutine, and calls only `write(2)` and `_exit(2)`.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicUsize, Ordering};

use gosched_switch::arch::PAGE_SIZE;

use super::mem;

const ALT_STACK_BYTES: usize = 64 * 1024;

/// Gets the address that faulted; does not return if that was a stack overflow.
pub(crate) type OnFault = fn(address: usize);

static ON_FAULT: AtomicUsize = AtomicUsize::new(0);

/// The handlers that were there before ours. Each is written once, before ours takes its place.
struct Previous(UnsafeCell<[MaybeUninit<libc::sigaction>; 2]>);
// SAFETY: `install` writes a signal's element before it installs the handler for that signal, which
// alone reads it.
unsafe impl Sync for Previous {}
static PREVIOUS: Previous = Previous(UnsafeCell::new([const { MaybeUninit::zeroed() }; 2]));

const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// A stack with a guard page, for the signal handlers of one thread at a time. Never unmapped.
#[derive(Clone, Copy)]
pub(crate) struct AlternateStack(NonNull<u8>);

impl AlternateStack {
    /// `None` if there is no memory for it. A thread then has none: an overflow still ends the
    /// process, without our message.
    pub(crate) fn new() -> Option<AlternateStack> {
        let base = mem::map_forever(ALT_STACK_BYTES + PAGE_SIZE)?;
        mem::guard_lowest_page(base).then_some(AlternateStack(base))
    }

    /// Makes the calling thread's handlers run on it. No other thread may have it at the time.
    pub(crate) fn adopt(self) {
        // SAFETY: the stack described lies inside the mapping, above its guard page, and is never
        // unmapped.
        unsafe {
            let stack = libc::stack_t {
                ss_sp: self.0.as_ptr().add(PAGE_SIZE).cast(),
                ss_flags: 0,
                ss_size: ALT_STACK_BYTES,
            };
            libc::sigaltstack(&stack, null_mut());
        }
    }

    /// Leaves the calling thread without an alternate stack.
    pub(crate) fn drop_own() {
        let stack = libc::stack_t { ss_sp: null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        // SAFETY: disables it; we are not on it.
        unsafe { libc::sigaltstack(&stack, null_mut()) };
    }
}

/// Installs the fault handler once for the process.
pub(crate) fn install(on_fault: OnFault) {
    ON_FAULT.store(on_fault as usize, Ordering::Relaxed);
    for (i, signal) in SIGNALS.into_iter().enumerate() {
        // SAFETY: called once. Only our handler for this signal reads its element of PREVIOUS, and
        // that is installed after the old action was written there. `handler` has the signature
        // that SA_SIGINFO asks for.
        unsafe {
            let previous = (*PREVIOUS.0.get())[i].as_mut_ptr();
            libc::sigaction(signal, core::ptr::null(), previous);
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(signal, &action, null_mut());
        }
    }
}

extern "C" fn handler(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let on_fault = ON_FAULT.load(Ordering::Relaxed);
    // SAFETY: the kernel passes a valid siginfo; ON_FAULT holds an `OnFault` since before the
    // handler was set.
    unsafe {
        let on_fault = core::mem::transmute::<usize, OnFault>(on_fault);
        on_fault((*info).si_addr().addr());
        chain(signal, info, context);
    }
}

/// Does what would have happened without our handler.
///
/// # Safety
/// Called from the handler with the handler's arguments.
unsafe fn chain(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let i = SIGNALS.iter().position(|s| *s == signal).unwrap_or(0);
    // SAFETY: PREVIOUS was written before the handler was set.
    let previous = unsafe { (*PREVIOUS.0.get())[i].assume_init_ref() };
    // SAFETY: the kernel passes a valid siginfo. A code up to 0 means: sent by `kill` and the like,
    // not by a fault.
    let sent = unsafe { (*info).si_code } <= 0;
    match previous.sa_sigaction {
        libc::SIG_IGN if sent => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            // A fault can't be ignored. The default action follows: the faulting instruction runs
            // again, or the signal that was sent is raised again.
            // SAFETY: plain data; SIG_DFL needs no handler.
            unsafe {
                let mut action: libc::sigaction = core::mem::zeroed();
                action.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &action, null_mut());
                if sent {
                    libc::raise(signal);
                }
            }
        }
        address if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: installed with SA_SIGINFO, so it has this signature.
            unsafe {
                let f = core::mem::transmute::<usize, extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void)>(
                    address,
                );
                f(signal, info, context);
            }
        }
        address => {
            // SAFETY: installed without SA_SIGINFO, so it takes the signal's number only.
            unsafe {
                let f = core::mem::transmute::<usize, extern "C" fn(c_int)>(address);
                f(signal);
            }
        }
    }
}
