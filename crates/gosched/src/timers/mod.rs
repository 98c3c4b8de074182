//! Timers (S46): a heap per P, of nodes that their owners keep in frames, boxes or context nodes.
//!
//! Invariants:
//! - A [`TimerNode`] is armed in at most one heap; while armed it neither moves nor dies. Its place
//!   in the heap is written under the heap's lock only, so the holder of that lock may take it out
//!   in O(log n), from any thread.
//! - Firing takes the node out and decides, all under the lock, who is to be readied; after the
//!   lock is released nobody touches the node again. So once [`TimerNode::disarm`] has returned,
//!   the timer can't act any more.
//! - The `heap` of an armed timer changes under both locks only, when the timer moves from one heap
//!   to the other ([`TimerHeap::close_into`]). So a caller that has locked the heap that an armed
//!   timer names, and then finds that the timer still names it, has the right lock. The owner does
//!   not arm a timer while another thread arms or disarms it.
//! - No timer lies in the heap of a P that no longer exists. Such a heap is *closed*, under its
//!   lock and in the step that empties it ([`TimerHeap::close_into`]), and [`TimerHeap::arm`] then
//!   refuses. So a thread may arm a timer in any P's heap, also in that of the P that its M has
//!   lost: the heap is open, or it refuses, and the timer goes to P 0's heap, which is never
//!   closed. Between choosing and locking nothing need be held. A heap opens again with its P.
//! - `first` is the earliest time in the heap, readable without the lock. It is part of the wake-up
//!   protocol: a thread that arms a timer stores it (SeqCst) and then looks for a sleeper that must
//!   wake earlier.
//!
//! Returns lists of what became ready; never calls the scheduler.

mod heap;

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use gosched_primitives::{AtomicRef, List, Lock, Readied, Token};

use crate::clock::NEVER;
#[cfg(feature = "hyper")]
use crate::g::bell::TaskBell;
use crate::g::waiter::{TIMED_OUT, Ticket, Waiter};
use crate::g::{G, Prepared};

use heap::{Heap, HeapEntry};

/// The place of a timer that is in no heap.
const NOWHERE: usize = usize::MAX;

/// What a timer does when it is due.
#[derive(Clone, Copy)]
pub(crate) enum Action {
    /// Wakes a goroutine that waits for nothing else.
    Ready(NonNull<G>),
    /// Ends the `park` of goroutine `id`, if it is still parked.
    EndPark(NonNull<G>, u64),
    /// Ends a goroutine's wait as timed out, unless something else has ended it.
    EndWait(NonNull<Ticket>),
    /// Starts a goroutine that was prepared for this.
    Start(Prepared),
    /// Rings the bell of a `block_on`.
    #[cfg(feature = "hyper")]
    Notify(NonNull<TaskBell>),
}

/// Whether a timer was disarmed before it acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Disarmed {
    /// It was armed, and will not act.
    InTime,
    /// It was not armed: it has acted, was disarmed before, or was never armed.
    NotArmed,
}

/// Whether a heap took a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a timer that was refused would never fire"]
pub(crate) enum Armed {
    Yes,
    /// The heap's P no longer exists.
    Refused,
}

/// A timer. Lives in the frame of the goroutine that waits, in a box (`time/func.rs`,
/// `sched/alarm.rs`), or in a context's node (`context/deadline.rs`).
pub(crate) struct TimerNode {
    action: Action,
    /// The heap it is or was last armed in.
    heap: AtomicRef<TimerHeap>,
    /// Its index in that heap. Written under the heap's lock.
    place: AtomicUsize,
}

// SAFETY: place and heap are atomics, and the action never changes: any thread that holds the
// heap's lock may use what it points at.
unsafe impl Sync for TimerNode {}
// SAFETY: as above.
unsafe impl Send for TimerNode {}

impl TimerNode {
    pub(crate) const fn new(action: Action) -> TimerNode {
        TimerNode { action, heap: AtomicRef::none(), place: AtomicUsize::new(NOWHERE) }
    }

    /// Whether it was armed a moment ago. A task that it woke sees that it is not.
    #[cfg(feature = "hyper")]
    pub(crate) fn is_armed(&self) -> bool {
        self.place.load(Ordering::Relaxed) != NOWHERE
    }

    /// Takes it out of its heap, if it is still there. Afterwards it can't act any more.
    pub(crate) fn disarm(&self) -> Disarmed {
        loop {
            let Some(heap) = self.heap.get() else { return Disarmed::NotArmed };
            let mut entries = heap.entries.lock();
            if !self.heap.is(heap) {
                // It was moved to another heap while we waited for the lock.
                continue;
            }
            let place = self.place.load(Ordering::Relaxed);
            if place == NOWHERE {
                return Disarmed::NotArmed;
            }
            entries.take_out(place);
            heap.note_first(&entries);
            return Disarmed::InTime;
        }
    }
}

/// The timers of a P.
pub(crate) struct TimerHeap {
    first: AtomicU64,
    entries: Lock<Heap>,
}

// SAFETY: the nodes that entries point at are touched under the lock only, and their owners keep
// them alive meanwhile.
unsafe impl Sync for TimerHeap {}
// SAFETY: as above.
unsafe impl Send for TimerHeap {}

impl TimerHeap {
    pub(crate) const fn new() -> TimerHeap {
        TimerHeap { first: AtomicU64::new(NEVER), entries: Lock::new(Heap::new()) }
    }

    /// When the earliest timer is due; [`NEVER`] if there is none.
    #[inline]
    pub(crate) fn first(&self) -> u64 {
        // ORDERING: SeqCst: the look of an M that goes to sleep, in the wake-up protocol; partner
        // is the store in `note_first`.
        self.first.load(Ordering::SeqCst)
    }

    fn note_first(&self, entries: &[HeapEntry]) {
        let first = entries.first().map_or(NEVER, |entry| entry.when);
        // ORDERING: SeqCst: comes before the arming thread's look for a sleeper; partner is the
        // load in `first`.
        self.first.store(first, Ordering::SeqCst);
    }

    /// Arms `timer` for `when`, unless the heap is closed.
    ///
    /// # Safety
    /// The timer is in no heap, and neither moves nor dies until it has fired or was disarmed.
    pub(crate) unsafe fn arm(&'static self, timer: &TimerNode, when: u64) -> Armed {
        let mut entries = self.entries.lock();
        if entries.is_closed() {
            return Armed::Refused;
        }
        timer.heap.set(Some(self));
        entries.push(HeapEntry { when, timer: NonNull::from(timer) });
        self.note_first(&entries);
        Armed::Yes
    }

    /// Fires what is due at `now`, the earliest first, until `ready` has `max` goroutines: those
    /// that became runnable, which the caller queues. Returns how many of them are new goroutines,
    /// which the caller counts.
    #[cold]
    pub(crate) fn run_due(&self, now: u64, max: usize, ready: &mut List<G>) -> usize {
        let mut born = 0;
        let mut entries = self.entries.lock();
        while ready.len() < max
            && let Some(entry) = entries.first().copied().filter(|entry| entry.when <= now)
        {
            entries.take_out(0);
            // SAFETY: armed until just now, so alive; its owner can't continue before it is readied
            // or takes this lock.
            let action = unsafe { entry.timer.as_ref() }.action;
            born += usize::from(matches!(action, Action::Start(_)));
            if let Some(g) = act(action) {
                // SAFETY: made runnable by us just now, so it is in no list; headers are never
                // unmapped.
                unsafe { ready.push_back(g) };
            }
        }
        self.note_first(&entries);
        born
    }

    /// Moves all timers to `other`, which is open, and closes this heap: for a P that goes away.
    /// Timers may be disarmed meanwhile. The caller then makes sure that some M wakes up for them.
    ///
    /// # Panics
    /// If `other` is this one.
    pub(crate) fn close_into(&self, other: &'static TimerHeap) {
        assert!(!core::ptr::eq(self, other), "the last heap can't be closed");
        // In the order of their addresses, so that two calls in opposite directions can't deadlock.
        let (mut from, mut to);
        if core::ptr::from_ref(self) < core::ptr::from_ref(other) {
            from = self.entries.lock();
            to = other.entries.lock();
        } else {
            to = other.entries.lock();
            from = self.entries.lock();
        }
        debug_assert!(!to.is_closed());
        from.set_closed(true);
        while let Some(entry) = from.take_any() {
            // SAFETY: it has an entry here, so it is alive, and both locks are held.
            let timer = unsafe { entry.timer.as_ref() };
            timer.heap.set(Some(other));
            to.push(entry);
        }
        self.note_first(&from);
        other.note_first(&to);
    }

    /// Takes timers again: its P is used again.
    pub(crate) fn open(&self) {
        self.entries.lock().set_closed(false);
    }

    /// How many are armed.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.lock().len()
    }
}

/// Does what a due timer is for; returns the goroutine that became runnable by it, which is in no
/// queue yet.
fn act(action: Action) -> Option<NonNull<G>> {
    let g = match action {
        Action::Start(Prepared(g)) => {
            // SAFETY: headers are never unmapped; this one waits for nothing else.
            let header = unsafe { g.as_ref() };
            header.create();
            return Some(g);
        }
        Action::Ready(g) => g,
        #[cfg(feature = "hyper")]
        Action::Notify(bell) => {
            // SAFETY: the timer's owner keeps the task alive until it has disarmed the timer, which
            // takes the heap's lock.
            match unsafe { bell.as_ref() }.notify()? {
                Waiter::Goroutine(g) => g,
                Waiter::Thread(parker) => {
                    parker.wake();
                    return None;
                }
                // `block_on` waits as a goroutine or as a thread.
                Waiter::Async(_) => return None,
            }
        }
        Action::EndPark(g, id) => {
            // SAFETY: headers are never unmapped; the token rejects the id of an earlier goroutine.
            match unsafe { g.as_ref() }.token.retract(id) {
                Token::Absent => g,
                // An `unpark` came first and wakes it.
                Token::Consumed => return None,
            }
        }
        Action::EndWait(ticket) => {
            // SAFETY: the ticket is in a frame of the goroutine that waits. It leaves that after
            // this claim, or, if something else ended the wait, after disarming the timer, which
            // takes the heap's lock.
            match unsafe { ticket.as_ref() }.claim(TIMED_OUT)? {
                Waiter::Goroutine(g) => g,
                // Threads and tasks have no timers here.
                Waiter::Thread(_) | Waiter::Async(_) => return None,
            }
        }
    };
    // SAFETY: headers are never unmapped.
    let header = unsafe { g.as_ref() };
    match header.ready() {
        Readied::Enqueue => Some(g),
        Readied::LeftMark => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::waiting;

    fn random(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *seed >> 33
    }

    /// S46: timers fire in the order of their times, each once, and disarmed ones do not.
    #[test]
    fn fires_in_order_and_not_what_was_disarmed() {
        let mut seed = 7;
        for _ in 0..50 {
            let heap: &'static TimerHeap = Box::leak(Box::new(TimerHeap::new()));
            let gs = waiting(200);
            let timers: Vec<TimerNode> = gs.iter().map(|g| TimerNode::new(Action::Ready(*g))).collect();
            let whens: Vec<u64> = timers.iter().map(|_| random(&mut seed) % 100).collect();
            for (timer, when) in timers.iter().zip(&whens) {
                // SAFETY: the timers outlive the heap.
                assert_eq!(unsafe { heap.arm(timer, *when) }, Armed::Yes);
            }
            let kept: Vec<bool> = timers.iter().map(|_| !random(&mut seed).is_multiple_of(3)).collect();
            for (timer, _) in timers.iter().zip(&kept).filter(|(_, kept)| !**kept) {
                assert_eq!(timer.disarm(), Disarmed::InTime);
                assert_eq!(timer.disarm(), Disarmed::NotArmed);
            }
            assert_eq!(heap.len(), kept.iter().filter(|kept| **kept).count());
            let mut fired = Vec::new();
            while heap.first() != NEVER {
                let now = heap.first();
                let mut ready = List::new();
                assert_eq!(heap.run_due(now, usize::MAX, &mut ready), 0);
                while let Some(g) = ready.pop_front() {
                    let which = gs.iter().position(|x| *x == g).unwrap();
                    assert_eq!(whens[which], now);
                    fired.push(which);
                }
            }
            let mut expected: Vec<usize> = (0..200).filter(|i| kept[*i]).collect();
            fired.sort();
            expected.sort();
            assert_eq!(fired, expected);
        }
    }

    /// S46, S43: the timers of a P that goes away move to another's heap while they are being
    /// disarmed: each is disarmed in time or fires, never both, never neither.
    #[test]
    fn drained_while_being_disarmed() {
        const N: usize = 500;
        for round in 0..20 {
            let heaps: &'static [TimerHeap; 2] = Box::leak(Box::new([TimerHeap::new(), TimerHeap::new()]));
            let gs = waiting(N);
            let timers: Vec<TimerNode> = gs.iter().map(|g| TimerNode::new(Action::Ready(*g))).collect();
            for (i, timer) in timers.iter().enumerate() {
                // SAFETY: the timers outlive their entries: each is disarmed or fires below.
                assert_eq!(unsafe { heaps[i % 2].arm(timer, (i * 31 % 97) as u64) }, Armed::Yes);
            }
            let mut fired = List::new();
            let mut disarmed = 0;
            std::thread::scope(|s| {
                let timers = &timers;
                let third = |which: usize| {
                    move || {
                        let in_time = |timer: &&TimerNode| timer.disarm() == Disarmed::InTime;
                        timers.iter().skip(which).step_by(3).filter(in_time).count()
                    }
                };
                let threads = [s.spawn(third(0)), s.spawn(third(1))];
                for i in 0..round {
                    heaps[(i + 1) % 2].open();
                    heaps[i % 2].close_into(&heaps[(i + 1) % 2]);
                    let _ = heaps[i % 2].run_due(10 + i as u64, usize::MAX, &mut fired);
                }
                disarmed = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
            });
            heaps[1].open();
            heaps[0].close_into(&heaps[1]);
            assert_eq!((heaps[0].len(), heaps[0].first()), (0, NEVER));
            let _ = heaps[1].run_due(100, usize::MAX, &mut fired);
            assert_eq!((heaps[1].len(), heaps[1].first()), (0, NEVER));
            assert_eq!(fired.len() + disarmed, N);
            while fired.pop_front().is_some() {}
        }
    }

    /// S46, S43: two threads arm timers while heaps close and open: a closed heap takes none, and
    /// each that was taken fires.
    #[test]
    fn a_closed_heap_takes_no_timer() {
        const N: usize = 2_000;
        let heaps: &'static [TimerHeap; 2] = Box::leak(Box::new([TimerHeap::new(), TimerHeap::new()]));
        let gs = waiting(2 * N);
        let timers: Vec<TimerNode> = gs.iter().map(|g| TimerNode::new(Action::Ready(*g))).collect();
        std::thread::scope(|s| {
            for some in timers.chunks(N) {
                s.spawn(move || {
                    for (i, timer) in some.iter().enumerate() {
                        // SAFETY: the timers outlive their entries: each fires below.
                        let mut armed = [1, 0].iter().map(|id| unsafe { heaps[*id].arm(timer, i as u64) });
                        assert!(armed.any(|armed| armed == Armed::Yes));
                    }
                });
            }
            for _ in 0..200 {
                heaps[1].close_into(&heaps[0]);
                assert_eq!((heaps[1].len(), heaps[1].first()), (0, NEVER));
                std::thread::yield_now();
                assert_eq!((heaps[1].len(), heaps[1].first()), (0, NEVER));
                heaps[1].open();
            }
        });
        heaps[1].close_into(&heaps[0]);
        let mut fired = List::new();
        assert_eq!(heaps[0].run_due(N as u64, usize::MAX, &mut fired), 0);
        assert_eq!((fired.len(), heaps[0].len()), (2 * N, 0));
        while fired.pop_front().is_some() {}
    }

    /// S46: nothing fires early.
    #[test]
    fn nothing_fires_early() {
        let heap: &'static TimerHeap = Box::leak(Box::new(TimerHeap::new()));
        let timer = TimerNode::new(Action::Ready(waiting(1)[0]));
        // SAFETY: the timer outlives the heap.
        assert_eq!(unsafe { heap.arm(&timer, 10) }, Armed::Yes);
        let mut ready = List::new();
        assert_eq!(heap.run_due(9, usize::MAX, &mut ready), 0);
        assert_eq!((ready.len(), heap.first()), (0, 10));
        assert_eq!(heap.run_due(10, usize::MAX, &mut ready), 0);
        assert_eq!((ready.len(), heap.first()), (1, NEVER));
        while ready.pop_front().is_some() {}
    }
}
