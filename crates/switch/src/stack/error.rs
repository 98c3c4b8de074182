//! What is reported when no stack can be had. Every text names how many are handed out, the limit
//! and the remedy.

use core::fmt;
use std::io;

use super::StackClass;
use crate::sys::Errno;

/// No stack could be had. The error changes nothing: a retry may succeed once other stacks were
/// given back.
///
/// # Examples
///
/// ```
/// use gosched_switch::{OutOfStacks, StackClass, StackPool};
/// static POOL: StackPool = StackPool::new();
/// match POOL.alloc(StackClass::DEFAULT) {
///     Ok(stack) => POOL.free(stack),
///     Err(error) => eprintln!("{error}"),
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfStacks {
    pub(crate) class: StackClass,
    pub(crate) live: usize,
    pub(crate) cause: LimitMet,
}

/// Which limit was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitMet {
    /// The kernel maps no more memory.
    Memory(Errno),
    /// Guards cost mappings here, and mappings are used up.
    MapCount { max_map_count: usize },
    /// No way of making a guard works; without one there is no stack.
    Guard(Errno),
}

impl OutOfStacks {
    /// How many stacks of the wanted size are handed out, those in caches included.
    ///
    /// # Examples
    ///
    /// ```
    /// fn report(error: gosched_switch::OutOfStacks) -> String {
    ///     format!("{} stacks are in use", error.live())
    /// }
    /// ```
    pub fn live(&self) -> usize {
        self.live
    }
}

impl fmt::Display for OutOfStacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out of stacks: {} of {} bytes are in use, and ", self.live, self.class.size())?;
        match self.cause {
            LimitMet::Memory(errno) => write!(
                f,
                "the system maps no more memory ({}); raise the limit on address space (ulimit -v, the cgroup, \
                 vm.overcommit_memory), or use smaller stacks",
                io::Error::from_raw_os_error(errno)
            ),
            LimitMet::MapCount { max_map_count } => write!(
                f,
                "their guards use up the process's mappings (vm.max_map_count is {max_map_count}, two for each \
                 stack); use Linux 6.13 or later, or raise it: sysctl -w vm.max_map_count={}",
                max_map_count.saturating_mul(4)
            ),
            LimitMet::Guard(errno) => write!(
                f,
                "a new one can't be guarded against overflow ({}); allow madvise and mprotect in the seccomp filter",
                io::Error::from_raw_os_error(errno)
            ),
        }
    }
}

impl std::error::Error for OutOfStacks {}
