//! The frames of a goroutine's stack, found by itself, inside the runtime, in some tens of
//! nanoseconds.
//!
//! What the unwind tables say of an address is kept, in a table of fixed size that is read without
//! a lock. What is not there yet is looked up in the tables of the modules, under a lock, in a few
//! microseconds, without allocating. The modules are pinned: nobody can unload them meanwhile.
//!
//! Invariant: an entry's key is written once, and its rule before anybody believes it: a rule of 0
//! is none.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use gosched_primitives::Lock;
use gosched_switch::arch;

use crate::dump::{Base, PinnedModules, Rule, Saved};

/// Places in the table.
const PLACES: usize = 1 << 14;
/// How many places are looked at.
const TRIES: usize = 8;

struct RulePlace {
    /// 0: free.
    address: AtomicU64,
    rule: AtomicU64,
}

static RULES: [RulePlace; PLACES] =
    [const { RulePlace { address: AtomicU64::new(0), rule: AtomicU64::new(0) } }; PLACES];
static MODULES: Lock<Option<Box<PinnedModules>>> = Lock::new(None);

/// Pins the modules that are loaded now, and forgets what was known of others.
pub(super) fn pin_modules() {
    let pinned = PinnedModules::new();
    let before = MODULES.lock().replace(Box::new(pinned));
    for place in &RULES {
        place.rule.store(0, Ordering::Relaxed);
        place.address.store(0, Ordering::Relaxed);
    }
    drop(before);
}

/// Pins modules that were loaded since.
pub(super) fn pin_new_modules() {
    // The loader's lock comes before ours: under ours goroutines wait, inside the runtime.
    let now = PinnedModules::changes_so_far();
    let are_known = MODULES.lock().as_ref().is_none_or(|pinned| pinned.are_of(now));
    if !are_known {
        let pinned = PinnedModules::new();
        // Those pinned before stay pinned until the new ones are.
        let before = MODULES.lock().replace(Box::new(pinned));
        drop(before);
    }
}

/// Lets go of the modules. Nothing is recorded any more.
pub(super) fn unpin_modules() {
    let pinned = MODULES.lock().take();
    drop(pinned);
}

/// The rule in a word; never 0.
fn pack(rule: Rule) -> u64 {
    const OUTERMOST: u64 = 2;
    const NONE: u64 = 4;
    let Rule::Step { base, offset, bp, pc } = rule else {
        return if rule == Rule::Outermost { OUTERMOST } else { NONE };
    };
    let (Ok(offset), Saved::At(pc)) = (i32::try_from(offset), pc) else { return NONE };
    let Ok(pc) = i8::try_from(pc) else { return NONE };
    let (bp_kind, bp) = match bp {
        Saved::Kept => (0, 0),
        Saved::At(at) => match i16::try_from(at) {
            Ok(at) => (1, at),
            Err(_) => (2, 0),
        },
        Saved::Lost => (2, 0),
    };
    1 | u64::from(base == Base::Bp) << 3
        | bp_kind << 4
        | u64::from(pc as u8) << 8
        | u64::from(bp as u16) << 16
        | u64::from(offset as u32) << 32
}

/// How much stack looking up a rule takes at most.
const LOOK_UP_ROOM: usize = 24 << 10;

/// What is known of an address, packed; what is not known yet is looked up if there is `room` for
/// that on the stack.
#[inline]
fn rule_at(address: usize, room: usize) -> u64 {
    let begin = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    for place in (0..TRIES).map(|n| &RULES[(begin as usize + n) % PLACES]) {
        match place.address.load(Ordering::Relaxed) {
            0 => break,
            // ORDERING: Relaxed: the word is the whole of what is needed.
            there if there == address as u64 => match place.rule.load(Ordering::Relaxed) {
                0 => break,
                rule => return rule,
            },
            _ => {}
        }
    }
    if room < LOOK_UP_ROOM { pack(Rule::None) } else { look_up(address, begin as usize) }
}

#[cold]
fn look_up(address: usize, begin: usize) -> u64 {
    let mut modules = MODULES.lock();
    // In no module that is known: perhaps it will be.
    let Some(rule) = modules.as_mut().and_then(|modules| modules.rule_at(address)) else {
        return pack(Rule::None);
    };
    let rule = pack(rule);
    // Under the lock, so one of several who look the same address up writes it.
    for place in (0..TRIES).map(|n| &RULES[(begin + n) % PLACES]) {
        match place.address.load(Ordering::Relaxed) {
            0 => {
                place.rule.store(rule, Ordering::Relaxed);
                // ORDERING: Release: nobody needs it for more than to see the rule soon; one who
                // sees the address and no rule looks it up once more.
                place.address.store(address as u64, Ordering::Release);
                break;
            }
            there if there == address as u64 => break,
            _ => {}
        }
    }
    rule
}

/// The frames of the caller's stack, which lies in `limits`.
#[inline(never)]
pub(super) fn unwind(limits: Range<usize>, frames: &mut [usize]) -> usize {
    let here = arch::here();
    let (mut sp, mut bp, mut address) = (here.sp, here.bp.unwrap_or(0), here.pc);
    if !limits.contains(&sp) {
        return 0;
    }
    let room = sp - limits.start;
    let mut found = 0;
    for frame in frames.iter_mut() {
        *frame = address;
        found += 1;
        let rule = rule_at(address, room);
        if rule & 1 == 0 {
            break;
        }
        let base = if rule & 8 == 0 { sp } else { bp };
        let end = base.wrapping_add_signed(((rule >> 32) as u32 as i32) as isize);
        let word = |offset: isize| {
            let at = end.wrapping_add_signed(offset);
            let inside =
                at >= sp && at <= limits.end - size_of::<usize>() && at.is_multiple_of(size_of::<usize>());
            // SAFETY: between the stack pointer and the end of the caller's own stack.
            inside.then(|| unsafe { core::ptr::with_exposed_provenance::<usize>(at).read_volatile() })
        };
        if end <= sp || end > limits.end {
            break;
        }
        let Some(pc) = word(((rule >> 8) as u8 as i8) as isize) else { break };
        match rule >> 4 & 3 {
            0 => {}
            1 => match word(((rule >> 16) as u16 as i16) as isize) {
                Some(saved) => bp = saved,
                None => break,
            },
            _ => bp = 0,
        }
        sp = end;
        if pc == 0 {
            break;
        }
        address = pc - 1;
    }
    found
}

#[cfg(test)]
mod tests {
    //! Seen to fail: without the offset of `bp` in the word.
    use super::*;

    /// What is packed says what the rule said.
    #[test]
    fn rules_fit_into_a_word() {
        assert_eq!((pack(Rule::Outermost) & 1, pack(Rule::None) & 1), (0, 0));
        let rule = Rule::Step { base: Base::Bp, offset: 0x1_2340, bp: Saved::At(-16), pc: Saved::At(-8) };
        let packed = pack(rule);
        assert_eq!(packed & 0b11_1001, 0b01_1001);
        assert_eq!((packed >> 8) as u8 as i8, -8);
        assert_eq!((packed >> 16) as u16 as i16, -16);
        assert_eq!((packed >> 32) as u32 as i32, 0x1_2340);
        let other = Rule::Step { base: Base::Sp, offset: 8, bp: Saved::Kept, pc: Saved::At(-8) };
        assert_eq!(pack(other) & 0b11_1001, 1);
    }
}
