//! What a channel holds: a ring, and, if there is more than fits, a chain of further rings.
//!
//! A bounded channel has one ring of its capacity from the start. An unbounded one begins without;
//! it grows by rings, which are allocated outside the lock and handed in ([`Buffer::supply`]):
//! nothing here allocates or frees while values go in and out. An emptied ring that the chain
//! replaces becomes the spare; the spare from before, if there is one, becomes garbage, to be freed
//! outside the lock.
//!
//! Invariants: a chain hangs behind a ring that is not empty. Values are taken from `ring`; when it
//! is empty, the first ring of the chain takes its place. They are put into the chain's last ring,
//! which is `ring` if there is no chain; only `push_front` puts them into `ring` before a chain.
//! `len` is the number of values in all rings.

use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Slots of the first ring of an unbounded channel.
const FIRST: usize = 16;
/// Rings grow up to about this many bytes, or `FIRST` slots: a channel that was long once keeps two
/// of them.
const MOST_BYTES: usize = 16 * 1024;

/// Memory for some values.
#[derive(Debug)]
struct ValueRing<T> {
    slots: Box<[MaybeUninit<T>]>,
    head: usize,
    len: usize,
}

impl<T> ValueRing<T> {
    fn new(slots: usize) -> ValueRing<T> {
        ValueRing { slots: Box::new_uninit_slice(slots), head: 0, len: 0 }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.len == self.slots.len()
    }

    /// The slot `n` places behind the head; `n` is less than the number of slots.
    #[inline]
    fn slot(&mut self, n: usize) -> *mut T {
        let mut at = self.head + n;
        if at >= self.slots.len() {
            at -= self.slots.len();
        }
        debug_assert!(at < self.slots.len());
        // SAFETY: `head` and `n` are less than the number of slots.
        unsafe { self.slots.get_unchecked_mut(at) }.as_mut_ptr()
    }

    /// # Safety
    /// Not full; the value is moved out of `value`.
    #[inline]
    unsafe fn push(&mut self, value: *const T) {
        let slot = self.slot(self.len);
        // SAFETY: the slot is free, and the value the caller's to move.
        unsafe { slot.copy_from_nonoverlapping(value, 1) };
        self.len += 1;
    }

    /// # Safety
    /// As for `push`.
    unsafe fn push_front(&mut self, value: *const T) {
        self.head = if self.head == 0 { self.slots.len() - 1 } else { self.head - 1 };
        let slot = self.slot(0);
        // SAFETY: the slot is free, and the value the caller's to move.
        unsafe { slot.copy_from_nonoverlapping(value, 1) };
        self.len += 1;
    }

    /// # Safety
    /// Not empty; `into` may be written to.
    #[inline]
    unsafe fn pop(&mut self, into: *mut T) {
        let slot = self.slot(0);
        // SAFETY: the slot holds a value, which is moved out of it.
        unsafe { into.copy_from_nonoverlapping(slot, 1) };
        self.head = if self.head + 1 == self.slots.len() { 0 } else { self.head + 1 };
        self.len -= 1;
    }
}

/// A ring on its way into a buffer or out of it.
#[derive(Debug)]
pub struct Room<T> {
    ring: ValueRing<T>,
    next: *mut Room<T>,
}

// SAFETY: a room is memory and the values in it.
unsafe impl<T: Send> Send for Room<T> {}

impl<T> Room<T> {
    /// Room for `slots` values. Allocates.
    pub fn new(slots: usize) -> Box<Room<T>> {
        Box::new(Room { ring: ValueRing::new(slots), next: null_mut() })
    }
}

impl<T> Drop for Room<T> {
    /// Frees the rooms that are chained behind it. A room that is dropped holds no values.
    fn drop(&mut self) {
        let mut next = core::mem::replace(&mut self.next, null_mut());
        while let Some(room) = NonNull::new(next) {
            // SAFETY: chained rooms are owned by the one before them.
            let mut room = unsafe { Box::from_raw(room.as_ptr()) };
            next = core::mem::replace(&mut room.next, null_mut());
        }
    }
}

/// There is no memory for a value: supply this much and try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    /// How many slots to supply.
    pub slots: usize,
}

/// The values in a channel.
#[derive(Debug)]
pub struct Buffer<T> {
    ring: ValueRing<T>,
    len: usize,
    /// The chain behind `ring`: its first and its last.
    first: *mut Room<T>,
    last: *mut Room<T>,
    spare: Option<Box<Room<T>>>,
    garbage: Option<Box<Room<T>>>,
}

// SAFETY: a buffer is memory and the values in it.
unsafe impl<T: Send> Send for Buffer<T> {}

impl<T> Buffer<T> {
    /// A buffer with room for `slots` values. Allocates.
    pub fn new(slots: usize) -> Buffer<T> {
        Buffer {
            ring: ValueRing::new(slots),
            len: 0,
            first: null_mut(),
            last: null_mut(),
            spare: None,
            garbage: None,
        }
    }

    /// How many values there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// As [`push`](Buffer::push), if there is one ring and a free slot in it. Returns whether there
    /// was.
    ///
    /// # Safety
    /// As for [`push`](Buffer::push).
    #[inline(always)]
    pub(crate) unsafe fn push_simply(&mut self, value: *const T) -> bool {
        let simple = self.first.is_null() && !self.ring.is_full();
        if simple {
            // SAFETY: by contract, and not full.
            unsafe { self.ring.push(value) };
            self.len += 1;
        }
        simple
    }

    /// As [`pop`](Buffer::pop), if there is one ring and a value in it. Returns whether there was.
    ///
    /// # Safety
    /// As for [`pop`](Buffer::pop).
    #[inline(always)]
    pub(crate) unsafe fn pop_simply(&mut self, into: *mut T) -> bool {
        let simple = self.first.is_null() && self.len > 0;
        if simple {
            // SAFETY: by contract; all values are in `ring`.
            unsafe { self.ring.pop(into) };
            self.len -= 1;
        }
        simple
    }

    /// Moves a value in, behind all others.
    ///
    /// # Safety
    /// `value` may be read and its value moved. If this succeeds, it has been moved.
    #[inline]
    pub unsafe fn push(&mut self, value: *const T) -> Result<(), NoRoom> {
        if self.first.is_null() && !self.ring.is_full() {
            // SAFETY: by contract, and not full.
            unsafe { self.ring.push(value) };
        } else {
            // SAFETY: by contract.
            unsafe { self.push_chained(value)? };
        }
        self.len += 1;
        Ok(())
    }

    /// Gives a buffer that has no slots at all its first ring.
    fn begin(&mut self) -> Result<(), NoRoom> {
        let room = self.take_spare()?;
        // SAFETY: just taken, so ours alone.
        let mut room = unsafe { Box::from_raw(room.as_ptr()) };
        core::mem::swap(&mut self.ring, &mut room.ring);
        self.put_garbage(room);
        Ok(())
    }

    /// Puts a value behind those in the first ring, which is full, or there are more behind it:
    /// into the last ring of the chain, or a new one.
    ///
    /// # Safety
    /// As for [`push`](Buffer::push).
    #[cold]
    unsafe fn push_chained(&mut self, value: *const T) -> Result<(), NoRoom> {
        if self.ring.slots.is_empty() {
            self.begin()?;
            // SAFETY: by contract; the new ring has slots.
            unsafe { self.ring.push(value) };
            return Ok(());
        }
        // SAFETY: `last` belongs to the chain, or is null.
        if unsafe { self.last.as_ref() }.is_none_or(|last| last.ring.is_full()) {
            let room = self.take_spare()?;
            // SAFETY: as above.
            match unsafe { self.last.as_mut() } {
                Some(last) => last.next = room.as_ptr(),
                None => self.first = room.as_ptr(),
            }
            self.last = room.as_ptr();
        }
        // SAFETY: there is a last one, and it is not full; the rest by contract.
        unsafe { (*self.last).ring.push(value) };
        Ok(())
    }

    fn take_spare(&mut self) -> Result<NonNull<Room<T>>, NoRoom> {
        let Some(spare) = self.spare.take() else {
            // SAFETY: `last` belongs to the chain, or is null.
            let last =
                unsafe { self.last.as_ref() }.map_or(self.ring.slots.len(), |last| last.ring.slots.len());
            let most = (MOST_BYTES / size_of::<T>().max(1)).max(FIRST);
            return Err(NoRoom { slots: (last * 2).clamp(FIRST, most) });
        };
        Ok(NonNull::from(Box::leak(spare)))
    }

    /// Moves a value in, before all others.
    ///
    /// # Safety
    /// As for [`push`](Buffer::push).
    pub unsafe fn push_front(&mut self, value: *const T) -> Result<(), NoRoom> {
        if self.ring.slots.is_empty() {
            self.begin()?;
        } else if self.ring.is_full() {
            let mut room = self.take_spare()?;
            // SAFETY: just taken, so ours alone.
            let link = unsafe { room.as_mut() };
            core::mem::swap(&mut self.ring, &mut link.ring);
            link.next = self.first;
            self.first = room.as_ptr();
            if self.last.is_null() {
                self.last = room.as_ptr();
            }
        }
        // SAFETY: by contract, and not full.
        unsafe { self.ring.push_front(value) };
        self.len += 1;
        Ok(())
    }

    /// Moves the first value to `into`. Returns whether there was one.
    ///
    /// # Safety
    /// `into` may be written to.
    #[inline]
    pub unsafe fn pop(&mut self, into: *mut T) -> bool {
        if self.len == 0 {
            return false;
        }
        self.len -= 1;
        // SAFETY: by contract; `ring` is empty only if all are.
        unsafe { self.ring.pop(into) };
        if self.ring.len == 0 && !self.first.is_null() {
            self.unchain();
        }
        true
    }

    /// The chain's first ring takes the place of `ring`, which is empty.
    #[cold]
    fn unchain(&mut self) {
        // SAFETY: chained rooms are owned by the chain.
        let mut room = unsafe { Box::from_raw(self.first) };
        self.first = core::mem::replace(&mut room.next, null_mut());
        if self.first.is_null() {
            self.last = null_mut();
        }
        core::mem::swap(&mut self.ring, &mut room.ring);
        room.ring.head = 0;
        self.put_spare(room);
    }

    fn put_spare(&mut self, room: Box<Room<T>>) {
        if let Some(old) = self.spare.replace(room) {
            self.put_garbage(old);
        }
    }

    fn put_garbage(&mut self, mut room: Box<Room<T>>) {
        room.next = self.garbage.take().map_or(null_mut(), Box::into_raw);
        self.garbage = Some(room);
    }

    /// Takes memory for later values.
    pub fn supply(&mut self, room: Box<Room<T>>) {
        self.put_spare(room);
    }

    /// Whether there is memory that is not needed any more.
    pub(crate) fn has_garbage(&self) -> bool {
        self.garbage.is_some()
    }

    /// Memory that is not needed any more, to be dropped outside the lock.
    #[inline]
    pub fn take_garbage(&mut self) -> Option<Box<Room<T>>> {
        self.garbage.take()
    }

    /// Takes everything out, without allocating.
    pub fn take(&mut self) -> Buffer<T> {
        core::mem::replace(self, Buffer::new(0))
    }
}

impl<T> Drop for Buffer<T> {
    /// Drops the values that are left. If a destructor panics, the values behind are dropped all
    /// the same, since others may wait for what they hold; then the first panic is resumed.
    fn drop(&mut self) {
        let mut first = None;
        let mut value = MaybeUninit::uninit();
        // SAFETY: a value is written to `value`, and dropped once.
        while unsafe { self.pop(value.as_mut_ptr()) } {
            // SAFETY: as above.
            let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { value.assume_init_drop() }));
            match (dropped, &first) {
                (Ok(()), _) => {}
                (Err(panic), None) => first = Some(panic),
                // Forgotten, because the destructor of a panic's payload is foreign code, too.
                (Err(panic), Some(_)) => core::mem::forget(panic),
            }
        }
        if let Some(panic) = first {
            resume_unwind(panic);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::mem::ManuallyDrop;
    use std::rc::Rc;

    enum End {
        Back,
        Front,
    }

    fn put<T>(buffer: &mut Buffer<T>, value: T, end: End) {
        let value = ManuallyDrop::new(value);
        loop {
            // SAFETY: `value` is not used again after it was moved.
            let put = unsafe {
                match end {
                    End::Back => buffer.push(&*value),
                    End::Front => buffer.push_front(&*value),
                }
            };
            match put {
                Ok(()) => return,
                Err(NoRoom { slots }) => buffer.supply(Room::new(slots)),
            }
        }
    }

    fn take<T>(buffer: &mut Buffer<T>) -> Option<T> {
        let mut value = MaybeUninit::uninit();
        // SAFETY: read if it was written.
        unsafe { buffer.pop(value.as_mut_ptr()).then(|| value.assume_init()) }
    }

    #[test]
    fn first_in_first_out_however_it_grows() {
        for slots in [0, 1, 3] {
            let mut buffer = Buffer::new(slots);
            let (mut next, mut expected) = (0, 0);
            for round in 0..200usize {
                for _ in 0..(round * 7) % 60 {
                    put(&mut buffer, next, End::Back);
                    next += 1;
                }
                for _ in 0..(round * 5) % 50 {
                    match take(&mut buffer) {
                        Some(value) => assert_eq!(value, expected),
                        None => break,
                    }
                    expected += 1;
                }
                assert_eq!(buffer.len(), next - expected);
                drop(buffer.take_garbage());
            }
        }
    }

    #[test]
    fn what_is_put_back_comes_first() {
        let mut buffer = Buffer::new(2);
        put(&mut buffer, 3, End::Back);
        put(&mut buffer, 4, End::Back);
        put(&mut buffer, 2, End::Front);
        put(&mut buffer, 1, End::Front);
        put(&mut buffer, 5, End::Back);
        assert_eq!(std::iter::from_fn(|| take(&mut buffer)).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn values_that_are_left_are_dropped_once() {
        let value = Rc::new(());
        let mut buffer = Buffer::new(4);
        for _ in 0..100 {
            put(&mut buffer, Rc::clone(&value), End::Back);
        }
        drop(take(&mut buffer));
        let taken = buffer.take();
        assert_eq!((Rc::strong_count(&value), buffer.len()), (100, 0));
        drop(taken);
        assert_eq!(Rc::strong_count(&value), 1);
    }

    #[test]
    fn a_panicking_drop_keeps_no_other_from_being_dropped() {
        struct Bomb(Rc<()>);
        impl Drop for Bomb {
            fn drop(&mut self) {
                assert!(Rc::strong_count(&self.0) != 31, "a bomb");
            }
        }
        let value = Rc::new(());
        let mut buffer = Buffer::new(0);
        for _ in 0..50 {
            put(&mut buffer, Bomb(Rc::clone(&value)), End::Back);
        }
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(buffer))).unwrap_err();
        assert_eq!(Rc::strong_count(&value), 1);
    }
}
