//! Who waits for the network, and who looks.
//!
//! Invariant: while somebody waits and all Ps are idle, a keeper is blocked in the poller (S25, the
//! argument in `sched/poll.rs` of the library). One looks at a time.

use std::collections::VecDeque;

use gosched_rules::poll::is_poll_wanted;

use crate::job::JobId;
use crate::time::Time;

/// The most that one look at the network takes: `BATCH` in the library's `sys/epoll.rs`.
pub(super) const REPORTS: usize = 128;

#[derive(Clone, Debug, Default)]
pub(super) struct Poller {
    /// Goroutines that wait, those included that are ready but not yet found.
    pub(super) waiters: u32,
    /// What has become ready.
    pub(super) ready: VecDeque<JobId>,
    /// Whether an M is blocked in it.
    pub(super) kept: bool,
    /// Until when somebody looks.
    pub(super) looked_at_until: Time,
    pub(super) last_look: Time,
    /// For how long somebody looked, in all.
    pub(super) busy: Time,
}

impl Poller {
    /// Whether somebody with a P, or the monitor, should look (S25).
    pub(super) fn is_look_wanted(&self) -> bool {
        is_poll_wanted(self.waiters as usize, self.kept)
    }

    /// So many; if jobs will come from the network, somebody watches each.
    pub(super) fn all(pollers: u32, kept: bool) -> Vec<Poller> {
        vec![Poller { kept, ..Poller::default() }; pollers as usize]
    }

    /// Takes up to `most` that are ready, into `sink`; how many.
    pub(super) fn take(&mut self, most: usize, sink: impl FnMut(JobId)) -> usize {
        let n = self.ready.len().min(most);
        self.ready.drain(..n).for_each(sink);
        self.waiters -= n as u32;
        n
    }
}
