//! Whether a lone G in `runnext` may go without waking an idle M (D9).
//!
//! Goroutines that pass a token to and fro need one P: the one that wakes the other parks right after. To wake a second M for
//! that costs a futex call, and that M finds nothing to do. So a P on which the last such Gs were all run by itself is
//! trusted with the next one too. Trust is lost at once when one had to wait: it was stolen, or the monitor found it
//! still there, or the goroutine that woke it went into a blocking call.
//!
//! A G that waits in trust is queued as any other: thieves find it, and so does an M that looks once more before it sleeps. The
//! monitor looks at each tick (`sysmon`), so it waits for a tick at most while a P is idle. It looks at trusted Ps only: whoever
//! takes trust away is an M that searches, whose success wakes the next one, or wakes one after that; so a G that was put there
//! meanwhile is found too.

use core::sync::atomic::{AtomicU32, Ordering};

/// So many in a row make a P trusted.
const ENOUGH: u32 = 32;

/// How many Gs in a row were run from `runnext` by their own P. Written by the owner, and by those who find the trust broken;
/// a count that is lost between them does not matter.
pub(crate) struct Trust(AtomicU32);

impl Trust {
    pub(super) const fn new() -> Trust {
        Trust(AtomicU32::new(0))
    }

    #[inline]
    pub(crate) fn is_given(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= ENOUGH
    }

    /// The owner has run one itself.
    #[inline]
    pub(super) fn gain(&self) {
        let count = self.0.load(Ordering::Relaxed);
        if count < ENOUGH {
            self.0.store(count + 1, Ordering::Relaxed);
        }
    }

    /// One had to wait.
    pub(crate) fn lose(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D9: it takes many to be trusted, and one to lose it.
    #[test]
    fn is_won_slowly_and_lost_at_once() {
        let trust = Trust::new();
        for _ in 0..ENOUGH {
            assert!(!trust.is_given());
            trust.gain();
        }
        trust.gain();
        assert!(trust.is_given());
        trust.lose();
        assert!(!trust.is_given());
    }
}
