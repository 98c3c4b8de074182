//! The network poller (S47): which waiters each descriptor has, and what has become ready.
//!
//! | file | holds |
//! |---|---|
//! | `mod` | the one poller: taking reports, the number of waiters |
//! | `slab` | the states of descriptors, which are never freed |
//!
//! The state of a descriptor is a `Readiness` (`gosched-primitives`), which has the argument why no
//! edge is missed. epoll knows a descriptor by its place in the slab and the *generation* of that
//! place. So a report that comes late, after the descriptor was closed and its place or its number
//! used again, wakes nobody.
//!
//! Invariants:
//! - The poller is made with the first socket, so that no descriptor is lacking for it later, and
//!   is never dropped.
//! - [`waiters`] counts all waiters in the queues. A waiter is counted before it is queued, and
//!   counted out after it has left.
//!
//! Returns lists of what became ready, and hands async tasks to a function that it is given; never
//! calls the scheduler. Registering a descriptor and waiting for it is in `source/`.

mod slab;

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use std::io;
use std::sync::OnceLock;

use gosched_primitives::{Directions, List, Outcome, Readied, TaskNode, Woken};

use crate::clock::now;
use crate::fatal::fatal;
use crate::g::G;
use crate::g::waiter::{FIRST_OUTCOME, Waiter};
use crate::sys::epoll::{Epoll, How, SourceReport};

pub(crate) use slab::{CHUNKS, FIRST, PlaceNumber, SourceState, find, publish};

/// How a wait ends when the descriptor may be ready.
pub(crate) const READY: Outcome = FIRST_OUTCOME;

static POLLER: OnceLock<Epoll> = OnceLock::new();
/// Whether there is a poller, as part of the wake-up protocol of `sched`.
static EXISTS: AtomicBool = AtomicBool::new(false);
static WAITERS: AtomicUsize = AtomicUsize::new(0);
static LAST_POLL: AtomicU64 = AtomicU64::new(0);
/// Who looks at the network without blocking; one at a time.
static LOOKER: AtomicU32 = AtomicU32::new(NOBODY);
const NOBODY: u32 = u32::MAX;
/// The monitor, which has no P, as a looker.
pub(crate) const MONITOR: u32 = u32::MAX - 1;
/// How many goroutines the last look found.
static LAST_FOUND: AtomicUsize = AtomicUsize::new(0);

/// An async task that waits for a descriptor.
pub(crate) type WakerNode = Box<TaskNode<Waiter>>;

/// Whether the poller has just been made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "whoever sleeps elsewhere has to be told of a new poller"]
pub(crate) enum PollerMade {
    Now,
    Before,
}

/// The poller; made if there is none.
pub(crate) fn poller() -> io::Result<(&'static Epoll, PollerMade)> {
    if let Some(poller) = POLLER.get() {
        return Ok((poller, PollerMade::Before));
    }
    let mut new = Some(Epoll::new()?);
    let poller = POLLER.get_or_init(|| new.take().unwrap_or_else(|| unreachable!("taken once")));
    // ORDERING: SeqCst: before the look for a keeper that sleeps on its note; partner is the load
    // in `exists`.
    let before = EXISTS.swap(true, Ordering::SeqCst);
    Ok((poller, if before { PollerMade::Before } else { PollerMade::Now }))
}

/// The poller, if there is one.
#[inline]
pub(crate) fn existing() -> Option<&'static Epoll> {
    POLLER.get()
}

/// Whether there is a poller.
pub(crate) fn exists() -> bool {
    // ORDERING: SeqCst: the keeper's second look; partner is the swap in `poller`.
    EXISTS.load(Ordering::SeqCst)
}

/// How many wait for I/O: goroutines, foreign threads and async tasks.
pub(crate) fn waiters() -> usize {
    // ORDERING: SeqCst: the look of an M that has given up its P; partner is `count_waiter`.
    WAITERS.load(Ordering::SeqCst)
}

/// Counts a waiter, which is about to be queued.
pub(crate) fn count_waiter() {
    // ORDERING: SeqCst: before a foreign thread's look for somebody who polls; partner is
    // `waiters`.
    WAITERS.fetch_add(1, Ordering::SeqCst);
}

/// Counts a waiter that does not exist, for ever.
#[cfg(test)]
pub(crate) fn pretend_somebody_waits() {
    let _ = poller().expect("there are descriptors");
    count_waiter();
}

/// Counts `n` waiters out, which have left their queues.
pub(crate) fn count_left(n: usize) {
    if n > 0 {
        // ORDERING: SeqCst, as in `count_waiter`; partner is the load in `waiters`.
        WAITERS.fetch_sub(n, Ordering::SeqCst);
    }
}

/// When somebody last polled, by the clock of timers.
pub(crate) fn last_poll() -> u64 {
    LAST_POLL.load(Ordering::Relaxed)
}

/// Makes the thread that blocks in the poller return.
pub(crate) fn ring() {
    if let Some(poller) = POLLER.get() {
        poller.ring();
    }
}

/// Who is looking, or is queueing what it has found: a P's number, or [`MONITOR`]. Only a hint.
pub(crate) fn looker() -> Option<u32> {
    Some(LOOKER.load(Ordering::Relaxed)).filter(|looker| *looker != NOBODY)
}

/// How many goroutines the last look found. Only a hint.
pub(crate) fn last_found() -> usize {
    LAST_FOUND.load(Ordering::Relaxed)
}

/// Gives to `queue` what has become ready, without blocking: goroutines that are runnable and in no
/// queue yet. `None` if somebody else is looking already. Async tasks are woken by `wake_task`,
/// which may add goroutines to what is ready; it returns a node that can be used again, since
/// nothing may be freed inside the runtime.
pub(crate) fn look<T>(
    looker: u32,
    wake_task: impl Fn(WakerNode, &mut List<G>) -> Option<WakerNode>,
    queue: impl FnOnce(List<G>) -> T,
) -> Option<T> {
    // ORDERING: Acquire pairs with the Release below: the word is a lock.
    LOOKER.compare_exchange(NOBODY, looker, Ordering::Acquire, Ordering::Relaxed).ok()?;
    let ready = poll(How::Look, wake_task);
    LAST_FOUND.store(ready.len(), Ordering::Relaxed);
    let queued = queue(ready);
    LOOKER.store(NOBODY, Ordering::Release);
    Some(queued)
}

/// As [`look`], but blocks until something is ready, for `limit` at most, or until [`ring`]. By one
/// thread at a time.
pub(crate) fn block(
    limit: Option<Duration>,
    wake_task: impl Fn(WakerNode, &mut List<G>) -> Option<WakerNode>,
) -> List<G> {
    poll(How::Block(limit), wake_task)
}

fn poll(how: How, wake_task: impl Fn(WakerNode, &mut List<G>) -> Option<WakerNode>) -> List<G> {
    let mut ready = List::new();
    if let Some(poller) = POLLER.get() {
        let mut left = 0;
        poller.wait(how, |report| left += pass_on(report, &mut ready, &wake_task));
        count_left(left);
        LAST_POLL.store(now(), Ordering::Relaxed);
    }
    ready
}

/// Ends the waits that a report is about. Returns how many waiters left their queues.
fn pass_on(
    report: SourceReport,
    ready: &mut List<G>,
    wake_task: &impl Fn(WakerNode, &mut List<G>) -> Option<WakerNode>,
) -> usize {
    let (readiness, generation) = slab::find(report.source);
    let directions = Directions { read: report.input, write: report.output, special: report.special };
    readiness.report(generation, directions, READY, |woken| match woken {
        Woken::Waiter(waiter) => {
            collect(waiter, ready);
            None
        }
        Woken::Task(node) => wake_task(node, ready),
        Woken::Spent(node) => Some(node),
    })
}

/// Wakes a foreign thread; puts a goroutine into `ready`.
pub(crate) fn collect(waiter: Waiter, ready: &mut List<G>) {
    match waiter {
        Waiter::Goroutine(g) => make_ready(g, ready),
        Waiter::Thread(parker) => parker.wake(),
        Waiter::Async(_) => fatal!("netpoll: an async task waits as a goroutine does"),
    }
}

fn make_ready(g: NonNull<G>, ready: &mut List<G>) {
    // SAFETY: headers are never unmapped.
    let header = unsafe { g.as_ref() };
    match header.ready() {
        // SAFETY: made runnable by us just now, so it is in no list; headers are never unmapped.
        Readied::Enqueue => unsafe { ready.push_back(g) },
        Readied::LeftMark => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use gosched_primitives::Direction;

    use crate::net::socket::Socket;
    use crate::sched::Limit;
    use crate::source::{Source, SourceWaited};

    fn no_task(_: WakerNode, _: &mut List<G>) -> Option<WakerNode> {
        panic!("no task waits")
    }

    /// S47: a report for a closed descriptor, whose place is used again, has no effect on the new
    /// descriptor.
    #[test]
    fn a_late_report_is_rejected() {
        let place = PlaceNumber::take();
        let late = SourceReport { source: place.registration(), input: true, output: true, special: false };
        place.state().renew(READY, |_| panic!("nobody waits"));
        // Used again: these are the edges that a waiter for the new descriptor has seen.
        let before = [Direction::Read, Direction::Write].map(|direction| place.state().edges(direction));
        let mut ready = List::new();
        assert_eq!(pass_on(late, &mut ready, &no_task), 0);
        assert!(ready.is_empty());
        assert_eq!(
            [Direction::Read, Direction::Write].map(|direction| place.state().edges(direction)),
            before
        );
        let now = SourceReport { source: place.registration(), ..late };
        pass_on(now, &mut ready, &no_task);
        assert_ne!(place.state().edges(Direction::Read), before[0]);
        place.give_back();
    }

    /// S48: the count of those who wait is exact: one while somebody waits, none after a time-out,
    /// a report, a close.
    #[test]
    fn waiters_are_counted() {
        crate::testing::succeeds_in_child("netpoll::tests::waiters_are_counted", 2, || {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let socket = Socket::new(ours).unwrap();
            assert_eq!(waiters(), 0);
            let seen = socket.seen(Direction::Read);
            let soon = Limit::of_context(Some(now() + 1_000_000));
            let source = Source::new(socket.std().try_clone().unwrap());
            assert_eq!(
                source.wait(Direction::Read, source.seen(Direction::Read), soon).unwrap(),
                SourceWaited::TimedOut
            );
            assert_eq!(waiters(), 0);
            let reader = crate::go(move || {
                let _ = socket.wait(Direction::Read, seen, None).unwrap();
                socket.run(Direction::Read, |mut stream| stream.read(&mut [0; 8]))
            });
            while waiters() == 0 {
                crate::yield_now();
            }
            assert_eq!(waiters(), 1);
            theirs.write_all(b"x").unwrap();
            assert_eq!(reader.join().unwrap().unwrap(), 1);
            assert_eq!(waiters(), 0);
        });
    }
}
