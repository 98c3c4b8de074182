//! Ranges of untouched stacks, in a place of fixed size: a pool must not allocate, for it is asked
//! inside the runtime.
//!
//! There is mostly one range, the rest of the newest slab, and one for each cache that was emptied:
//! a pool maps a slab only when it has nothing left. If there are very many, the stacks of one too
//! many are listed as used ones are, which touches a page of each.

use super::slab::Fresh;

/// So many ranges.
const MOST: usize = 16;

/// The ranges, last in first out.
#[derive(Debug)]
pub(super) struct FreshRanges {
    ranges: [Option<Fresh>; MOST],
    len: usize,
}

impl FreshRanges {
    pub(super) const fn new() -> FreshRanges {
        FreshRanges { ranges: [const { None }; MOST], len: 0 }
    }

    /// Adds a range.
    ///
    /// # Errors
    ///
    /// Gives it back if there is no room.
    pub(super) fn push(&mut self, range: Fresh) -> Result<(), Fresh> {
        let Some(place) = self.ranges.get_mut(self.len) else { return Err(range) };
        *place = Some(range);
        self.len += 1;
        Ok(())
    }

    /// The newest range that has something left.
    pub(super) fn newest(&mut self) -> Option<&mut Fresh> {
        while self.len > 0 && self.ranges[self.len - 1].as_ref().is_none_or(|range| range.len() == 0) {
            self.len -= 1;
            self.ranges[self.len] = None;
        }
        self.ranges[self.len.checked_sub(1)?].as_mut()
    }
}
