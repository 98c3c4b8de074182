//! An architecture file to start from: `impl Contract` with nothing in it. What each item promises
//! is in `arch/mod.rs`.
//!
//! Compiled everywhere, so that it keeps up with the contract. On an architecture without a file of
//! its own it stands in for one, so that the `compile_error!` is the only error. With
//! `--cfg gosched_blank_arch` it replaces any architecture's file and there is no error:
//! `.ci/run aarch64` checks in this way that the rest of the workspace compiles for another CPU.
//! Nothing built with it runs.

use core::ffi::c_void;

use super::{Call, Contract, Dwarf, Gobuf, Registers, Unsupported};

pub(super) enum Cpu {}

impl Contract for Cpu {
    const PAGE_SIZE: usize = 4096;
    const CACHE_LINE: usize = 64;
    const DWARF: Dwarf = Dwarf { sp: 0, bp: 1, ra: 2 };
    const LONGEST_CALL: usize = 4;
    const NO_SHADOW_STACK: &'static str = "";
    const COUNTER_NAME: &'static str = "";
    const TRAMPOLINE: unsafe extern "C" fn() -> ! = trampoline;

    unsafe fn switch(_save: *mut Gobuf, _restore: *const Gobuf) {
        unimplemented!()
    }

    unsafe fn jump(_restore: *const Gobuf) -> ! {
        unimplemented!()
    }

    fn refusal() -> Option<Unsupported> {
        unimplemented!()
    }

    fn here() -> Registers {
        unimplemented!()
    }

    unsafe fn interrupted(_context: *const c_void) -> Registers {
        unimplemented!()
    }

    fn call_before(_code: &[u8], _address: usize) -> Option<Call> {
        unimplemented!()
    }

    fn prefetch(_address: *const u8) {
        unimplemented!()
    }

    unsafe fn copy_racing(_from: usize, _to: &mut [u8]) {
        unimplemented!()
    }

    fn counter() -> u64 {
        unimplemented!()
    }
}

/// The first code on a new stack.
///
/// # Safety
/// Called by nobody: a fresh `Gobuf` begins here, with its entry and argument in the registers that
/// it was made with.
unsafe extern "C" fn trampoline() -> ! {
    unimplemented!()
}
