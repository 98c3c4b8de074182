//! Waiters, of three kinds (D6): a goroutine, a foreign thread, an async task. Every blocking
//! primitive keeps [`Waiter`]s and knows nothing else of the scheduler; a
//! [`Caller`](crate::sched::Caller) makes them, [`Waiter::wake`] ends the wait. (`Waiter::wake`,
//! and the sleep that tells the monitor, are in `sched/park.rs`.)
//!
//! Invariants:
//! - A waiter is woken at most once, by whoever took it out of the primitive's queue. Waking is by
//!   value.
//! - Waking an async waiter runs foreign code: never under a lock of ours, never inside the
//!   runtime.

use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use core::task::Waker;
use core::time::Duration;
use std::sync::Arc;

use gosched_primitives::{Claim, Lock, Note, Outcome, TokenWord, Wake};

use super::G;
use crate::recorder;

/// Why a goroutine waits, in Go's words where Go has one (S48).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum WaitReason {
    None = 0,
    Join,
    Park,
    Future,
    Sleep,
    ChanReceive,
    ChanSend,
    Select,
    SelectNoCases,
    Mutex,
    RwLockRead,
    RwLockWrite,
    Condvar,
    WaitGroup,
    Semaphore,
    Barrier,
    Once,
    Io,
    StopTheWorld,
}

impl WaitReason {
    /// All of them, each at the index that is its number, with the text that a dump shows in
    /// brackets.
    const ALL: [(WaitReason, &str); 19] = [
        (WaitReason::None, ""),
        (WaitReason::Join, "join"),
        (WaitReason::Park, "park"),
        (WaitReason::Future, "future"),
        (WaitReason::Sleep, "sleep"),
        (WaitReason::ChanReceive, "chan receive"),
        (WaitReason::ChanSend, "chan send"),
        (WaitReason::Select, "select"),
        (WaitReason::SelectNoCases, "select (no cases)"),
        (WaitReason::Mutex, "sync.Mutex.Lock"),
        (WaitReason::RwLockRead, "sync.RWMutex.RLock"),
        (WaitReason::RwLockWrite, "sync.RWMutex.Lock"),
        (WaitReason::Condvar, "sync.Cond.Wait"),
        (WaitReason::WaitGroup, "sync.WaitGroup.Wait"),
        (WaitReason::Semaphore, "semacquire"),
        (WaitReason::Barrier, "barrier"),
        (WaitReason::Once, "sync.Once.Do"),
        (WaitReason::Io, "IO wait"),
        (WaitReason::StopTheWorld, "stopping the world"),
    ];

    /// The reason of this number.
    pub(crate) fn from_u8(n: u8) -> WaitReason {
        WaitReason::ALL.get(usize::from(n)).map_or(WaitReason::None, |(reason, _)| *reason)
    }

    /// The number of its text in a trace.
    pub(crate) fn string(self) -> u64 {
        recorder::wait_reason(self as u8)
    }

    /// All texts, with their numbers in a trace.
    pub(crate) fn strings() -> impl Iterator<Item = (u64, &'static str)> {
        WaitReason::ALL.into_iter().map(|(reason, text)| (reason.string(), text))
    }

    /// As shown in brackets by a dump.
    pub(crate) fn text(self) -> &'static str {
        WaitReason::ALL[self as usize].1
    }
}

/// Somebody who waits.
pub(crate) enum Waiter {
    /// A parked goroutine.
    Goroutine(NonNull<G>),
    /// A thread that is not ours.
    Thread(Arc<ThreadParker>),
    /// An async task.
    Async(Waker),
}

// SAFETY: the pointer is to a type-stable header, and only the waiter's one holder may wake it.
unsafe impl Send for Waiter {}

/// A wait that several may end: the first to claim it wakes the waiter.
pub(crate) type Ticket = Claim<Waiter>;

/// A ticket's outcome when its time ran out.
pub(crate) const TIMED_OUT: Outcome = Outcome::MIN;
/// A ticket's outcome when the context of whoever waits has ended.
pub(crate) const INTERRUPTED: Outcome = TIMED_OUT.saturating_add(1);
/// Outcomes from here on mean what the primitive defines.
pub(crate) const FIRST_OUTCOME: Outcome = TIMED_OUT.saturating_add(7);

/// To be told that a goroutine has ended, without waiting for it as a [`Waiter`] does.
pub(crate) trait Signal: Send + Sync {
    /// It has ended. Called outside the runtime, without any lock.
    fn raise(&self);
}

/// Who is to be told of a goroutine's end. On the heap; its alignment leaves bits of its address
/// for a tag.
#[repr(align(16))]
pub(crate) struct BoxedWaiter {
    pub(crate) waiter: Option<Waiter>,
    pub(crate) signal: Option<Arc<dyn Signal>>,
}

/// What we know of a foreign thread: the note on which it sleeps, its park token, its name. One per
/// thread.
pub(crate) struct ThreadParker {
    note: Note,
    /// Whether [`FOREIGN`] counts it. Written under that lock.
    counted: AtomicBool,
    /// The count of this parker that its waker has left to the thread ([`ThreadParker::wake`]).
    /// Written under the lock of [`FOREIGN`].
    left: AtomicPtr<ThreadParker>,
    pub(crate) token: TokenWord,
    pub(crate) id: u64,
    pub(crate) name: Option<Box<str>>,
}

/// The count of foreign threads that wait in our calls without a time limit: they can't end a
/// deadlock (S48).
///
/// Invariant: a thread that is counted has not been woken, and whoever wakes it uncounts it. So a
/// thread that can run is never taken for one that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    pub(crate) waiting: usize,
    /// How often that number has changed.
    pub(crate) changes: u64,
}

static FOREIGN: Lock<Foreign> = Lock::new(Foreign { waiting: 0, changes: 0 });

impl Foreign {
    pub(crate) fn now() -> Foreign {
        *FOREIGN.lock()
    }
}

/// The first id of foreign threads: far from those of goroutines.
const FOREIGN_IDS: u64 = 1 << 61;

impl ThreadParker {
    fn new() -> Arc<ThreadParker> {
        static IDS: AtomicU64 = AtomicU64::new(FOREIGN_IDS);
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        let name = std::thread::current().name().map(Box::from);
        Arc::new(ThreadParker {
            note: Note::new(),
            counted: AtomicBool::new(false),
            left: AtomicPtr::new(core::ptr::null_mut()),
            token: TokenWord::new(id),
            id,
            name,
        })
    }

    /// The calling thread's: always the same one, until it is freed among the destructors of the
    /// thread's thread-locals. A destructor that runs after that gets another one.
    pub(crate) fn current() -> Arc<ThreadParker> {
        let parker = ThreadParker::of_thread();
        // SAFETY: the thread owns one count of a living Arc; this adds another, which is returned.
        unsafe {
            Arc::increment_strong_count(parker);
            Arc::from_raw(parker)
        }
    }

    /// As [`current`](ThreadParker::current), without a count of its own: valid until the thread's
    /// count is given up at its end.
    fn of_thread() -> *const ThreadParker {
        /// Frees the parker at the thread's end.
        struct AtEnd;
        impl Drop for AtEnd {
            fn drop(&mut self) {
                let parker = PARKER.replace(core::ptr::null());
                // SAFETY: the pointer came from `Arc::into_raw`, and has left its place.
                drop(unsafe { Arc::from_raw(parker) });
            }
        }
        thread_local! {
            static PARKER: Cell<*const ThreadParker> = const { Cell::new(core::ptr::null()) };
            static AT_END: AtEnd = const { AtEnd };
        }
        let mut parker = PARKER.get();
        if parker.is_null() {
            parker = Arc::into_raw(ThreadParker::new());
            PARKER.set(parker);
            // In a destructor that runs after `AtEnd`'s this fails: then the parker is leaked.
            let _ = AT_END.try_with(|_| ());
        }
        parker
    }

    /// Makes the calling thread's, if it has none: from then on [`current`](ThreadParker::current)
    /// does not fail. (On a thread that is ending, std may refuse to tell its name, by a panic.)
    #[inline]
    pub(crate) fn ensure() {
        ThreadParker::of_thread();
    }

    /// Sleeps until the one `wake` of this wait. It was counted (`ThreadParker::sleep`, which is
    /// `sched/park.rs`).
    pub(crate) fn sleep_counted(&self) {
        self.note.sleep();
        self.woken();
    }

    /// Counts the thread as waiting without limit, unless it was woken already. Returns whether it
    /// was counted: then the monitor is to be told.
    pub(crate) fn count_in(&self) -> bool {
        let mut foreign = FOREIGN.lock();
        let waits = !self.note.is_set();
        if waits {
            self.counted.store(true, Ordering::Relaxed);
            foreign.waiting += 1;
            foreign.changes += 1;
        }
        waits
    }

    /// As [`sleep`](ThreadParker::sleep), for `limit` at most. After a time-out, if another thread
    /// has already taken the waiter, the caller must still sleep for its wake-up.
    pub(crate) fn sleep_timeout(&self, limit: Duration) -> Wake {
        let wake = self.note.sleep_timeout(limit);
        if wake == Wake::Woken {
            self.woken();
        }
        wake
    }

    /// The thread was woken: drops what its waker has left to it, once that is through with it.
    fn woken(&self) {
        self.note.clear();
        // What was left was written before the note was woken, which this thread has seen.
        if self.left.load(Ordering::Relaxed).is_null() {
            return;
        }
        let left = {
            let _waker_is_through = FOREIGN.lock();
            self.left.swap(core::ptr::null_mut(), Ordering::Relaxed)
        };
        // SAFETY: `wake` made it of an `Arc`, and it was taken out here.
        drop(unsafe { Arc::from_raw(left) });
    }

    /// Ends the thread's wait. This count of the parker goes to the thread, which drops it: should
    /// the thread end at once, it would be the last one, and inside the runtime nothing may be
    /// freed.
    pub(crate) fn wake(self: Arc<ThreadParker>) {
        let parker = Arc::into_raw(self);
        // SAFETY: the count that the pointer stands for is dropped by the thread, which first takes
        // the lock that `notify` holds while it uses the pointer.
        unsafe { ThreadParker::notify(parker, parker) }
    }

    /// As [`wake`](ThreadParker::wake), by a caller that keeps its count.
    pub(crate) fn unpark(&self) {
        // SAFETY: `self` outlives the call.
        unsafe { ThreadParker::notify(self, core::ptr::null()) }
    }

    /// # Safety
    /// `parker` is valid until [`FOREIGN`] was unlocked.
    unsafe fn notify(parker: *const ThreadParker, left: *const ThreadParker) {
        let mut foreign = FOREIGN.lock();
        // SAFETY: by contract; the reference is not used after this block.
        let parker = unsafe { &*parker };
        if !left.is_null() {
            parker.left.store(left.cast_mut(), Ordering::Relaxed);
        }
        if parker.counted.swap(false, Ordering::Relaxed) {
            foreign.waiting -= 1;
            foreign.changes += 1;
        }
        // Under the lock: a thread that is counted has not been woken.
        parker.note.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S48: every reason comes back from its number, with its words.
    #[test]
    fn reasons_stand_at_their_numbers() {
        for (n, (reason, _)) in WaitReason::ALL.iter().enumerate() {
            assert_eq!((*reason as usize, WaitReason::from_u8(n as u8)), (n, *reason));
        }
        assert_eq!(WaitReason::ChanReceive.text(), "chan receive");
    }
}
