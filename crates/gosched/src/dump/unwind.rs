//! From a copied stack to the addresses of its frames. Nothing but the copy, and tables that do not
//! change, is read.
//!
//! The frame pointer of a thread that is blocked in the kernel is not known (its stack pointer and
//! program counter are). Usually it is not needed, or an inner frame has saved it. Otherwise it is
//! searched for: somewhere above the stack pointer lie the saved frame pointer and, above it, the
//! return address, and the instruction before that address is a call. Calls to this very function
//! are tried first, then others (it may have been called through a pointer, or by a tail call). A
//! guess is believed if unwinding from it reaches the stack's outermost frame, or the end of what
//! is copied or followed.

use gosched_switch::arch::Registers;

use super::cfi::{self, Base, Callee, CodeTable, Rule, Saved};
use super::copy::StackCopy;

/// How unwinding ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum UnwindEnd {
    /// At the outermost frame.
    AtTop,
    /// There are more frames than are copied or followed.
    Cut,
    /// At a frame whose caller is unknown.
    Lost,
}

/// The most frames that are followed.
const MAX_FRAMES: usize = 256;
/// How far above the stack pointer a frame pointer is searched for, in words.
const SEARCHED: usize = 512;
const WORD: usize = size_of::<usize>();

/// A frame of a stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// An address inside its instruction: that of the call, but in the innermost frame.
    pub(super) address: usize,
    /// Where its return address lies, and what it is. `None` in the last frame, and if it is in the
    /// link register.
    pub(super) returns: Option<(usize, usize)>,
}

/// The frames of a stack, innermost first.
pub(super) fn unwind(copy: &StackCopy, places: &mut CodeTable, frames: &mut Vec<Frame>) -> UnwindEnd {
    frames.clear();
    unwind_from(copy, places, copy.registers, copy.registers.pc, frames)
}

/// Adds the frame that `address` lies in, and its callers.
fn unwind_from(
    copy: &StackCopy,
    places: &mut CodeTable,
    mut at: Registers,
    mut address: usize,
    frames: &mut Vec<Frame>,
) -> UnwindEnd {
    loop {
        if frames.len() == MAX_FRAMES {
            return UnwindEnd::Cut;
        }
        let place = places.at(address);
        if at.bp.is_none() && matches!(place.rule, Rule::Step { base: Base::Bp, .. }) {
            return guess(copy, places, at, address, frames);
        }
        match step(copy, place.rule, at) {
            Ok((caller, saved_at)) => {
                frames.push(Frame { address, returns: saved_at.map(|place| (place, caller.pc)) });
                at = caller;
            }
            Err(ended) => {
                frames.push(Frame { address, returns: None });
                return ended;
            }
        }
        address = at.pc - 1;
    }
}

/// The caller's registers, and where the return address lies in memory.
fn step(copy: &StackCopy, rule: Rule, at: Registers) -> Result<(Registers, Option<usize>), UnwindEnd> {
    let (base, offset, bp, pc) = match rule {
        Rule::Step { base, offset, bp, pc } => (base, offset, bp, pc),
        Rule::Outermost => return Err(UnwindEnd::AtTop),
        Rule::None => return Err(UnwindEnd::Lost),
    };
    let base = match base {
        Base::Sp => at.sp,
        Base::Bp => at.bp.ok_or(UnwindEnd::Lost)?,
    };
    let end = base.wrapping_add_signed(offset);
    // Only a frame whose return address is in the link register may be empty.
    if end < at.sp || end == at.sp && pc != Saved::Kept {
        return Err(UnwindEnd::Lost);
    }
    let missing = if copy.is_whole() { UnwindEnd::Lost } else { UnwindEnd::Cut };
    let (pc, saved_at) = match pc {
        Saved::Kept => (at.lr.ok_or(UnwindEnd::Lost)?, None),
        Saved::At(offset) => {
            let place = end.wrapping_add_signed(offset);
            (copy.read(place).ok_or(missing)?, Some(place))
        }
        Saved::Lost => return Err(UnwindEnd::Lost),
    };
    let bp = match bp {
        Saved::Kept => at.bp,
        Saved::At(offset) => copy.read(end.wrapping_add_signed(offset)),
        Saved::Lost => None,
    };
    // `lr` is `None`: the call that led here has overwritten the link register.
    if pc == 0 { Err(UnwindEnd::AtTop) } else { Ok((Registers { pc, sp: end, bp, lr: None }, saved_at)) }
}

/// As [`unwind_from`], where the frame pointer is needed and not known: tries guesses.
fn guess(
    copy: &StackCopy,
    places: &mut CodeTable,
    at: Registers,
    address: usize,
    frames: &mut Vec<Frame>,
) -> UnwindEnd {
    let place = places.at(address);
    let Rule::Step { offset, pc: Saved::At(pc), .. } = place.rule else {
        frames.push(Frame { address, returns: None });
        return UnwindEnd::Lost;
    };
    let known = frames.len();
    let mut guesses: Vec<(bool, usize)> = Vec::new();
    for bp in (0..SEARCHED).map(|n| at.sp + n * WORD) {
        let after_call = copy.read(bp.wrapping_add_signed(offset).wrapping_add_signed(pc));
        match after_call.and_then(cfi::call_before) {
            Some(Callee::At(function)) => guesses.push((function != place.function, bp)),
            Some(Callee::Unknown) => guesses.push((true, bp)),
            None => {}
        }
    }
    guesses.sort_unstable();
    for (_, bp) in guesses {
        let ended = unwind_from(copy, places, Registers { bp: Some(bp), ..at }, address, frames);
        if ended != UnwindEnd::Lost {
            return ended;
        }
        frames.truncate(known);
    }
    frames.push(Frame { address, returns: None });
    UnwindEnd::Lost
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frame of a leaf may be empty and its return address in the link register. Every function
    /// further out has saved its return address. (Seen to fail with `end <= at.sp` for every
    /// frame.)
    #[test]
    fn a_return_address_may_be_in_the_link_register() {
        let at = Registers { pc: 0x10, sp: 0x1000, bp: Some(0x1010), lr: Some(0x20) };
        let mut copy = StackCopy::new();
        copy.set(at, &[0x30; 32], 0x1020);
        let leaf = Rule::Step { base: Base::Sp, offset: 0, bp: Saved::Kept, pc: Saved::Kept };
        let caller = Registers { pc: 0x20, lr: None, ..at };
        assert_eq!(step(&copy, leaf, at), Ok((caller, None)));
        assert_eq!(step(&copy, leaf, caller), Err(UnwindEnd::Lost));
        let saved = |offset, pc| Rule::Step { base: Base::Bp, offset, bp: Saved::At(-16), pc: Saved::At(pc) };
        let word = usize::from_ne_bytes([0x30; 8]);
        let next = Registers { pc: word, sp: 0x1020, bp: Some(word), lr: None };
        assert_eq!(step(&copy, saved(16, -8), caller), Ok((next, Some(0x1018))));
        assert_eq!(step(&copy, saved(16, -24), caller), Ok((next, Some(0x1008))));
        assert_eq!(step(&copy, saved(-16, 8), caller), Err(UnwindEnd::Lost));
    }
}
