//! How goroutines are created: `go`, `run`, `spawn` and `Builder`.
//!
//! Each function with an [`Argument`] passes its closure on by address and then forgets it, so that
//! a large one is copied once (`g/task.rs`).
#![allow(unsafe_code)]

use core::panic::Location;
use core::ptr::NonNull;
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;

use gosched_switch::{StackClass, min_size};

use super::join::{JoinHandle, Joinable};
use super::scope::{Scope, ScopedJoinHandle};
use crate::fatal::say;
use crate::g::Goexit;
use crate::g::task::{Argument, is_large};
use crate::g::{G, Name};
use crate::runtime::StackSizeError;
use crate::sched::{self, MayWait, Role, Spawn};
use crate::settings;

/// Starts a goroutine that runs `f`.
///
/// Never moves the caller. Dropping the handle detaches the goroutine. Works from any thread.
///
/// ```
/// let handle = gosched::go(|| 6 * 7);
/// assert_eq!(handle.join().unwrap(), 42);
/// ```
#[track_caller]
pub fn go<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: forgotten below.
    let handle = unsafe { go_tracked(Argument::new(&f), Location::caller()) };
    core::mem::forget(f);
    handle
}

/// Starts a goroutine. The same as [`go`](crate::go).
///
/// Never moves the caller. Dropping the handle detaches the goroutine.
///
/// ```
/// let handle = gosched::thread::spawn(|| 6 * 7);
/// assert_eq!(handle.join().unwrap(), 42);
/// ```
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: forgotten below.
    let handle = unsafe { go_tracked(Argument::new(&f), Location::caller()) };
    core::mem::forget(f);
    handle
}

/// `go` for a caller in the library that passes `f` by address. Does not unwind after it has taken
/// `f`.
///
/// # Safety
/// As for `Argument::new`.
pub(crate) unsafe fn go_tracked<F, T>(f: Argument<F>, place: &'static Location<'static>) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: by contract.
    JoinHandle::new(unsafe { go_joinable(f, place) })
}

/// As [`go_tracked`], without the public handle.
///
/// # Safety
/// As for `Argument::new`.
pub(super) unsafe fn go_joinable<F, T>(f: Argument<F>, place: &'static Location<'static>) -> Joinable<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let how = Spawn { name: None, class: None, role: Role::Ordinary, group: None, locks: 0, place };
    // SAFETY: closure and result borrow nothing.
    let g = unsafe { sched::spawn(how, f) };
    joinable(g, None)
}

/// What a goroutine does around the closure that it was made for.
pub(crate) trait Around<T> {
    fn call(self, f: impl FnOnce() -> T);
}

/// Starts a goroutine that calls `f` by way of `around`. Does not unwind after it has taken `f`. A
/// large `f` is boxed, and called in its box.
///
/// # Safety
/// As for `Argument::new`.
pub(crate) unsafe fn go_around<F, T, A>(f: Argument<F>, around: A, place: &'static Location<'static>)
where
    F: FnOnce() -> T + Send + 'static,
    A: Around<T> + Send + 'static,
    T: 'static,
{
    let start = const { if is_large::<F>() { start_boxed::<F, T, A> } else { start_inside::<F, T, A> } };
    start(f, around, place);
}

fn start_boxed<F, T, A>(f: Argument<F>, around: A, place: &'static Location<'static>)
where
    F: FnOnce() -> T + Send + 'static,
    A: Around<T> + Send + 'static,
    T: 'static,
{
    let f = f.take_boxed();
    start_around(move || around.call(f), place);
}

fn start_inside<F, T, A>(f: Argument<F>, around: A, place: &'static Location<'static>)
where
    F: FnOnce() -> T + Send + 'static,
    A: Around<T> + Send + 'static,
    T: 'static,
{
    let f = f.take();
    start_around(move || around.call(f), place);
}

fn start_around(f: impl FnOnce() + Send + 'static, place: &'static Location<'static>) {
    // SAFETY: forgotten below.
    drop(unsafe { go_tracked(Argument::new(&f), place) });
    core::mem::forget(f);
}

/// The join handle's part of a goroutine that was just spawned.
pub(super) fn joinable<T>(g: NonNull<G>, name: Option<Name>) -> Joinable<T> {
    // SAFETY: this is the one handle of the goroutine, whose closure returns a T.
    unsafe { Joinable::new(g, name) }
}

/// Starts a goroutine as `run` does, for a caller that does not wait.
pub(crate) fn spawn_main<F, T>(f: F, place: &'static Location<'static>) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: closure and result borrow nothing; it is forgotten below.
    let g = unsafe { sched::spawn(main_goroutine(place), Argument::new(&f)) };
    core::mem::forget(f);
    JoinHandle::new(joinable(g, None))
}

/// How the goroutine of `run` is created: with the main goroutine's stack size, and with its id if
/// it is the first.
fn main_goroutine(place: &'static Location<'static>) -> Spawn {
    let class = Some(settings::get().main_stack);
    Spawn { name: None, class, role: Role::Main, group: None, locks: 0, place }
}

/// Runs `main` as a goroutine, and returns its value when it has ended. The first one is the main
/// goroutine, with id 1. Other goroutines keep running.
///
/// The closure may borrow: the caller waits. Its stack may grow to 8 MiB. Calls may be nested, and
/// made from several threads at once; each closure is a goroutine of its own. A moving call when
/// called from a goroutine.
///
/// # Panics
///
/// With the closure's panic. Inside [`stop_the_world`](crate::runtime::stop_the_world).
///
/// ```
/// let text = String::from("borrowed");
/// let length = gosched::run(|| text.len());
/// assert_eq!(length, 8);
/// ```
#[track_caller]
pub fn run<F, T>(main: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let _may_wait = MayWait::ask().unwrap_or_else(|stopped| stopped.refuse("call run"));
    let place = Location::caller();
    let how = main_goroutine(place);
    // SAFETY: the result is waited for and taken below, in this frame, whatever happens; so closure
    // and result end before anything they borrow. Joining does not unwind between the two. The
    // closure is forgotten below.
    let g = unsafe { sched::spawn(how, Argument::new(&main)) };
    core::mem::forget(main);
    match joinable::<T>(g, None).join() {
        Ok(value) => value,
        Err(panic) => {
            if panic.is::<Goexit>() {
                say(format_args!(
                    "gosched: the goroutine of `run` (called at {place}) ended by goexit: there is no value to return\n"
                ));
            }
            resume_unwind(panic)
        }
    }
}

/// Creates goroutines with a name, a stack size or a thread of their own, as `std::thread::Builder`
/// creates threads.
///
/// ```
/// use gosched::thread::Builder;
///
/// let handle = Builder::new().name("worker".into()).stack_size(1 << 20).spawn(|| {
///     gosched::thread::current().name().map(str::to_owned)
/// })?;
/// assert_eq!(handle.join().unwrap().as_deref(), Some("worker"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
#[must_use = "a Builder does nothing until it spawns"]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
    pinned: bool,
}

impl Builder {
    /// No name, the default stack.
    ///
    /// ```
    /// gosched::thread::Builder::new().spawn(|| ())?.join().unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Names the goroutine, for panic messages and dumps.
    ///
    /// # Panics
    ///
    /// `spawn` panics if the name contains a null byte, as std's does.
    ///
    /// ```
    /// let handle = gosched::thread::Builder::new().name("parser".into()).spawn(|| ())?;
    /// assert_eq!(handle.thread().name(), Some("parser"));
    /// # handle.join().unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    /// Sets how far the stack may grow, in bytes: at most 1 GiB. Rounded up to a power of two and,
    /// as std does, to the smallest stack that works (32 KiB on most machines). Only what is
    /// touched uses memory.
    ///
    /// ```
    /// let deep = gosched::thread::Builder::new().stack_size(8 << 20).spawn(|| {
    ///     let large = [1u8; 4 << 20];
    ///     std::hint::black_box(&large).len()
    /// })?;
    /// assert_eq!(deep.join().unwrap(), 4 << 20);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Builder {
        self.stack_size = Some(bytes);
        self
    }

    /// Gives the goroutine an OS thread of its own, as if it began with
    /// [`lock_os_thread`](crate::runtime::lock_os_thread). The thread ends with the goroutine,
    /// unless the goroutine has called [`unlock_os_thread`](crate::runtime::unlock_os_thread).
    ///
    /// ```
    /// let handle = gosched::thread::Builder::new().pinned().spawn(|| {
    ///     let here = std::thread::current().id();
    ///     gosched::yield_now();
    ///     gosched::thread::sleep(std::time::Duration::from_millis(1));
    ///     here == std::thread::current().id()
    /// })?;
    /// assert!(handle.join().unwrap());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn pinned(mut self) -> Builder {
        self.pinned = true;
        self
    }

    /// Starts the goroutine. Never moves the caller.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if the stack size is too large; the text has
    /// the limit.
    ///
    /// ```
    /// let error = gosched::thread::Builder::new().stack_size(usize::MAX).spawn(|| ()).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: closure and result borrow nothing; it is forgotten if it was taken.
        let handle = unsafe { self.spawn_from(Argument::new(&f), Location::caller())? };
        core::mem::forget(f);
        Ok(handle)
    }

    /// Neither unwinds nor fails after it has taken `f`.
    ///
    /// # Safety
    /// As for `Argument::new` and [`spawn_unchecked`](Builder::spawn_unchecked).
    unsafe fn spawn_from<F, T>(
        self,
        f: Argument<F>,
        place: &'static Location<'static>,
    ) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let how = self.into_spawn(place)?;
        let name = how.name.clone();
        // SAFETY: by contract everything borrowed outlives the goroutine and its result.
        let g = unsafe { sched::spawn(how, f) };
        Ok(JoinHandle::new(joinable(g, name)))
    }

    /// Starts a goroutine without the bounds that keep what it borrows alive. Never moves the
    /// caller.
    ///
    /// # Errors
    ///
    /// As for [`spawn`](Builder::spawn).
    ///
    /// # Safety
    ///
    /// Whatever the closure and its result borrow outlives the goroutine: join it before, or borrow
    /// for ever.
    ///
    /// ```
    /// let x = 1;
    /// // SAFETY: joined before `x` goes.
    /// let handle = unsafe { gosched::thread::Builder::new().spawn_unchecked(|| x + 1)? };
    /// assert_eq!(handle.join().unwrap(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        // SAFETY: by contract everything borrowed outlives the goroutine and its result; it is
        // forgotten if it was taken.
        let handle = unsafe { self.spawn_from(Argument::new(&f), Location::caller())? };
        core::mem::forget(f);
        Ok(handle)
    }

    /// Starts the goroutine inside a [`scope`](super::scope). Never moves the caller.
    ///
    /// # Errors
    ///
    /// As for [`spawn`](Builder::spawn).
    ///
    /// ```
    /// let text = String::from("borrowed");
    /// let len = gosched::scope(|s| {
    ///     let handle = gosched::thread::Builder::new().spawn_scoped(s, || text.len()).unwrap();
    ///     handle.join().unwrap()
    /// });
    /// assert_eq!(len, 8);
    /// ```
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let how = self.into_spawn(Location::caller())?;
        // SAFETY: forgotten below.
        let handle = unsafe { scope.spawn_with(how, Argument::new(&f)) };
        core::mem::forget(f);
        Ok(handle)
    }

    fn into_spawn(self, place: &'static Location<'static>) -> io::Result<Spawn> {
        let class = self
            .stack_size
            .map(|bytes| StackClass::for_size(bytes.max(min_size())))
            .transpose()
            .map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, StackSizeError(why)))?;
        let name = self.name.map(|name| {
            assert!(!name.contains('\0'), "goroutine name may not contain interior null bytes");
            Arc::new(name.into_boxed_str())
        });
        Ok(Spawn { name, class, role: Role::Ordinary, group: None, locks: u32::from(self.pinned), place })
    }
}
