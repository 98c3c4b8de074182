//! A place for one value whose type only its operation knows: where a selection receives.
//!
//! Invariant: the slot owns the memory, which is within it, or, for a large value, on the heap.
//! While somebody has a pointer into it, the slot is not moved.
#![allow(unsafe_code)]

use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use std::alloc::{alloc, dealloc, handle_alloc_error};

/// The number of words within the slot.
const WORDS: usize = 8;

#[repr(align(16))]
struct Inline([MaybeUninit<u64>; WORDS]);

pub(super) struct ValueSlot {
    inline: Inline,
    heap: Option<(NonNull<u8>, Layout)>,
}

impl ValueSlot {
    /// A slot for values of `layout`. Allocates if they are large.
    pub(super) fn new(layout: Layout) -> ValueSlot {
        let fits = layout.size() <= size_of::<Inline>() && layout.align() <= align_of::<Inline>();
        let heap = (!fits).then(|| {
            // `alloc` takes no size of 0: that of a value without a size that is aligned beyond
            // `Inline`.
            let layout = if layout.size() == 0 { layout_of_one(layout) } else { layout };
            // SAFETY: not of size 0.
            let memory = unsafe { alloc(layout) };
            (NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout)), layout)
        });
        ValueSlot { inline: Inline([const { MaybeUninit::uninit() }; WORDS]), heap }
    }

    pub(super) fn as_ptr(&mut self) -> *mut () {
        match self.heap {
            Some((memory, _)) => memory.as_ptr().cast(),
            None => self.inline.0.as_mut_ptr().cast(),
        }
    }

    /// # Safety
    /// It holds a `T`, which is moved out of it.
    pub(super) unsafe fn take<T>(&mut self) -> T {
        // SAFETY: by contract; size and alignment are those of the operation's type.
        unsafe { self.as_ptr().cast::<T>().read() }
    }
}

/// A layout with the alignment of `layout`, and that as its size.
fn layout_of_one(layout: Layout) -> Layout {
    Layout::from_size_align(layout.align(), layout.align()).unwrap_or(layout)
}

impl Drop for ValueSlot {
    fn drop(&mut self) {
        if let Some((memory, layout)) = self.heap {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(memory.as_ptr(), layout) };
        }
    }
}
