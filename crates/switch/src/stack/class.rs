//! Sizes of stacks: powers of two, one class each.
//!
//! Invariants: a `StackClass` is always between the smallest and the largest size; the guard is not
//! part of the size; all stacks of a class lie `stride` apart.

use core::fmt;

use crate::sys;

/// Usable bytes of a stack unless someone asks for another size.
///
/// # Examples
///
/// ```
/// assert_eq!(gosched_switch::DEFAULT_SIZE, 256 * 1024);
/// ```
pub const DEFAULT_SIZE: usize = 256 << 10;

/// Usable bytes of the largest stack.
///
/// # Examples
///
/// ```
/// assert_eq!(gosched_switch::MAX_SIZE, 1 << 30);
/// ```
pub const MAX_SIZE: usize = 1 << 30;

/// The smallest class there can be; on CPUs with huge signal frames [`min_size`] is larger.
const FLOOR: usize = 32 << 10;
/// What a signal handler that runs on the goroutine's stack may use, beside the kernel's frame.
const HANDLER_ROOM: usize = 16 << 10;
/// The guard of stacks smaller than `WIDE_FROM`: wide enough for any frame with stack probes,
/// narrow enough that a 256 KiB stack's page tables cost 545 bytes.
const GUARD: usize = 16 << 10;
const WIDE_GUARD: usize = 64 << 10;
const WIDE_FROM: usize = 1 << 20;
/// The most address space that is mapped at a time, except for a stack that is larger.
const SLAB: usize = 64 << 20;

/// Number of classes.
pub(crate) const CLASSES: usize = (MAX_SIZE / FLOOR).ilog2() as usize + 1;

/// Usable bytes of the smallest stack on this machine: room for a signal handler of 16 KiB and for
/// the frame that the kernel pushes for it (`AT_MINSIGSTKSZ`), rounded up to a class.
///
/// # Examples
///
/// ```
/// assert!(gosched_switch::min_size() >= 32 * 1024);
/// ```
pub fn min_size() -> usize {
    (HANDLER_ROOM + sys::min_sigstksz()).next_power_of_two().max(FLOOR)
}

/// A size of stacks that the pool serves.
///
/// # Examples
///
/// ```
/// use gosched_switch::StackClass;
/// let class = StackClass::for_size(100_000).unwrap();
/// assert_eq!(class.size(), 128 * 1024);
/// assert_eq!(StackClass::DEFAULT.size(), gosched_switch::DEFAULT_SIZE);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackClass(u8);

impl StackClass {
    /// The class of [`DEFAULT_SIZE`].
    pub const DEFAULT: StackClass = StackClass((DEFAULT_SIZE / FLOOR).ilog2() as u8);

    /// The smallest class with at least `bytes` usable bytes.
    ///
    /// # Errors
    ///
    /// [`SizeError`] if `bytes` is below [`min_size`] or above [`MAX_SIZE`].
    ///
    /// # Examples
    ///
    /// ```
    /// use gosched_switch::{SizeError, StackClass};
    /// assert_eq!(StackClass::for_size(65_536).unwrap().size(), 65_536);
    /// assert!(matches!(StackClass::for_size(1_000), Err(SizeError::TooSmall { .. })));
    /// ```
    pub fn for_size(bytes: usize) -> Result<StackClass, SizeError> {
        let min = min_size();
        if bytes < min {
            return Err(SizeError::TooSmall { asked: bytes, min });
        }
        if bytes > MAX_SIZE {
            return Err(SizeError::TooLarge { asked: bytes, max: MAX_SIZE });
        }
        Ok(StackClass((bytes.next_power_of_two() / FLOOR).ilog2() as u8))
    }

    /// Usable bytes of a stack of this class, the guard not counted.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(gosched_switch::StackClass::DEFAULT.size(), 262_144);
    /// ```
    #[inline]
    pub const fn size(self) -> usize {
        FLOOR << self.0
    }

    /// Bytes of the guard below each stack.
    pub(crate) const fn guard(self) -> usize {
        if self.size() < WIDE_FROM { GUARD } else { WIDE_GUARD }
    }

    /// Distance from one stack of a slab to the next.
    #[inline]
    pub(crate) const fn stride(self) -> usize {
        self.size() + self.guard()
    }

    /// How many stacks a slab of full size holds.
    pub(crate) const fn per_slab(self) -> u32 {
        let n = SLAB / self.stride();
        if n == 0 { 1 } else { n as u32 }
    }

    /// The inverse of `index`.
    #[inline]
    pub(crate) const fn from_index(index: u8) -> StackClass {
        debug_assert!((index as usize) < CLASSES);
        StackClass(index)
    }

    /// Which of the pool's classes this is.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A size that no stack can have.
///
/// # Examples
///
/// ```
/// use gosched_switch::{SizeError, StackClass};
/// let error = StackClass::for_size(2 << 30).unwrap_err();
/// assert!(error.to_string().contains("at most 1073741824"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeError {
    /// A signal handler would not fit.
    TooSmall {
        /// What was asked for.
        asked: usize,
        /// The smallest size on this machine.
        min: usize,
    },
    /// Beyond the largest class.
    TooLarge {
        /// What was asked for.
        asked: usize,
        /// The largest size.
        max: usize,
    },
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SizeError::TooSmall { asked, min } => write!(
                f,
                "a stack of {asked} bytes is too small: a signal handler must fit on it; ask for at least {min} bytes"
            ),
            SizeError::TooLarge { asked, max } => write!(
                f,
                "a stack of {asked} bytes is too large; ask for at most {max} bytes, or keep large data on the heap"
            ),
        }
    }
}

impl std::error::Error for SizeError {}
