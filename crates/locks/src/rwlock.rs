//! The reader-writer lock's words and lines (Go's, in its essentials).
//!
//! Writers compete for a [`Mutex`] among themselves, so they share its fairness. The writer that
//! has it announces itself in the state, which keeps new readers out, and waits until the present
//! readers have left. When it leaves, all readers that came meanwhile get in at once, before the
//! next writer can announce itself: so readers wait for one writer at most, and a writer for the
//! readers of one batch.
//!
//! ```text
//!   state   WRITER   a writer is in, or waits for the readers to leave: no reader gets in
//!           QUEUED   readers are in line (written under the lines' lock, while WRITER is set)
//!           the rest how many readers are in
//! ```
//!
//! Invariants:
//! - `WRITER` is set and cleared by the holder of `writers` only.
//! - While `WRITER` is set the number of readers only falls. The writer waits in its line only if
//!   it saw readers under the lines' lock. The reader that brings their number to 0 looks there,
//!   under that lock, and checks the state again: it may have come so late that another writer is
//!   waiting for other readers.

use gosched_primitives::Lock;
use gosched_primitives::sync::{AtomicU32, Ordering};

use crate::const_fn;
use crate::line::{Acquire, GRANTED, Line, LineEnd, LinePlace};
use crate::mutex::Mutex;

const WRITER: u32 = 1;
const QUEUED: u32 = 2;
const READER: u32 = 4;
/// With more readers than this in, no other gets in.
const MAX_READERS: u32 = (u32::MAX / READER) - 1;

/// The core of a reader-writer lock. `W` is how to wake a waiter.
///
/// A writer first locks [`writers`](RwLock::writers), then calls
/// [`begin_write`](RwLock::begin_write) and, if that returns `false`,
/// [`await_readers`](RwLock::await_readers). It leaves by [`end_write`](RwLock::end_write), and
/// unlocks `writers`.
///
/// ```
/// use gosched_locks::RwLock;
///
/// let lock: RwLock<std::thread::Thread> = RwLock::new();
/// assert_eq!(lock.try_read(), Ok(true));
/// assert!(!lock.try_begin_write());
/// assert!(!lock.end_read());
/// assert!(lock.try_begin_write());
/// assert_eq!(lock.try_read(), Ok(false));
/// assert!(lock.end_write().is_empty());
/// ```
pub struct RwLock<W> {
    writers: Mutex<W>,
    state: AtomicU32,
    lines: Lock<Lines<W>>,
}

/// The waiters, except writers that wait for each other.
pub struct Lines<W> {
    readers: Line<W>,
    /// At most one: the holder of `writers`.
    writer: Line<W>,
}

/// More readers than can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyReaders;

impl<W> RwLock<W> {
    const_fn! {
        /// A free lock.
        pub const fn new() -> RwLock<W> {
            RwLock {
                writers: Mutex::new(),
                state: AtomicU32::new(0),
                lines: Lock::new(Lines { readers: Line::new(), writer: Line::new() }),
            }
        }
    }

    /// What writers compete for.
    pub fn writers(&self) -> &Mutex<W> {
        &self.writers
    }

    /// Gets in as a reader, if no writer is in or waits for readers. Returns whether it did.
    ///
    /// # Errors
    ///
    /// If there are too many readers to count.
    #[inline]
    pub fn try_read(&self) -> Result<bool, TooManyReaders> {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & WRITER == 0 {
            if state / READER > MAX_READERS {
                return Err(TooManyReaders);
            }
            let entered = state + READER;
            // ORDERING: Acquire pairs with the Release with which a writer leaves.
            match self.state.compare_exchange_weak(state, entered, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(true),
                Err(now) => state = now,
            }
        }
        Ok(false)
    }

    /// Gets in as a reader, or gets a place in the line. A reader that is woken there is in.
    ///
    /// # Errors
    ///
    /// As for [`try_read`](RwLock::try_read).
    pub fn read(&self) -> Result<Acquire<'_, W, Lines<W>>, TooManyReaders> {
        let lines = self.lines.lock();
        loop {
            if self.try_read()? {
                return Ok(Acquire::Acquired);
            }
            let state = self.state.load(Ordering::Relaxed);
            // A writer that leaves does so by a compare-and-swap too, or under the lines' lock.
            if state & WRITER != 0
                && self
                    .state
                    .compare_exchange_weak(state, state | QUEUED, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok()
            {
                return Ok(Acquire::Wait(LinePlace::new(lines, |lines| &mut lines.readers, LineEnd::Back)));
            }
        }
    }

    /// Leaves, as a reader. Returns whether a writer may wait for this: then call
    /// [`wake_writer`](RwLock::wake_writer).
    #[inline]
    #[must_use]
    pub fn end_read(&self) -> bool {
        // ORDERING: Release pairs with the Acquires of the writer, which may write when we have
        // left.
        let before = self.state.fetch_sub(READER, Ordering::Release);
        before & WRITER != 0 && before < 2 * READER
    }

    /// If all readers have left, takes the writer that waits for them out of its line, for the
    /// caller to wake.
    pub fn wake_writer(&self) -> Option<W> {
        let mut lines = self.lines.lock();
        // ORDERING: Acquire, for the writer that is woken by this: pairs with the Release of
        // `end_read`.
        let state = self.state.load(Ordering::Acquire);
        if state & WRITER == 0 || state >= READER {
            return None;
        }
        let writer = lines.writer.pop();
        drop(lines);
        writer?.claim(GRANTED)
    }

    /// Announces the holder of `writers`: no reader gets in from here on. Returns whether none is
    /// in: then the writer has the lock.
    #[inline]
    #[must_use]
    pub fn begin_write(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `end_read`.
        self.state.fetch_or(WRITER, Ordering::Acquire) < READER
    }

    /// As [`begin_write`](RwLock::begin_write), but changes nothing and returns `false` if a reader
    /// is in.
    #[inline]
    #[must_use]
    pub fn try_begin_write(&self) -> bool {
        // ORDERING: as in `begin_write`.
        self.state.compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Whether the readers that an announced writer waits for have left.
    fn readers_have_left(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `end_read`.
        self.state.load(Ordering::Acquire) < READER
    }

    /// For an announced writer: returns the place where it waits for the last reader, unless all
    /// have left.
    pub fn await_readers(&self) -> Acquire<'_, W, Lines<W>> {
        let lines = self.lines.lock();
        if self.readers_have_left() {
            return Acquire::Acquired;
        }
        Acquire::Wait(LinePlace::new(lines, |lines| &mut lines.writer, LineEnd::Back))
    }

    /// Leaves, as the writer. Returns the readers that this lets in, to be woken. After that the
    /// caller unlocks `writers`.
    #[inline]
    pub fn end_write(&self) -> Line<W> {
        // ORDERING: Release pairs with the Acquires of readers and of the next writer.
        match self.state.compare_exchange(WRITER, 0, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => Line::new(),
            Err(_) => self.let_readers_in(0),
        }
    }

    /// As [`end_write`](RwLock::end_write), but the writer stays in as a reader.
    pub fn downgrade(&self) -> Line<W> {
        // ORDERING: Release pairs with the Acquires of readers.
        match self.state.compare_exchange(WRITER, READER, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => Line::new(),
            Err(_) => self.let_readers_in(READER),
        }
    }

    /// Lets all readers in line in; `stays` is the rest of the new state.
    #[cold]
    fn let_readers_in(&self, stays: u32) -> Line<W> {
        let mut lines = self.lines.lock();
        let readers = core::mem::take(&mut lines.readers);
        // ORDERING: Release pairs with the Acquires of readers and of the next writer. Nobody else
        // changes the state: no reader is in, and those who come wait for the lines' lock.
        self.state.store(stays + readers.len() * READER, Ordering::Release);
        readers
    }
}

impl<W> Default for RwLock<W> {
    fn default() -> RwLock<W> {
        RwLock::new()
    }
}
