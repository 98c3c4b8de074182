//! The copy of a stack and the registers that belong to it: all that unwinding looks at.

#![allow(unsafe_code)]

use super::MAX_COPIED;
use crate::sys::mem;

/// Where a stack is to be unwound from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Registers {
    pub(super) pc: usize,
    pub(super) sp: usize,
    /// The frame pointer, where it is known.
    pub(super) bp: Option<usize>,
}

/// A stack from its stack pointer on, copied at one moment.
pub(super) struct Copy {
    pub(super) registers: Registers,
    bytes: Vec<u8>,
    /// Whether the copy reaches to the stack's end.
    whole: bool,
}

impl Copy {
    pub(super) fn new() -> Copy {
        Copy { registers: Registers { pc: 0, sp: 0, bp: None }, bytes: Vec::new(), whole: false }
    }

    /// Copies the stack from `registers.sp` up to `high`, or as much of it as may be.
    ///
    /// # Safety
    /// All of that is mapped and stays so. (It may be written to meanwhile, by who has borrowed something in it.)
    pub(super) unsafe fn take(&mut self, registers: Registers, high: usize) {
        let used = high.saturating_sub(registers.sp);
        self.registers = registers;
        self.whole = used <= MAX_COPIED;
        self.bytes.resize(used.min(MAX_COPIED), 0);
        // SAFETY: by contract.
        unsafe { mem::copy_racing(registers.sp, &mut self.bytes) };
    }

    /// As [`take`](Copy::take), of bytes that were copied before.
    pub(super) fn set(&mut self, registers: Registers, bytes: &[u8], high: usize) {
        self.registers = registers;
        self.whole = high.saturating_sub(registers.sp) <= bytes.len();
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
    }

    /// The word that lay at `address`.
    #[inline]
    pub(super) fn read(&self, address: usize) -> Option<usize> {
        let offset = address.checked_sub(self.registers.sp)?;
        let bytes = self.bytes.get(offset..)?.first_chunk()?;
        Some(usize::from_ne_bytes(*bytes))
    }

    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }
}
