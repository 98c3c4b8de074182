//! The switch on x86-64 Linux (System V ABI). The contract is in `arch/mod.rs`.
//!
//! What is saved is what the compiler does not let an `asm!` block declare as clobbered: `rsp`, `rbp`, `rbx`, and
//! the address to go on at. All other registers are declared clobbered, so the compiler keeps live values on the
//! stack of their own function, and only those that are live.
//!
//! A context that rests in `switch`:
//!
//! ```text
//!   high addresses
//!   +---------------------------+ <- top
//!   | return into `trampoline`  |
//!   | frames of `entry`, ...    |
//!   | frame of the function     |      Gobuf
//!   |   that `switch` is        |      +----+
//!   |   inlined in: its live    |      | sp |---> last line of that frame
//!   |   values                  |      | pc |---> label 2 in that function
//!   +---------------------------+ <-sp | bp |     its rbp
//!   | dead: nothing was pushed  |      | bx |     its rbx
//!   :                           :      +----+
//! ```
//!
//! A fresh context; its stack has not been touched:
//!
//! ```text
//!   +---------------------------+ <-sp = top, 16-aligned
//!   | untouched                 |      pc ---> `trampoline`
//!   :                           :      bp  =   entry
//!                                      bx  =   arg
//! ```
//!
//! `trampoline` moves `arg` to `rdi`, clears `rbp` (frame-pointer walks end there) and calls `entry`, so that
//! `entry` starts with `rsp + 8` 16-aligned, as after any call. Its unwind table says `.cfi_undefined rip`: no caller.
//!
//! Invariants: the direction flag is clear at every switch (the ABI demands it around `asm!` and at calls);
//! `mxcsr` and the x87 control word stay with the thread (saving them costs 125 ns, D3).

use core::arch::{asm, naked_asm};
use core::mem::offset_of;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::Unsupported;

/// The size of a page of memory.
pub(crate) const PAGE_SIZE: usize = 4096;

/// The first function of a context. It gets the word given to [`Gobuf::fresh`] and leaves by [`jump`].
///
/// # Examples
///
/// ```
/// unsafe extern "sysv64" fn never(_arg: usize) -> ! {
///     std::process::abort()
/// }
/// let entry: gosched_switch::Entry = never;
/// # let _ = entry;
/// ```
pub type Entry = unsafe extern "sysv64" fn(usize) -> !;

/// The saved registers of a context that does not run.
///
/// The fields are atomic so that a `Gobuf` may be looked at through a shared reference while its context is being
/// switched; all accesses are relaxed, which on this architecture makes them plain moves. Whoever restores a context
/// that another thread saved needs a happens-before edge from elsewhere (the run queue).
///
/// # Examples
///
/// ```
/// let buf = gosched_switch::Gobuf::empty();
/// assert_eq!(buf.sp(), 0);
/// assert_eq!(size_of::<gosched_switch::Gobuf>(), 32);
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct Gobuf {
    sp: AtomicUsize,
    pc: AtomicUsize,
    bp: AtomicUsize,
    bx: AtomicUsize,
}

const _: () = assert!(size_of::<Gobuf>() == 32);

impl Gobuf {
    /// Nothing saved yet: the place that a first [`switch`] saves to. Must not be restored.
    ///
    /// # Examples
    ///
    /// ```
    /// static MAIN: gosched_switch::Gobuf = gosched_switch::Gobuf::empty();
    /// assert_eq!(MAIN.pc(), 0);
    /// ```
    pub const fn empty() -> Gobuf {
        Gobuf {
            sp: AtomicUsize::new(0),
            pc: AtomicUsize::new(0),
            bp: AtomicUsize::new(0),
            bx: AtomicUsize::new(0),
        }
    }

    /// A context that has not run: when first restored, `entry(arg)` runs on the stack whose highest address is
    /// `top`. Writes nothing to that stack, which may even be the one that the caller runs on (see [`jump`]).
    /// Until it has run, [`bp`](Gobuf::bp) is the address of `entry`.
    ///
    /// # Panics
    ///
    /// If `top` is not a multiple of 16.
    ///
    /// # Examples
    ///
    /// ```
    /// use gosched_switch::{Gobuf, StackClass, StackPool};
    /// unsafe extern "sysv64" fn entry(_arg: usize) -> ! {
    ///     std::process::abort()
    /// }
    /// static POOL: StackPool = StackPool::new();
    /// let stack = POOL.alloc(StackClass::DEFAULT).unwrap();
    /// let buf = Gobuf::fresh(stack.top(), entry, 7);
    /// assert_eq!(buf.sp(), stack.top());
    /// POOL.free(stack);
    /// ```
    #[inline]
    pub fn fresh(top: usize, entry: Entry, arg: usize) -> Gobuf {
        assert!(top.is_multiple_of(16), "the top of a stack must be 16-aligned, not {top:#x}");
        Gobuf {
            sp: AtomicUsize::new(top),
            pc: AtomicUsize::new(trampoline as *const () as usize),
            bp: AtomicUsize::new(entry as usize),
            bx: AtomicUsize::new(arg),
        }
    }

    /// Overwrites this one with `from`, through a shared reference: others may be reading [`sp`](Gobuf::sp).
    ///
    /// # Examples
    ///
    /// ```
    /// use gosched_switch::Gobuf;
    /// static BUF: Gobuf = Gobuf::empty();
    /// BUF.set(Gobuf::empty());
    /// assert_eq!(BUF.sp(), 0);
    /// ```
    #[inline]
    pub fn set(&self, from: Gobuf) {
        self.sp.store(from.sp.into_inner(), Relaxed);
        self.pc.store(from.pc.into_inner(), Relaxed);
        self.bp.store(from.bp.into_inner(), Relaxed);
        self.bx.store(from.bx.into_inner(), Relaxed);
    }

    /// The saved stack pointer: the hottest line of the resting context's stack lies just above it. May be read from
    /// any thread at any time; while the context runs it is the value of its last rest.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(gosched_switch::Gobuf::empty().sp(), 0);
    /// ```
    #[inline]
    pub fn sp(&self) -> usize {
        self.sp.load(Relaxed)
    }

    /// The address at which the context goes on; for a fresh one that of the trampoline.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(gosched_switch::Gobuf::empty().pc(), 0);
    /// ```
    #[inline]
    pub fn pc(&self) -> usize {
        self.pc.load(Relaxed)
    }

    /// The saved frame pointer; for a fresh one the address of its entry function.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(gosched_switch::Gobuf::empty().bp(), 0);
    /// ```
    #[inline]
    pub fn bp(&self) -> usize {
        self.bp.load(Relaxed)
    }
}

impl Default for Gobuf {
    fn default() -> Gobuf {
        Gobuf::empty()
    }
}

/// Saves the running context in `save` and goes on with the one in `restore`. Returns when someone restores `save`.
///
/// **The code after it may run on another OS thread.** The compiler does not know: it may have computed the address
/// of a thread-local before the switch and use it after. So a function that this is inlined in must not touch
/// thread-locals on both sides, except through a function that is never inlined and returns the loaded value (D5).
///
/// # Safety
///
/// - `save` and `restore` are valid, differ, and stay valid until the loads and stores on them are done: `save` until
///   it is restored.
/// - `restore` was made by [`Gobuf::fresh`] or saved by `switch`, and is restored at most once per save; everything
///   its saver did happens before this call.
/// - Its stack is alive, is not given back to a pool until its context has left it for ever, and no one else runs on it.
/// - The saved context becomes known to other threads only after this call has left its stack: publish it from the
///   context that is restored, not before.
/// - No value of the caller that is tied to its OS thread is used after the call, unless the context is bound to that
///   thread.
///
/// # Examples
///
/// See the [crate's example](crate#example).
#[inline(always)]
pub unsafe fn switch(save: *mut Gobuf, restore: *const Gobuf) {
    // SAFETY: the caller vouches for both buffers and the stack. Every register that the block does not save itself
    // is declared clobbered; without `nostack` the compiler keeps no red zone below rsp. All of `restore` is read
    // before rsp changes, so a signal that lands in between finds a consistent stack.
    unsafe {
        asm!(
            "lea rax, [rip + 2f]",
            "mov [rdi + {sp}], rsp",
            "mov [rdi + {pc}], rax",
            "mov [rdi + {bp}], rbp",
            "mov [rdi + {bx}], rbx",
            "mov rax, [rsi + {pc}]",
            "mov rbp, [rsi + {bp}]",
            "mov rbx, [rsi + {bx}]",
            "mov rsp, [rsi + {sp}]",
            "jmp rax",
            "2:",
            sp = const offset_of!(Gobuf, sp),
            pc = const offset_of!(Gobuf, pc),
            bp = const offset_of!(Gobuf, bp),
            bx = const offset_of!(Gobuf, bx),
            inout("rdi") save => _,
            inout("rsi") restore => _,
            lateout("r12") _,
            lateout("r13") _,
            lateout("r14") _,
            lateout("r15") _,
            clobber_abi("sysv64"),
        );
    }
}

/// Leaves the running context for ever and goes on with the one in `restore`. Nothing is dropped.
///
/// `restore` may be a fresh context on the very stack that the caller runs on: a context that ends can hand its hot
/// stack to the next one in place. The old frames are dead from then on.
///
/// # Safety
///
/// As for [`switch`], and nothing on the stack that is left is needed any more (when it is reused in place that
/// includes `restore` itself: it may lie there, since it is read first).
///
/// # Examples
///
/// See the [crate's example](crate#example).
#[inline(always)]
pub unsafe fn jump(restore: *const Gobuf) -> ! {
    // SAFETY: the caller vouches for the buffer and the stack. All of `restore` is read before rsp changes.
    unsafe {
        asm!(
            "mov rax, [rsi + {pc}]",
            "mov rbp, [rsi + {bp}]",
            "mov rbx, [rsi + {bx}]",
            "mov rsp, [rsi + {sp}]",
            "jmp rax",
            sp = const offset_of!(Gobuf, sp),
            pc = const offset_of!(Gobuf, pc),
            bp = const offset_of!(Gobuf, bp),
            bx = const offset_of!(Gobuf, bx),
            in("rsi") restore,
            options(noreturn),
        );
    }
}

/// The outermost frame of every context. Entered by a jump with `rbp` = entry and `rbx` = arg, as `Gobuf::fresh`
/// says. A naked function has no unwind table of its own: this one says that there is no caller.
#[unsafe(naked)]
unsafe extern "sysv64" fn trampoline() -> ! {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined rip",
        "mov rdi, rbx",
        "mov rax, rbp",
        "xor ebp, ebp",
        "call rax",
        "ud2",
        ".cfi_endproc",
    )
}

/// Shadow stacks are refused: `rdsspq` leaves its operand alone when the thread has none.
pub(super) fn refusal() -> Option<Unsupported> {
    let mut ssp: usize = 0;
    // SAFETY: reads a register; a no-op on CPUs and kernels without shadow stacks.
    unsafe { asm!("rdsspq {}", inout(reg) ssp, options(nomem, nostack, preserves_flags)) };
    if ssp == 0 { None } else { Some(Unsupported::ShadowStack) }
}
