//! The run queue of a P: a ring that one owner fills and anyone empties, without a lock (S55).
//!
//! ```text
//!            head                    tail
//!             v                       v
//!   +---+---+---+---+---+---+---+---+---+---+     indices wrap as u32, slots are index mod CAP
//!   | . | . | a | b | c | d | e | f | . | . |
//!   +---+---+---+---+---+---+---+---+---+---+
//!             ^                       ^
//!    owner and thieves take here,     only the owner moves this, by store-release
//!    by CAS on head
//! ```
//!
//! Invariants:
//! - `0 <= tail - head <= CAP`, in wrapping arithmetic; `head` and `tail` only grow;
//! - only the owner writes slots, and only outside `[head, tail)`; so if a taker's CAS on `head`
//!   succeeds, it took what it read; if not, it throws that away;
//! - a slot is never cleared: an old index leads to an old pointer, which is why
//!   [`RingOwner::peek`] is for prefetching only.
//!
//! The owner is the M that holds the P. [`RingOwner`] is that possession as a value.

use crate::list::{Linked, List};
use crate::sync::{AtomicPtr, AtomicU32, Ordering, Padded, const_fn, null_slots, relax};
use gosched_rules::batch::{overflow_count, steal_count};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A bounded queue with one producer and any number of takers.
///
/// `CAP` is a power of two, at least 2.
///
/// ```
/// use gosched_primitives::Ring;
/// use std::ptr::NonNull;
///
/// let mut work = [0, 1, 2, 3, 4];
/// let (victim, own) = (Ring::<i32, 8>::new(), Ring::<i32, 8>::new());
/// // SAFETY: both rings are owned by this thread and nobody else.
/// let (victim_owner, own_owner) = unsafe { (victim.owner(), own.owner()) };
/// for item in &mut work {
///     victim_owner.push(NonNull::from(item)).unwrap();
/// }
/// let to_run = own_owner.steal_from(&victim).unwrap();
/// // Of 5, 3 are stolen: two are queued, and the last one is returned.
/// // SAFETY: `work` is alive.
/// assert_eq!(unsafe { *to_run.as_ptr() }, 2);
/// assert_eq!((own.len(), victim.len()), (2, 2));
/// ```
#[doc(alias = "runq")]
pub struct Ring<T, const CAP: usize = 256> {
    head: Padded<AtomicU32>,
    tail: Padded<AtomicU32>,
    slots: [AtomicPtr<T>; CAP],
}

/// The ring was full; here is the pointer back.
pub struct Full<T>(pub NonNull<T>);

impl<T> std::fmt::Debug for Full<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Full").field(&self.0).finish()
    }
}

impl<T, const CAP: usize> Ring<T, CAP> {
    /// How many nodes leave a full ring to make room.
    const OVERFLOW: u32 = {
        assert!(CAP >= 2 && CAP.is_power_of_two() && CAP <= 1 << 16, "CAP must be a power of two");
        overflow_count(CAP) as u32
    };
    /// The most that a thief takes.
    const MOST_STOLEN: u32 = steal_count(CAP as u32);

    const_fn! {
        /// The empty ring.
        pub const fn new() -> Ring<T, CAP> {
            Ring { head: Padded(AtomicU32::new(0)), tail: Padded(AtomicU32::new(0)), slots: null_slots() }
        }
    }

    /// The number of queued nodes at some moment during the call.
    #[doc(alias = "runqsize")]
    pub fn len(&self) -> usize {
        // ORDERING: head before tail. A taker that moved the head had seen the tail; whoever
        // acquires its head sees that tail or a later one, so the difference is never negative.
        // Partners are `advance_head` and `publish`.
        let head = self.head.load(Ordering::Acquire);
        let tail = self.tail.load(Ordering::Acquire);
        (tail.wrapping_sub(head) as usize).min(CAP)
    }

    /// Whether nothing is queued at some moment during the call. Not enough for going to sleep:
    /// that is [`has_work`](Ring::has_work).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether something is queued, with the ordering that the second look of the wake-up protocol
    /// needs (README.md). Call [`NextSlot::is_empty`](crate::NextSlot::is_empty) first. May report
    /// work that is gone, never miss any.
    pub fn has_work(&self) -> bool {
        let head = self.head.load(Ordering::Relaxed);
        // ORDERING: partner is `publish_fence` after `push`: a tail stored before that fence is
        // seen by a load that follows the spinner's RMW on `IdleWord` in the total order. A head
        // that is older than the tail can only make the ring look fuller than it is.
        let tail = self.tail.load(Ordering::SeqCst);
        head != tail
    }

    /// The owner's side of the ring.
    ///
    /// # Safety
    ///
    /// There is at most one owner at a time: every use of an earlier one happens before every use
    /// of this one. Whatever is pushed through it is in no other queue and stays valid until it is
    /// taken.
    #[inline]
    pub unsafe fn owner(&self) -> RingOwner<'_, T, CAP> {
        RingOwner { ring: self, not_sync: PhantomData }
    }

    #[inline]
    fn slot(&self, index: u32) -> &AtomicPtr<T> {
        &self.slots[index as usize & (CAP - 1)]
    }

    #[inline]
    fn read(&self, index: u32) -> *mut T {
        self.slot(index).load(Ordering::Relaxed)
    }

    /// Takes `[head, head + n)` if the head has not moved.
    #[inline]
    fn advance_head(&self, head: u32, n: u32) -> Result<(), Lost> {
        // ORDERING: partner is the owner's acquire load of head in `room`: our reads of the slots
        // come before it overwrites them. On failure nothing is used, so `Relaxed`.
        self.head
            .compare_exchange(head, head.wrapping_add(n), Ordering::Release, Ordering::Relaxed)
            .map(|_| ())
            .map_err(|_| Lost)
    }
}

impl<T, const CAP: usize> Default for Ring<T, CAP> {
    fn default() -> Ring<T, CAP> {
        Ring::new()
    }
}

/// Someone else moved the head first.
struct Lost;

/// The possession of a ring: the right to fill it.
///
/// Not `Sync`: it can be sent along with the P, but two threads cannot use it at once.
pub struct RingOwner<'r, T, const CAP: usize = 256> {
    ring: &'r Ring<T, CAP>,
    not_sync: PhantomData<Cell<()>>,
}

impl<'r, T, const CAP: usize> RingOwner<'r, T, CAP> {
    /// The tail. Only this owner writes it.
    #[inline]
    fn tail(&self) -> u32 {
        self.ring.tail.load(Ordering::Relaxed)
    }

    /// How many slots may be written from `tail` on.
    #[inline]
    fn room(&self, tail: u32) -> u32 {
        // ORDERING: partner is the CAS in `advance_head`: a taker of a slot has read it before we
        // overwrite it.
        CAP as u32 - tail.wrapping_sub(self.ring.head.load(Ordering::Acquire))
    }

    /// Makes everything up to `tail` takeable.
    #[inline]
    fn publish(&self, tail: u32) {
        // ORDERING: partner is the acquire load of tail in `grab`: a thief that sees the tail sees
        // the slots below it and what was written to their nodes.
        self.ring.tail.store(tail, Ordering::Release);
    }

    /// Queues a node at the tail.
    ///
    /// # Errors
    ///
    /// [`Full`] gives the node back: [`overflow`](RingOwner::overflow) is next.
    #[inline]
    #[doc(alias = "runqput")]
    pub fn push(&self, node: NonNull<T>) -> Result<(), Full<T>> {
        let tail = self.tail();
        if self.room(tail) == 0 {
            return Err(Full(node));
        }
        self.ring.slot(tail).store(node.as_ptr(), Ordering::Relaxed);
        self.publish(tail.wrapping_add(1));
        Ok(())
    }

    /// Takes the oldest node.
    #[inline]
    #[doc(alias = "runqget")]
    pub fn pop(&self) -> Option<NonNull<T>> {
        let tail = self.tail();
        loop {
            let head = self.ring.head.load(Ordering::Relaxed);
            if head == tail {
                return None;
            }
            let node = self.ring.read(head);
            if self.ring.advance_head(head, 1).is_ok() {
                return NonNull::new(node);
            }
        }
    }

    /// The node that [`pop`](RingOwner::pop) will probably return after `k` other ones, for
    /// prefetching. It may be running elsewhere, or dead: the pointer must not be dereferenced.
    #[inline]
    pub fn peek(&self, k: u32) -> Option<NonNull<T>> {
        let head = self.ring.head.load(Ordering::Relaxed);
        if k >= self.tail().wrapping_sub(head) {
            return None;
        }
        NonNull::new(self.ring.read(head.wrapping_add(k)))
    }

    /// Moves the oldest `n - n/2` of the victim's `n` nodes straight into this ring, except the
    /// last of them, which is returned, to be run; `None` if there was nothing.
    ///
    /// # Panics
    ///
    /// If this ring is more than half full (a thief has run out of work), or is the victim.
    #[doc(alias = "runqsteal")]
    pub fn steal_from(&self, victim: &Ring<T, CAP>) -> Option<NonNull<T>> {
        assert!(!std::ptr::eq(self.ring, victim), "stealing from oneself");
        let tail = self.tail();
        assert!(
            self.room(tail) >= Ring::<T, CAP>::MOST_STOLEN,
            "stealing into a ring that is not empty enough"
        );
        let taken = self.grab(victim, tail)?;
        // The last one was written to a slot that is not published: it is returned instead.
        let last = tail.wrapping_add(taken - 1);
        if last != tail {
            self.publish(last);
        }
        NonNull::new(self.ring.read(last))
    }

    /// Copies half of the victim's nodes behind this ring's `tail`, unpublished. Returns how many,
    /// at least 1.
    #[doc(alias = "runqgrab")]
    fn grab(&self, victim: &Ring<T, CAP>, tail: u32) -> Option<u32> {
        loop {
            // ORDERING: head before tail (an old head with a new tail is noticed below, the reverse
            // would not be). The partner of the head's is `advance_head`, that of the tail's is
            // `publish`.
            let from = victim.head.load(Ordering::Acquire);
            let available = victim.tail.load(Ordering::Acquire).wrapping_sub(from);
            if available == 0 {
                return None;
            }
            let n = steal_count(available);
            if n > Ring::<T, CAP>::MOST_STOLEN {
                // Head and tail were read at different moments.
                relax();
                continue;
            }
            for i in 0..n {
                let node = victim.read(from.wrapping_add(i));
                self.ring.slot(tail.wrapping_add(i)).store(node, Ordering::Relaxed);
            }
            if victim.advance_head(from, n).is_ok() {
                return Some(n);
            }
        }
    }
}

impl<T: Linked, const CAP: usize> RingOwner<'_, T, CAP> {
    /// Makes room in a full ring (S21): takes its oldest half, shuffles it together with `extra`,
    /// and returns the `CAP/2 + 1` nodes as one batch. `None` if thieves have made room meanwhile:
    /// push again.
    ///
    /// `order(bound)` returns a random index below `bound`; pass [`keep_order`] to keep the order.
    /// It is called after the half is taken, once for each node but the first.
    ///
    /// Works inside the ring's own slots, so it needs no array on what may be a small stack.
    #[doc(alias = "runqputslow")]
    #[must_use = "None: thieves made room, push again; Some: the batch must be queued"]
    pub fn overflow(&self, extra: NonNull<T>, mut order: impl FnMut(usize) -> usize) -> Option<List<T>> {
        let ring = self.ring;
        let half = Ring::<T, CAP>::OVERFLOW;
        let head = ring.head.load(Ordering::Relaxed);
        if self.tail().wrapping_sub(head) as usize != CAP {
            return None;
        }
        ring.advance_head(head, half).ok()?;
        // From here to the next push the slots [head, head + half) are private: they are outside of
        // the ring's new [head, tail), and only the owner writes slots.
        let mut extra = extra.as_ptr();
        for i in 1..=half {
            let j = order(i as usize + 1) as u32;
            assert!(j <= i, "order(bound) must be below bound");
            if j == i {
                continue;
            }
            let chosen = ring.read(head.wrapping_add(j));
            let displaced = if i == half { extra } else { ring.read(head.wrapping_add(i)) };
            ring.slot(head.wrapping_add(j)).store(displaced, Ordering::Relaxed);
            if i == half {
                extra = chosen;
            } else {
                ring.slot(head.wrapping_add(i)).store(chosen, Ordering::Relaxed);
            }
        }
        let mut batch = List::new();
        let taken = (0..half).map(|i| ring.read(head.wrapping_add(i))).chain([extra]);
        for node in taken.filter_map(NonNull::new) {
            // SAFETY: the node was in the ring (or was to be) and is now ours alone; it is valid by
            // the contract of `Ring::owner`.
            unsafe { batch.push_back(node) };
        }
        Some(batch)
    }
}

/// The `order` for [`RingOwner::overflow`] that keeps the order: returns the last of `bound`
/// places.
pub const fn keep_order(bound: usize) -> usize {
    bound - 1
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::testing::{Node, nodes};

    /// The owner of a ring that only this test knows.
    fn owner<const CAP: usize>(ring: &Ring<Node, CAP>) -> RingOwner<'_, Node, CAP> {
        // SAFETY: one owner per ring, and the nodes outlive the rings.
        unsafe { ring.owner() }
    }

    fn push_all<const CAP: usize>(owner: &RingOwner<'_, Node, CAP>, nodes: &[Node]) {
        nodes.iter().for_each(|node| owner.push(NonNull::from(node)).unwrap());
    }

    fn id(node: NonNull<Node>) -> usize {
        // SAFETY: the nodes outlive the rings.
        unsafe { node.as_ref() }.id
    }

    fn drain<const CAP: usize>(owner: &RingOwner<'_, Node, CAP>) -> Vec<usize> {
        std::iter::from_fn(|| owner.pop()).map(id).collect()
    }

    #[test]
    fn first_in_first_out_and_full_gives_back() {
        let (ring, nodes) = (Ring::<Node, 4>::new(), nodes(5));
        let owner = owner(&ring);
        for _ in 0..3 {
            push_all(&owner, &nodes[..4]);
            let Err(Full(back)) = owner.push(NonNull::from(&nodes[4])) else { panic!("room for a fifth") };
            assert_eq!(id(back), 4);
            assert_eq!((ring.len(), ring.has_work()), (4, true));
            assert_eq!(owner.peek(1).map(id), Some(1));
            assert_eq!(owner.peek(4), None);
            assert_eq!(drain(&owner), [0, 1, 2, 3]);
            assert!(ring.is_empty() && !ring.has_work());
        }
    }

    /// S26: of 1: 1; of 5: 3.
    #[test]
    fn a_thief_takes_the_older_half_rounded_up() {
        for (n, expected) in [(0, 0_usize), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (256, 128)] {
            let nodes = nodes(n);
            let (victim, own) = (Ring::<Node>::new(), Ring::<Node>::new());
            push_all(&owner(&victim), &nodes);
            let thief = owner(&own);
            let last = thief.steal_from(&victim).map(id);
            assert_eq!(last, expected.checked_sub(1));
            assert_eq!(drain(&thief), (0..expected.saturating_sub(1)).collect::<Vec<_>>());
            assert_eq!(drain(&owner(&victim)), (expected..n).collect::<Vec<_>>());
        }
    }

    #[test]
    #[should_panic = "not empty enough"]
    fn stealing_into_a_full_ring_is_noticed() {
        let nodes = nodes(4);
        let (victim, own) = (Ring::<Node, 4>::new(), Ring::<Node, 4>::new());
        push_all(&owner(&own), &nodes[..3]);
        owner(&own).steal_from(&victim);
    }

    /// S21: a full ring sends its oldest 128 and the one that did not fit, and keeps 128.
    #[test]
    fn a_full_ring_overflows_by_129_and_keeps_128() {
        let (ring, nodes) = (Ring::<Node>::new(), nodes(258));
        let owner = owner(&ring);
        push_all(&owner, &nodes[..256]);
        let mut batch = owner.overflow(NonNull::from(&nodes[256]), keep_order).unwrap();
        assert_eq!((batch.len(), ring.len()), (129, 128));
        let ids: Vec<_> = std::iter::from_fn(|| batch.pop_front()).map(id).collect();
        assert_eq!(ids, (0..128).chain([256]).collect::<Vec<_>>());
        owner.push(NonNull::from(&nodes[257])).unwrap();
        assert_eq!(drain(&owner), (128..256).chain([257]).collect::<Vec<_>>());
    }

    /// S21: shuffled, nothing is lost, nothing twice, and any node can land anywhere.
    #[test]
    fn overflow_shuffles_all_of_the_batch() {
        let mut random = 1_u64;
        let mut places = [[0_u32; 5]; 5];
        for _ in 0..10_000 {
            let (ring, nodes) = (Ring::<Node, 8>::new(), nodes(9));
            let owner = owner(&ring);
            push_all(&owner, &nodes[..8]);
            let mut batch = owner
                .overflow(NonNull::from(&nodes[8]), |bound| {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    (random >> 33) as usize % bound
                })
                .unwrap();
            assert_eq!(batch.len(), 5);
            for (place, which) in std::iter::from_fn(|| batch.pop_front()).map(id).enumerate() {
                places[which.min(4)][place] += 1;
            }
            assert_eq!(drain(&owner), [4, 5, 6, 7]);
        }
        let expected = 1_800..2_200;
        assert!(places.iter().flatten().all(|count| expected.contains(count)), "{places:?}");
    }

    #[test]
    fn overflow_of_a_ring_with_room_is_refused() {
        let (ring, nodes) = (Ring::<Node, 4>::new(), nodes(4));
        let owner = owner(&ring);
        push_all(&owner, &nodes[..3]);
        assert!(owner.overflow(NonNull::from(&nodes[3]), keep_order).is_none());
        assert_eq!(drain(&owner), [0, 1, 2]);
    }

    /// Indices wrap around at the end of u32.
    #[test]
    fn indices_wrap_around() {
        let (ring, nodes) = (Ring::<Node, 4>::new(), nodes(4));
        ring.head.store(u32::MAX - 1, Ordering::Relaxed);
        ring.tail.store(u32::MAX - 1, Ordering::Relaxed);
        push_all(&owner(&ring), &nodes);
        assert_eq!(ring.len(), 4);
        let own = Ring::new();
        assert_eq!(owner(&own).steal_from(&ring).map(id), Some(1));
        assert_eq!(drain(&owner(&ring)), [2, 3]);
    }
}
