//! x86-64 (System V ABI). The contract is in `arch/mod.rs`.
//!
//! The switch saves what the compiler does not let an `asm!` block declare as clobbered, `rsp`,
//! `rbp`, `rbx`, and the address to resume at. All other registers are declared clobbered, so the
//! compiler keeps live values on the stack of their own function, and only those that are live.
//!
//! A context that is suspended in `switch`:
//!
//! ```text
//!   high addresses
//!   +---------------------------+ <- top
//!   | return into `trampoline`  |
//!   | frames of `entry`, ...    |
//!   | frame of the function     |      Gobuf
//!   |   that `switch` is        |      +------+
//!   |   inlined in: its live    |      | sp   |---> last line of that frame
//!   |   values                  |      | pc   |---> label 2 in that function
//!   +---------------------------+ <-sp | bp   |     its rbp
//!   | dead: nothing was pushed  |      | base |     its rbx
//!   :                           :      +------+
//! ```
//!
//! A fresh context; its stack has not been touched:
//!
//! ```text
//!   +---------------------------+ <-sp = top, 16-aligned
//!   | untouched                 |      pc   ---> `trampoline`
//!   :                           :      bp    =   entry
//!                                      base  =   arg
//! ```
//!
//! `trampoline` moves `arg` to `rdi`, clears `rbp` (frame-pointer walks end there) and calls
//! `entry`, so that `entry` starts with `rsp + 8` 16-aligned, as after any call. Its unwind table
//! says `.cfi_undefined rip`: no caller.
//!
//! Invariants: the direction flag is clear at every switch (the ABI demands it around `asm!` and at
//! calls); `mxcsr` and the x87 control word stay with the thread (saving them costs 125 ns, D3).

use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch, _rdtsc};
use core::arch::{asm, naked_asm};
use core::ffi::{c_int, c_void};
use core::mem::offset_of;

use super::{Call, Contract, Dwarf, Gobuf, Registers, Unsupported};

pub(super) enum Cpu {}

impl Contract for Cpu {
    const PAGE_SIZE: usize = 4096;
    const CACHE_LINE: usize = 64;
    const COUNTER_NAME: &'static str = "tsc";
    const DWARF: Dwarf = Dwarf { sp: 7, bp: 6, ra: 16 };
    const LONGEST_CALL: usize = 6;
    const NO_SHADOW_STACK: &'static str =
        "start it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off or link it with -z noshstk";
    const TRAMPOLINE: unsafe extern "C" fn() -> ! = trampoline;

    #[inline(always)]
    unsafe fn switch(save: *mut Gobuf, restore: *const Gobuf) {
        // SAFETY: the caller vouches for both buffers and the stack. Every register that the block
        // does not save itself is declared clobbered; without `nostack` the compiler keeps no red
        // zone below rsp. All of `restore` is read before rsp changes, so a signal that lands in
        // between finds a consistent stack.
        unsafe {
            asm!(
                "lea rax, [rip + 2f]",
                "mov [rdi + {sp}], rsp",
                "mov [rdi + {pc}], rax",
                "mov [rdi + {bp}], rbp",
                "mov [rdi + {base}], rbx",
                "mov rax, [rsi + {pc}]",
                "mov rbp, [rsi + {bp}]",
                "mov rbx, [rsi + {base}]",
                "mov rsp, [rsi + {sp}]",
                "jmp rax",
                "2:",
                sp = const offset_of!(Gobuf, sp),
                pc = const offset_of!(Gobuf, pc),
                bp = const offset_of!(Gobuf, bp),
                base = const offset_of!(Gobuf, base),
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

    #[inline(always)]
    unsafe fn jump(restore: *const Gobuf) -> ! {
        // SAFETY: the caller vouches for the buffer and the stack. All of `restore` is read before
        // rsp changes.
        unsafe {
            asm!(
                "mov rax, [rsi + {pc}]",
                "mov rbp, [rsi + {bp}]",
                "mov rbx, [rsi + {base}]",
                "mov rsp, [rsi + {sp}]",
                "jmp rax",
                sp = const offset_of!(Gobuf, sp),
                pc = const offset_of!(Gobuf, pc),
                bp = const offset_of!(Gobuf, bp),
                base = const offset_of!(Gobuf, base),
                in("rsi") restore,
                options(noreturn),
            );
        }
    }

    /// Shadow stacks (Intel CET, AMD SSS) are refused: `rdsspq` leaves its operand alone when the
    /// thread has none.
    fn refusal() -> Option<Unsupported> {
        let mut ssp: usize = 0;
        // SAFETY: reads a register; a no-op on CPUs and kernels without shadow stacks.
        unsafe { asm!("rdsspq {}", inout(reg) ssp, options(nomem, nostack, preserves_flags)) };
        if ssp == 0 { None } else { Some(Unsupported::ShadowStack) }
    }

    #[inline(always)]
    fn here() -> Registers {
        let (pc, sp, bp): (usize, usize, usize);
        // SAFETY: copies registers.
        unsafe {
            asm!(
                "lea {}, [rip]", "mov {}, rsp", "mov {}, rbp",
                out(reg) pc, out(reg) sp, out(reg) bp,
                options(nomem, nostack, preserves_flags)
            );
        }
        Registers { pc, sp, bp: Some(bp), lr: None }
    }

    unsafe fn interrupted(context: *const c_void) -> Registers {
        // SAFETY: by contract a ucontext.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        let get = |which: c_int| registers[which as usize] as usize;
        let (pc, sp, bp) = (get(libc::REG_RIP), get(libc::REG_RSP), get(libc::REG_RBP));
        Registers { pc, sp, bp: Some(bp), lr: None }
    }

    fn call_before(code: &[u8], address: usize) -> Option<Call> {
        let before: &[u8; 6] = code.last_chunk()?;
        let distance = i32::from_le_bytes([before[2], before[3], before[4], before[5]]) as usize;
        let target = address.wrapping_add(distance);
        match before {
            [_, 0xe8, ..] => Some(Call::To(target)),
            [0xff, 0x15, ..] => Some(Call::Through(target)),
            // `ff /2`: the reg field of the ModRM byte is 2, its other fields give the length. The
            // seven-byte form (SIB and 32-bit displacement) is not recognised.
            [.., 0xff, 0xd0..=0xd7] | [.., 0xff, 0x10..=0x17] => Some(Call::Unknown),
            [.., 0xff, 0x14, _] | [.., 0xff, 0x50..=0x57, _] => Some(Call::Unknown),
            [_, _, 0xff, 0x54, ..] | [0xff, 0x90..=0x97, ..] => Some(Call::Unknown),
            _ => None,
        }
    }

    #[inline(always)]
    fn prefetch(address: *const u8) {
        // SAFETY: a prefetch reads nothing the program can see and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }

    fn counter() -> u64 {
        // SAFETY: reads the time-stamp counter, which every x86-64 CPU has. It is not ordered with
        // the loads and stores around it: it may be read some nanoseconds early.
        unsafe { _rdtsc() }
    }

    unsafe fn copy_racing(from: usize, to: &mut [u8]) {
        // SAFETY: reads what the contract says is there, and writes `to`. The direction flag is
        // clear, as the ABI demands.
        unsafe {
            asm!(
                "rep movsb",
                inout("rcx") to.len() => _,
                inout("rsi") from => _,
                inout("rdi") to.as_mut_ptr() => _,
                options(nostack, preserves_flags),
            );
        }
    }
}

/// Entered by a jump with `rbp` = entry and `rbx` = arg. A naked function has no unwind table of
/// its own: this one says that there is no caller.
///
/// # Safety
/// Called by nobody: a fresh `Gobuf` begins here, with its entry and argument in the registers that
/// it was made with.
#[unsafe(naked)]
unsafe extern "C" fn trampoline() -> ! {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined rip",
        // Both registers are callee-saved, so they survive the call.
        #[cfg(any(gosched_asan, gosched_tsan))]
        "call {arrive_first}",
        "mov rdi, rbx",
        "mov rax, rbp",
        "xor ebp, ebp",
        "call rax",
        "ud2",
        ".cfi_endproc",
        #[cfg(any(gosched_asan, gosched_tsan))]
        arrive_first = sym crate::sanitizer::arrive_first,
    )
}
