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

/// A frame of a stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// In its instruction: that of the call in all but the innermost.
    pub(super) address: usize,
    /// Where its return address lies, and what it is; none in the last.
    pub(super) returns: Option<(usize, usize)>,
}

/// The frames of a stack, innermost first.
pub(super) fn unwind(copy: &Copy, places: &mut Places, frames: &mut Vec<Frame>) -> Ended {
    frames.clear();
    let mut at = copy.registers;
    let mut address = at.pc;
    loop {
        if frames.len() == MAX_FRAMES {
            return Ended::Cut;
        }
        let caller = step(copy, places, at, address);
        let returns = caller.ok().map(|caller| (caller.sp - WORD, caller.pc));
        frames.push(Frame { address, returns });
        match caller {
            Ok(caller) => at = caller,
            Err(ended) => return ended,
        }
        address = at.pc - 1;
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
    let base = match (base, at.bp) {
        (Base::Sp, _) => at.sp,
        (Base::Bp, Some(bp)) => bp,
        (Base::Bp, None) => find_frame(copy, at.sp, offset, place.function).ok_or(Ended::Lost)?,
    };
    let end = base.wrapping_add_signed(offset);
    if end <= at.sp {
        return Err(Ended::Lost);
    }
    let missing = if copy.is_whole() { Ended::Lost } else { Ended::Cut };
    let pc = copy.read(end - WORD).ok_or(missing)?;
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
