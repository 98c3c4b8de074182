//! The one place that knows whether this is a native build or a loom model.
//!
//! Everything in the crate that loom checks takes its atomics, fences, cells of links and the futex
//! from here (`random.rs` has nothing to check). Natively they are std's and the kernel's; under
//! `--cfg loom` they are loom's, and the futex is a mutex and a condition variable with the
//! kernel's semantics (compare and sleep in one step), so that the code above it is checked
//! unchanged.
//!
//! Invariant: outside this file and `barrier.rs` the code depends on `cfg(loom)` only where loom
//! has no clock (`note.rs`), where a bounded spin would only multiply its interleavings
//! (`lock.rs`), and where unit tests or the kernel are left out.

#[cfg(loom)]
pub(crate) use loom::cell::Cell;
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::cell::Cell;
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

use std::time::Duration;

/// Declares a `const fn` that is a plain `fn` under loom, whose atomics cannot be made at compile
/// time.
macro_rules! const_fn {
    ($(#[$meta:meta])* $vis:vis const fn $($rest:tt)*) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $vis const fn $($rest)*

        #[cfg(loom)]
        $(#[$meta])*
        $vis fn $($rest)*
    };
}
pub(crate) use const_fn;

/// Keeps two words that different threads write on different pairs of cache lines (the prefetcher
/// of x86 and the cache lines of some aarch64 CPUs have 128 bytes).
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

impl<T> std::ops::Deref for Padded<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// An array of null pointers.
#[cfg(not(loom))]
pub(crate) const fn null_slots<T, const N: usize>() -> [AtomicPtr<T>; N] {
    [const { AtomicPtr::new(std::ptr::null_mut()) }; N]
}

/// An array of null pointers.
#[cfg(loom)]
pub(crate) fn null_slots<T, const N: usize>() -> [AtomicPtr<T>; N] {
    std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut()))
}

/// A pause in a loop that waits for another thread.
#[inline(always)]
pub(crate) fn relax() {
    #[cfg(not(loom))]
    std::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// Comes between the `SeqCst` write and the `SeqCst` load of a store-then-load race ("Dekker"): I
/// publish, then check whether you sleep; you announce that you sleep, then check whether I
/// published.
///
/// Natively this is nothing. Both sides write and read by `SeqCst` operations, so all four are in
/// the single total order of these, and the two loads cannot both come before the other side's
/// write. loom (0.7) does not build that order: it treats `SeqCst` accesses as `AcqRel` and only
/// `SeqCst` fences as ordered. The fence under loom adds what the language promises, and no more,
/// as long as it comes only after a `SeqCst` write: right after it, or, where the caller makes the
/// write, before the load (`Keeper::watch_for`, `Keeper::rouse`, `Dormant::wake_up_after`).
#[inline(always)]
pub(crate) fn dekker_fence() {
    #[cfg(loom)]
    // ORDERING: partner is the other side's `dekker_fence`; see above.
    fence(Ordering::SeqCst);
}

/// The fence for a publisher whose last write to a queue was *not* `SeqCst`: the tail of a ring
/// ([`RingOwner::push`](crate::RingOwner::push)) or a list behind a lock. It goes between that
/// write and the look at [`IdleWord`](crate::IdleWord); after
/// [`NextSlot::replace`](crate::NextSlot::replace) it is not needed.
///
/// ```
/// # use gosched_primitives::{IdleWord, Ring, sync};
/// # use std::ptr::NonNull;
/// let ring: Ring<u64, 4> = Ring::new();
/// let idle = IdleWord::new(1);
/// let mut work = 7;
/// // SAFETY: this is the ring's only owner.
/// unsafe { ring.owner() }.push(NonNull::from(&mut work)).unwrap();
/// sync::publish_fence();
/// let spinning = idle.try_claim_spinner().expect("one P is idle and nobody spins");
/// # let _ = idle.stop_spinning(spinning);
/// ```
#[inline]
pub fn publish_fence() {
    // ORDERING: partner is the `SeqCst` RMW of a spinner that gives up (`IdleWord::stop_spinning`,
    // `p_idle`), after which it loads the tails `SeqCst` (`Ring::has_work`).
    fence(Ordering::SeqCst);
}

/// A 32-bit word and the kernel's two operations on it.
///
/// The kernel's `FUTEX_WAIT` compares and goes to sleep in one step with respect to `FUTEX_WAKE` on
/// the same word; the callers rely on nothing else. Wake-ups may be spurious.
pub(crate) struct Futex {
    pub(crate) word: AtomicU32,
    #[cfg(loom)]
    bucket: loom::sync::Mutex<()>,
    #[cfg(loom)]
    sleepers: loom::sync::Condvar,
}

#[cfg(not(loom))]
impl Futex {
    pub(crate) const fn new(value: u32) -> Futex {
        Futex { word: AtomicU32::new(value) }
    }

    /// Sleeps while the word is `expected`, at most for `timeout`. May return at any time.
    pub(crate) fn wait(&self, expected: u32, timeout: Option<Duration>) {
        use crate::kernel::{Timespec, futex};
        let timeout = timeout.map(|left| Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        // Every outcome (woken, EAGAIN, EINTR, ETIMEDOUT) makes the caller look at the word again.
        let _ = futex::wait(&self.word, futex::Flags::PRIVATE, expected, timeout.as_ref());
    }

    /// Wakes one sleeper, if there is one.
    pub(crate) fn wake_one(&self) {
        use crate::kernel::futex;
        let _ = futex::wake(&self.word, futex::Flags::PRIVATE, 1);
    }
}

#[cfg(loom)]
impl Futex {
    pub(crate) fn new(value: u32) -> Futex {
        Futex {
            word: AtomicU32::new(value),
            bucket: loom::sync::Mutex::new(()),
            sleepers: loom::sync::Condvar::new(),
        }
    }

    /// As the kernel: compares and sleeps under the bucket's lock. A timed wait may time out at
    /// once.
    pub(crate) fn wait(&self, expected: u32, timeout: Option<Duration>) {
        let bucket = self.bucket.lock().unwrap();
        if self.word.load(Ordering::Relaxed) != expected {
            return;
        }
        if timeout.is_some() {
            drop(bucket);
            return loom::thread::yield_now();
        }
        drop(self.sleepers.wait(bucket).unwrap());
    }

    /// As the kernel: looks for sleepers under the bucket's lock.
    pub(crate) fn wake_one(&self) {
        let _bucket = self.bucket.lock().unwrap();
        self.sleepers.notify_one();
    }
}
