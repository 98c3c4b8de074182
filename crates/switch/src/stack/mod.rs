//! Guarded stacks: made in slabs, kept in a pool and in caches, recycled last-in first-out.
//!
//! ```text
//!              low                                                                          high
//!              +---------+--------------------------------------------+---------------------+
//!   one stack: | guard   | untouched until needed                     | page 4 .. 2 | page 1 |
//!              | 16 KiB  |                                            | ^ level 2   |^level 1|
//!              +---------+--------------------------------------------+---------------------+
//!                        ^ limit()                                                   top()^ ^ high()
//!
//!   page 1:    | level-1 canary, 64 B | frames ...          | free-list node, 64 B | colour, 0-960 B |
//!              ^ high() - 4096                              (only while free)      ^ top()           ^ high()
//! ```
//!
//! Files, from the bottom up: `class` (sizes), `error` (no stack can be had), `canary` (how deep
//! was it used), `slab` (mappings), `ranges` (those not handed out yet), `guard` (three rungs),
//! `magazine` (lists inside free stacks), `pool` (shared, locked), `cache` (one owner, no lock).
//!
//! Invariants:
//!
//! - A [`Stack`] is the only handle on its memory. In the lists below it exists as a value inside a
//!   free stack.
//! - Every stack has its guard from before its first use to the end of the process.
//! - A stack fresh from a slab is not touched by anything here until it is given back, unless very
//!   many caches were emptied (`ranges`).

mod cache;
mod canary;
mod class;
mod error;
mod guard;
mod magazine;
mod pool;
mod ranges;
mod slab;

use core::ops::Range;
use core::ptr::NonNull;

use crate::arch::CACHE_LINE;
pub use cache::StackCache;
use canary::Depth;
pub use class::{DEFAULT_SIZE, MAX_SIZE, SizeError, StackClass, min_size};
pub use error::OutOfStacks;
#[doc(hidden)]
pub use guard::GuardRung;
pub use pool::{StackPool, StackStats};

/// The tops of neighbouring stacks differ by a cache line, in this many steps: they lie 0 to 960
/// bytes below the highest address.
const COLOURS: u32 = 16;

/// A stack: the owner of its memory. Give it back to a [`StackCache`] or a [`StackPool`]; one that
/// is dropped instead is leaked, nothing worse (its memory stays readable).
///
/// # Examples
///
/// ```
/// use gosched_switch::{Stack, StackClass, StackPool};
/// static POOL: StackPool = StackPool::new();
/// let stack = POOL.alloc(StackClass::DEFAULT).unwrap();
/// assert!(stack.top() <= stack.high());
/// assert_eq!(stack.high() - stack.limit(), stack.size());
/// assert_eq!(stack.guard().end, stack.limit());
/// assert_eq!(size_of::<Option<Stack>>(), 16);
/// POOL.free(stack);
/// ```
#[derive(Debug)]
#[must_use = "a stack that is dropped is leaked: give it back to a cache or a pool"]
pub struct Stack {
    /// One past the highest byte; page-aligned.
    high: NonNull<u8>,
    traits: Traits,
}

const _: () = assert!(size_of::<Option<Stack>>() == 16);

// SAFETY: a `Stack` owns its memory, and nothing in it is tied to a thread.
unsafe impl Send for Stack {}
// SAFETY: through a shared reference only addresses can be read, except by `trim_below`, which is
// unsafe.
unsafe impl Sync for Stack {}

/// What is known about a stack, in one word: its number within its class, which chooses the colour
/// (bits 16 and up), its depth (8 to 15), its class (0 to 7).
///
/// A word, not a struct, because one function stores a free stack's handle and another soon loads
/// it: fields that are stored one by one and loaded together miss the CPU's store forwarding (18
/// instead of 7 ns per push and pop).
#[derive(Debug, Clone, Copy)]
struct Traits(u64);

impl Traits {
    const DEPTH_SHIFT: u32 = 8;
    const INDEX_SHIFT: u32 = 16;

    fn new(class: StackClass, depth: Depth, index: u32) -> Traits {
        Traits(
            class.index() as u64
                | (depth as u64) << Traits::DEPTH_SHIFT
                | u64::from(index) << Traits::INDEX_SHIFT,
        )
    }

    #[inline]
    fn class(self) -> StackClass {
        StackClass::from_index(self.0 as u8)
    }

    #[inline]
    fn depth(self) -> Depth {
        Depth::from_bits((self.0 >> Traits::DEPTH_SHIFT) as u8)
    }

    #[inline]
    fn index(self) -> u32 {
        (self.0 >> Traits::INDEX_SHIFT) as u32
    }

    fn with_depth(self, depth: Depth) -> Traits {
        Traits::new(self.class(), depth, self.index())
    }
}

impl Stack {
    /// Where the first frame goes: 16-aligned, and 0 to 960 bytes below [`high`](Stack::high). The
    /// distance differs between stacks, so that their hot ends do not compete for the same cache
    /// sets.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gosched_switch::{StackClass, StackPool};
    /// # static POOL: StackPool = StackPool::new();
    /// let (a, b) = (POOL.alloc(StackClass::DEFAULT).unwrap(), POOL.alloc(StackClass::DEFAULT).unwrap());
    /// assert_ne!(a.top() % 4096, b.top() % 4096);
    /// # POOL.free(a);
    /// # POOL.free(b);
    /// ```
    #[inline]
    pub fn top(&self) -> usize {
        self.high() - self.colour()
    }

    /// The lowest usable address; the guard ends here.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gosched_switch::{StackClass, StackPool};
    /// # static POOL: StackPool = StackPool::new();
    /// let stack = POOL.alloc(StackClass::DEFAULT).unwrap();
    /// assert_eq!(stack.limit() + stack.size(), stack.high());
    /// # POOL.free(stack);
    /// ```
    #[inline]
    pub fn limit(&self) -> usize {
        self.high() - self.size()
    }

    /// One past the highest address.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gosched_switch::{StackClass, StackPool};
    /// # static POOL: StackPool = StackPool::new();
    /// let stack = POOL.alloc(StackClass::DEFAULT).unwrap();
    /// assert_eq!(stack.high() % 4096, 0);
    /// # POOL.free(stack);
    /// ```
    #[inline]
    pub fn high(&self) -> usize {
        self.high.as_ptr() as usize
    }

    /// Usable bytes, the guard not counted.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gosched_switch::{StackClass, StackPool};
    /// # static POOL: StackPool = StackPool::new();
    /// let stack = POOL.alloc(StackClass::DEFAULT).unwrap();
    /// assert_eq!(stack.size(), gosched_switch::DEFAULT_SIZE);
    /// # POOL.free(stack);
    /// ```
    #[inline]
    pub fn size(&self) -> usize {
        self.class().size()
    }

    /// The addresses of the guard: a fault there is an overflow of this stack.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gosched_switch::{StackClass, StackPool};
    /// # static POOL: StackPool = StackPool::new();
    /// let stack = POOL.alloc(StackClass::DEFAULT).unwrap();
    /// assert!(stack.guard().contains(&(stack.limit() - 1)));
    /// # POOL.free(stack);
    /// ```
    #[inline]
    pub fn guard(&self) -> Range<usize> {
        self.limit() - self.class().guard()..self.limit()
    }

    /// Its class.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gosched_switch::{StackClass, StackPool};
    /// # static POOL: StackPool = StackPool::new();
    /// let stack = POOL.alloc(StackClass::DEFAULT).unwrap();
    /// assert_eq!(stack.class(), StackClass::DEFAULT);
    /// # POOL.free(stack);
    /// ```
    #[inline]
    pub fn class(&self) -> StackClass {
        self.traits.class()
    }

    #[inline]
    fn colour(&self) -> usize {
        (self.traits.index() % COLOURS) as usize * CACHE_LINE
    }

    /// A pointer to `offset` bytes below the highest address.
    #[inline]
    fn below_high(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset <= self.size());
        self.high.as_ptr().wrapping_sub(offset)
    }
}
