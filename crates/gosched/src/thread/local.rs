//! `goroutine_local!` and its keys, with the names of `std::thread::LocalKey`.
//!
//! A key is identified by the address of its static. A goroutine's values are in the goroutine's
//! table, which moves with it from thread to thread. A foreign thread's values are in a table of
//! that thread.
#![allow(unsafe_code)]

use core::cell::{Cell, RefCell};
use core::fmt;
use core::ptr::NonNull;

use crate::g::locals::{Found, Locals};
use crate::m;

/// Declares values of which each goroutine has its own, as `thread_local!` does for threads.
///
/// On a thread that is not a goroutine they are thread-local. A value is created at its first use;
/// its destructor runs at the goroutine's end, before a `join` returns.
///
/// ```
/// use std::cell::Cell;
///
/// gosched::goroutine_local! {
///     /// Requests this goroutine has served.
///     static SERVED: Cell<u32> = const { Cell::new(0) };
/// }
///
/// gosched::run(|| {
///     SERVED.set(3);
///     let other = gosched::go(|| SERVED.get()).join().unwrap();
///     assert_eq!((SERVED.get(), other), (3, 0));
/// });
/// ```
#[macro_export]
macro_rules! goroutine_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = const $init:block; $($rest:tt)*) => {
        $crate::goroutine_local!(@key [$(#[$attr])*] $vis $name, $t, const $init);
        $crate::goroutine_local!($($rest)*);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = const $init:block) => {
        $crate::goroutine_local!(@key [$(#[$attr])*] $vis $name, $t, const $init);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr; $($rest:tt)*) => {
        $crate::goroutine_local!(@key [$(#[$attr])*] $vis $name, $t, $init);
        $crate::goroutine_local!($($rest)*);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr) => {
        $crate::goroutine_local!(@key [$(#[$attr])*] $vis $name, $t, $init);
    };
    (@key [$(#[$attr:meta])*] $vis:vis $name:ident, $t:ty, $init:expr) => {
        $(#[$attr])*
        $vis static $name: $crate::thread::LocalKey<$t> = {
            fn init() -> $t {
                $init
            }
            $crate::thread::LocalKey::__new(init)
        };
    };
}

/// A key declared by [`goroutine_local!`](crate::goroutine_local).
///
/// No method moves by itself; a closure or an initialiser may. All but
/// [`try_with`](LocalKey::try_with) panic if the value is being destroyed, or already is.
///
/// ```
/// gosched::goroutine_local! {
///     static NAME: String = String::from("none");
/// }
/// assert_eq!(NAME.with(|name| name.len()), 4);
/// ```
pub struct LocalKey<T: 'static> {
    init: fn() -> T,
}

/// The value is being destroyed or already is.
///
/// ```
/// gosched::goroutine_local! {
///     static KEY: u8 = 1;
/// }
/// let value: Result<u8, gosched::thread::AccessError> = KEY.try_with(|v| *v);
/// assert_eq!(value, Ok(1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessError;

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessError").finish()
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl std::error::Error for AccessError {}

/// Destroys a foreign thread's values when the thread ends. The table stays reachable meanwhile, as
/// a goroutine's does.
struct DestroyAtEnd;

impl Drop for DestroyAtEnd {
    fn drop(&mut self) {
        let Some(table) = FOREIGN.get() else { return };
        // SAFETY: the thread's own table; no reference to it lives while a destructor runs.
        while let Some(value) = unsafe { (*table.as_ptr()).take_last() } {
            value.destroy();
        }
        FOREIGN.set(None);
        // SAFETY: made by `foreign_table`, emptied, and no longer reachable.
        drop(unsafe { Box::from_raw(table.as_ptr()) });
    }
}

thread_local! {
    static FOREIGN: Cell<Option<NonNull<Locals>>> = const { Cell::new(None) };
    static AT_END: DestroyAtEnd = const { DestroyAtEnd };
}

/// The table of a thread that is not ours; an error once its values were destroyed.
fn foreign_table() -> Result<NonNull<Locals>, AccessError> {
    if let Some(table) = FOREIGN.get() {
        return Ok(table);
    }
    AT_END.try_with(|_| ()).map_err(|_| AccessError)?;
    let table = NonNull::from(Box::leak(Box::<Locals>::default()));
    FOREIGN.set(Some(table));
    Ok(table)
}

/// Lends the caller's table for a moment. `f` must not run user code.
fn with_table<R>(f: impl FnOnce(&mut Locals) -> R) -> Result<R, AccessError> {
    match m::current::current().and_then(|m| m.cur_g()) {
        // SAFETY: we run as this goroutine, and no `f` here runs code that could come back.
        Some(g) => Ok(f(unsafe { Locals::of(g) })),
        // SAFETY: the thread's own table, and no `f` here runs code that could come back.
        None => foreign_table().map(|table| f(unsafe { &mut *table.as_ptr() })),
    }
}

/// A value that was found; `None` if there is none yet.
fn found<T>(found: Found<T>) -> Result<Option<NonNull<T>>, AccessError> {
    match found {
        Found::Value(value) => Ok(Some(value)),
        Found::Absent => Ok(None),
        Found::Destroyed => Err(AccessError),
    }
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn __new(init: fn() -> T) -> LocalKey<T> {
        LocalKey { init }
    }

    fn key(&'static self) -> usize {
        core::ptr::from_ref(self).addr()
    }

    /// The address of the calling goroutine's value; `make` is called if there is none yet.
    fn get_or_make(&'static self, make: impl FnOnce() -> T) -> Result<NonNull<T>, AccessError> {
        let key = self.key();
        if let Some(value) = found(with_table(|table| table.find::<T>(key))?)? {
            return Ok(value);
        }
        let made = NonNull::from(Box::leak(Box::new(make())));
        // The initialiser may have used the key, and so have made a value already; then that one
        // stays.
        let kept = with_table(|table| {
            if let Found::Absent = table.find::<T>(key) {
                table.insert(key, made);
            }
            table.find::<T>(key)
        })?;
        let kept = found(kept)?;
        if kept != Some(made) {
            // SAFETY: leaked above, and not kept.
            drop(unsafe { Box::from_raw(made.as_ptr()) });
        }
        kept.ok_or(AccessError)
    }

    /// Sets the calling goroutine's value without running the initialiser; returns `value` if there
    /// is one already.
    fn set_first(&'static self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        let place = self.get_or_make(|| value.take().unwrap_or_else(self.init));
        if place.is_err() {
            panic!("cannot access a goroutine-local value during or after destruction");
        }
        match value {
            None => Ok(()),
            Some(value) => Err(value),
        }
    }

    /// Calls `f` with the value of the calling goroutine.
    ///
    /// # Panics
    ///
    /// If the value is being destroyed, or already is.
    ///
    /// ```
    /// gosched::goroutine_local! { static ID: u32 = 7; }
    /// assert_eq!(ID.with(|id| *id), 7);
    /// ```
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.try_with(f).expect("cannot access a goroutine-local value during or after destruction")
    }

    /// As [`with`](LocalKey::with), with an error instead of a panic.
    ///
    /// # Errors
    ///
    /// If the value is being destroyed, or already is.
    ///
    /// ```
    /// gosched::goroutine_local! { static ID: u32 = 7; }
    /// assert_eq!(ID.try_with(|id| *id), Ok(7));
    /// ```
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        let value = self.get_or_make(self.init)?;
        // SAFETY: the box is freed at the goroutine's end only, or at that of the foreign thread,
        // and not inside this call: one that is being destroyed is not found.
        Ok(f(unsafe { value.as_ref() }))
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Sets the value; the initialiser does not run for it.
    ///
    /// ```
    /// # use std::cell::Cell;
    /// gosched::goroutine_local! { static X: Cell<i32> = Cell::new(0); }
    /// X.set(4);
    /// assert_eq!(X.get(), 4);
    /// ```
    pub fn set(&'static self, value: T) {
        if let Err(value) = self.set_first(Cell::new(value)) {
            self.with(|cell| cell.set(value.into_inner()));
        }
    }

    /// A copy of the value.
    ///
    /// ```
    /// # use std::cell::Cell;
    /// gosched::goroutine_local! { static X: Cell<i32> = Cell::new(9); }
    /// assert_eq!(X.get(), 9);
    /// ```
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value and leaves the default.
    ///
    /// ```
    /// # use std::cell::Cell;
    /// gosched::goroutine_local! { static X: Cell<Option<i32>> = Cell::new(Some(1)); }
    /// assert_eq!((X.take(), X.take()), (Some(1), None));
    /// ```
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Replaces the value and returns the old one.
    ///
    /// ```
    /// # use std::cell::Cell;
    /// gosched::goroutine_local! { static X: Cell<i32> = Cell::new(1); }
    /// assert_eq!((X.replace(2), X.get()), (1, 2));
    /// ```
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Calls `f` with a borrow of the value.
    ///
    /// ```
    /// # use std::cell::RefCell;
    /// gosched::goroutine_local! { static LOG: RefCell<Vec<u8>> = RefCell::default(); }
    /// assert!(LOG.with_borrow(|log| log.is_empty()));
    /// ```
    pub fn with_borrow<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Calls `f` with a mutable borrow of the value.
    ///
    /// ```
    /// # use std::cell::RefCell;
    /// gosched::goroutine_local! { static LOG: RefCell<Vec<u8>> = RefCell::default(); }
    /// LOG.with_borrow_mut(|log| log.push(1));
    /// ```
    pub fn with_borrow_mut<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&mut T) -> R,
    {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Sets the value; the initialiser does not run for it.
    ///
    /// ```
    /// # use std::cell::RefCell;
    /// gosched::goroutine_local! { static LOG: RefCell<Vec<u8>> = RefCell::default(); }
    /// LOG.set(vec![1]);
    /// ```
    pub fn set(&'static self, value: T) {
        if let Err(value) = self.set_first(RefCell::new(value)) {
            self.with(|cell| *cell.borrow_mut() = value.into_inner());
        }
    }

    /// Takes the value and leaves the default.
    ///
    /// ```
    /// # use std::cell::RefCell;
    /// gosched::goroutine_local! { static LOG: RefCell<Vec<u8>> = RefCell::new(vec![1]); }
    /// assert_eq!((LOG.take(), LOG.take()), (vec![1], vec![]));
    /// ```
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Replaces the value and returns the old one.
    ///
    /// ```
    /// # use std::cell::RefCell;
    /// gosched::goroutine_local! { static LOG: RefCell<Vec<u8>> = RefCell::default(); }
    /// assert_eq!(LOG.replace(vec![2]), vec![]);
    /// ```
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}
