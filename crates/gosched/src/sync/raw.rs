//! The locks without data and poison: the cores of `gosched_locks`, which wait and wake through the
//! scheduler.
//!
//! The fast paths are inlined and do not enter the runtime.

use core::panic::{RefUnwindSafe, UnwindSafe};

use gosched_locks::{Acquire, Attempt, Node, TooManyReaders, Unlocked};

use super::seam::{Obtained, wait_at, wait_within, wake_by, wake_line};
use crate::clock::now;
use crate::g::waiter::{FIRST_OUTCOME, WaitReason, Waiter};
use crate::sched::{Caller, Inside, Limit, MayWait, SCHED, Visitor};

type MutexCore = gosched_locks::Mutex<Waiter>;
type RwLockCore = gosched_locks::RwLock<Waiter>;

/// A mutex without data.
pub(super) struct RawMutex(MutexCore);

impl RawMutex {
    pub(super) const fn new() -> RawMutex {
        RawMutex(MutexCore::new())
    }

    #[inline]
    pub(super) fn lock(&self) {
        lock(&self.0, WaitReason::Mutex);
    }

    /// Waits no longer than `limit`.
    pub(super) fn lock_within(&self, limit: Limit) -> Obtained {
        if self.0.try_lock_fast() { Obtained::Yes } else { lock_within(&self.0, limit) }
    }

    #[inline]
    pub(super) fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    /// By the holder.
    #[inline]
    pub(super) fn unlock(&self) {
        unlock(&self.0);
    }
}

#[inline]
fn lock(core: &MutexCore, reason: WaitReason) {
    if !core.try_lock_fast() {
        lock_slow(core, reason);
    }
}

/// Looks at the lock for a moment, in case it becomes free. With one P only once: the holder can't
/// run before the caller waits.
fn spin(core: &MutexCore, attempt: &mut Attempt) -> bool {
    if SCHED.procs() == 1 { core.take_if_free(attempt) } else { core.spin(attempt) }
}

#[cold]
fn lock_slow(core: &MutexCore, reason: WaitReason) {
    let may_wait = match MayWait::ask() {
        Ok(may_wait) => may_wait,
        Err(stopped) => return stopped.complete(core.try_lock().then_some(())),
    };
    let mut attempt = Attempt::new();
    if spin(core, &mut attempt) {
        return;
    }
    attempt.begin_to_wait(now());
    loop {
        let caller = Caller::enter_by(&may_wait);
        match core.acquire(&mut attempt) {
            Acquire::Acquired => return caller.leave(),
            Acquire::Wait(place) => {
                let node = Node::new(attempt.since());
                wait_at(caller, reason, place, &node);
                if attempt.woken(&node, now) || spin(core, &mut attempt) {
                    return;
                }
            }
        }
    }
}

/// As [`lock_slow`], for one that gives up when the limit is reached. It does so in the line only:
/// there it owes nothing.
#[cold]
fn lock_within(core: &MutexCore, limit: Limit) -> Obtained {
    let may_wait = match MayWait::ask() {
        Ok(may_wait) => may_wait,
        Err(stopped) => {
            let late = || limit.is_over().then_some(Obtained::Late);
            return stopped.complete(core.try_lock().then_some(Obtained::Yes).or_else(late));
        }
    };
    let mut attempt = Attempt::new();
    if spin(core, &mut attempt) {
        return Obtained::Yes;
    }
    attempt.begin_to_wait(now());
    loop {
        let caller = Caller::enter_by(&may_wait);
        match core.acquire(&mut attempt) {
            Acquire::Acquired => {
                caller.leave();
                return Obtained::Yes;
            }
            Acquire::Wait(place) => {
                let node = Node::new(attempt.since());
                if wait_within(caller, WaitReason::Mutex, limit, place, &node) < FIRST_OUTCOME {
                    let _inside = Visitor::enter();
                    core.leave(&node);
                    return Obtained::Late;
                }
                if attempt.woken(&node, now) || spin(core, &mut attempt) {
                    return Obtained::Yes;
                }
            }
        }
    }
}

#[inline]
fn unlock(core: &MutexCore) {
    match core.unlock() {
        Unlocked::Free => {}
        rest => unlock_slow(core, rest),
    }
}

#[cold]
fn unlock_slow(core: &MutexCore, rest: Unlocked) {
    match rest {
        Unlocked::Free => {}
        Unlocked::WakeNext => wake_by(|| core.wake_next()),
        Unlocked::HandOver => {
            let now = now();
            wake_by(|| core.hand_over(now));
        }
    }
}

/// A reader-writer lock without data.
pub(super) struct RawRwLock(RwLockCore);

impl RawRwLock {
    pub(super) const fn new() -> RawRwLock {
        RawRwLock(RwLockCore::new())
    }

    #[inline]
    pub(super) fn read(&self) {
        if self.0.try_read() != Ok(true) {
            self.read_slow();
        }
    }

    #[cold]
    fn read_slow(&self) {
        let caller = match Caller::enter_moving() {
            Ok(caller) => caller,
            Err(stopped) => return stopped.complete(self.try_read().then_some(())),
        };
        match self.0.read() {
            Ok(Acquire::Acquired) => caller.leave(),
            Ok(Acquire::Wait(place)) => wait_at(caller, WaitReason::RwLockRead, place, &Node::new(0)),
            Err(TooManyReaders) => {
                caller.leave();
                too_many_readers();
            }
        }
    }

    #[inline]
    pub(super) fn try_read(&self) -> bool {
        match self.0.try_read() {
            Ok(got) => got,
            Err(TooManyReaders) => too_many_readers(),
        }
    }

    /// By a reader.
    #[inline]
    pub(super) fn read_unlock(&self) {
        if self.0.end_read() {
            self.wake_writer();
        }
    }

    #[cold]
    fn wake_writer(&self) {
        wake_by(|| self.0.wake_writer());
    }

    #[inline]
    pub(super) fn write(&self) {
        let first = self.0.writers().try_lock_fast();
        if !(first && self.0.try_begin_write()) {
            self.write_slow(first);
        }
    }

    /// `first`: the caller has locked the writers' mutex already, and found readers.
    #[cold]
    fn write_slow(&self, first: bool) {
        let may_wait = match MayWait::ask() {
            Ok(may_wait) => may_wait,
            Err(stopped) => {
                if first {
                    unlock(self.0.writers());
                }
                return stopped.complete(self.try_write().then_some(()));
            }
        };
        if !first {
            lock(self.0.writers(), WaitReason::RwLockWrite);
        }
        if self.0.begin_write() {
            return;
        }
        let caller = Caller::enter_by(&may_wait);
        match self.0.await_readers() {
            Acquire::Acquired => caller.leave(),
            Acquire::Wait(place) => wait_at(caller, WaitReason::RwLockWrite, place, &Node::new(0)),
        }
    }

    #[inline]
    pub(super) fn try_write(&self) -> bool {
        if !self.0.writers().try_lock() {
            return false;
        }
        let got = self.0.try_begin_write();
        if !got {
            unlock(self.0.writers());
        }
        got
    }

    /// By the writer.
    #[inline]
    pub(super) fn write_unlock(&self) {
        wake_line(self.0.end_write());
        unlock(self.0.writers());
    }

    /// By the writer, who becomes a reader.
    pub(super) fn downgrade(&self) {
        wake_line(self.0.downgrade());
        unlock(self.0.writers());
    }
}

#[cold]
fn too_many_readers() -> ! {
    panic!("too many active read locks on RwLock")
}

// A panic that unwinds through a lock leaves it as it is, poison aside: held or free.
impl UnwindSafe for RawMutex {}
impl RefUnwindSafe for RawMutex {}
impl UnwindSafe for RawRwLock {}
impl RefUnwindSafe for RawRwLock {}
