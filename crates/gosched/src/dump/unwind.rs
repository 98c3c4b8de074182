//! From a copied stack to the addresses of its frames. Nothing but the copy, and tables that do not change, is read.
//!
//! The frame pointer of a thread that is blocked in the kernel is not known (its stack pointer and program counter are).
//! Usually it is not needed, or was saved further in. Where it is, [`find_frame`] looks for it: somewhere above the stack
//! pointer lie the saved frame pointer and, above it, the address that the function returns to; the instruction before that
//! address is a call, and a call to this very function. What does not pass that test is not believed.

use super::cfi::{self, Base, Places, Rule, Saved};
use super::copy::{Copy, Registers};

/// How unwinding ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Ended {
    /// At the outermost frame.
    AtTop,
    /// There is more, deeper than a dump shows.
    Cut,
    /// At a frame whose caller can't be told.
    Lost,
}

/// The most frames that are followed.
const MAX_FRAMES: usize = 256;
/// How far above the stack pointer a lost frame is looked for, in words.
const SEARCHED: usize = 512;
const WORD: usize = size_of::<usize>();

/// The frames of a stack, innermost first, each as an address inside its instruction: that of the call in all but the
/// innermost.
pub(super) fn unwind(copy: &Copy, places: &mut Places, frames: &mut Vec<usize>) -> Ended {
    frames.clear();
    let mut registers = copy.registers;
    let mut address = registers.pc;
    loop {
        if frames.len() == MAX_FRAMES {
            return Ended::Cut;
        }
        frames.push(address);
        match step(copy, places, registers, address) {
            Ok(caller) => registers = caller,
            Err(ended) => return ended,
        }
        address = registers.pc - 1;
    }
}

/// The caller's registers.
fn step(copy: &Copy, places: &mut Places, at: Registers, address: usize) -> Result<Registers, Ended> {
    let place = places.at(address);
    let (base, offset, bp) = match place.rule {
        Rule::Step { base, offset, bp } => (base, offset, bp),
        Rule::Outermost => return Err(Ended::AtTop),
        Rule::None => return Err(Ended::Lost),
    };
    let end = match (base, at.bp) {
        (Base::Sp, _) => at.sp.wrapping_add_signed(offset),
        (Base::Bp, Some(bp)) => bp.wrapping_add_signed(offset),
        (Base::Bp, None) => {
            find_frame(copy, at.sp, offset, place.function).ok_or(Ended::Lost)?.wrapping_add_signed(offset)
        }
    };
    if end <= at.sp {
        return Err(Ended::Lost);
    }
    let missing = if copy.is_whole() { Ended::Lost } else { Ended::Cut };
    let pc = copy.read(end.wrapping_sub(WORD)).ok_or(missing)?;
    let bp = match bp {
        Saved::Kept => at.bp,
        Saved::At(offset) => copy.read(end.wrapping_add_signed(offset)),
        Saved::Lost => None,
    };
    if pc == 0 { Err(Ended::AtTop) } else { Ok(Registers { pc, sp: end, bp }) }
}

/// The frame pointer of `function`, which is `offset` below the end of its frame.
fn find_frame(copy: &Copy, sp: usize, offset: isize, function: usize) -> Option<usize> {
    (0..SEARCHED).map(|n| sp + n * WORD).find(|bp| {
        let after_call = copy.read(bp.wrapping_add_signed(offset).wrapping_sub(WORD));
        function != 0 && after_call.is_some_and(|address| cfi::callee(address) == Some(function))
    })
}
