//! Async tasks that wait for a timer channel. Timers wake goroutines, so a goroutine waits in the
//! task's place.

use core::task::Waker;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::err::{RecvError, TryRecvError};
use super::timer::TimerChan;
use crate::sched::{go_system, hide_current};

/// Wakes a task when a timer channel may have a value, or is closed. A goroutine waits for that;
/// when this is dropped and the channel [nudged](TimerChan::nudge), the goroutine ends.
pub(super) struct StandIn(Arc<Mutex<Relay>>);

/// What the task and the goroutine share.
struct Relay {
    waker: Waker,
    waits: Waiting,
}

/// What the goroutine behind a stand-in does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Still,
    /// It has woken the task, and ended.
    Over,
}

/// What a poll has found.
pub(super) enum TimePolled {
    Ready(Result<Instant, RecvError>),
    /// Not yet; this new stand-in will wake the task.
    Set(StandIn),
    /// Not yet; the existing stand-in will wake the task.
    Still,
}

/// Receives from `chan`, or arranges for the task to be woken. `stand_in` is the existing one.
pub(super) fn poll(chan: &Arc<TimerChan>, stand_in: Option<&mut StandIn>, waker: &Waker) -> TimePolled {
    match chan.try_recv() {
        Ok(due) => return TimePolled::Ready(Ok(due)),
        Err(TryRecvError::Disconnected) => return TimePolled::Ready(Err(RecvError)),
        Err(TryRecvError::Empty) => {}
    }
    if let Some(StandIn(relay)) = stand_in {
        let new = waker.clone();
        let mut relay = relay.lock().unwrap_or_else(PoisonError::into_inner);
        if relay.waits == Waiting::Still {
            let old = core::mem::replace(&mut relay.waker, new);
            drop(relay);
            drop(old);
            return TimePolled::Still;
        }
    }
    TimePolled::Set(set(chan, waker.clone()))
}

/// Starts the goroutine that waits.
fn set(chan: &Arc<TimerChan>, waker: Waker) -> StandIn {
    let relay = Arc::new(Mutex::new(Relay { waker, waits: Waiting::Still }));
    let (weak, chan) = (Arc::downgrade(&relay), Arc::clone(chan));
    go_system(move || {
        chan.wait_for_change(|| weak.strong_count() > 0);
        let Some(relay) = weak.upgrade() else { return };
        let mut relay = relay.lock().unwrap_or_else(PoisonError::into_inner);
        relay.waits = Waiting::Over;
        let waker = relay.waker.clone();
        drop(relay);
        // The waker is user code: dumps show this goroutine from here on.
        hide_current(false);
        waker.wake();
    });
    StandIn(relay)
}
