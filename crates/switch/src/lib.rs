//! Context switch and guarded stacks: the lowest layer below gosched's goroutines.
//!
//! Two modules. [`arch`](mod@arch) holds the switch, [`Gobuf`], [`switch`], [`jump`], and all else
//! that depends on the CPU, in one file per architecture. [`stack`](mod@stack) holds the memory:
//! [`StackPool`] maps guarded stacks in slabs, [`StackCache`] keeps a few of them at hand for one
//! owner; of `arch` it uses only the sizes of a page and a cache line. Neither knows what a
//! goroutine, a worker thread or a processor is. The crate's `README.md` has the contract, the
//! layouts and the rejected designs.
//!
//! # Example
//!
//! ```
//! use gosched_switch::{Gobuf, StackClass, StackPool, jump, switch};
//!
//! static POOL: StackPool = StackPool::new();
//!
//! struct Pair {
//!     main: Gobuf,
//!     other: Gobuf,
//!     sum: u32,
//! }
//!
//! unsafe extern "C" fn entry(arg: usize) -> ! {
//!     let pair = arg as *mut Pair;
//!     // SAFETY: `arg` is the pair below, which outlives this context; only one of the two contexts runs at a time.
//!     unsafe {
//!         (*pair).sum += 1;
//!         switch(&raw mut (*pair).other, &raw const (*pair).main);
//!         (*pair).sum += 10;
//!         jump(&raw const (*pair).main)
//!     }
//! }
//!
//! gosched_switch::check_platform().unwrap();
//! let stack = POOL.alloc(StackClass::DEFAULT).unwrap();
//! let mut pair = Pair { main: Gobuf::empty(), other: Gobuf::empty(), sum: 0 };
//! let p = &raw mut pair;
//! // SAFETY: the stack is ours alone and is given back only after its context has jumped away for ever.
//! unsafe {
//!     (*p).other = Gobuf::fresh(stack.top(), entry, p as usize);
//!     switch(&raw mut (*p).main, &raw const (*p).other);
//!     assert_eq!((*p).sum, 1);
//!     switch(&raw mut (*p).main, &raw const (*p).other);
//!     assert_eq!((*p).sum, 11);
//! }
//! POOL.free(stack);
//! ```

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("gosched needs Linux on a 64-bit CPU");

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub mod arch;
#[doc(hidden)]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub mod sanitizer;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub mod stack;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod sys;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod uffd;

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub use arch::{Entry, Gobuf, Unsupported, check_platform, jump, switch};
#[doc(hidden)]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub use stack::GuardRung;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub use stack::{
    DEFAULT_SIZE, MAX_SIZE, OutOfStacks, SizeError, Stack, StackCache, StackClass, StackPool, StackStats,
    min_size,
};

/// The path of this file as the compiler got it. Dumps recognise this crate's code by it.
#[doc(hidden)]
pub const SOURCE: &str = file!();
