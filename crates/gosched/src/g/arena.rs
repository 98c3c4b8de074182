//! Where headers come from: chunks that double in size, mapped once and never given back (S5, D4).
//!
//! Invariants: a chunk's pointer is published after the chunk is mapped and never changes; `used`
//! grows only under the lock, after the headers below it were made idle. So anyone may walk all Gs
//! at any time without stopping allocation: up to `used`, each is a header that is, was or will be
//! a goroutine.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use gosched_primitives::{List, Lock};

use super::G;
use crate::fatal::fatal;
use crate::sys::mem;

/// Headers in the first chunk; chunk `i` has `FIRST << i`.
const FIRST: usize = 256;
const CHUNKS: usize = 32;
/// Chunks of at least this size use large pages.
const LARGE: usize = 8 << 20;
/// Fresh headers handed out at a time.
const BATCH: usize = 32;

pub(crate) struct Arena {
    chunks: [AtomicPtr<G>; CHUNKS],
    used: AtomicUsize,
    growing: Lock<()>,
}

impl Arena {
    pub(crate) const fn new() -> Arena {
        Arena {
            chunks: [const { AtomicPtr::new(core::ptr::null_mut()) }; CHUNKS],
            used: AtomicUsize::new(0),
            growing: Lock::new(()),
        }
    }

    /// Adds a batch of headers that were never used to `list`.
    pub(crate) fn fresh(&self, list: &mut List<G>) {
        let _growing = self.growing.lock();
        let start = self.used.load(Ordering::Relaxed);
        for index in start..start + BATCH {
            let (chunk, offset) = place(index);
            let mut base = self.chunks[chunk].load(Ordering::Relaxed);
            if base.is_null() {
                base = map_chunk(chunk);
                // ORDERING: Release pairs with the Acquire in `iter`: a thread that sees the
                // pointer sees the chunk mapped.
                self.chunks[chunk].store(base, Ordering::Release);
            }
            // SAFETY: `offset` is inside the chunk; this header was never handed out, so it is
            // nobody's and in no list.
            unsafe {
                let header = base.add(offset);
                header.write(G::idle());
                list.push_back(NonNull::new_unchecked(header));
            }
        }
        // ORDERING: Release pairs with the Acquire in `iter`: the chunks below `used` are
        // published.
        self.used.store(start + BATCH, Ordering::Release);
    }

    /// Every header that was handed out, in use or not.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static G> + '_ {
        // ORDERING: Acquire pairs with the Release in `fresh`.
        let used = self.used.load(Ordering::Acquire);
        (0..used).map(|index| {
            let (chunk, offset) = place(index);
            // ORDERING: Acquire pairs with the Release in `fresh`.
            let base = self.chunks[chunk].load(Ordering::Acquire);
            // SAFETY: below `used` the chunk is mapped for ever, and the header was written.
            unsafe { &*base.add(offset) }
        })
    }
}

/// The chunk of header `index`, and its place there.
fn place(index: usize) -> (usize, usize) {
    let chunk = (index / FIRST + 1).ilog2() as usize;
    (chunk, index - FIRST * ((1 << chunk) - 1))
}

fn map_chunk(chunk: usize) -> *mut G {
    let headers = FIRST << chunk;
    match mem::map_forever(headers * size_of::<G>()) {
        Some(base) => {
            if headers * size_of::<G>() >= LARGE {
                mem::prefer_large_pages(base, headers * size_of::<G>());
            }
            base.as_ptr().cast()
        }
        None => fatal!(
            "out of memory for goroutine headers ({} MiB wanted): raise the memory limit or run fewer goroutines",
            (headers * size_of::<G>()) >> 20
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S5: indices map to chunk and place one to one, in order.
    #[test]
    fn places_are_contiguous() {
        let mut expected = (0, 0);
        for index in 0..100_000 {
            assert_eq!(place(index), expected);
            expected.1 += 1;
            if expected.1 == FIRST << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }

    /// S5: what was handed out is what is listed, and fresh headers are idle.
    #[test]
    fn lists_what_was_handed_out() {
        let arena = Arena::new();
        let mut list = List::new();
        for _ in 0..40 {
            arena.fresh(&mut list);
        }
        let mut listed = arena.iter();
        while let Some(g) = list.pop_front() {
            let next = listed.next().unwrap();
            assert!(core::ptr::eq(g.as_ptr(), next));
            assert_eq!(next.status(), gosched_primitives::Status::Idle);
        }
        assert!(listed.next().is_none());
    }
}
