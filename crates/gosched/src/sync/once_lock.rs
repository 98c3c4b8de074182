//! `OnceLock`: std's, for goroutines.
//!
//! Invariant: once `once` is complete the value is there, and is not written again while it is
//! shared.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};

use gosched_locks::OnceStage;

use super::once::Once;

/// A cell that is written once, as `std::sync::OnceLock`.
///
/// ```
/// use gosched::sync::OnceLock;
///
/// static CELL: OnceLock<usize> = OnceLock::new();
/// assert!(CELL.get().is_none());
/// gosched::go(|| assert_eq!(CELL.get_or_init(|| 12345), &12345)).join().unwrap();
/// assert_eq!(CELL.get(), Some(&12345));
/// ```
pub struct OnceLock<T> {
    once: Once,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: `&T` is given to several (`Sync`), and a value may be put in by one and dropped by
// another (`Send`).
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}
// SAFETY: it is given away with its value.
unsafe impl<T: Send> Send for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// An empty cell.
    ///
    /// ```
    /// assert_eq!(gosched::sync::OnceLock::<i32>::new().get(), None);
    /// ```
    #[inline]
    #[must_use]
    pub const fn new() -> OnceLock<T> {
        OnceLock { once: Once::new(), value: UnsafeCell::new(None) }
    }

    /// The value, if it is there. Never moves.
    ///
    /// ```
    /// assert_eq!(gosched::sync::OnceLock::from(1).get(), Some(&1));
    /// ```
    #[inline]
    pub fn get(&self) -> Option<&T> {
        if !self.once.is_completed() {
            return None;
        }
        // SAFETY: complete, so nobody writes it while it is shared.
        unsafe { &*self.value.get() }.as_ref()
    }

    /// The value, if it is there. Never moves.
    ///
    /// ```
    /// let mut cell = gosched::sync::OnceLock::from(1);
    /// *cell.get_mut().unwrap() = 2;
    /// assert_eq!(cell.get(), Some(&2));
    /// ```
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// The value; waits until it is there. A moving call, if it has to wait.
    ///
    /// ```
    /// let cell = gosched::sync::OnceLock::new();
    /// gosched::scope(|s| {
    ///     s.spawn(|| cell.set(1 + 1));
    ///     assert_eq!(cell.wait(), &2);
    /// });
    /// ```
    #[inline]
    pub fn wait(&self) -> &T {
        self.once.wait_force();
        self.completed()
    }

    fn completed(&self) -> &T {
        self.get().unwrap_or_else(|| unreachable!("a completed cell has a value"))
    }

    /// Sets the value. Waits if somebody else is setting it: a moving call then.
    ///
    /// # Errors
    ///
    /// The value, if there is one already.
    ///
    /// ```
    /// let cell = gosched::sync::OnceLock::new();
    /// assert_eq!(cell.set(92), Ok(()));
    /// assert_eq!(cell.set(62), Err(62));
    /// assert_eq!(cell.get(), Some(&92));
    /// ```
    #[inline]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.initialize(|| value.take());
        value.map_or(Ok(()), Err)
    }

    /// The value; if it isn't there, `f` makes it. Of several callers at the same time one runs its
    /// closure, and the others wait: a moving call then. A closure that initializes the same cell
    /// waits for ever.
    ///
    /// # Panics
    ///
    /// If `f` does; the cell stays empty, and another caller's closure may fill it.
    ///
    /// ```
    /// let cell = gosched::sync::OnceLock::new();
    /// assert_eq!(cell.get_or_init(|| 92), &92);
    /// assert_eq!(cell.get_or_init(|| unreachable!()), &92);
    /// ```
    #[inline]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        if let Some(value) = self.get() {
            return value;
        }
        self.initialize(|| Some(f()));
        self.completed()
    }

    /// Fills the cell with what `f` makes, if nobody has.
    #[cold]
    fn initialize(&self, f: impl FnOnce() -> Option<T>) {
        // Poison only means that another caller's closure has panicked: the cell is empty.
        self.once.call_once_force(|_| {
            let value = f();
            // SAFETY: the running closure has exclusive access to the value, until the once is
            // complete.
            unsafe { *self.value.get() = value };
        });
    }

    /// The value, if there is one. Never moves.
    ///
    /// ```
    /// assert_eq!(gosched::sync::OnceLock::from("hello").into_inner(), Some("hello"));
    /// ```
    #[inline]
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Takes the value out: the cell is empty afterwards. Never moves.
    ///
    /// ```
    /// let mut cell = gosched::sync::OnceLock::from("hello");
    /// assert_eq!(cell.take(), Some("hello"));
    /// assert_eq!(cell.get(), None);
    /// ```
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        let value = self.value.get_mut().take()?;
        self.once.set_state(OnceStage::Incomplete);
        Some(value)
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => shown.field(value),
            None => shown.field(&format_args!("<uninit>")),
        };
        shown.finish()
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> OnceLock<T> {
        self.get().cloned().map_or_else(OnceLock::new, OnceLock::from)
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> OnceLock<T> {
        let mut once = Once::new();
        once.set_state(OnceStage::Complete);
        OnceLock { once, value: UnsafeCell::new(Some(value)) }
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &OnceLock<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}
