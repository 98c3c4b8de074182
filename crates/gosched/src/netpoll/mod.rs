//! The network poller (S47): who waits for which descriptor, and what has become ready.
//!
//! | file | holds |
//! |---|---|
//! | `mod` | the one poller: taking reports, the number of those who wait |
//! | `slab` | the states of descriptors, which are never freed |
//!
//! The state of a descriptor is a `Readiness` (`gosched-primitives`), where the argument stands why no edge is missed. What epoll
//! is told of a descriptor is its place in the slab and the *generation* of that place, so a report that comes late, when the
//! descriptor is closed and its place (or its number) used again, wakes nobody.
//!
//! Invariants:
//! - The poller is made with the first socket, when there still are descriptors, and stays.
//! - [`waiters`] counts everybody in a queue. Whoever puts somebody in counts first; whoever takes somebody out counts after.
//!
//! Returns lists of what became ready, and hands async tasks to a function that it is given; never
//! calls the scheduler. Who registers a descriptor and waits for it is in `source/`.

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
/// Who looks without blocking; one at a time is enough.
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
    // ORDERING: SeqCst: before the look for a keeper that sleeps elsewhere; partner is `exists`.
    let before = EXISTS.swap(true, Ordering::SeqCst);
    Ok((poller, if before { PollerMade::Before } else { PollerMade::Now }))
}

/// The poller, if there is one.
#[inline]
pub(crate) fn existing() -> Option<&'static Epoll> {
    POLLER.get()
}

/// Whether there is anything to poll.
pub(crate) fn exists() -> bool {
    // ORDERING: SeqCst: the keeper's second look; partner is the swap in `poller`.
    EXISTS.load(Ordering::SeqCst)
}

/// How many wait for I/O: goroutines, foreign threads and async tasks.
pub(crate) fn waiters() -> usize {
    // ORDERING: SeqCst: the look of an M that has given up its P; partner is `count_waiter`.
    WAITERS.load(Ordering::SeqCst)
}

/// One more will be in a queue.
pub(crate) fn count_waiter() {
    // ORDERING: SeqCst: before a foreign thread's look for somebody who polls; partner is `waiters`.
    WAITERS.fetch_add(1, Ordering::SeqCst);
}

/// As if somebody waited, for ever.
#[cfg(test)]
pub(crate) fn pretend_somebody_waits() {
    let _ = poller().expect("there are descriptors");
    count_waiter();
}

/// So many have left their queues.
pub(crate) fn count_left(n: usize) {
    if n > 0 {
        // ORDERING: SeqCst, so that the count is one with `count_waiter`'s in the wake-up protocol.
        WAITERS.fetch_sub(n, Ordering::SeqCst);
    }
}

/// When somebody last polled, by the clock of timers.
pub(crate) fn last_poll() -> u64 {
    LAST_POLL.load(Ordering::Relaxed)
}

/// Makes whoever blocks in the poller return.
pub(crate) fn ring() {
    if let Some(poller) = POLLER.get() {
        poller.ring();
    }
}

/// Who looks, or queues what it has found: a P's number, or [`MONITOR`]. Only a hint.
pub(crate) fn looker() -> Option<u32> {
    Some(LOOKER.load(Ordering::Relaxed)).filter(|looker| *looker != NOBODY)
}

/// How many goroutines the last look found. Only a hint.
pub(crate) fn last_found() -> usize {
    LAST_FOUND.load(Ordering::Relaxed)
}

/// Gives to `queue` what has become ready, without blocking: goroutines that are runnable and in
/// nobody's queue yet. `None` if somebody else is just looking. Async tasks are woken by
/// `wake_task`, which may add to what is ready; it gives back a node that can serve again. Inside
/// the runtime nothing is freed.
pub(crate) fn look<T>(
    looker: u32,
    wake_task: impl Fn(WakerNode, &mut List<G>) -> Option<WakerNode>,
    queue: impl FnOnce(List<G>) -> T,
) -> Option<T> {
    // ORDERING: Acquire and Release pair with each other: only to keep it a lock.
    LOOKER.compare_exchange(NOBODY, looker, Ordering::Acquire, Ordering::Relaxed).ok()?;
    let ready = poll(How::Look, wake_task);
    LAST_FOUND.store(ready.len(), Ordering::Relaxed);
    let queued = queue(ready);
    LOOKER.store(NOBODY, Ordering::Release);
    Some(queued)
}

/// As [`look`], blocking until something is ready, for `limit` at most, or until [`ring`]. One at a time.
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

/// Ends the waits that a report is about. Returns how many left their queues.
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

/// Wakes whoever can be woken here; goroutines go to `ready`.
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

    /// S47: a report for a descriptor that is closed, whose place is used again, is not taken for one of the new one's.
    #[test]
    fn a_late_report_is_told_off() {
        let place = PlaceNumber::take();
        let late = SourceReport { source: place.registration(), input: true, output: true, special: false };
        place.state().renew(READY, |_| panic!("nobody waits"));
        // Used again: whoever waits for the new one has seen its edges.
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

    /// S48: the count of those who wait is exact: one while somebody waits, none after a time-out, a report, a close.
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
