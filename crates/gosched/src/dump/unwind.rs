//! From a copied stack to the addresses of its frames. Nothing but the copy, and tables that do not change, is read.
//!
//! The frame pointer of a thread that is blocked in the kernel is not known (its stack pointer and program counter are).
//! Usually it is not needed, or was saved further in. Where it is, it is looked for: somewhere above the stack pointer lie the
//! saved frame pointer and, above it, the address that the function returns to, and the instruction before that address is a
//! call. Calls to this very function are tried first, then others (it may have been called through a pointer, or by a function
//! that left its place to it). A guess is believed if unwinding from it comes to the stack's outermost frame.

use super::cfi::{self, Base, Callee, Places, Rule, Saved};
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
    unwind_from(copy, places, copy.registers, copy.registers.pc, frames)
}

/// Adds the frame that `address` lies in, and its callers.
fn unwind_from(
    copy: &Copy,
    places: &mut Places,
    mut at: Registers,
    mut address: usize,
    frames: &mut Vec<Frame>,
) -> Ended {
    loop {
        if frames.len() == MAX_FRAMES {
            return Ended::Cut;
        }
        let place = places.at(address);
        if at.bp.is_none() && matches!(place.rule, Rule::Step { base: Base::Bp, .. }) {
            return guess(copy, places, at, address, frames);
        }
        let caller = step(copy, place.rule, at);
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
fn step(copy: &Copy, rule: Rule, at: Registers) -> Result<Registers, Ended> {
    let (base, offset, bp) = match rule {
        Rule::Step { base, offset, bp } => (base, offset, bp),
        Rule::Outermost => return Err(Ended::AtTop),
        Rule::None => return Err(Ended::Lost),
    };
    let base = match base {
        Base::Sp => at.sp,
        Base::Bp => at.bp.ok_or(Ended::Lost)?,
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

/// Goes on without knowing the frame pointer.
fn guess(copy: &Copy, places: &mut Places, at: Registers, address: usize, frames: &mut Vec<Frame>) -> Ended {
    let place = places.at(address);
    let Rule::Step { offset, .. } = place.rule else { return Ended::Lost };
    let known = frames.len();
    let mut guesses: Vec<(bool, usize)> = Vec::new();
    for bp in (0..SEARCHED).map(|n| at.sp + n * WORD) {
        let after_call = copy.read(bp.wrapping_add_signed(offset).wrapping_sub(WORD));
        match after_call.and_then(cfi::call_before) {
            Some(Callee::At(function)) => guesses.push((function != place.function, bp)),
            Some(Callee::Unknown) => guesses.push((true, bp)),
            None => {}
        }
    }
    guesses.sort_unstable();
    for (_, bp) in guesses {
        let ended = unwind_from(copy, places, Registers { bp: Some(bp), ..at }, address, frames);
        if ended != Ended::Lost {
            return ended;
        }
        frames.truncate(known);
    }
    frames.push(Frame { address, returns: None });
    Ended::Lost
}
