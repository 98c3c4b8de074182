//! The global run queue (S4): of any length, in three classes, the first of them in shards.
//!
//! **Shards.** Every yield goes through this queue (S17), so one lock around it makes two Ps that
//! yield wait for each other's cache lines. So what was woken is in shards: each P puts into its
//! own (with more Ps than shards, several share one), and a P that takes a share takes from every
//! shard in proportion. The whole is first in, first out, except for the order between shards. With
//! one P there is one shard.
//!
//! **Classes.** Goroutines that were preempted, or lost their P, queue behind those that were
//! woken: one that computes has had its turn, one that was woken has not (D1). While there are such
//! (*pressure*, `policy/pressure.rs`), goroutines that have not run yet form a third class, also
//! behind the woken ones: any of them may turn out to compute for long. So that the two lower
//! classes don't wait for ever, every fourth grab that finds one of them not empty takes from it
//! first; the two take turns. They are taken one at a time, so that none waits in a ring ahead of
//! one that is woken later.
//!
//! Invariant: a shard's `size` is written under its lock, after the change that it counts, and read
//! without the lock. It is the publisher's half of the wake-up protocol: stored SeqCst before the
//! look for sleepers.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use gosched_primitives::{List, Lock};
use gosched_rules::batch::{self, Lower, SHARDS};

use super::fifo::Fifo;
use crate::g::G;

/// Where in the queue a goroutine belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueClass {
    /// Woken, or yielded by its own call; without pressure also new.
    Woken,
    /// New, under pressure.
    Fresh,
    /// Asked to yield, or in need of a P after it lost its own.
    Preempted,
}

#[repr(align(128))]
struct Shard {
    size: AtomicUsize,
    fifo: Lock<Fifo>,
}

impl Shard {
    const fn new() -> Shard {
        Shard { size: AtomicUsize::new(0), fifo: Lock::new(Fifo::new()) }
    }

    #[inline]
    fn len(&self) -> usize {
        // ORDERING: SeqCst: the sleeper's second look; partner is the store in `change`.
        self.size.load(Ordering::SeqCst)
    }

    /// Changes the contents, then stores their number.
    #[inline]
    fn change<R>(&self, f: impl FnOnce(&mut Fifo) -> R) -> R {
        let mut fifo = self.fifo.lock();
        let result = f(&mut fifo);
        // ORDERING: SeqCst: before the publisher's look at the idle word; partner is `len`. After
        // the change: what was taken must be visible in a ring before it is missing here.
        self.size.store(fifo.len(), Ordering::SeqCst);
        result
    }
}

/// The queue.
pub(super) struct GlobalQueue {
    woken: [Shard; SHARDS],
    fresh: Shard,
    preempted: Shard,
    grabs: AtomicU32,
}

impl GlobalQueue {
    pub(super) const fn new() -> GlobalQueue {
        GlobalQueue {
            woken: [const { Shard::new() }; SHARDS],
            fresh: Shard::new(),
            preempted: Shard::new(),
            grabs: AtomicU32::new(0),
        }
    }

    /// The shards in use with `procs` Ps.
    #[inline]
    fn shards(&self, procs: usize) -> &[Shard] {
        &self.woken[..batch::shard_count(procs)]
    }

    /// How many are queued.
    #[inline]
    pub(super) fn len(&self, procs: usize) -> usize {
        self.shards(procs).iter().map(Shard::len).sum::<usize>() + self.fresh.len() + self.preempted.len()
    }

    /// Queues one at its class's tail; `from` is the P's number, or 0.
    #[inline]
    pub(super) fn push(&self, procs: usize, from: u32, g: NonNull<G>, class: QueueClass) {
        let shards = self.shards(procs);
        let shard = match class {
            QueueClass::Woken => &shards[from as usize % shards.len()],
            QueueClass::Fresh => &self.fresh,
            QueueClass::Preempted => &self.preempted,
        };
        shard.change(|fifo| fifo.push(g));
    }

    /// Queues a batch of woken ones.
    pub(super) fn push_batch(&self, procs: usize, from: u32, mut batch: List<G>) {
        let shards = self.shards(procs);
        shards[from as usize % shards.len()].change(|fifo| {
            while let Some(g) = batch.pop_front() {
                fifo.push(g);
            }
        });
    }

    /// Before the number of Ps becomes `procs`: moves what lies in shards that will not be used any
    /// more to the first. Called while the world is stopped: threads without a P put into the first
    /// shard only.
    pub(super) fn gather(&self, procs: usize) {
        for shard in &self.woken[self.shards(procs).len()..] {
            let n = shard.len();
            shard.take(n, &mut |g| self.woken[0].change(|fifo| fifo.push(g)));
        }
    }

    /// Takes the first `n` or fewer of a queue of about `len`, into `sink`; `turn` says with which
    /// shard to begin.
    pub(super) fn take(
        &self,
        procs: usize,
        turn: u32,
        n: usize,
        len: usize,
        mut sink: impl FnMut(NonNull<G>),
    ) {
        let mut left = n;
        let lower = self.lower();
        if lower.iter().any(|shard| shard.len() > 0)
            && batch::lower_class_leads(self.grabs.fetch_add(1, Ordering::Relaxed))
        {
            left -= take_one(lower, left, &mut sink);
        }
        let shards = self.shards(procs);
        let woken = len - len.min(lower.iter().map(|shard| shard.len()).sum());
        for i in 0..shards.len() {
            let shard = &shards[(turn as usize).wrapping_add(i) % shards.len()];
            let size = shard.len();
            if left == 0 || size == 0 {
                continue;
            }
            left -= shard.take(batch::share_of_shard(size, n, woken, left), &mut sink);
        }
        if left == n {
            take_one(lower, left, &mut sink);
        }
    }

    /// The lower classes, the one whose turn it is first.
    fn lower(&self) -> [&Shard; 2] {
        batch::lower_classes(self.grabs.load(Ordering::Relaxed)).map(|class| match class {
            Lower::Preempted => &self.preempted,
            Lower::Fresh => &self.fresh,
        })
    }
}

/// Takes one G from the first of the two that has any, if `left` allows; returns how many it took.
fn take_one(lower: [&Shard; 2], left: usize, sink: &mut impl FnMut(NonNull<G>)) -> usize {
    lower.iter().map(|shard| shard.take(left.min(1), sink)).find(|taken| *taken > 0).unwrap_or(0)
}

impl Shard {
    /// Takes up to `n`, into `sink`; returns how many.
    fn take(&self, n: usize, sink: &mut impl FnMut(NonNull<G>)) -> usize {
        if n == 0 || self.len() == 0 {
            return 0;
        }
        self.change(|fifo| core::iter::from_fn(|| fifo.pop()).take(n).map(sink).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::runnable;

    fn take(queue: &GlobalQueue, procs: usize, n: usize) -> Vec<NonNull<G>> {
        let mut taken = Vec::new();
        queue.take(procs, 0, n, queue.len(procs), |g| taken.push(g));
        taken
    }

    /// D1: woken ones come first, but a preempted one is not starved by an endless row of them.
    #[test]
    fn preempted_ones_stand_behind_but_get_their_turn() {
        let gs = runnable(20);
        let queue = GlobalQueue::new();
        queue.grabs.store(1, Ordering::Relaxed);
        queue.push(1, 0, gs[0], QueueClass::Preempted);
        queue.push(1, 0, gs[1], QueueClass::Woken);
        assert_eq!(take(&queue, 1, 1), [gs[1]]);
        let waited = gs[2..].iter().position(|g| {
            queue.push(1, 0, *g, QueueClass::Woken);
            take(&queue, 1, 1) == [gs[0]]
        });
        assert!(waited.is_some_and(|waited| waited <= 4), "{waited:?}");
        let rest = queue.len(1);
        assert_eq!((take(&queue, 1, 100).len(), queue.len(1)), (rest, 0));
    }

    /// D1: under pressure new ones stand behind woken ones; of the two lower classes neither
    /// starves, and both are taken one at a time.
    #[test]
    fn lower_classes_take_turns() {
        let gs = runnable(60);
        let queue = GlobalQueue::new();
        for i in 0..20 {
            queue.push(1, 0, gs[i], QueueClass::Preempted);
            queue.push(1, 0, gs[20 + i], QueueClass::Fresh);
            queue.push(1, 0, gs[40 + i], QueueClass::Woken);
        }
        let first = take(&queue, 1, 30);
        assert!(gs[40..].iter().all(|woken| first.contains(woken)), "the woken ones first");
        assert!(first.len() <= 21, "{}", first.len());
        let next: Vec<_> = (0..16).flat_map(|_| take(&queue, 1, 30)).collect();
        assert_eq!(next.len(), 16, "one at a time");
        let preempted = next.iter().filter(|g| gs[..20].contains(g)).count();
        assert!((4..=12).contains(&preempted), "{preempted} of 16 were preempted ones");
    }

    /// S4, S54: with one P the queue is first in, first out; with several, a share comes from every
    /// shard in proportion, each first in, first out.
    #[test]
    fn shares_come_from_all_shards() {
        let gs = runnable(90);
        let queue = GlobalQueue::new();
        for g in &gs {
            queue.push(1, 0, *g, QueueClass::Woken);
        }
        assert_eq!(take(&queue, 1, 90), gs);
        for (i, g) in gs.iter().enumerate() {
            queue.push(3, if i < 60 { 1 } else { 2 }, *g, QueueClass::Woken);
        }
        let half = take(&queue, 3, 45);
        assert_eq!(half, [&gs[..30], &gs[60..75]].concat());
        assert_eq!((take(&queue, 3, 45).len(), queue.len(3)), (45, 0));
    }

    /// S43: with fewer Ps nothing is left behind in shards that nobody looks at.
    #[test]
    fn fewer_shards_lose_nothing() {
        let gs = runnable(40);
        let queue = GlobalQueue::new();
        for (i, g) in gs.iter().enumerate() {
            queue.push(8, i as u32, *g, QueueClass::Woken);
        }
        queue.gather(2);
        assert_eq!((queue.len(2), queue.len(8)), (40, 40));
        assert_eq!(take(&queue, 2, 40).len(), 40);
    }
}
