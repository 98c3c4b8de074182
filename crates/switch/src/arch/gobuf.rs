//! The saved registers of a context that does not run.
//!
//! Four words on every architecture: stack pointer, program counter, and the two registers that
//! LLVM does not allow as operands of `asm!`, the frame pointer and the base pointer (`rbp` and
//! `rbx`, `x29` and `x19`, `s0` and `s1`). The switch declares all others clobbered. The header of
//! a goroutine has room for just these four.
//!
//! Invariant: `sp` means something at any time and on any thread (for a prefetch); the others only
//! while the context is suspended.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{Contract, Cpu, Entry, Registers};
use crate::sanitizer::FiberState;

/// The saved registers of a context that does not run.
///
/// The fields are atomic so that a `Gobuf` may be read through a shared reference while its context
/// is being switched; all accesses are relaxed, which makes them plain moves. To restore a context
/// that another thread saved, the caller needs a happens-before edge from elsewhere (the run
/// queue).
///
/// # Examples
///
/// ```
/// let buf = gosched_switch::Gobuf::empty();
/// assert_eq!(buf.sp(), 0);
/// assert_eq!(size_of::<gosched_switch::Gobuf>(), 4 * size_of::<usize>());
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct Gobuf {
    pub(super) sp: AtomicUsize,
    pub(super) pc: AtomicUsize,
    /// The frame pointer.
    pub(super) bp: AtomicUsize,
    /// The base pointer.
    pub(super) base: AtomicUsize,
    /// What a sanitizer wants to know of the context; nothing in ordinary builds.
    #[cfg_attr(not(any(gosched_asan, gosched_tsan)), allow(dead_code, reason = "empty"))]
    fiber: FiberState,
}

impl Gobuf {
    /// A buffer with nothing saved yet, for a first [`switch`](crate::switch) to save to. It must
    /// not be restored.
    ///
    /// # Examples
    ///
    /// ```
    /// static MAIN: gosched_switch::Gobuf = gosched_switch::Gobuf::empty();
    /// assert_eq!(MAIN.registers().pc, 0);
    /// ```
    pub const fn empty() -> Gobuf {
        Gobuf {
            sp: AtomicUsize::new(0),
            pc: AtomicUsize::new(0),
            bp: AtomicUsize::new(0),
            base: AtomicUsize::new(0),
            fiber: FiberState::empty(),
        }
    }

    /// Makes a context that has not run: when it is first restored, `entry(arg)` runs on the stack
    /// whose highest address is `top`. Writes nothing to that stack, which may even be the one that
    /// the caller runs on (see [`jump`](crate::jump)).
    ///
    /// # Panics
    ///
    /// If `top` is not a multiple of 16.
    ///
    /// # Examples
    ///
    /// ```
    /// use gosched_switch::{Gobuf, StackClass, StackPool};
    /// unsafe extern "C" fn entry(_arg: usize) -> ! {
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
            pc: AtomicUsize::new(Cpu::TRAMPOLINE as *const () as usize),
            bp: AtomicUsize::new(entry as usize),
            base: AtomicUsize::new(arg),
            fiber: FiberState::fresh(top),
        }
    }

    /// Overwrites this buffer with `from`, through a shared reference: others may be reading
    /// [`sp`](Gobuf::sp) meanwhile.
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
        self.base.store(from.base.into_inner(), Relaxed);
        self.fiber.set(from.fiber);
    }

    /// The saved stack pointer: the hottest line of the suspended context's stack lies just above
    /// it. May be read from any thread at any time; while the context runs it is the value from its
    /// last switch.
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

    /// Becomes a copy of the other one, which a jump is about to restore.
    #[cfg(gosched_asan)]
    pub(crate) fn copy(&self, from: &Gobuf) {
        self.sp.store(from.sp(), Relaxed);
        self.pc.store(from.pc.load(Relaxed), Relaxed);
        self.bp.store(from.bp.load(Relaxed), Relaxed);
        self.base.store(from.base.load(Relaxed), Relaxed);
        self.fiber.copy(&from.fiber);
    }

    /// What the hooks of a sanitizer know of it.
    #[cfg(any(gosched_asan, gosched_tsan))]
    pub(crate) fn fiber(&self) -> &FiberState {
        &self.fiber
    }

    /// Where to start unwinding a suspended context. A fresh one is in its trampoline, which has no
    /// caller.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(gosched_switch::Gobuf::empty().registers().sp, 0);
    /// ```
    pub fn registers(&self) -> Registers {
        // A function that switches has saved its link register, if there is one.
        Registers { pc: self.pc.load(Relaxed), sp: self.sp(), bp: Some(self.bp.load(Relaxed)), lr: None }
    }
}

impl Default for Gobuf {
    fn default() -> Gobuf {
        Gobuf::empty()
    }
}
