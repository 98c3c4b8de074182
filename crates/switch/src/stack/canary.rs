//! How deep was a stack used? Found out without a system call. The one page that this may touch
//! first is the 4th, of a stack that was used beyond its top page.
//!
//! Two painted places, checked when a stack is given back:
//!
//! - level 1: 64 bytes at the bottom of the top page, which is in memory anyway;
//! - level 2: 256 bytes at the bottom of the 4th page, checked only once level 1 was broken, and
//!   then instead of it.
//!
//! ```text
//!                     level 1 intact                          level 2 intact
//!                    +--------------+                        +---------------+
//!                    v              |     level 1 broken,    v               |
//!   Untouched ---> OnePage ---------+---> paint level 2 ---> FourPages ------+
//!        |                                                      ^            | level 2 broken
//!        +-------- both broken: discard all below 4 pages ------+------------+
//! ```
//!
//! While a place is unpainted it is expected to be zero, as the kernel gives memory: so a fresh
//! stack needs no painting. A `trim` that discards pages goes back to `OnePage` from anywhere.
//!
//! The answer is a hint, not a proof. A frame with a hole where the canary lies (a large array that
//! is not written), or one that writes zeros to an unpainted place, is missed; then the pages stay
//! until the exact sweep (`StackPool::trim_all`, by `mincore`) finds them. A canary never decides
//! about safety: guards do that.
//!
//! Invariants: called by the owner of a stack that no context uses (`trim_below`: whose context is
//! suspended); the stack's `Depth` tells which places are painted.

use super::Stack;
use crate::arch::PAGE_SIZE;
use crate::sys;

/// A value that is no address, no small number and no text, so that no frame leaves it by chance.
const PAINT: u64 = 0xB5D2_9A4B_6E8F_37C1;
const UNPAINTED: u64 = 0;
const LEVEL1_WORDS: usize = 64 / size_of::<u64>();
const LEVEL2_WORDS: usize = 256 / size_of::<u64>();
/// What a stack that is used a little deeper may keep.
const KEPT: usize = 4 * PAGE_SIZE;
/// What a stack keeps after an exact sweep.
const TOP_PAGE: usize = PAGE_SIZE;

/// What is known about a stack's use, and which canaries are painted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Depth {
    /// Never given back; nothing is painted.
    Untouched,
    /// Level 1 is painted; below the top page nothing is known to have been written.
    OnePage,
    /// Level 2 is painted; level 1 does not matter any more.
    FourPages,
}

impl Depth {
    /// The inverse of `as u8`.
    #[inline]
    pub(super) fn from_bits(bits: u8) -> Depth {
        match bits {
            0 => Depth::Untouched,
            1 => Depth::OnePage,
            _ => Depth::FourPages,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Canary {
    Intact,
    Broken,
}

impl Stack {
    /// Checks the canaries after use; gives pages back if the use was deep. No system call
    /// otherwise.
    #[inline]
    pub(super) fn settle(&mut self) {
        match self.traits.depth() {
            Depth::OnePage if self.look(TOP_PAGE, LEVEL1_WORDS, PAINT) == Canary::Intact => {}
            Depth::FourPages if self.look(KEPT, LEVEL2_WORDS, PAINT) == Canary::Intact => {}
            _ => self.settle_slowly(),
        }
    }

    #[cold]
    fn settle_slowly(&mut self) {
        match self.traits.depth() {
            Depth::Untouched if self.look(TOP_PAGE, LEVEL1_WORDS, UNPAINTED) == Canary::Intact => {
                self.paint(TOP_PAGE, LEVEL1_WORDS);
                self.traits = self.traits.with_depth(Depth::OnePage);
            }
            Depth::Untouched | Depth::OnePage
                if self.look(KEPT, LEVEL2_WORDS, UNPAINTED) == Canary::Intact =>
            {
                self.paint(KEPT, LEVEL2_WORDS);
                self.traits = self.traits.with_depth(Depth::FourPages);
            }
            Depth::Untouched | Depth::OnePage | Depth::FourPages => {
                self.discard_below(KEPT);
                self.paint(KEPT, LEVEL2_WORDS);
                self.traits = self.traits.with_depth(Depth::FourPages);
            }
        }
    }

    /// Gives back all but the top page, found by asking the kernel. Returns how many bytes.
    pub(super) fn trim(&mut self) -> usize {
        let bytes = sys::resident(self.below_high(self.size()), self.size() - TOP_PAGE).unwrap_or(0);
        if bytes == 0 || self.discard_below(TOP_PAGE) == Discard::Refused {
            return 0;
        }
        self.paint(TOP_PAGE, LEVEL1_WORDS);
        self.traits = self.traits.with_depth(Depth::OnePage);
        bytes
    }

    /// Gives back the pages of a suspended context's stack that lie at least a page below its stack
    /// pointer `sp`. Returns how many bytes.
    ///
    /// # Safety
    ///
    /// The context that uses this stack is suspended with a stack pointer of `sp` or higher, is not
    /// resumed before this returns, and nobody holds a reference to memory below `sp`.
    ///
    /// # Examples
    ///
    /// ```
    /// use gosched_switch::{StackClass, StackPool};
    /// static POOL: StackPool = StackPool::new();
    /// let stack = POOL.alloc(StackClass::DEFAULT).unwrap();
    /// // SAFETY: no context uses the stack.
    /// assert_eq!(unsafe { stack.trim_below(stack.top()) }, 0);
    /// POOL.free(stack);
    /// ```
    pub unsafe fn trim_below(&self, sp: usize) -> usize {
        let keep_from = (sp & !(PAGE_SIZE - 1)).saturating_sub(PAGE_SIZE);
        if sp > self.high() || keep_from <= self.limit() {
            return 0;
        }
        let bytes = sys::resident(self.below_high(self.size()), keep_from - self.limit()).unwrap_or(0);
        if bytes == 0 || self.discard_below(self.high() - keep_from) == Discard::Refused {
            return 0;
        }
        bytes
    }

    #[inline]
    fn look(&self, offset: usize, words: usize, expected: u64) -> Canary {
        let place = self.below_high(offset).cast::<u64>();
        // SAFETY: `words` words at a page's bottom, within the usable part, which we own and nobody
        // writes now.
        let difference = (0..words).fold(0, |d, i| d | (unsafe { place.add(i).read() } ^ expected));
        if difference == 0 { Canary::Intact } else { Canary::Broken }
    }

    fn paint(&mut self, offset: usize, words: usize) {
        let place = self.below_high(offset).cast::<u64>();
        for i in 0..words {
            // SAFETY: as in `look`; no context uses the stack, so nothing of value is overwritten.
            unsafe { place.add(i).write(PAINT) };
        }
    }

    /// Discards everything lower than `keep` bytes below the highest address. Callers own what lies
    /// there.
    fn discard_below(&self, keep: usize) -> Discard {
        // SAFETY: within the usable part (never the guard); `settle` and `trim` own the whole
        // stack, the caller of `trim_below` vouches for the part below its stack pointer.
        match unsafe { sys::discard(self.below_high(self.size()), self.size() - keep) } {
            Ok(()) => Discard::Done,
            Err(_) => Discard::Refused,
        }
    }
}

/// Whether the kernel took the pages. It refuses to take locked memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Discard {
    Done,
    Refused,
}
