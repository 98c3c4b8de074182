//! The copy of a stack with its registers: all that unwinding reads of a goroutine.

#![allow(unsafe_code)]

use gosched_switch::arch::{self, Registers};

use super::MAX_COPIED;

/// A stack from its stack pointer on, copied at one moment.
pub(super) struct StackCopy {
    pub(super) registers: Registers,
    /// Room for copies; the first `length` bytes are this one.
    bytes: Vec<u8>,
    length: usize,
    /// Whether the copy reaches to the stack's end.
    whole: bool,
}

impl StackCopy {
    pub(super) fn new() -> StackCopy {
        let registers = Registers { pc: 0, sp: 0, bp: None, lr: None };
        StackCopy { registers, bytes: Vec::new(), length: 0, whole: false }
    }

    /// Copies the stack from `registers.sp` up to `top`, at most [`MAX_COPIED`] bytes of it.
    ///
    /// # Safety
    /// All of that is mapped and stays so. (Other threads that borrow values in it may write
    /// meanwhile.)
    pub(super) unsafe fn take(&mut self, registers: Registers, top: usize) {
        let room = self.room(registers, top.saturating_sub(registers.sp));
        // SAFETY: by contract.
        unsafe { arch::copy_racing(registers.sp, room) };
    }

    /// As [`take`](StackCopy::take), but from bytes that were copied before.
    pub(super) fn set(&mut self, registers: Registers, bytes: &[u8], top: usize) {
        let room = self.room(registers, top.saturating_sub(registers.sp));
        room.copy_from_slice(&bytes[..room.len()]);
    }

    /// Sets registers and lengths for a stack of `used` bytes; returns the room for its copy.
    fn room(&mut self, registers: Registers, used: usize) -> &mut [u8] {
        self.registers = registers;
        self.length = used.min(MAX_COPIED);
        self.whole = self.length == used;
        if self.bytes.len() < self.length {
            self.bytes.resize(self.length, 0);
        }
        &mut self.bytes[..self.length]
    }

    /// The word that lay at `address`.
    #[inline]
    pub(super) fn read(&self, address: usize) -> Option<usize> {
        let offset = address.checked_sub(self.registers.sp)?;
        let bytes = self.bytes[..self.length].get(offset..)?.first_chunk()?;
        Some(usize::from_ne_bytes(*bytes))
    }

    /// How much was copied.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }
}
