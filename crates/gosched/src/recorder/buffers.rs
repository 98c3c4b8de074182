//! The memory of a recorder: a fixed number of buffers, mapped once. Streams fill them, the tracer
//! empties them.
//!
//! Invariants: a buffer has one holder: the list of free ones, a stream, the queue of full ones, or
//! the tracer. Nothing here allocates or waits for more than the lock, so streams may come from
//! inside the runtime. When all buffers are in use a stream gets none: the generation is lost, and
//! the scheduler goes on.

use core::ptr::NonNull;

use gosched_primitives::Lock;

use crate::sys::mem;

/// The size of a buffer.
pub(crate) const BUFFER_BYTES: usize = 16 << 10;
/// How many there are.
const BUFFERS: usize = 4096;
/// The most memory that all of them take.
pub(crate) const MOST_BYTES: usize = BUFFER_BYTES * BUFFERS;

/// A buffer that somebody holds.
pub(crate) type TraceBuffer = &'static mut [u8];

/// A batch that is complete.
pub(crate) struct FullBuffer {
    pub(crate) generation: u64,
    pub(crate) buffer: TraceBuffer,
    /// How many bytes of it are filled.
    pub(crate) len: usize,
}

/// The number of a buffer.
type Index = u16;

struct BufferPool {
    base: Option<NonNull<u8>>,
    /// Of this many buffers each has been in use; the others were never touched.
    touched: usize,
    free: [Index; BUFFERS],
    free_len: usize,
    /// A ring of full ones, the first at `full_at`.
    full: [(Index, u16, u64); BUFFERS],
    full_at: usize,
    full_len: usize,
}

// SAFETY: the memory that `base` points to belongs to whoever holds a buffer, not to a thread.
unsafe impl Send for BufferPool {}

static POOL: Lock<BufferPool> = Lock::new(BufferPool {
    base: None,
    touched: 0,
    free: [0; BUFFERS],
    free_len: 0,
    full: [(0, 0, 0); BUFFERS],
    full_at: 0,
    full_len: 0,
});

impl BufferPool {
    /// # Safety
    /// Nobody else holds the buffer of this number.
    unsafe fn buffer(&self, index: Index) -> Option<TraceBuffer> {
        let at = usize::from(index) * BUFFER_BYTES;
        // SAFETY: inside the mapping, which stays for ever; by contract no other reference to these
        // bytes exists.
        self.base.map(|base| unsafe { core::slice::from_raw_parts_mut(base.as_ptr().add(at), BUFFER_BYTES) })
    }

    fn index(&self, buffer: &TraceBuffer) -> Index {
        let base = self.base.map_or(0, |base| base.as_ptr().addr());
        ((buffer.as_ptr().addr() - base) / BUFFER_BYTES) as Index
    }
}

/// Makes sure that there is memory. `false` if the system has none.
pub(crate) fn prepare() -> bool {
    let mut pool = POOL.lock();
    if pool.base.is_none() {
        pool.base = mem::map_forever(MOST_BYTES);
    }
    pool.base.is_some()
}

/// An empty buffer; `None` if all are in use.
pub(crate) fn take() -> Option<TraceBuffer> {
    let mut pool = POOL.lock();
    let index = if pool.free_len > 0 {
        pool.free_len -= 1;
        pool.free[pool.free_len]
    } else if pool.touched < BUFFERS {
        pool.touched += 1;
        (pool.touched - 1) as Index
    } else {
        return None;
    };
    // SAFETY: it was on the list of free ones, or never in use.
    unsafe { pool.buffer(index) }
}

/// Hands a complete batch to the tracer.
pub(crate) fn hand_in(full: FullBuffer) {
    let mut pool = POOL.lock();
    let index = pool.index(&full.buffer);
    let at = (pool.full_at + pool.full_len) % BUFFERS;
    // A batch is never longer than its buffer; there are as many places as buffers.
    pool.full[at] = (index, full.len as u16, full.generation);
    pool.full_len += 1;
}

/// The batch that was handed in first, if there is one.
pub(crate) fn first_full() -> Option<FullBuffer> {
    let mut pool = POOL.lock();
    if pool.full_len == 0 {
        return None;
    }
    let (index, len, generation) = pool.full[pool.full_at];
    pool.full_at = (pool.full_at + 1) % BUFFERS;
    pool.full_len -= 1;
    // SAFETY: the stream that handed it in has given it up, and the queue gives it back once.
    let buffer = unsafe { pool.buffer(index) }?;
    Some(FullBuffer { generation, buffer, len: usize::from(len) })
}

/// Takes a buffer back.
pub(crate) fn give_back(buffer: TraceBuffer) {
    let mut pool = POOL.lock();
    let index = pool.index(&buffer);
    let at = pool.free_len;
    pool.free[at] = index;
    pool.free_len += 1;
}
