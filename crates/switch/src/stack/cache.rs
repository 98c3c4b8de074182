//! A few stacks at hand for one owner, without a lock.
//!
//! There are two magazines, so that an owner whose demand goes up and down around a boundary does
//! not go to the pool each time:
//!
//! ```text
//!   push -> hot (full: the cold one goes to the pool, hot becomes cold)
//!   pop  <- hot (empty: cold becomes hot; both empty: `fresh`; that empty too: a batch from the pool)
//! ```
//!
//! Invariants: at most 64 used stacks, all of one class, with their canaries checked; up to 32
//! untouched ones as an address range.

use core::mem;

use super::magazine::{MAGAZINE, Magazine};
use super::pool::Batch;
use super::slab::Fresh;
use super::{OutOfStacks, Stack, StackClass, StackPool};

/// Free stacks of one class that belong to one owner.
///
/// [`drain`](StackCache::drain) it before it is dropped, or the stacks in it are leaked.
///
/// # Examples
///
/// ```
/// use gosched_switch::{StackCache, StackClass, StackPool};
/// static POOL: StackPool = StackPool::new();
///
/// let mut cache = StackCache::new(StackClass::DEFAULT);
/// let stack = cache.pop(&POOL).unwrap();
/// let high = stack.high();
/// cache.push(stack, &POOL);
/// let again = cache.pop(&POOL).unwrap();
/// assert_eq!(again.high(), high);
/// cache.push(again, &POOL);
/// cache.drain(&POOL);
/// assert_eq!(POOL.live(), 0);
/// ```
#[derive(Debug)]
pub struct StackCache {
    hot: Magazine,
    cold: Magazine,
    fresh: Fresh,
    class: StackClass,
}

impl StackCache {
    /// How many used stacks a cache holds.
    pub const CAPACITY: usize = 2 * MAGAZINE as usize;

    /// An empty cache for stacks of this class.
    ///
    /// # Examples
    ///
    /// ```
    /// use gosched_switch::{StackCache, StackClass};
    /// let cache = StackCache::new(StackClass::DEFAULT);
    /// assert_eq!(cache.class(), StackClass::DEFAULT);
    /// ```
    pub const fn new(class: StackClass) -> StackCache {
        StackCache { hot: Magazine::new(), cold: Magazine::new(), fresh: Fresh::none(class), class }
    }

    /// The class it serves.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gosched_switch::{StackCache, StackClass};
    /// assert_eq!(StackCache::new(StackClass::DEFAULT).class().size(), 262_144);
    /// ```
    pub fn class(&self) -> StackClass {
        self.class
    }

    /// Takes the stack that was given back last, else an untouched one; if the cache has neither,
    /// fetches a batch from the pool.
    ///
    /// # Errors
    ///
    /// [`OutOfStacks`] if the pool has none and can't make one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gosched_switch::{StackCache, StackClass, StackPool};
    /// static POOL: StackPool = StackPool::new();
    /// let mut cache = StackCache::new(StackClass::DEFAULT);
    /// let stack = cache.pop(&POOL).unwrap();
    /// cache.push(stack, &POOL);
    /// ```
    #[inline]
    pub fn pop(&mut self, pool: &StackPool) -> Result<Stack, OutOfStacks> {
        match self.hot.pop() {
            Some(stack) => Ok(stack),
            None => self.pop_slowly(pool),
        }
    }

    /// Keeps a stack for the next [`pop`](StackCache::pop). If it was used deeply, its pages go
    /// back to the system; if the cache is full, half of it goes to the pool. A stack of another
    /// class goes to the pool at once.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gosched_switch::{StackCache, StackClass, StackPool};
    /// static POOL: StackPool = StackPool::new();
    /// let mut cache = StackCache::new(StackClass::DEFAULT);
    /// let large = POOL.alloc(StackClass::for_size(1 << 20).unwrap()).unwrap();
    /// cache.push(large, &POOL);
    /// assert_eq!(POOL.live(), 0);
    /// ```
    #[inline]
    pub fn push(&mut self, mut stack: Stack, pool: &StackPool) {
        if stack.class() != self.class {
            return pool.free(stack);
        }
        stack.settle();
        if self.hot.len() == MAGAZINE {
            self.make_room(pool);
        }
        self.hot.push(stack);
    }

    /// Gives everything to the pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gosched_switch::{StackCache, StackClass, StackPool};
    /// static POOL: StackPool = StackPool::new();
    /// let mut cache = StackCache::new(StackClass::DEFAULT);
    /// let stack = cache.pop(&POOL).unwrap();
    /// cache.push(stack, &POOL);
    /// cache.drain(&POOL);
    /// assert_eq!(POOL.live(), 0);
    /// ```
    pub fn drain(&mut self, pool: &StackPool) {
        for magazine in [&mut self.cold, &mut self.hot] {
            pool.give_batch(self.class, Batch::Used(mem::replace(magazine, Magazine::new())));
        }
        pool.give_batch(self.class, Batch::Fresh(mem::replace(&mut self.fresh, Fresh::none(self.class))));
    }

    #[cold]
    fn pop_slowly(&mut self, pool: &StackPool) -> Result<Stack, OutOfStacks> {
        loop {
            mem::swap(&mut self.hot, &mut self.cold);
            if let Some(stack) = self.hot.pop().or_else(|| self.fresh.pop()) {
                return Ok(stack);
            }
            match pool.take_batch(self.class)? {
                Batch::Used(magazine) => self.cold = magazine,
                Batch::Fresh(fresh) => self.fresh = fresh,
            }
        }
    }

    #[cold]
    fn make_room(&mut self, pool: &StackPool) {
        let full = mem::replace(&mut self.hot, Magazine::new());
        let oldest = mem::replace(&mut self.cold, full);
        pool.give_batch(self.class, Batch::Used(oldest));
    }
}
