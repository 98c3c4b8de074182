//! The mutex's word and line: Go's mutex, in its two modes.
//!
//! **Normal mode.** Whoever finds the lock free takes it, even before those who wait (*barging*): a
//! running caller has the data in its cache, and no switch is needed. An unlock wakes the first in
//! line, which then competes like everybody else, and goes back to the front if it loses.
//!
//! **Starving mode.** A woken waiter that has waited for more than a millisecond and loses again
//! sets `STARVING`. From then on nobody takes the lock: an unlock hands it to the first in line.
//! The mode ends when the line is empty, or when the waiter that gets the lock has waited for less
//! than a millisecond.
//!
//! ```text
//!   LOCKED    somebody has it, or has been given it
//!   QUEUED    there is somebody in the line (written under the line's lock, and exact whenever that is free)
//!   WOKEN     somebody is about to compete: an unlock need not wake another waiter
//!   STARVING  the lock is not taken, only handed over
//! ```
//!
//! Invariants:
//! - `WOKEN` belongs to one [`Attempt`], whose `awoke` is set, or is about to be by the waiter that
//!   `wake_next` has claimed; the attempt clears the bit when it gets the lock or joins the line.
//! - While the lock is free, not starving and somebody is in line, `WOKEN` is set or an unlocker is
//!   about to look at the line. So nobody is forgotten: an attempt that clears `WOKEN` without
//!   getting the lock does so while it is `LOCKED`, and that holder's unlock will see `QUEUED` and
//!   no `WOKEN`.
//! - `STARVING` is set under the line's lock, by a waiter that goes to the line's front, while the
//!   lock is `LOCKED`; only a hand-over clears it. `STARVING` without `LOCKED` is the moment
//!   between an unlock and its hand-over: then attempts can only join the line, and only that
//!   unlocker hands over.
//! - A waiter that gives up ([`leave`](Mutex::leave)) is in the line, so it owns no bit and owes
//!   nothing to anybody. One that was woken to compete owns `WOKEN`, and gives that back by joining
//!   the line before it gives up.
//! - `wake_next` and `hand_over` pass over waiters that have given up. If none is left, they take
//!   back what they have set in the word, under the line's lock, so that nobody can have joined
//!   meanwhile.

use gosched_primitives::Lock;
use gosched_primitives::sync::{AtomicU32, Ordering};

use crate::const_fn;
use crate::line::{Acquire, GRANTED, Line, LineEnd, LinePlace, Node, RETRY};

const LOCKED: u32 = 1;
const QUEUED: u32 = 2;
const WOKEN: u32 = 4;
const STARVING: u32 = 8;

/// A woken waiter that has waited for longer than this, in nanoseconds, and loses again, has the
/// lock handed over to it.
pub const STARVING_AFTER: u64 = 1_000_000;

/// Attempts on a held lock before joining the line, with pauses between them that double. Under
/// loom one is as good as many.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 4 };
/// The first pause.
const FIRST_PAUSE: u32 = 4;

/// The core of a mutex. `W` is how to wake a waiter.
///
/// ```
/// use gosched_locks::{Mutex, Unlocked};
///
/// static LOCK: Mutex<std::thread::Thread> = Mutex::new();
/// assert!(LOCK.try_lock());
/// assert!(!LOCK.try_lock());
/// assert!(matches!(LOCK.unlock(), Unlocked::Free));
/// ```
pub struct Mutex<W> {
    word: AtomicU32,
    line: Lock<Line<W>>,
}

/// One caller's attempt to get the lock, from its first try until it has it.
#[derive(Debug)]
pub struct Attempt {
    /// The word's `WOKEN` is this attempt's.
    awoke: bool,
    starving: bool,
    waited: bool,
    since: u64,
}

/// What is left to do after an unlock.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Unlocked {
    /// Nothing.
    Free,
    /// To wake the first in line: [`Mutex::wake_next`].
    WakeNext,
    /// To give the lock to the first in line: [`Mutex::hand_over`].
    HandOver,
}

impl<W> Mutex<W> {
    const_fn! {
        /// A free mutex.
        pub const fn new() -> Mutex<W> {
            Mutex { word: AtomicU32::new(0), line: Lock::new(Line::new()) }
        }
    }

    /// Takes the lock if it is free and no bit is set: the fast path.
    #[inline]
    pub fn try_lock_fast(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `unlock`.
        self.word.compare_exchange(0, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the lock if it is free and not being handed over.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.try_lock_fast() || self.take_if_free(&Attempt::new())
    }

    /// As [`try_lock`](Mutex::try_lock), for an attempt that may own `WOKEN`.
    pub fn take_if_free(&self, attempt: &Attempt) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & (LOCKED | STARVING) == 0 {
            let taken = (word | LOCKED) & !attempt.own_bit();
            // ORDERING: Acquire pairs with the Release of `unlock`.
            match self.word.compare_exchange_weak(word, taken, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Tries for a while to take a held lock. Returns whether it did. Meanwhile an unlock need not
    /// wake anybody else.
    pub fn spin(&self, attempt: &mut Attempt) -> bool {
        for look in 0..LOOKS {
            if self.take_if_free(attempt) {
                return true;
            }
            let word = self.word.load(Ordering::Relaxed);
            if word & STARVING != 0 || attempt.starving {
                return false;
            }
            if !attempt.awoke && word & (LOCKED | QUEUED | WOKEN) == LOCKED | QUEUED {
                let won =
                    self.word.compare_exchange(word, word | WOKEN, Ordering::Relaxed, Ordering::Relaxed);
                attempt.awoke = won.is_ok();
            }
            (0..FIRST_PAUSE << look).for_each(|_| core::hint::spin_loop());
        }
        self.take_if_free(attempt)
    }

    /// Gets the lock, or a place in the line.
    pub fn acquire(&self, attempt: &mut Attempt) -> Acquire<'_, W, Line<W>> {
        let line = self.line.lock();
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let free = word & (LOCKED | STARVING) == 0;
            let starve = if attempt.starving { STARVING } else { 0 };
            let wanted = (word | if free { LOCKED } else { QUEUED | starve }) & !attempt.own_bit();
            // ORDERING: Acquire pairs with the Release of `unlock`.
            match self.word.compare_exchange_weak(word, wanted, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) if free => return Acquire::Acquired,
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        attempt.awoke = false;
        let end = if attempt.waited { LineEnd::Front } else { LineEnd::Back };
        attempt.waited = true;
        Acquire::Wait(LinePlace::new(line, |line| line, end))
    }

    /// Releases the lock. Called by its holder, which then does what is left to do.
    #[inline]
    pub fn unlock(&self) -> Unlocked {
        // ORDERING: Release pairs with the Acquires above.
        let before = self.word.fetch_sub(LOCKED, Ordering::Release);
        if before == LOCKED {
            Unlocked::Free
        } else if before & STARVING != 0 {
            Unlocked::HandOver
        } else if before & (QUEUED | WOKEN) == QUEUED {
            Unlocked::WakeNext
        } else {
            Unlocked::Free
        }
    }

    /// Takes the first waiter out of the line, for the caller to wake, unless somebody else will
    /// get the lock or release it.
    pub fn wake_next(&self) -> Option<W> {
        let mut line = self.line.lock();
        let queued = if line.has_one() { QUEUED } else { 0 };
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            // A holder will unlock, a woken waiter will try, or a hand-over is under way.
            if line.is_empty() || word & (LOCKED | WOKEN | STARVING) != 0 {
                return None;
            }
            let woken = (word | WOKEN) & !queued;
            match self.word.compare_exchange_weak(word, woken, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        let (next, passed_over) = line.claim_next(RETRY);
        if passed_over {
            let woken = if next.is_none() { WOKEN } else { 0 };
            let queued = if line.is_empty() { QUEUED } else { 0 };
            self.word.fetch_and(!(woken | queued), Ordering::Relaxed);
        }
        next
    }

    /// Gives the lock, which the caller has just released, to the first in line, for the caller to
    /// wake. `now` is the time. If all have given up, the lock is free.
    pub fn hand_over(&self, now: u64) -> Option<W> {
        let mut line = self.line.lock();
        let mut next = None;
        let mut waited = 0;
        while let Some(first) = line.pop() {
            waited = now.saturating_sub(first.node().tag());
            next = first.claim(GRANTED);
            if next.is_some() {
                break;
            }
        }
        let mut over = 0;
        if line.is_empty() {
            over = QUEUED | STARVING;
        } else if waited < STARVING_AFTER {
            over = STARVING;
        }
        let locked = if next.is_some() { LOCKED } else { 0 };
        // Under the line's lock nobody else changes the word while the mutex is starving and free.
        let word = self.word.load(Ordering::Relaxed);
        // ORDERING: Release pairs with the Acquires above: if this frees the lock, the next holder
        // sees what the last one did, as after `unlock`.
        self.word.store((word | locked) & !over, Ordering::Release);
        next
    }

    /// Takes the node out of the line, if it is still there. Called after a wait that something
    /// else than an unlock has ended.
    pub fn leave(&self, node: &Node<W>) {
        let mut line = self.line.lock();
        if line.remove(node) && line.is_empty() {
            self.word.fetch_and(!QUEUED, Ordering::Relaxed);
        }
    }
}

impl<W> Default for Mutex<W> {
    fn default() -> Mutex<W> {
        Mutex::new()
    }
}

impl Attempt {
    /// A first attempt.
    pub const fn new() -> Attempt {
        Attempt { awoke: false, starving: false, waited: false, since: 0 }
    }

    /// Notes that the attempt is about to wait for the first time. `now` is the time, in
    /// nanoseconds.
    pub fn begin_to_wait(&mut self, now: u64) {
        self.since = now;
    }

    /// Since when it waits: the tag of its [`Node`].
    pub fn since(&self) -> u64 {
        self.since
    }

    /// After a wait: returns whether the lock was handed over. If not, the caller has to try again.
    pub fn woken<W>(&mut self, node: &Node<W>, now: impl FnOnce() -> u64) -> bool {
        if node.outcome() == Some(GRANTED) {
            return true;
        }
        self.awoke = true;
        self.starving = now().saturating_sub(self.since) > STARVING_AFTER;
        false
    }

    /// `WOKEN`, if the bit is this attempt's.
    fn own_bit(&self) -> u32 {
        if self.awoke { WOKEN } else { 0 }
    }
}

impl Default for Attempt {
    fn default() -> Attempt {
        Attempt::new()
    }
}
