//! `Thread`, `current`, `park` and `unpark`.
//!
//! A [`Thread`] names a goroutine by the address of its header and its id. The address stays valid
//! for ever, and the id differs from that of a later goroutine in the same header. So a `Thread`
//! that is kept beyond the goroutine's end is harmless.
#![allow(unsafe_code)]

use core::fmt;
use core::num::NonZeroU64;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;
use core::time::Duration;
use std::sync::Arc;

use gosched_primitives::{Token, Unpark, Wake};

use crate::clock::when_after;
use crate::g::waiter::{ThreadParker, WaitReason, Waiter};
use crate::g::{G, Name};
use crate::m;
use crate::m::Worker;
use crate::sched::{self, Caller, Commit};
use crate::timers::{Action, TimerNode};

/// A goroutine, or a thread that is not ours, as others refer to it.
///
/// ```
/// let handle = gosched::go(|| gosched::thread::park());
/// let thread = handle.thread().clone();
/// thread.unpark();
/// handle.join().unwrap();
/// thread.unpark(); // it is gone: nothing happens
/// ```
#[derive(Clone)]
pub struct Thread(Repr);

#[derive(Clone)]
enum Repr {
    Goroutine { g: NonNull<G>, id: u64, name: Option<Name> },
    Foreign(Arc<ThreadParker>),
}

// SAFETY: the header is type-stable, and is used through atomics that check the id.
unsafe impl Send for Thread {}
// SAFETY: as above.
unsafe impl Sync for Thread {}

impl UnwindSafe for Thread {}
impl RefUnwindSafe for Thread {}

impl Thread {
    pub(super) fn goroutine(g: NonNull<G>, id: u64, name: Option<Name>) -> Thread {
        Thread(Repr::Goroutine { g, id, name })
    }

    /// The header of a goroutine's `Thread`.
    pub(super) fn header(&self) -> Option<NonNull<G>> {
        match &self.0 {
            Repr::Goroutine { g, .. } => Some(*g),
            Repr::Foreign(_) => None,
        }
    }

    /// Its id, unique among all goroutines and threads of the process's life.
    ///
    /// ```
    /// let (a, b) = (gosched::go(|| ()), gosched::go(|| ()));
    /// assert_ne!(a.thread().id(), b.thread().id());
    /// ```
    pub fn id(&self) -> ThreadId {
        let id = match &self.0 {
            Repr::Goroutine { id, .. } => *id,
            Repr::Foreign(parker) => parker.id,
        };
        ThreadId(NonZeroU64::new(id).expect("ids begin at 1"))
    }

    /// Its name, if it has one.
    ///
    /// ```
    /// assert_eq!(gosched::go(|| gosched::thread::current().name().map(str::to_owned)).join().unwrap(), None);
    /// ```
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Repr::Goroutine { name, .. } => name.as_ref().map(|name| &***name),
            Repr::Foreign(parker) => parker.name.as_deref(),
        }
    }

    /// Lets its current or next [`park`] return. Never moves the caller.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let me = gosched::thread::current();
    ///     gosched::go(move || me.unpark());
    ///     gosched::thread::park();
    /// });
    /// ```
    pub fn unpark(&self) {
        match &self.0 {
            Repr::Goroutine { g, id, .. } => {
                // SAFETY: headers are never unmapped; the token word has the id, and ignores an
                // `unpark` of another goroutine.
                if unsafe { g.as_ref() }.token.unpark(*id) == Unpark::Wake {
                    Waiter::Goroutine(*g).wake();
                }
            }
            Repr::Foreign(parker) => {
                if parker.token.unpark(parker.id) == Unpark::Wake {
                    parker.unpark();
                }
            }
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").field("id", &self.id()).field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The id of a goroutine or thread. Never 0, so that an `Option<ThreadId>` is no larger.
///
/// ```
/// gosched::run(|| assert_eq!(gosched::thread::current().id(), gosched::thread::current().id()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadId(NonZeroU64);

/// The calling goroutine's [`Thread`], or, on a thread that is not ours, that thread's. Never
/// moves.
///
/// ```
/// let handle = gosched::go(|| gosched::thread::current().id());
/// let id = handle.thread().id();
/// assert_eq!(handle.join().unwrap(), id);
/// ```
pub fn current() -> Thread {
    match m::current::current().and_then(|m| m.cur_g()) {
        // SAFETY: we run on the goroutine, so it is alive.
        Some(g) => Thread::goroutine(g.into(), g.id(), unsafe { g.name() }.cloned()),
        None => Thread(Repr::Foreign(ThreadParker::current())),
    }
}

/// Waits for the token that [`Thread::unpark`] leaves, and takes it. Does not return without one.
///
/// A moving call. On a thread that is not a goroutine it blocks the thread.
///
/// ```
/// gosched::run(|| {
///     gosched::thread::current().unpark();
///     gosched::thread::park(); // the token is there
/// });
/// ```
pub fn park() {
    let caller = match Caller::enter_moving() {
        Ok(caller) => caller,
        Err(stopped) => return stopped.complete(take_token()),
    };
    let _ = caller.wait_unless(WaitReason::Park, |waiter| {
        let token = match &waiter {
            Waiter::Goroutine(g) => {
                // SAFETY: headers are never unmapped, and this one is the caller's.
                let g = unsafe { g.as_ref() };
                g.token.park(g.id())
            }
            Waiter::Thread(parker) => parker.token.park(parker.id),
            Waiter::Async(_) => Token::Consumed,
        };
        match token {
            Token::Absent => Commit::Wait,
            Token::Consumed => Commit::Refuse,
        }
    });
}

/// As [`park`], but returns after `limit` at the latest.
///
/// A moving call. On a thread that is not a goroutine it blocks the thread.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// gosched::run(|| {
///     let began = Instant::now();
///     gosched::thread::park_timeout(Duration::from_millis(2));
///     assert!(began.elapsed() >= Duration::from_millis(2));
/// });
/// ```
pub fn park_timeout(limit: Duration) {
    let caller = match Caller::enter_moving() {
        Ok(caller) => caller,
        Err(stopped) => return stopped.complete(take_token().or(limit.is_zero().then_some(()))),
    };
    let Some(g) = caller.g() else { return park_thread_timeout(limit) };
    let id = g.id();
    let timer = TimerNode::new(Action::EndPark(g.into(), id));
    let when = when_after(limit);
    let _ = caller.wait_unless(WaitReason::Park, |_| match g.token.park(id) {
        Token::Consumed => Commit::Refuse,
        Token::Absent => {
            // SAFETY: the timer is in this frame, which stays until the timer is disarmed below.
            unsafe { sched::arm_here(&timer, when) };
            Commit::Wait
        }
    });
    // Inside the runtime, as everything that takes its locks.
    let _inside = Worker::enter();
    let _ = timer.disarm();
}

/// As [`park`], but returns after `ms` milliseconds at the latest. A moving call.
///
/// ```
/// #[allow(deprecated)]
/// gosched::thread::park_timeout_ms(1);
/// ```
#[deprecated(note = "replaced by `gosched::thread::park_timeout`, as in std")]
pub fn park_timeout_ms(ms: u32) {
    park_timeout(Duration::from_millis(u64::from(ms)));
}

/// Takes the caller's token, if it is there.
fn take_token() -> Option<()> {
    let token = match m::current::current().and_then(|m| m.cur_g()) {
        Some(g) => g.token.consume(g.id()),
        None => {
            let parker = ThreadParker::current();
            parker.token.consume(parker.id)
        }
    };
    (token == Token::Consumed).then_some(())
}

fn park_thread_timeout(limit: Duration) {
    let parker = ThreadParker::current();
    if parker.token.park(parker.id) == Token::Absent
        && parker.sleep_timeout(limit) == Wake::TimedOut
        && parker.token.retract(parker.id) == Token::Consumed
    {
        // An `unpark` came just before; its wake-up is on the way.
        parker.sleep();
    }
}
