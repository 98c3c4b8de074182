//! The network and the scheduler: who polls, and where what has become ready goes (S25, S35, S38,
//! S47, S54).
//!
//! Three poll: an M that has found nothing in its own and the global queue, without blocking; the
//! keeper (`timed.rs`), which sleeps in the poller until the next timer; and the monitor, if nobody
//! has for 10 ms.
//!
//! The argument why nobody who waits for I/O is forgotten. Each waiter is counted before anything
//! else (SeqCst). A goroutine that waits leaves its M with a P. That M runs others (then the
//! monitor is awake and polls), or gives its P up and then looks at the count: it becomes the
//! keeper, or there is one. The same holds for a goroutine with a P that registers an async task:
//! that P is not given up without a look either. A foreign thread, or a goroutine without a P,
//! counts first, then looks whether there is a keeper, and if not, wakes an M (if a P is idle and
//! nobody spins), exactly as a thread that has armed a timer. So does whoever puts the last busy P
//! on the idle list but does not stop an M of its own.
//!
//! A keeper that sleeps on its note because there was no poller yet is roused when one is made; its
//! second look asks for that, too.

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

/// Wakes an async task for the poller; goroutines that this makes runnable go to `ready`.
fn wake_task(node: WakerNode, ready: &mut List<G>) -> Option<WakerNode> {
    super::wakers::wake(node, ready)
}

impl Sched {
    /// Whether anyone waits for I/O and no keeper is blocked in the poller.
    fn is_poll_wanted(&self) -> bool {
        poll::is_poll_wanted(netpoll::waiters(), self.keeper.is_kept_afar())
    }

    /// Looks at the network for an M with a P: queues all that is ready on that P, wakes an M if
    /// there is more than one, and returns one to run (S54).
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
            // The M that looks may be waiting for this CPU.
            policy::nothing_in_hand(self, m, p);
            return None;
        };
        if found == 0 {
            return None;
        }
        // The M that is woken, or given way to, may run on this CPU for a while. All that was found
        // is in the ring by then, where others can steal it, and others can look.
        self.stop_spinning(m);
        if poll::wakes_another(found) {
            self.wake_p();
        }
        policy::nothing_in_hand(self, m, p);
        p.get().map(|(g, _)| g)
    }

    /// Polls the network if anyone waits for I/O and nobody has polled for a while. Returns whether
    /// anything was ready. Called by the monitor.
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
    /// What the network had goes to the global queue, and no M is woken for it: the keeper itself
    /// takes an idle P now; if there is none, the busy Ms look at the queue before they give up
    /// their Ps.
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

    /// Makes sure that an M polls, for a waiter that has none itself. Called after the waiter was
    /// counted.
    pub(crate) fn watch_network(&self) {
        if netpoll::waiters() > 0 && !self.keeper.is_kept() {
            self.wake_p();
        }
    }
}
