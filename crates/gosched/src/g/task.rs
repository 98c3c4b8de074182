//! A goroutine's closure, and later its result, inside its header if small, else in one box (D4, S12).
//!
//! Invariant: the slot holds the closure from `store` to `run`, nothing while the closure runs, and the result from
//! its end until `take` or `drop_result`. After that the box, if there is one, is freed. Whose turn it is follows
//! from the status and from the G's `JoinWord`.

use core::alloc::Layout;
use core::any::Any;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::G;
use crate::fatal::fatal;
use crate::runtime::Goexit;

/// What `join` returns.
pub(crate) type Outcome<T> = Result<T, Box<dyn Any + Send + 'static>>;

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

/// Closure first, result later, at the same address.
#[repr(C)]
union Slot<F, T> {
    closure: ManuallyDrop<F>,
    outcome: ManuallyDrop<Outcome<T>>,
}

/// What the runtime can do with a slot without knowing its types.
pub(crate) struct TaskVtable {
    run: unsafe fn(*mut u8),
    drop_outcome: unsafe fn(*mut u8) -> Ending,
    drop_closure: unsafe fn(*mut u8),
    boxed: Option<Layout>,
}

struct Typed<F, T>(F, T);

impl<F: FnOnce() -> T, T> Typed<F, T> {
    const LAYOUT: Layout = Layout::new::<Slot<F, T>>();
    const VTABLE: TaskVtable = TaskVtable {
        run: run::<F, T>,
        drop_outcome: drop_outcome::<T>,
        drop_closure: drop_closure::<F>,
        boxed: if Self::LAYOUT.size() <= INLINE && Self::LAYOUT.align() <= align_of::<Payload>() {
            None
        } else {
            Some(Self::LAYOUT)
        },
    };
}

/// Runs the closure and leaves its outcome in its place; a panic is caught, `goexit` too.
///
/// # Safety
/// `slot` holds an `F` that nobody else uses.
unsafe fn run<F: FnOnce() -> T, T>(slot: *mut u8) {
    let slot: *mut Slot<F, T> = slot.cast();
    // SAFETY: by contract the closure is there; reading it moves it out, and it is not touched in the slot again.
    let closure = unsafe { ManuallyDrop::into_inner((&raw const (*slot).closure).read()) };
    let outcome = catch_unwind(AssertUnwindSafe(closure));
    // SAFETY: the slot is empty now and has room for either.
    unsafe { (&raw mut (*slot).outcome).write(ManuallyDrop::new(outcome)) };
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
/// `slot` holds an outcome that nobody else uses.
unsafe fn drop_outcome<T>(slot: *mut u8) -> Ending {
    // SAFETY: by contract.
    let outcome = unsafe { slot.cast::<Outcome<T>>().read() };
    let ending = match &outcome {
        Err(payload) if !payload.is::<Goexit>() => Ending::Panic,
        _ => Ending::Orderly,
    };
    if catch_unwind(AssertUnwindSafe(move || drop(outcome))).is_err() {
        fatal!("the result of a goroutine panicked when it was dropped");
    }
    ending
}

/// # Safety
/// `slot` holds an `F` that nobody else uses.
unsafe fn drop_closure<F>(slot: *mut u8) {
    // SAFETY: by contract.
    drop(unsafe { slot.cast::<F>().read() });
}

/// Room for a closure outside the header, when it needs any: allocated before the runtime is entered, because an
/// allocator is somebody else's code.
pub(crate) struct Room<F, T> {
    heap: *mut u8,
    task: PhantomData<(F, T)>,
}

impl<F: FnOnce() -> T, T> Room<F, T> {
    #[inline]
    pub(crate) fn new() -> Room<F, T> {
        let heap = match Typed::<F, T>::VTABLE.boxed {
            None => core::ptr::null_mut(),
            Some(layout) => {
                // SAFETY: what does not fit inside the header, or asks for a larger alignment, has a size: a union
                // with an `Outcome` is never zero-sized.
                let heap = unsafe { std::alloc::alloc(layout) };
                if heap.is_null() {
                    std::alloc::handle_alloc_error(layout);
                }
                heap
            }
        };
        Room { heap, task: PhantomData }
    }

    /// Puts the closure into the slot.
    ///
    /// # Safety
    /// The header is the caller's alone and its slot is empty. Everything that `f` borrows outlives the goroutine.
    #[inline]
    pub(crate) unsafe fn store(self, g: &G, f: F) {
        let inside = g.payload.get();
        let slot: *mut F = match Typed::<F, T>::VTABLE.boxed {
            None => inside.cast(),
            Some(_) => {
                // SAFETY: the payload has room for a pointer, and is ours.
                unsafe { inside.cast::<*mut u8>().write(self.heap) };
                self.heap.cast()
            }
        };
        // SAFETY: the slot has room for an F, being as large as the larger of F and its outcome.
        unsafe { slot.write(f) };
        g.vtable.set(Some(const { &Typed::<F, T>::VTABLE }));
    }
}

fn vtable(g: &G) -> &'static TaskVtable {
    g.vtable.get().unwrap_or_else(|| fatal!("goroutine {} has no task", g.id()))
}

/// Where the closure or the result lies.
fn slot(g: &G) -> *mut u8 {
    let inside = g.payload.get();
    match vtable(g).boxed {
        None => inside.cast(),
        // SAFETY: a boxed task keeps its box's address in the payload.
        Some(_) => unsafe { inside.cast::<*mut u8>().read() },
    }
}

/// Runs the closure on the calling goroutine.
///
/// # Safety
/// The caller runs as `g`, whose slot holds the closure.
pub(crate) unsafe fn run_closure(g: &G) {
    // SAFETY: by contract.
    unsafe { (vtable(g).run)(slot(g)) }
}

/// Drops a result that nobody wants. Runs user code.
///
/// # Safety
/// The result is there and the caller's (see `JoinWord`).
pub(crate) unsafe fn drop_result(g: &G) -> Ending {
    // SAFETY: by contract.
    unsafe {
        let ending = (vtable(g).drop_outcome)(slot(g));
        free_box(g);
        ending
    }
}

/// Drops a closure that will never run. Runs user code.
///
/// # Safety
/// The slot holds the closure and is the caller's.
pub(crate) unsafe fn drop_unrun(g: &G) {
    // SAFETY: by contract.
    unsafe {
        (vtable(g).drop_closure)(slot(g));
        free_box(g);
    }
}

/// Takes the result.
///
/// # Safety
/// The result is there and the caller's, and it is an `Outcome<T>`.
pub(crate) unsafe fn take_result<T>(g: &G) -> Outcome<T> {
    // SAFETY: by contract.
    unsafe {
        let outcome = slot(g).cast::<Outcome<T>>().read();
        free_box(g);
        outcome
    }
}

/// # Safety
/// The slot is empty and the caller's.
unsafe fn free_box(g: &G) {
    if let Some(layout) = vtable(g).boxed {
        // SAFETY: allocated by `Room::new` with this layout; emptied by the caller.
        unsafe { std::alloc::dealloc(slot(g), layout) };
    }
    g.vtable.set(None);
}
