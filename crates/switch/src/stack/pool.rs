//! The pool that all caches share: one lock and its lists per class. Maps slabs when nothing is
//! left.
//!
//! Invariants, per class: `stacks` = all ever mapped; `free` = those in `singles`, `rack` and
//! `fresh`, and those that `trim_class` has taken out for a moment; the rest is handed out (to
//! callers or caches). Stacks are handed out used ones first, last-in first-out, then untouched
//! ones by bumping an address, without touching them. Slabs are never unmapped, not even when a
//! pool is dropped.
//!
//! Nothing is allocated: a pool is used inside the runtime, where the user's allocator must not be
//! called.
//!
//! Locks: a class's lock, then the guards' lock (inside `Guards`). Under a class's lock this crate
//! makes system calls only to map and guard a slab; canaries are checked and pages are given back
//! without it.

use core::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::class::CLASSES;
use super::error::LimitMet;
use super::guard::{GuardRung, Guards, Ladder};
use super::magazine::{MAGAZINE, Magazine, Rack};
use super::ranges::FreshRanges;
use super::slab::{Fresh, Slab};
use super::{OutOfStacks, Stack, StackClass};
use crate::sanitizer;
use crate::sys::{self, Paging};

/// The free stacks of all sizes. A program usually has one pool, in a `static`.
///
/// # Examples
///
/// ```
/// use gosched_switch::{StackClass, StackPool};
/// static POOL: StackPool = StackPool::new();
///
/// let stack = POOL.alloc(StackClass::for_size(1 << 20).unwrap()).unwrap();
/// assert_eq!(POOL.live(), 1);
/// POOL.free(stack);
/// assert_eq!(POOL.live(), 0);
/// ```
#[derive(Debug)]
pub struct StackPool {
    classes: [Mutex<ClassPool>; CLASSES],
    guards: Guards,
}

/// What a pool has mapped and handed out, over all sizes.
///
/// # Examples
///
/// ```
/// use gosched_switch::StackPool;
/// static POOL: StackPool = StackPool::new();
/// assert_eq!(POOL.stats().stacks, 0);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StackStats {
    /// Slabs mapped.
    pub slabs: usize,
    /// Of these, how many are smaller than usual, because memory is locked, strictly accounted or
    /// limited here, or because mappings ran out.
    pub small_slabs: usize,
    /// Stacks in all slabs.
    pub stacks: usize,
    /// Stacks in the pool.
    pub free: usize,
    /// Stacks handed out, those in caches included.
    pub live: usize,
}

/// Free stacks of one class.
#[derive(Debug)]
struct ClassPool {
    /// Given back one by one; becomes part of the rack when it is full.
    singles: Magazine,
    rack: Rack,
    fresh: FreshRanges,
    slabs: usize,
    small_slabs: usize,
    stacks: usize,
    free: usize,
}

/// What a cache gets when it asks for stacks.
#[derive(Debug)]
pub(super) enum Batch {
    /// Used before, at most a magazine full.
    Used(Magazine),
    /// Never touched.
    Fresh(Fresh),
}

impl StackPool {
    /// An empty pool; maps nothing yet.
    ///
    /// # Examples
    ///
    /// ```
    /// static POOL: gosched_switch::StackPool = gosched_switch::StackPool::new();
    /// assert_eq!(POOL.stats().slabs, 0);
    /// ```
    pub const fn new() -> StackPool {
        StackPool::with_ladder(Ladder::Best)
    }

    /// A pool whose guards are made in one given way, or not at all. For tests.
    #[doc(hidden)]
    pub const fn with_rung(rung: GuardRung) -> StackPool {
        StackPool::with_ladder(Ladder::Only(rung))
    }

    const fn with_ladder(ladder: Ladder) -> StackPool {
        StackPool { classes: [const { Mutex::new(ClassPool::new()) }; CLASSES], guards: Guards::new(ladder) }
    }

    /// Takes one stack.
    ///
    /// # Errors
    ///
    /// [`OutOfStacks`] if none is free and no more can be mapped and guarded.
    ///
    /// # Examples
    ///
    /// ```
    /// use gosched_switch::{StackClass, StackPool};
    /// static POOL: StackPool = StackPool::new();
    /// let stack = POOL.alloc(StackClass::DEFAULT).unwrap();
    /// POOL.free(stack);
    /// ```
    pub fn alloc(&self, class: StackClass) -> Result<Stack, OutOfStacks> {
        let mut pool = self.class(class);
        loop {
            if let Some(stack) = pool.pop() {
                pool.free -= 1;
                return Ok(stack);
            }
            pool.grow(class, &self.guards)?;
        }
    }

    /// Gives one stack back; it is the next to be handed out. If it was used deeply, its pages go
    /// back to the system first.
    ///
    /// # Examples
    ///
    /// ```
    /// use gosched_switch::{StackClass, StackPool};
    /// static POOL: StackPool = StackPool::new();
    /// let stack = POOL.alloc(StackClass::DEFAULT).unwrap();
    /// let high = stack.high();
    /// POOL.free(stack);
    /// let again = POOL.alloc(StackClass::DEFAULT).unwrap();
    /// assert_eq!(again.high(), high);
    /// POOL.free(again);
    /// ```
    pub fn free(&self, mut stack: Stack) {
        stack.settle();
        let mut pool = self.class(stack.class());
        pool.free += 1;
        pool.push(stack);
    }

    /// Stacks that are handed out, those in caches included.
    ///
    /// # Examples
    ///
    /// ```
    /// static POOL: gosched_switch::StackPool = gosched_switch::StackPool::new();
    /// assert_eq!(POOL.live(), 0);
    /// ```
    pub fn live(&self) -> usize {
        self.stats().live
    }

    /// What was mapped and handed out so far. Each size is counted at its own moment.
    ///
    /// # Examples
    ///
    /// ```
    /// use gosched_switch::{StackClass, StackPool};
    /// static POOL: StackPool = StackPool::new();
    /// let stack = POOL.alloc(StackClass::DEFAULT).unwrap();
    /// let stats = POOL.stats();
    /// assert_eq!((stats.slabs, stats.live), (1, 1));
    /// assert_eq!(stats.stacks, stats.free + stats.live);
    /// POOL.free(stack);
    /// ```
    pub fn stats(&self) -> StackStats {
        let mut sum = StackStats::default();
        for class in &self.classes {
            let pool = class.lock().unwrap_or_else(PoisonError::into_inner);
            sum.slabs += pool.slabs;
            sum.small_slabs += pool.small_slabs;
            sum.stacks += pool.stacks;
            sum.free += pool.free;
            sum.live += pool.stacks - pool.free;
        }
        sum
    }

    /// How the newest slab's guards were made. For tests.
    #[doc(hidden)]
    pub fn guard_rung(&self) -> Option<GuardRung> {
        self.guards.used()
    }

    /// Gives the memory of the used stacks in the pool back to the system, except each one's top
    /// page, and returns how many bytes. Asks the kernel which pages are in memory, so it also
    /// finds what no canary showed. For a monitor thread, every few minutes.
    ///
    /// # Examples
    ///
    /// ```
    /// static POOL: gosched_switch::StackPool = gosched_switch::StackPool::new();
    /// assert_eq!(POOL.trim_all(), 0);
    /// ```
    pub fn trim_all(&self) -> usize {
        self.classes.iter().map(trim_class).sum()
    }

    /// Takes up to a magazine full of stacks: used ones if there are any, else untouched ones.
    pub(super) fn take_batch(&self, class: StackClass) -> Result<Batch, OutOfStacks> {
        let mut pool = self.class(class);
        loop {
            if let Some(batch) = pool.take_batch() {
                pool.free -= batch.len() as usize;
                return Ok(batch);
            }
            pool.grow(class, &self.guards)?;
        }
    }

    /// Takes stacks back from a cache. Their canaries have been checked.
    pub(super) fn give_batch(&self, class: StackClass, batch: Batch) {
        if batch.len() == 0 {
            return;
        }
        let mut pool = self.class(class);
        pool.free += batch.len() as usize;
        match batch {
            Batch::Used(magazine) => pool.rack.push(magazine),
            Batch::Fresh(fresh) => pool.push_fresh(fresh),
        }
    }

    fn class(&self, class: StackClass) -> MutexGuard<'_, ClassPool> {
        self.classes[class.index()].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for StackPool {
    fn default() -> StackPool {
        StackPool::new()
    }
}

impl Batch {
    fn len(&self) -> u32 {
        match self {
            Batch::Used(magazine) => magazine.len(),
            Batch::Fresh(fresh) => fresh.len(),
        }
    }
}

impl ClassPool {
    const fn new() -> ClassPool {
        ClassPool {
            singles: Magazine::new(),
            rack: Rack::new(),
            fresh: FreshRanges::new(),
            slabs: 0,
            small_slabs: 0,
            stacks: 0,
            free: 0,
        }
    }

    fn pop(&mut self) -> Option<Stack> {
        if self.singles.len() == 0
            && let Some(magazine) = self.rack.pop()
        {
            self.singles = magazine;
        }
        self.singles.pop().or_else(|| self.fresh.newest()?.pop())
    }

    fn push(&mut self, stack: Stack) {
        if self.singles.len() == MAGAZINE {
            self.rack.push(mem::replace(&mut self.singles, Magazine::new()));
        }
        self.singles.push(stack);
    }

    fn take_batch(&mut self) -> Option<Batch> {
        if self.singles.len() > 0 {
            return Some(Batch::Used(mem::replace(&mut self.singles, Magazine::new())));
        }
        if let Some(magazine) = self.rack.pop() {
            return Some(Batch::Used(magazine));
        }
        Some(Batch::Fresh(self.fresh.newest()?.take(MAGAZINE)))
    }

    /// Takes a range of untouched stacks, or, if there are too many ranges, its stacks one by one.
    fn push_fresh(&mut self, range: Fresh) {
        if let Err(mut range) = self.fresh.push(range) {
            while let Some(mut stack) = range.pop() {
                stack.settle();
                self.push(stack);
            }
        }
    }

    /// Maps and guards one more slab, smaller than usual where the system is short of memory.
    #[cold]
    fn grow(&mut self, class: StackClass, guards: &Guards) -> Result<(), OutOfStacks> {
        let live = self.stacks - self.free;
        let out = |cause| OutOfStacks { class, live, cause };
        let usual = class.per_slab();
        let mut count = match sys::paging() {
            Paging::OnDemand => usual,
            Paging::AtOnce => 1,
        };
        let mut slab = loop {
            match Slab::map(class, count) {
                Ok(slab) => break slab,
                Err(errno) if count == 1 => return Err(out(LimitMet::Memory(errno))),
                Err(_) => count /= 2,
            }
        };
        if let Err(cause) = guards.install(&mut slab) {
            slab.truncate(0);
            return Err(out(cause));
        }
        let count = slab.count();
        sanitizer::note_slab(slab.base() as usize, class.stride(), class.guard(), slab.len());
        self.push_fresh(slab.into_fresh(self.stacks as u32));
        self.slabs += 1;
        self.small_slabs += usize::from(count < usual);
        self.stacks += count as usize;
        self.free += count as usize;
        Ok(())
    }
}

/// Trims one class: takes its lists out, and gives them back magazine by magazine. Meanwhile the
/// stacks still count as free, but the pool can't hand them out.
fn trim_class(class: &Mutex<ClassPool>) -> usize {
    let lock = || class.lock().unwrap_or_else(PoisonError::into_inner);
    let mut rack = {
        let mut pool = lock();
        let singles = mem::replace(&mut pool.singles, Magazine::new());
        pool.rack.push(singles);
        mem::replace(&mut pool.rack, Rack::new())
    };
    let mut bytes = 0;
    while let Some(mut magazine) = rack.pop() {
        let mut trimmed = Magazine::new();
        while let Some(mut stack) = magazine.pop() {
            bytes += stack.trim();
            trimmed.push(stack);
        }
        lock().rack.push(trimmed);
    }
    bytes
}
