//! How many goroutines move at a time: from the global queue (S24), to a thief (S26), out of a full
//! ring (S21), from the timers (S54); and which class of the global queue comes first (D1).

/// Slots of a P's ring (S3).
pub const RING: usize = 256;

/// The most shards of the global queue; with more Ps than this, several share one.
pub const SHARDS: usize = 8;

/// One grab in this many takes the oldest of a lower class first.
const LOWER_TURN: u32 = 4;

/// The classes of the global queue that come after what was woken (D1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lower {
    /// Asked to yield, or back without a P.
    Preempted,
    /// Not run yet, and queued under pressure.
    Fresh,
}

/// How many nodes a P takes from the global queue of `size` nodes when there are `procs` Ps (S24):
/// its share and one more, but at most `size`, half of the ring's `capacity`, and `max`.
///
/// ```
/// use gosched_rules::batch::grab_count;
/// assert_eq!(grab_count(2, 3, 256, None), 1);
/// assert_eq!(grab_count(4, 4, 256, None), 2);
/// assert_eq!(grab_count(4, 2, 256, None), 3);
/// assert_eq!(grab_count(1000, 2, 256, None), 128);
/// assert_eq!(grab_count(1000, 2, 256, Some(1)), 1);
/// ```
#[inline]
#[must_use]
#[doc(alias = "globrunqget")]
pub fn grab_count(size: usize, procs: usize, capacity: usize, max: Option<usize>) -> usize {
    (size / procs.max(1) + 1).min(size).min(capacity / 2).min(max.unwrap_or(usize::MAX))
}

/// How many of the `n` nodes in a ring a thief takes, the oldest first (S26): half, rounded up.
#[inline]
#[must_use]
#[doc(alias = "runqgrab")]
pub const fn steal_count(n: u32) -> u32 {
    n - n / 2
}

/// How many nodes of a full ring of `capacity` go to the global queue, besides the one that did not
/// fit (S21): the oldest half.
#[inline]
#[must_use]
#[doc(alias = "runqputslow")]
pub const fn overflow_count(capacity: usize) -> usize {
    capacity / 2
}

/// How many due timers a P runs at once when its ring holds `ring_len` nodes (S54): as many as fill
/// half of the ring, and at least one. The others keep their turn in the heap; in the ring they
/// would overflow to the global queue's tail, behind whatever else waits there.
#[inline]
#[must_use]
pub const fn timer_room(ring_len: usize, capacity: usize) -> usize {
    let room = (capacity / 2).saturating_sub(ring_len);
    if room == 0 { 1 } else { room }
}

/// How many shards the global queue has with `procs` Ps: one for each, up to [`SHARDS`].
#[inline]
#[must_use]
pub const fn shard_count(procs: usize) -> usize {
    match procs {
        0 => 1,
        1..SHARDS => procs,
        _ => SHARDS,
    }
}

/// How many of a batch of `n` come from a shard of `size` (S54), if the shards hold `total` in all:
/// its proportional part, rounded up, and no more than the `left` that are still wanted. So the
/// whole queue is first in, first out, except for the order between shards.
///
/// `total` may be out of date: a shard may hold more by now.
#[inline]
#[must_use]
pub const fn share_of_shard(size: usize, n: usize, total: usize, left: usize) -> usize {
    let total = if total > size { total } else { size };
    if total == 0 {
        return 0;
    }
    let share = (size * n).div_ceil(total);
    if share < left { share } else { left }
}

/// Whether this grab takes the oldest of a lower class first, so that none of them waits for ever
/// (D1). `grabs` counts the grabs made while a lower class was not empty.
#[inline]
#[must_use]
pub const fn lower_class_leads(grabs: u32) -> bool {
    grabs.is_multiple_of(LOWER_TURN)
}

/// The lower classes, the one whose turn it is first (D1): they take turns.
#[inline]
#[must_use]
pub const fn lower_classes(grabs: u32) -> [Lower; 2] {
    match grabs / LOWER_TURN % 2 {
        0 => [Lower::Preempted, Lower::Fresh],
        _ => [Lower::Fresh, Lower::Preempted],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S24: the examples of the specification, and never more than there is.
    #[test]
    fn a_p_takes_its_share_and_one_more() {
        for (size, procs, max, taken) in [
            (2, 3, None, 1),
            (4, 4, None, 2),
            (4, 2, None, 3),
            (0, 1, None, 0),
            (1, 1, None, 1),
            (10_000, 1, None, 128),
            (10_000, 1, Some(17), 17),
            (10_000, 1, Some(1), 1),
            (3, 0, None, 3),
        ] {
            assert_eq!(grab_count(size, procs, RING, max), taken, "{size} {procs} {max:?}");
        }
    }

    /// S26: of 1 one, of 5 three, never more than half a ring.
    #[test]
    fn a_thief_takes_half_rounded_up() {
        for (n, taken) in [(0, 0), (1, 1), (2, 1), (3, 2), (5, 3), (255, 128), (256, 128)] {
            assert_eq!(steal_count(n), taken, "of {n}");
        }
    }

    /// S21: 128 of 256.
    #[test]
    fn half_of_a_full_ring_makes_room() {
        for (capacity, moved) in [(2, 1), (4, 2), (RING, 128)] {
            assert_eq!(overflow_count(capacity), moved);
        }
    }

    /// S54: up to half a ring, and one in any case.
    #[test]
    fn due_timers_fill_half_a_ring() {
        for (len, room) in [(0, 128), (1, 127), (127, 1), (128, 1), (256, 1)] {
            assert_eq!(timer_room(len, RING), room, "{len} in the ring");
        }
    }

    #[test]
    fn there_is_a_shard_for_each_p_up_to_eight() {
        for (procs, shards) in [(0, 1), (1, 1), (2, 2), (7, 7), (8, 8), (9, 8), (1_024, 8)] {
            assert_eq!(shard_count(procs), shards, "{procs}");
        }
    }

    /// S54: in proportion, rounded up, no more than is left; also if the total is out of date.
    #[test]
    fn shards_give_in_proportion() {
        for (size, n, total, left, share) in [
            (60, 45, 90, 45, 30),
            (30, 45, 90, 15, 15),
            (1, 1, 90, 1, 1),
            (10, 3, 30, 3, 1),
            (10, 4, 30, 4, 2),
            (10, 4, 30, 1, 1),
            (10, 4, 30, 0, 0),
            (10, 4, 5, 4, 4),
            (0, 4, 30, 4, 0),
            (0, 4, 0, 4, 0),
        ] {
            assert_eq!(share_of_shard(size, n, total, left), share, "{size} {n} {total} {left}");
        }
    }

    /// The shares of all shards together are as many as were asked for, if there are so many.
    #[test]
    fn shares_add_up() {
        for sizes in [[1, 0, 0, 0], [5, 1, 1, 1], [10, 20, 30, 40], [0, 0, 0, 128]] {
            let total: usize = sizes.iter().sum();
            for n in 1..=total {
                let left = sizes.iter().fold(n, |left, size| left - share_of_shard(*size, n, total, left));
                assert_eq!(left, 0, "{n} of {sizes:?}");
            }
        }
    }

    /// D1: every fourth grab, for each of the two classes in turn.
    #[test]
    fn lower_classes_get_their_turn() {
        let leads: Vec<u32> = (0..9).filter(|grabs| lower_class_leads(*grabs)).collect();
        assert_eq!(leads, [0, 4, 8]);
        for (grabs, first) in
            [(0, Lower::Preempted), (3, Lower::Preempted), (4, Lower::Fresh), (7, Lower::Fresh)]
        {
            assert_eq!(lower_classes(grabs)[0], first, "{grabs}");
            assert_ne!(lower_classes(grabs)[1], first, "{grabs}");
        }
        assert_eq!(lower_classes(8)[0], Lower::Preempted);
    }
}
