//! The network and the scheduler: who polls, and where what has become ready goes (S25, S35, S38, S47, S54).
//!
//! Three poll: an M that has found nothing in its own and the global queue, without blocking; the keeper (`timed.rs`), which
//! sleeps in the poller until the next timer; and the monitor, if nobody has for 10 ms.
//!
//! The argument why nobody who waits for I/O is forgotten. Who waits is counted before anything else (SeqCst). A goroutine
//! that waits leaves its M with a P, and that M runs others (then the monitor is awake and polls), or gives its P up and then
//! looks at the count: it becomes the keeper, or there is one. The same goes for a goroutine that registers an async task and has a
//! P: that P is not given up without a look either. A foreign thread, or a goroutine without a P, counts first, then looks whether
//! there is a keeper, and if not, wakes an M (if a P is idle and nobody spins), exactly as somebody does who has armed a timer.
//! So does whoever puts the last busy P on the idle list without giving up an M of its own.
//!
//! A keeper that sleeps on its note because there was no poller yet is roused when one is made; its second look is at that
//! too.

use core::ptr::NonNull;
use core::time::Duration;

use gosched_primitives::List;
use gosched_rules::poll;

use super::{Sched, policy};
use crate::clock::{NEVER, now};
use crate::g::G;
use crate::m::OwnM;
use crate::netpoll::{self, WakerNode};
use crate::p::{Overflow, OwnedP};

/// Wakes an async task, as the poller asks for it; goroutines that are to run by it go to `ready`.
fn wake_task(node: WakerNode, ready: &mut List<G>) -> Option<WakerNode> {
    #[cfg(any(feature = "futures-io", feature = "hyper"))]
    return super::wakers::wake(node, ready);
    #[cfg(not(any(feature = "futures-io", feature = "hyper")))]
    {
        let _ = (Box::leak(node), ready);
        crate::fatal::fatal!("netpoll: an async task waits, and none can");
    }
}

impl Sched {
    /// Whether somebody waits for I/O and nobody is blocked in the poller.
    fn is_poll_wanted(&self) -> bool {
        poll::is_poll_wanted(netpoll::waiters(), self.keeper.is_kept_afar())
    }

    /// Looks at the network for an M with a P: all that is ready is queued here, one is to be run, and for others an M is woken
    /// (S54).
    #[doc(alias = "netpoll")]
    pub(super) fn poll_network(&self, m: &mut OwnM, p: &mut OwnedP) -> Option<NonNull<G>> {
        if !self.is_poll_wanted() {
            return None;
        }
        if let Some(g) = policy::before_poll(self, m, p) {
            return Some(g);
        }
        let found = netpoll::look(p.id, wake_task, |mut ready| {
            let found = ready.len();
            while let Some(g) = ready.pop_front() {
                if let Some(Overflow(batch)) = p.put_tail(g, || m.random()) {
                    self.put_global(p.id, batch);
                }
            }
            found
        });
        let Some(found) = found else {
            // Whoever looks may wait for this CPU.
            policy::nothing_in_hand(self, m, p);
            return None;
        };
        if found == 0 {
            return None;
        }
        // Whoever is woken, or given way to, may take this CPU for a while. Then all that was found is in the ring, for others to
        // steal, and others can look.
        self.stop_spinning(m);
        if poll::wakes_another(found) {
            self.wake_p();
        }
        policy::nothing_in_hand(self, m, p);
        p.get().map(|(g, _)| g)
    }

    /// Polls the network if somebody waits for I/O and nobody has polled for a while; whether that was needed. By the monitor.
    pub(crate) fn poll_overdue_network(&self, now: u64) -> bool {
        if !self.is_poll_wanted() || !poll::is_poll_overdue(now.saturating_sub(netpoll::last_poll())) {
            return false;
        }
        let found = netpoll::look(netpoll::MONITOR, wake_task, |ready| {
            let found = !ready.is_empty();
            if found {
                self.put_global(0, ready);
            }
            found
        });
        if found == Some(true) {
            self.wake_p();
        }
        found == Some(true)
    }

    /// Sleeps as the keeper, in the poller; `false` if there is a keeper already.
    ///
    /// What the network had goes to the global queue, and nobody is woken for it: the keeper itself takes an idle P now; and if
    /// there is none, those who have them look at the queue before they give them up.
    pub(super) fn keep_watch_of_network(&self, first: u64) -> bool {
        let mut ready = List::new();
        let kept = self.keeper.keep_afar(
            first,
            || self.first_timer(),
            || {
                let left = (first != NEVER).then(|| Duration::from_nanos(first.saturating_sub(now())));
                let _slack = left.and_then(policy::timer_slack::for_sleep);
                ready = netpoll::block(left, wake_task);
            },
        );
        if !ready.is_empty() {
            self.put_global(0, ready);
        }
        kept
    }

    /// Somebody waits for I/O who has no M to look after it: sees to it that somebody polls. After it was counted.
    pub(crate) fn watch_network(&self) {
        if netpoll::waiters() > 0 && !self.keeper.is_kept() {
            self.wake_p();
        }
    }
}
