//! A goroutine's closure, and later its result: each inside the header if it is small, else in a
//! box (D4, S12).
//!
//! Invariant: the payload holds the closure (or its box) from `store` to `run`, nothing while the
//! closure runs, and the outcome (or its box) from its end until `take_result` or `drop_result`.
//! Who may use it follows from the status and from the G's `JoinWord`.
//!
//! Large values are moved as little as possible: stacks are small, and a debug build copies
//! everything that is passed by value. So a closure is passed by its address, straight from the
//! argument of the public function ([`Argument`]), and one in a box is called in place, which only
//! `Box<F>` can do; a result is written through the address of its place. Small and large are told
//! apart by choosing functions, not by branches: in a debug build even a branch that is never taken
//! needs room on the stack.

use core::any::Any;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use std::alloc::{Layout, handle_alloc_error};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::G;
use crate::fatal::fatal;

/// What [`JoinHandle::join`](crate::JoinHandle::join) returns as its error when the goroutine ended
/// by [`goexit`](crate::runtime::goexit).
///
/// ```
/// use gosched::runtime::{Goexit, goexit};
///
/// gosched::run(|| {
///     let error = gosched::go(|| goexit()).join().unwrap_err();
///     assert!(error.is::<Goexit>());
/// });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Goexit;

impl fmt::Display for Goexit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the goroutine ended itself with goexit")
    }
}

impl std::error::Error for Goexit {}

/// What `join` returns.
pub(crate) type JoinOutcome<T> = Result<T, Box<dyn Any + Send + 'static>>;

/// Closures and results up to this size lie inside the header.
pub(crate) const INLINE: usize = 80;

/// The room inside the header.
#[repr(C, align(16))]
pub(crate) struct Payload([MaybeUninit<u8>; INLINE]);

impl Payload {
    pub(crate) const fn empty() -> Payload {
        Payload([MaybeUninit::uninit(); INLINE])
    }
}

/// Whether an `X` does not fit inside the header.
pub(crate) const fn is_large<X>() -> bool {
    size_of::<X>() > INLINE || align_of::<X>() > align_of::<Payload>()
}

/// The address of a closure that is a function's argument: it is moved out from there, once.
///
/// The function that has it must [forget](core::mem::forget) it afterwards, and not unwind in
/// between.
pub(crate) struct Argument<F>(*const F);

impl<F> Argument<F> {
    /// # Safety
    /// The value is used while `f` is there, to move it out, once; the owner of `f` neither uses
    /// nor drops it afterwards.
    pub(crate) unsafe fn new(f: &F) -> Argument<F> {
        Argument(f)
    }

    /// Moves it to `place`.
    ///
    /// # Safety
    /// `place` is valid for writing an `F`, and holds none.
    unsafe fn move_to(self, place: *mut F) {
        // SAFETY: by the contracts of both.
        unsafe { core::ptr::copy_nonoverlapping(self.0, place, 1) };
    }

    /// Moves it out, by value: for small closures.
    pub(crate) fn take(self) -> F {
        // SAFETY: by the contract of `new`.
        unsafe { self.0.read() }
    }

    /// Moves it into a new box.
    pub(crate) fn take_boxed(self) -> Box<F> {
        let mut boxed = Box::<F>::new_uninit();
        // SAFETY: the box is new.
        unsafe {
            self.move_to(boxed.as_mut_ptr());
            boxed.assume_init()
        }
    }
}

/// How a closure ended, and what it left.
#[repr(C)]
struct StoredOutcome<T> {
    end: TaskEnd,
    left: OutcomeValue<T>,
}

#[derive(Clone, Copy)]
enum TaskEnd {
    Returned,
    Panicked,
}

#[repr(C)]
union OutcomeValue<T> {
    value: ManuallyDrop<T>,
    panic: ManuallyDrop<Box<dyn Any + Send + 'static>>,
}

/// What the runtime can do with a payload without knowing its types.
pub(crate) struct TaskVtable {
    run: unsafe fn(*mut Payload),
    drop_outcome: unsafe fn(*mut Payload) -> Ending,
    drop_closure: unsafe fn(*mut Payload),
}

struct Typed<F, T>(F, T);

impl<F: FnOnce() -> T, T> Typed<F, T> {
    const VTABLE: TaskVtable = TaskVtable {
        run: if is_large::<F>() { run_boxed::<F, T> } else { run_inside::<F, T> },
        drop_outcome: drop_outcome::<T>,
        drop_closure: if is_large::<F>() { drop_boxed::<F> } else { drop_inside::<F> },
    };
}

/// Runs a closure that lies in the payload.
///
/// # Safety
/// It does, and nobody else uses it.
unsafe fn run_inside<F: FnOnce() -> T, T>(payload: *mut Payload) {
    // SAFETY: by contract the closure is there; reading it moves it out, and it is not touched
    // there again.
    let closure = unsafe { payload.cast::<F>().read() };
    // SAFETY: the payload is empty now.
    unsafe { run_to_end(payload, closure) };
}

/// Runs a closure whose box lies in the payload, inside the box.
///
/// # Safety
/// As for [`run_inside`].
unsafe fn run_boxed<F: FnOnce() -> T, T>(payload: *mut Payload) {
    // SAFETY: as in `run_inside`.
    let closure = unsafe { payload.cast::<Box<F>>().read() };
    // SAFETY: the payload is empty now.
    unsafe { run_to_end(payload, closure) };
}

/// Runs the closure and leaves its outcome in the payload; a panic is caught, `goexit` too.
///
/// # Safety
/// The payload is the caller's, and empty.
#[inline(always)]
unsafe fn run_to_end<F: FnOnce() -> T, T>(payload: *mut Payload, closure: F) {
    // SAFETY: by contract.
    let place = unsafe { make_place::<T>(payload) };
    // SAFETY: the place is for an outcome, and empty.
    let value = unsafe { &raw mut (*place).left.value };
    // SAFETY: as above.
    let run = || unsafe { value.cast::<T>().write(closure()) };
    let end = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(()) => TaskEnd::Returned,
        Err(panic) => {
            // SAFETY: nothing was written.
            unsafe { (&raw mut (*place).left.panic).write(ManuallyDrop::new(panic)) };
            TaskEnd::Panicked
        }
    };
    // SAFETY: as above.
    unsafe { (&raw mut (*place).end).write(end) };
}

/// Room for an outcome: the payload itself, or a new box that it then holds.
///
/// # Safety
/// The payload is the caller's, and empty.
unsafe fn make_place<T>(payload: *mut Payload) -> *mut StoredOutcome<T> {
    if !is_large::<StoredOutcome<T>>() {
        return payload.cast();
    }
    let place = allocate::<StoredOutcome<T>>();
    // SAFETY: by contract.
    unsafe { payload.cast::<*mut StoredOutcome<T>>().write(place) };
    place
}

/// Where the outcome is.
///
/// # Safety
/// The payload holds one of a `T`.
unsafe fn place<T>(payload: *mut Payload) -> *mut StoredOutcome<T> {
    if is_large::<StoredOutcome<T>>() {
        // SAFETY: by contract, as `make_place` left it.
        unsafe { payload.cast::<*mut StoredOutcome<T>>().read() }
    } else {
        payload.cast()
    }
}

/// Frees the box of an outcome that was moved out, if there is one, when dropped.
struct Emptied<T>(*mut StoredOutcome<T>);

impl<T> Drop for Emptied<T> {
    fn drop(&mut self) {
        if is_large::<StoredOutcome<T>>() {
            // SAFETY: made by `make_place`, and empty.
            drop(unsafe { Box::from_raw(self.0.cast::<MaybeUninit<StoredOutcome<T>>>()) });
        }
    }
}

/// Memory for an `X`, which has a size.
fn allocate<X>() -> *mut X {
    let layout = Layout::new::<X>();
    // SAFETY: what is large has a size.
    let memory = unsafe { std::alloc::alloc(layout) };
    if memory.is_null() {
        handle_alloc_error(layout);
    }
    memory.cast()
}

/// How a goroutine ended whose result nobody took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Ending {
    /// By returning, or by `goexit`.
    Orderly,
    /// By a panic.
    Panic,
}

/// # Safety
/// The payload holds an outcome that nobody else uses.
unsafe fn drop_outcome<T>(payload: *mut Payload) -> Ending {
    // SAFETY: by contract.
    let place = unsafe { place::<T>(payload) };
    let _emptied = Emptied(place);
    // SAFETY: by contract; where it lies, once.
    let dropped = catch_unwind(AssertUnwindSafe(|| unsafe {
        match (*place).end {
            TaskEnd::Returned => {
                ManuallyDrop::drop(&mut (*place).left.value);
                Ending::Orderly
            }
            TaskEnd::Panicked => {
                let orderly = (*place).left.panic.is::<Goexit>();
                ManuallyDrop::drop(&mut (*place).left.panic);
                if orderly { Ending::Orderly } else { Ending::Panic }
            }
        }
    }));
    dropped.unwrap_or_else(|_| fatal!("the result of a goroutine panicked when it was dropped"))
}

/// # Safety
/// The payload holds an `F` that nobody else uses.
unsafe fn drop_inside<F>(payload: *mut Payload) {
    // SAFETY: by contract.
    unsafe { payload.cast::<F>().drop_in_place() };
}

/// # Safety
/// The payload holds the box of an `F` that nobody else uses.
unsafe fn drop_boxed<F>(payload: *mut Payload) {
    // SAFETY: by contract.
    drop(unsafe { payload.cast::<Box<F>>().read() });
}

/// Room for a closure outside the header, when it needs any: allocated before the runtime is
/// entered, because the allocator may be the user's code.
pub(crate) struct ClosureRoom<F, T> {
    heap: *mut F,
    task: PhantomData<T>,
}

impl<F: FnOnce() -> T, T> ClosureRoom<F, T> {
    #[inline]
    pub(crate) fn new() -> ClosureRoom<F, T> {
        let heap = if is_large::<F>() { allocate() } else { core::ptr::null_mut() };
        ClosureRoom { heap, task: PhantomData }
    }

    /// Puts the closure into the payload, or its box.
    ///
    /// # Safety
    /// The header is the caller's alone and its payload is empty. Everything that `f` borrows
    /// outlives the goroutine.
    #[inline]
    pub(crate) unsafe fn store(self, g: &G, f: Argument<F>) {
        let payload = g.payload.get();
        let place: *mut F = match is_large::<F>() {
            false => payload.cast(),
            true => {
                // SAFETY: the payload has room for a pointer, and is ours. What it points at is a
                // `Box<F>` when it is filled.
                unsafe { payload.cast::<*mut F>().write(self.heap) };
                self.heap
            }
        };
        // SAFETY: the place is for an F, and empty.
        unsafe { f.move_to(place) };
        g.vtable.set(Some(const { &Typed::<F, T>::VTABLE }));
    }
}

fn vtable(g: &G) -> &'static TaskVtable {
    g.vtable.get().unwrap_or_else(|| fatal!("goroutine {} has no task", g.id()))
}

/// Runs the closure on the calling goroutine.
///
/// # Safety
/// The caller runs as `g`, whose payload holds the closure.
pub(crate) unsafe fn run_closure(g: &G) {
    // SAFETY: by contract.
    unsafe { (vtable(g).run)(g.payload.get()) }
}

/// Drops a result that nobody wants. Runs user code.
///
/// # Safety
/// The result is there and the caller's (see `JoinWord`).
pub(crate) unsafe fn drop_result(g: &G) -> Ending {
    // SAFETY: by contract.
    let ending = unsafe { (vtable(g).drop_outcome)(g.payload.get()) };
    g.vtable.set(None);
    ending
}

/// Drops a closure that will never run. Runs user code.
///
/// # Safety
/// The payload holds the closure and is the caller's.
pub(crate) unsafe fn drop_unrun(g: &G) {
    // SAFETY: by contract.
    unsafe { (vtable(g).drop_closure)(g.payload.get()) };
    g.vtable.set(None);
}

/// Takes the result.
///
/// # Safety
/// The result is there and the caller's, and it is that of a closure that returns a `T`.
pub(crate) unsafe fn take_result<T>(g: &G) -> JoinOutcome<T> {
    g.vtable.set(None);
    // SAFETY: by contract.
    let place = unsafe { place::<T>(g.payload.get()) };
    let _emptied = Emptied(place);
    // SAFETY: by contract; read once.
    unsafe {
        match (*place).end {
            TaskEnd::Returned => Ok((&raw const (*place).left.value).cast::<T>().read()),
            TaskEnd::Panicked => Err(ManuallyDrop::into_inner((&raw const (*place).left.panic).read())),
        }
    }
}
