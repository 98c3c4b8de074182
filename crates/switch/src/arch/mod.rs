//! What depends on the CPU: one file per architecture, one contract for all.
//!
//! An architecture file is named after its `target_arch`, holds a type `Cpu` with
//! `impl Contract for Cpu`, and is listed in the `cfg` ladder below. `Contract` is all that it
//! provides, and all that the workspace knows of the CPU: the other crates use the functions and
//! constants of this module. `blank` is a file to start from. It is compiled everywhere, so that it
//! keeps up with the contract; on an architecture without a file it stands in for one, so that the
//! `compile_error!` is the only error. `README.md` of this crate has what is known of a second
//! architecture.
//!
//! Files: `registers` (where unwinding starts), `gobuf` (the saved registers), then one per
//! architecture.
//!
//! Invariants:
//!
//! - Nothing outside this folder depends on the architecture, and inside it nothing but the
//!   architecture's own file and the ladder. `tests/arch.rs` searches the sources of the workspace
//!   for such code.
//! - A switch pushes nothing: a suspended context's stack pointer is what its own code left, and
//!   what lies below is dead.
//! - A switch is a jump, never a return, so that the CPU's return predictor is not misled.
//! - The outermost frame of a context says "no caller" in its unwind table, so unwinders and
//!   debuggers end there.

#[allow(dead_code, reason = "compiled everywhere, used where an architecture has no file")]
mod blank;
mod gobuf;
mod registers;

#[cfg(all(target_arch = "x86_64", not(gosched_blank_arch)))]
mod x86_64;
#[cfg(all(target_arch = "x86_64", not(gosched_blank_arch)))]
use x86_64::Cpu;

#[cfg(any(not(any(target_arch = "x86_64")), gosched_blank_arch))]
use blank::Cpu;
#[cfg(not(any(target_arch = "x86_64", gosched_blank_arch)))]
compile_error!(
    "gosched has no file for this CPU architecture. Write one that is named after it \
     (for aarch64: crates/switch/src/arch/aarch64.rs), starting from crates/switch/src/arch/blank.rs; \
     the contract is in crates/switch/src/arch/mod.rs"
);

use core::ffi::c_void;
use core::fmt;

use crate::sanitizer;

pub use gobuf::Gobuf;
pub use registers::{Call, Dwarf, Registers};

/// What an architecture file provides.
pub(crate) trait Contract {
    /// The size of a page of memory, on every kernel that [`refusal`](Contract::refusal) accepts.
    /// It divides the smallest guard (16 KiB).
    const PAGE_SIZE: usize;

    /// The size of a cache line. The tops of neighbouring stacks differ by it.
    const CACHE_LINE: usize;

    /// What unwind tables call the registers.
    const DWARF: Dwarf;

    /// The length of the longest call instruction that [`call_before`](Contract::call_before)
    /// recognises.
    const LONGEST_CALL: usize;

    /// What to do about [`Unsupported::ShadowStack`], in the imperative.
    const NO_SHADOW_STACK: &'static str;

    /// The outermost frame of every context. It is entered by a jump, with the registers that
    /// [`Gobuf::fresh`] sets: the frame pointer is the entry function, the base pointer its
    /// argument, and the stack pointer is 16-aligned. It calls the function as the C ABI demands,
    /// with a frame pointer of 0, so that walks along frame pointers end. Its unwind table says
    /// that there is no caller. In builds for a sanitizer it calls `sanitizer::arrive_first`
    /// before.
    const TRAMPOLINE: unsafe extern "C" fn() -> !;

    /// Saves the running context and resumes the other one. It keeps the promises of
    /// [`switch`](switch()), and these:
    ///
    /// - It is inlined in its caller. It saves the four registers of a [`Gobuf`] and the compiler
    ///   takes care of all others: each is declared clobbered, also the callee-saved ones and the
    ///   vector registers. The compiler refuses its stack, frame and base pointer as operands;
    ///   those are in the `Gobuf`.
    /// - The saved `pc` lies in the same function, so that its row of the unwind table is the right
    ///   one.
    /// - It reads all of `restore` before the stack pointer changes: a signal may land in between.
    /// - Floating-point control words are not part of a context: they belong to the thread.
    ///
    /// # Safety
    ///
    /// As for [`switch`](switch()).
    unsafe fn switch(save: *mut Gobuf, restore: *const Gobuf);

    /// As [`switch`](Contract::switch), without saving.
    ///
    /// # Safety
    ///
    /// As for [`jump`](jump()).
    unsafe fn jump(restore: *const Gobuf) -> !;

    /// A feature of this CPU, kernel or process that makes switching impossible, if there is one.
    fn refusal() -> Option<Unsupported>;

    /// The registers of the caller, into which it is inlined.
    fn here() -> Registers;

    /// The registers of what a signal handler interrupted. Async-signal-safe.
    ///
    /// # Safety
    ///
    /// `context` is what the kernel passed to the handler.
    unsafe fn interrupted(context: *const c_void) -> Registers;

    /// Whether a call instruction ends right before `address`, and where it leads. `code` is the
    /// [`LONGEST_CALL`](Contract::LONGEST_CALL) bytes before `address`. A guess: it may see a call
    /// where there is none, and miss a rare form of one.
    fn call_before(code: &[u8], address: usize) -> Option<Call>;

    /// Prefetches a cache line. Never faults, whatever the address.
    fn prefetch(address: *const u8);

    /// Copies memory that others may be writing to, in assembly, so that it is no data race in the
    /// language's sense. Async-signal-safe.
    ///
    /// # Safety
    ///
    /// As for [`copy_racing`].
    unsafe fn copy_racing(from: usize, to: &mut [u8]);

    /// What the kernel calls the clock source that reads [`counter`](Contract::counter).
    const COUNTER_NAME: &'static str;

    /// The CPU's counter of time, read in a few nanoseconds. It is steady, and the same on all
    /// CPUs, if the kernel's current clock source is [`COUNTER_NAME`](Contract::COUNTER_NAME).
    fn counter() -> u64;
}

/// The size of a page of memory.
///
/// # Examples
///
/// ```
/// assert!(gosched_switch::arch::PAGE_SIZE.is_power_of_two());
/// ```
pub const PAGE_SIZE: usize = Cpu::PAGE_SIZE;

/// The size of a cache line.
///
/// # Examples
///
/// ```
/// assert!(gosched_switch::arch::CACHE_LINE.is_power_of_two());
/// ```
pub const CACHE_LINE: usize = Cpu::CACHE_LINE;

/// What the kernel calls the clock source that reads [`counter`].
///
/// # Examples
///
/// ```
/// assert!(!gosched_switch::arch::COUNTER_NAME.is_empty());
/// ```
pub const COUNTER_NAME: &str = Cpu::COUNTER_NAME;

/// What unwind tables call the registers.
///
/// # Examples
///
/// ```
/// use gosched_switch::arch::DWARF;
/// assert_ne!(DWARF.sp, DWARF.bp);
/// ```
pub const DWARF: Dwarf = Cpu::DWARF;

/// How many bytes of code [`call_before`] needs: the length of the longest call instruction that it
/// recognises.
///
/// # Examples
///
/// ```
/// assert!(gosched_switch::arch::LONGEST_CALL > 0);
/// ```
pub const LONGEST_CALL: usize = Cpu::LONGEST_CALL;

/// The first function of a context. It gets the word that was given to [`Gobuf::fresh`] and leaves
/// by [`jump`](jump()). It has the C ABI, of which every architecture has one on Linux; a panic
/// that would unwind out of it aborts the process.
///
/// # Examples
///
/// ```
/// unsafe extern "C" fn never(_arg: usize) -> ! {
///     std::process::abort()
/// }
/// let entry: gosched_switch::Entry = never;
/// # let _ = entry;
/// ```
pub type Entry = unsafe extern "C" fn(usize) -> !;

/// Saves the running context in `save` and resumes the one in `restore`. Returns when someone
/// restores `save`.
///
/// **The code after it may run on another OS thread.** The compiler does not know this: it may have
/// computed the address of a thread-local before the switch and use it afterwards. So a function
/// that this is inlined into must not touch thread-locals on both sides, except through a function
/// that is never inlined and returns the loaded value.
///
/// # Safety
///
/// - `save` and `restore` are valid, differ, and stay valid until the loads and stores on them are
///   done: `save` until it is restored.
/// - `restore` was made by [`Gobuf::fresh`] or saved by `switch`, and is restored at most once per
///   save; everything its saver did happens before this call.
/// - The stack of the restored context is alive, is not given back to a pool until its context has
///   left it for ever, and nothing else runs on it.
/// - The saved context becomes known to other threads only after this call has left its stack:
///   publish it from the context that is restored, not before.
/// - No value of the caller that is tied to its OS thread is used after the call, unless the
///   context is bound to that thread.
///
/// # Examples
///
/// See the [crate's example](crate#example).
#[inline(always)]
pub unsafe fn switch(save: *mut Gobuf, restore: *const Gobuf) {
    // SAFETY: the caller's promise. The sanitizer's calls stand right before and after.
    unsafe {
        sanitizer::depart(save, restore);
        Cpu::switch(save, restore);
        sanitizer::arrive(save);
    }
}

/// Leaves the running context for ever and resumes the one in `restore`. Nothing is dropped.
///
/// `restore` may be a fresh context on the very stack that the caller runs on: a context that ends
/// can hand its hot stack to the next one in place. The old frames are dead from then on.
///
/// # Safety
///
/// As for [`switch`](switch()), and nothing on the stack that is left is needed any more (when it
/// is reused in place that includes `restore` itself: it may lie there, since it is read first).
///
/// # Examples
///
/// See the [crate's example](crate#example).
#[inline(always)]
pub unsafe fn jump(restore: *const Gobuf) -> ! {
    // SAFETY: the caller's promise. The sanitizer's call stands right before.
    unsafe { Cpu::jump(sanitizer::depart_for_ever(restore, || here().sp)) }
}

/// The registers of the caller, as far as an unwinder needs them.
///
/// # Examples
///
/// ```
/// let local = 0_u8;
/// let here = gosched_switch::arch::here();
/// assert!((&raw const local).addr() >= here.sp);
/// ```
#[inline(always)]
pub fn here() -> Registers {
    Cpu::here()
}

/// The registers of what a signal handler interrupted. Async-signal-safe.
///
/// # Safety
///
/// `context` is what the kernel passed to the handler, which was installed with `SA_SIGINFO`.
///
/// # Examples
///
/// ```
/// use std::ffi::{c_int, c_void};
/// extern "C" fn handler(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
///     // SAFETY: the kernel passed it.
///     let interrupted = unsafe { gosched_switch::arch::interrupted(context) };
///     assert_ne!((interrupted.pc, interrupted.sp), (0, 0));
/// }
/// // SAFETY: all zeroes is an action without flags; the handler has the signature that SA_SIGINFO asks for.
/// unsafe {
///     let mut action: libc::sigaction = std::mem::zeroed();
///     action.sa_sigaction = handler as *const () as usize;
///     action.sa_flags = libc::SA_SIGINFO;
///     libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
///     libc::raise(libc::SIGUSR1);
/// }
/// ```
#[inline]
pub unsafe fn interrupted(context: *const c_void) -> Registers {
    // SAFETY: the caller's promise.
    unsafe { Cpu::interrupted(context) }
}

/// The call instruction that ends right before `address`, if there seems to be one. `code` is the
/// [`LONGEST_CALL`] bytes of code before it.
///
/// # Examples
///
/// ```
/// use gosched_switch::arch::{LONGEST_CALL, call_before};
/// assert_eq!(call_before(&[0; LONGEST_CALL], 0x1000), None);
/// ```
pub fn call_before(code: &[u8], address: usize) -> Option<Call> {
    Cpu::call_before(code, address)
}

/// Prefetches the cache line of `address`. Any address is allowed: the program reads nothing there.
///
/// # Examples
///
/// ```
/// gosched_switch::arch::prefetch(std::ptr::null());
/// ```
#[inline(always)]
pub fn prefetch(address: *const u8) {
    Cpu::prefetch(address);
}

/// Copies memory that others may be writing to meanwhile, which Rust's own copies must not do.
/// Bytes that are written meanwhile come out old, new or mixed. Async-signal-safe.
///
/// # Safety
///
/// The bytes from `from` on, as many as `to` has, are mapped and readable throughout.
///
/// # Examples
///
/// ```
/// let (from, mut to) = ([1_u8, 2, 3], [0; 3]);
/// // SAFETY: `from` lives, and is as long as `to`.
/// unsafe { gosched_switch::arch::copy_racing(from.as_ptr().expose_provenance(), &mut to) };
/// assert_eq!(to, from);
/// ```
#[inline]
pub unsafe fn copy_racing(from: usize, to: &mut [u8]) {
    // SAFETY: the caller's promise.
    unsafe { Cpu::copy_racing(from, to) }
}

/// Why contexts can't be switched on this machine or in this process.
///
/// # Examples
///
/// ```
/// let text = gosched_switch::Unsupported::ShadowStack.to_string();
/// assert!(text.contains("shadow stack"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// The thread has a hardware shadow stack; it would not follow a switch, and the next return
    /// would be fatal.
    ShadowStack,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsupported::ShadowStack => write!(
                f,
                "this process runs with a hardware shadow stack, which can't follow a switch between stacks; {}",
                Cpu::NO_SHADOW_STACK
            ),
        }
    }
}

impl std::error::Error for Unsupported {}

/// Checks whether contexts can be switched here. Call it once per process, before the first switch,
/// on a thread that was made like the ones that will switch.
///
/// # Errors
///
/// [`Unsupported`] says what prevents it and what to do about it.
///
/// # Examples
///
/// ```
/// gosched_switch::check_platform().expect("contexts can be switched here");
/// ```
pub fn check_platform() -> Result<(), Unsupported> {
    match Cpu::refusal() {
        None => Ok(()),
        Some(reason) => Err(reason),
    }
}

/// The CPU's counter of time: a few nanoseconds, no system call. Steady and the same on all CPUs if
/// the kernel's current clock source is [`COUNTER_NAME`].
///
/// # Examples
///
/// ```
/// let (first, second) = (gosched_switch::arch::counter(), gosched_switch::arch::counter());
/// assert_ne!((first, second), (0, 0));
/// ```
#[inline]
pub fn counter() -> u64 {
    Cpu::counter()
}
