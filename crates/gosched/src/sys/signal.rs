//! Stack overflow, caught: an alternate signal stack for each M and a handler for SIGSEGV and SIGBUS.
//!
//! The handler asks one question, through a function given at installation: does this address lie in the guard
//! of what runs on this thread? That function does not return if so. Every other fault goes to whatever handler
//! was there before, or to the default action.
//!
//! Invariant: the handler runs on the M's own alternate stack, since the goroutine's is used up. It touches only
//! the M, the G it runs and `write(2)`.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicUsize, Ordering};

use gosched_switch::arch::PAGE_SIZE;

use super::mem;

const ALT_STACK_BYTES: usize = 64 * 1024;

/// Says which address faulted; does not return if that was a stack overflow.
pub(crate) type OnFault = fn(address: usize);

static ON_FAULT: AtomicUsize = AtomicUsize::new(0);

/// The handlers that were there before ours, written once before ours is installed.
struct Previous(UnsafeCell<[MaybeUninit<libc::sigaction>; 2]>);
// SAFETY: written in `install` before the handler that reads it can run, never after.
unsafe impl Sync for Previous {}
static PREVIOUS: Previous = Previous(UnsafeCell::new([const { MaybeUninit::zeroed() }; 2]));

const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// A guarded stack for the handlers of one thread at a time. Never unmapped.
#[derive(Clone, Copy)]
pub(crate) struct AlternateStack(NonNull<u8>);

impl AlternateStack {
    /// `None` without memory for it. A thread then goes without: an overflow still ends the process, only less politely.
    pub(crate) fn new() -> Option<AlternateStack> {
        let base = mem::map_forever(ALT_STACK_BYTES + PAGE_SIZE)?;
        mem::guard_lowest_page(base).then_some(AlternateStack(base))
    }

    /// The calling thread's handlers run on it from now on. No other thread's do.
    pub(crate) fn adopt(self) {
        // SAFETY: the stack described lies inside the mapping, above its guard page, and is never unmapped.
        unsafe {
            let stack = libc::stack_t {
                ss_sp: self.0.as_ptr().add(PAGE_SIZE).cast(),
                ss_flags: 0,
                ss_size: ALT_STACK_BYTES,
            };
            libc::sigaltstack(&stack, null_mut());
        }
    }

    /// The calling thread has none from now on.
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
        // SAFETY: called once, before any M exists, so nobody reads PREVIOUS yet; the old action is fetched before
        // ours is set, so that a fault on another thread in between finds it. `handler` has the signature that
        // SA_SIGINFO asks for.
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
    // SAFETY: the kernel passes a valid siginfo; ON_FAULT holds an `OnFault` since before the handler was set.
    unsafe {
        let on_fault = core::mem::transmute::<usize, OnFault>(on_fault);
        on_fault((*info).si_addr().addr());
        chain(signal, info, context);
    }
}

/// Does what would have happened without us.
///
/// # Safety
/// Called from the handler with the handler's arguments.
unsafe fn chain(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let i = SIGNALS.iter().position(|s| *s == signal).unwrap_or(0);
    // SAFETY: PREVIOUS was written before the handler was set.
    let previous = unsafe { (*PREVIOUS.0.get())[i].assume_init_ref() };
    // SAFETY: the kernel passes a valid siginfo. Sent by `kill` and its like, not by a fault.
    let sent = unsafe { (*info).si_code } <= 0;
    match previous.sa_sigaction {
        libc::SIG_IGN if sent => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            // A fault can't be ignored: the default action, when the faulting instruction runs again, or when the signal
            // that was sent comes again.
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
