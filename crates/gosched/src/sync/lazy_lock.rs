//! `LazyLock`: std's, for goroutines.
//!
//! Invariant: once `once` is complete the value is there, and is not written again while it is
//! shared. Before that only the running closure accesses it.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::fmt;
use core::mem::replace;
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};

use gosched_locks::OnceStage;

use super::once::Once;

enum Data<T, F> {
    Closure(F),
    Value(T),
    /// The closure has been taken: it runs, or it panicked.
    Taken,
}

/// A value that is made when it is first used, as `std::sync::LazyLock`.
///
/// # Poisoning
///
/// If the closure panics, every use of the value panics from then on.
///
/// ```
/// use gosched::sync::LazyLock;
///
/// static ANSWER: LazyLock<String> = LazyLock::new(|| {
///     println!("thinking");
///     "42".to_string()
/// });
/// assert_eq!(*ANSWER, "42");
/// assert_eq!(ANSWER.len(), 2);
/// ```
pub struct LazyLock<T, F = fn() -> T> {
    once: Once,
    data: UnsafeCell<Data<T, F>>,
}

// SAFETY: `&T` is given to several (`Sync`). One thread may make the value or the closure, and
// another one drop it (`Send`). No reference to the closure is given out.
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// A value that `f` will make.
    ///
    /// ```
    /// let hello = "hello".to_string();
    /// let lazy = gosched::sync::LazyLock::new(|| hello.to_uppercase());
    /// assert_eq!(&*lazy, "HELLO");
    /// ```
    #[inline]
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock { once: Once::new(), data: UnsafeCell::new(Data::Closure(f)) }
    }

    /// The value, made now if it wasn't; waits if somebody else is making it: a moving call then.
    ///
    /// # Panics
    ///
    /// If the closure does, or did.
    ///
    /// ```
    /// use gosched::sync::LazyLock;
    ///
    /// let lazy = LazyLock::new(|| 92);
    /// assert_eq!(LazyLock::force(&lazy), &92);
    /// assert_eq!(&*lazy, &92);
    /// ```
    #[inline]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        if !this.once.is_completed() {
            this.make();
        }
        LazyLock::get(this).unwrap_or_else(|| unreachable!("a completed value is there"))
    }

    #[cold]
    fn make(&self) {
        self.once.call_once_force(|state| {
            if state.is_poisoned() {
                poisoned();
            }
            // SAFETY: this closure has exclusive access to the data, until the once is complete.
            // The reference ends before `f` runs.
            let closure = replace(unsafe { &mut *self.data.get() }, Data::Taken);
            if let Data::Closure(f) = closure {
                let value = f();
                // SAFETY: as above.
                unsafe { *self.data.get() = Data::Value(value) };
            }
        });
    }

    /// The value, made now if it wasn't. Never moves by itself; the closure may.
    ///
    /// # Panics
    ///
    /// If the closure does, or did.
    ///
    /// ```
    /// use gosched::sync::LazyLock;
    ///
    /// let mut lazy = LazyLock::new(|| 92);
    /// *LazyLock::force_mut(&mut lazy) = 44;
    /// assert_eq!(*lazy, 44);
    /// ```
    #[inline]
    pub fn force_mut(this: &mut LazyLock<T, F>) -> &mut T {
        if this.once.state() == OnceStage::Incomplete {
            this.make();
        }
        match LazyLock::get_mut(this) {
            Some(value) => value,
            None => poisoned(),
        }
    }
}

impl<T, F> LazyLock<T, F> {
    /// The value, if it has been made. Never moves.
    ///
    /// ```
    /// use gosched::sync::LazyLock;
    ///
    /// let mut lazy = LazyLock::new(|| 92);
    /// assert_eq!(LazyLock::get_mut(&mut lazy), None);
    /// let _ = LazyLock::force(&lazy);
    /// *LazyLock::get_mut(&mut lazy).unwrap() = 44;
    /// assert_eq!(*lazy, 44);
    /// ```
    #[inline]
    pub fn get_mut(this: &mut LazyLock<T, F>) -> Option<&mut T> {
        match this.data.get_mut() {
            Data::Value(value) => Some(value),
            Data::Closure(_) | Data::Taken => None,
        }
    }

    /// The value, if it has been made. Never moves.
    ///
    /// ```
    /// use gosched::sync::LazyLock;
    ///
    /// let lazy = LazyLock::new(|| 92);
    /// assert_eq!(LazyLock::get(&lazy), None);
    /// let _ = LazyLock::force(&lazy);
    /// assert_eq!(LazyLock::get(&lazy), Some(&92));
    /// ```
    #[inline]
    pub fn get(this: &LazyLock<T, F>) -> Option<&T> {
        if !this.once.is_completed() {
            return None;
        }
        // SAFETY: complete, so nobody writes it while it is shared.
        match unsafe { &*this.data.get() } {
            Data::Value(value) => Some(value),
            Data::Closure(_) | Data::Taken => None,
        }
    }
}

#[cold]
#[inline(never)]
fn poisoned() -> ! {
    panic!("LazyLock instance has previously been poisoned")
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> LazyLock<T> {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_tuple("LazyLock");
        match LazyLock::get(self) {
            Some(value) => shown.field(value),
            None => shown.field(&format_args!("<uninit>")),
        };
        shown.finish()
    }
}
