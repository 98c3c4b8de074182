//! `JoinSet`: goroutines that are joined in the order in which they end.
//!
//! Invariants:
//! - a member is in `members` from its spawn until its result is taken, or until it is detached;
//! - the number of a member that has ended is put into `ended` once, by its end; numbers in there
//!   are those of members whose results were not taken. So whoever finds one need not wait;
//! - the lock of `ended` is std's, held for a moment, outside the runtime.
#![allow(unsafe_code)]

use core::fmt;
use core::panic::Location;
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Result;
use super::builder::go_joinable;
use super::join::Joinable;
use crate::chan::Receiver;
use crate::chan::change::{NextChange, closed_signal};
use crate::chan::timer::TimerChan;
use crate::clock::when_after;
use crate::context::{self, Context, ContextError};
use crate::g::task::Argument;
use crate::g::waiter::{Signal, WaitReason};
use crate::runtime::checkpoint;
use crate::sched::Limit;

/// Goroutines whose results are wanted in the order in which they end: tokio's `JoinSet`.
///
/// The members run under the set's [`context`](JoinSet::context). Dropping the set cancels that, so
/// that their I/O, [`time::sleep`](crate::time::sleep)s and `*_ctx` waits end, and detaches them:
/// nothing can be ended by force.
///
/// ```
/// use gosched::thread::JoinSet;
///
/// let mut set = JoinSet::new();
/// for n in 1..=3 {
///     set.spawn(move || n * n);
/// }
/// let mut squares = Vec::new();
/// while let Some(result) = set.join_next() {
///     squares.push(result.unwrap());
/// }
/// squares.sort(); // they came in the order in which they ended
/// assert_eq!(squares, [1, 4, 9]);
/// ```
pub struct JoinSet<T> {
    members: BTreeMap<u64, Joinable<T>>,
    /// The number of the next member.
    next: u64,
    ends: Arc<Ends>,
    /// What was current when the set was made.
    parent: Context,
    context: Context,
}

/// Which members have ended.
struct Ends(Mutex<Ended>);

struct Ended {
    /// In the order in which they ended.
    numbers: VecDeque<u64>,
    change: NextChange,
}

/// Notes the end of one member.
struct MemberEnd {
    number: u64,
    ends: Arc<Ends>,
}

impl Ends {
    fn new() -> Arc<Ends> {
        Arc::new(Ends(Mutex::new(Ended { numbers: VecDeque::new(), change: NextChange::new() })))
    }

    fn lock(&self) -> MutexGuard<'_, Ended> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The member that ended first, or the signal of the next end.
    fn next(&self) -> core::result::Result<u64, Arc<TimerChan>> {
        let mut ended = self.lock();
        ended.numbers.pop_front().ok_or_else(|| ended.change.listen())
    }
}

impl Signal for MemberEnd {
    fn raise(&self) {
        let mut ended = self.ends.lock();
        ended.numbers.push_back(self.number);
        let changed = ended.change.happens();
        drop(ended);
        changed.tell();
    }
}

impl<T> JoinSet<T> {
    /// A set without members. Its context is derived from the current one.
    ///
    /// ```
    /// let mut set = gosched::thread::JoinSet::<i32>::new();
    /// assert!(set.join_next().is_none());
    /// ```
    #[must_use]
    pub fn new() -> JoinSet<T> {
        JoinSet::under(context::current())
    }

    fn under(parent: Context) -> JoinSet<T> {
        let context = parent.with_cancel();
        JoinSet { members: BTreeMap::new(), next: 0, ends: Ends::new(), parent, context }
    }

    /// Starts a goroutine that runs `f`, as a member. Never moves the caller.
    ///
    /// ```
    /// let mut set = gosched::thread::JoinSet::new();
    /// set.spawn(|| 6 * 7);
    /// assert_eq!(set.join_next().unwrap().unwrap(), 42);
    /// ```
    #[track_caller]
    pub fn spawn<F>(&mut self, f: F)
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let number = self.next;
        self.next += 1;
        let end = Arc::new(MemberEnd { number, ends: Arc::clone(&self.ends) });
        let _under = context::make_current(&self.context);
        // SAFETY: forgotten below.
        let member = unsafe { go_joinable(Argument::new(&f), Location::caller()) };
        core::mem::forget(f);
        member.tell_end(end);
        self.members.insert(number, member);
    }

    /// Waits until a member has ended, and returns its result: the first that has ended comes
    /// first. `None` if there are no members. A moving call.
    ///
    /// The result is what [`JoinHandle::join`](super::JoinHandle::join) would return: `Err` with
    /// what the member panicked with.
    ///
    /// ```
    /// use gosched::thread::JoinSet;
    ///
    /// let mut set = JoinSet::new();
    /// set.spawn(|| panic!("boom"));
    /// assert!(set.join_next().unwrap().is_err());
    /// assert!(set.join_next().is_none());
    /// ```
    pub fn join_next(&mut self) -> Option<Result<T>> {
        self.next_within(Limit::NONE)
    }

    /// As [`join_next`](JoinSet::join_next), waiting for `timeout` at most. `None` if no member has
    /// ended by then, or if there are none: [`is_empty`](JoinSet::is_empty) tells which. A moving
    /// call.
    ///
    /// ```
    /// use gosched::thread::{self, JoinSet};
    /// use std::time::Duration;
    ///
    /// let mut set = JoinSet::new();
    /// set.spawn(|| thread::park());
    /// assert!(set.join_next_timeout(Duration::from_millis(1)).is_none() && !set.is_empty());
    /// ```
    pub fn join_next_timeout(&mut self, timeout: Duration) -> Option<Result<T>> {
        self.next_within(Limit::until(when_after(timeout)))
    }

    /// As [`join_next`](JoinSet::join_next), until the current [context](crate::context) ends. A
    /// moving call.
    ///
    /// The result of a member that has ended is returned even if the context has ended.
    ///
    /// # Errors
    ///
    /// Why the context has ended, if it did before a member.
    ///
    /// ```
    /// use gosched::context::{ContextError, background, enter};
    /// use gosched::thread::{self, JoinSet};
    /// use std::time::Duration;
    ///
    /// let mut set = JoinSet::new();
    /// set.spawn(|| thread::park());
    /// let ctx = background().with_timeout(Duration::from_millis(1));
    /// assert_eq!(enter(&ctx, || set.join_next_ctx()).unwrap_err(), ContextError::DeadlineExceeded);
    /// ```
    pub fn join_next_ctx(&mut self) -> core::result::Result<Option<Result<T>>, ContextError> {
        match self.next_within(Limit::of_context(None)) {
            None if !self.is_empty() => Err(context::why_ended()),
            result => Ok(result),
        }
    }

    /// Returns the result of the member that ended first, if one has. Never moves.
    ///
    /// ```
    /// let mut set = gosched::thread::JoinSet::new();
    /// assert!(set.try_join_next().is_none());
    /// set.spawn(|| 1);
    /// set.ready().recv().unwrap_err();
    /// assert_eq!(set.try_join_next().unwrap().unwrap(), 1);
    /// ```
    pub fn try_join_next(&mut self) -> Option<Result<T>> {
        let number = self.ends.lock().numbers.pop_front()?;
        self.take(number)
    }

    /// Waits until all members have ended, and returns their results in the order in which they
    /// ended. A moving call.
    ///
    /// ```
    /// let mut set = gosched::thread::JoinSet::new();
    /// (1..=10).for_each(|n| set.spawn(move || n));
    /// assert_eq!(set.join_all().into_iter().map(Result::unwrap).sum::<i32>(), 55);
    /// ```
    #[must_use = "a member may have panicked"]
    pub fn join_all(mut self) -> Vec<Result<T>> {
        let mut results = Vec::with_capacity(self.len());
        while let Some(result) = self.join_next() {
            results.push(result);
        }
        results
    }

    /// A channel that never has a value and is closed when a member has ended whose result was not
    /// taken, or if there are no members: for `select!`. Then
    /// [`try_join_next`](JoinSet::try_join_next) has it. Ask for one each time. Never moves.
    ///
    /// ```
    /// use gosched::chan::unbounded;
    /// use gosched::select;
    /// use gosched::thread::JoinSet;
    ///
    /// let (_jobs, queue) = unbounded::<u32>();
    /// let mut set = JoinSet::new();
    /// set.spawn(|| "done");
    /// select! {
    ///     recv(queue) -> job => println!("a job: {job:?}"),
    ///     recv(set.ready()) -> _ => assert_eq!(set.try_join_next().unwrap().unwrap(), "done"),
    /// }
    /// ```
    #[must_use]
    pub fn ready(&self) -> Receiver<()> {
        let mut ended = self.ends.lock();
        let is_ready = self.members.is_empty() || !ended.numbers.is_empty();
        let signal = if is_ready { None } else { Some(ended.change.listen()) };
        drop(ended);
        Receiver::of_signal(signal.unwrap_or_else(closed_signal))
    }

    /// How many members there are whose results were not taken, ended or not. Never moves.
    ///
    /// ```
    /// let mut set = gosched::thread::JoinSet::new();
    /// set.spawn(|| ());
    /// assert_eq!(set.len(), 1);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no members. Never moves.
    ///
    /// ```
    /// assert!(gosched::thread::JoinSet::<()>::new().is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The context that the members run under: derived from the one that was current when the set
    /// was made. Never moves.
    ///
    /// ```
    /// let mut set = gosched::thread::JoinSet::new();
    /// set.spawn(|| gosched::context::current().is_cancelled());
    /// assert!(!set.context().is_cancelled());
    /// assert_eq!(set.join_next().unwrap().unwrap(), false);
    /// ```
    #[must_use]
    pub fn context(&self) -> Context {
        self.context.clone()
    }

    /// Cancels the context of the members. They stay in the set. Never moves.
    ///
    /// ```
    /// use gosched::{thread::JoinSet, time};
    /// use std::time::Duration;
    ///
    /// let mut set = JoinSet::new();
    /// set.spawn(|| time::sleep(Duration::from_secs(3600)));
    /// set.cancel();
    /// assert!(set.join_next().unwrap().unwrap().is_err());
    /// ```
    #[doc(alias = "abort_all")]
    pub fn cancel(&self) {
        self.context.cancel();
    }

    /// Takes all members out, without cancelling them: they keep running, also when the set is
    /// dropped. Later members run under a new context. Never moves.
    ///
    /// ```
    /// let mut set = gosched::thread::JoinSet::new();
    /// set.spawn(|| println!("in its own time"));
    /// set.detach_all();
    /// assert!(set.is_empty());
    /// ```
    pub fn detach_all(&mut self) {
        let parent = self.parent.clone();
        let mut detached = core::mem::replace(self, JoinSet::under(parent));
        // Before it is dropped, which would cancel them.
        detached.context = context::background();
    }

    /// The result of the member that ended first, if there is one within the limit.
    fn next_within(&mut self, limit: Limit) -> Option<Result<T>> {
        if self.members.is_empty() {
            checkpoint();
            return None;
        }
        loop {
            match self.ends.next() {
                Ok(number) => {
                    // Joining is a moving call whether it has to wait or not.
                    checkpoint();
                    return self.take(number);
                }
                Err(signal) if signal.await_close(WaitReason::Join, limit) => {}
                Err(_) => return None,
            }
        }
    }

    /// The result of a member that has ended.
    fn take(&mut self, number: u64) -> Option<Result<T>> {
        self.members.remove(&number).map(|mut member| member.take())
    }
}

impl<T> Drop for JoinSet<T> {
    /// Cancels the members; then dropping them detaches them.
    fn drop(&mut self) {
        self.context.cancel();
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> JoinSet<T> {
        JoinSet::new()
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = self.ends.lock().numbers.len();
        f.debug_struct("JoinSet").field("len", &self.len()).field("ended", &ended).finish_non_exhaustive()
    }
}
